#include <gtest/gtest.h>
#include <heddle/tools/litmus/program.h>

#include <stdexcept>

namespace heddle::litmus {
namespace {

program of_code(std::string_view threads, std::string_view code, std::string_view outcome = "P0:r0=0") {
  return parse(threads, code, outcome);
}

std::string refusal(std::string_view threads, std::string_view code, std::string_view outcome,
                    std::string_view placement = {}) {
  try {
    parse(threads, code, outcome, placement);
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    return error.what();
  }
  return "accepted";
}

TEST(program, accesses_have_order_and_scope_or_are_weak) {
  const program made = of_code("gpu0.cta0 || gpu0.cta1",
                               "st.weak x, 1; st.release.cta y, 2 || ld.acquire.sys r2, y; ld.weak r0, x", "P1:r2=2");
  ASSERT_EQ(made.threads.size(), 2u);
  EXPECT_EQ(made.locations, (std::vector<std::string>{"x", "y"}));
  const auto& [plain, released] = std::pair(made.threads[0][0], made.threads[0][1]);
  EXPECT_EQ(plain.kind, instruction_kind::store);
  EXPECT_TRUE(plain.weak);
  EXPECT_EQ(plain.value, 1u);
  EXPECT_FALSE(released.weak);
  EXPECT_EQ(released.order, memory_order::release);
  EXPECT_EQ(released.reach, scope::block);
  EXPECT_EQ(released.location, 1u);
  EXPECT_EQ(released.value, 2u);
  const instruction& acquired = made.threads[1][0];
  EXPECT_EQ(acquired.kind, instruction_kind::load);
  EXPECT_EQ(acquired.order, memory_order::acquire);
  EXPECT_EQ(acquired.reach, scope::system);
  EXPECT_EQ(acquired.reg, 2u);
  EXPECT_EQ(acquired.location, 1u);
}

TEST(program, places_name_the_block_or_the_host) {
  const program made = of_code("host || gpu0.cta3 || gpu1.cta0", "st.weak x, 1 || ld.weak r0, x || ld.weak r0, x");
  EXPECT_TRUE(made.places[0].host);
  EXPECT_FALSE(made.places[1].host);
  EXPECT_EQ(made.places[1].block, 3u);
  EXPECT_EQ(made.places[2].device, 1u);
}

TEST(program, read_modify_writes) {
  const program made = of_code("gpu0.cta0",
                               "atom.acq_rel.gpu.exch r0, m, 4; atom.relaxed.sys.add r1, m, 1; "
                               "atom.acquire.cta.cas r2, l, 1, 2");
  const std::vector<instruction>& body = made.threads[0];
  EXPECT_EQ(body[0].kind, instruction_kind::exchange);
  EXPECT_EQ(body[0].order, memory_order::acq_rel);
  EXPECT_EQ(body[0].reach, scope::device);
  EXPECT_EQ(body[0].value, 4u);
  EXPECT_EQ(body[1].kind, instruction_kind::add);
  EXPECT_EQ(body[1].reg, 1u);
  EXPECT_EQ(body[2].kind, instruction_kind::compare_exchange);
  EXPECT_EQ(body[2].order, memory_order::acquire);
  EXPECT_EQ(body[2].value, 1u);
  EXPECT_EQ(body[2].desired, 2u);
  EXPECT_EQ(body[2].location, 1u);
}

TEST(program, fences) {
  const program made = of_code("gpu0.cta0", "fence.acq_rel.gpu; fence.sc.cta; fence.sys; ld.weak r0, x");
  const std::vector<instruction>& body = made.threads[0];
  for (size_t n = 0; n < 3; ++n) EXPECT_EQ(body[n].kind, instruction_kind::fence);
  EXPECT_EQ(body[0].order, memory_order::acq_rel);
  EXPECT_EQ(body[0].reach, scope::device);
  EXPECT_EQ(body[1].order, memory_order::seq_cst);
  EXPECT_EQ(body[1].reach, scope::block);
  EXPECT_EQ(body[2].order, memory_order::seq_cst);
  EXPECT_EQ(body[2].reach, scope::system);
}

TEST(program, instructions_of_the_host) {
  const program made =
      of_code("host", "st x, 1; ld r0, x; mfence; sfence; lock.xchg r1, x, 5; lock.xadd r2, x, 6", "P0:r0=1");
  const std::vector<instruction>& body = made.threads[0];
  for (const instruction& each : body) {
    EXPECT_TRUE(each.x86);
    EXPECT_EQ(each.weak, &each == &body[3]) << "of these an sfence";
    EXPECT_EQ(each.reach, scope::system);
  }
  EXPECT_EQ(body[0].kind, instruction_kind::store);
  EXPECT_EQ(body[0].order, memory_order::relaxed);
  EXPECT_EQ(body[1].kind, instruction_kind::load);
  EXPECT_EQ(body[2].kind, instruction_kind::drain_buffers);
  EXPECT_EQ(body[3].kind, instruction_kind::drain_buffers);
  EXPECT_EQ(body[4].kind, instruction_kind::exchange);
  EXPECT_EQ(body[4].order, memory_order::seq_cst);
  EXPECT_EQ(body[4].value, 5u);
  EXPECT_EQ(body[5].kind, instruction_kind::add);
  EXPECT_EQ(body[5].value, 6u);
}

TEST(program, locations_lie_in_host_memory_unless_placed_on_the_device) {
  const std::string_view code = "st.weak x, 1; ld.weak r0, y";
  EXPECT_EQ(parse("gpu0.cta0", code, "x=1").on_device, (std::vector<bool>{false, false}));
  EXPECT_EQ(parse("gpu0.cta0", code, "x=1", "x=host y=device").on_device, (std::vector<bool>{false, true}));
  EXPECT_EQ(parse("gpu0.cta0", code, "x=1", "x=device").on_device, (std::vector<bool>{true, false}));
}

bool seen(std::string_view outcome, uint32_t r0, uint32_t r1, uint32_t x) {
  const program made = parse("gpu0.cta0 || host", "st.weak x, 1 || ld.weak r1, x", outcome);
  return holds(made.outcome, {.registers = {{r0, 0, 0}, {0, r1, 0}}, .locations = {x}});
}

TEST(program, outcomes_are_judged_term_by_term) {
  EXPECT_TRUE(seen("P0:r0=1", 1, 0, 0));
  EXPECT_FALSE(seen("P0:r0=1", 0, 1, 1));
  EXPECT_TRUE(seen("P1:r1=1", 0, 1, 0));
  EXPECT_FALSE(seen("P1:r1!=1", 0, 1, 0));
  EXPECT_TRUE(seen("P1:r1!=1", 0, 2, 0));
  EXPECT_TRUE(seen("x=3", 0, 0, 3));
  EXPECT_FALSE(seen("x!=3", 0, 0, 3));
}

TEST(program, outcomes_are_joined_and_nested) {
  const std::string_view both = "P0:r0=1 /\\ P1:r1=2";
  EXPECT_TRUE(seen(both, 1, 2, 0));
  EXPECT_FALSE(seen(both, 1, 0, 0));
  EXPECT_FALSE(seen(both, 0, 2, 0));
  const std::string_view either = "P0:r0=1 \\/ P1:r1=2";
  EXPECT_TRUE(seen(either, 1, 0, 0));
  EXPECT_TRUE(seen(either, 0, 2, 0));
  EXPECT_FALSE(seen(either, 0, 0, 0));
  const std::string_view nested = "x=1 /\\ (P0:r0=1 \\/ P0:r0=2) /\\ P1:r1=0";
  EXPECT_TRUE(seen(nested, 2, 0, 1));
  EXPECT_FALSE(seen(nested, 3, 0, 1));
  EXPECT_FALSE(seen(nested, 1, 1, 1));
  EXPECT_FALSE(seen(nested, 1, 0, 0));
}

TEST(program, and_binds_tighter_than_or) {
  const std::string_view mixed = "P0:r0=1 \\/ P1:r1=1 /\\ x=1";
  EXPECT_TRUE(seen(mixed, 1, 0, 0));
  EXPECT_TRUE(seen(mixed, 0, 1, 1));
  EXPECT_FALSE(seen(mixed, 0, 1, 0));
}

TEST(program, bad_places_are_refused_by_name) {
  EXPECT_EQ(refusal("gpu0.cta0 || gpu0", "ld.weak r0, x || ld.weak r0, x", "x=1"),
            "threads: P1: \"gpu0\" is no place; write host, or gpu0.ctaN with N below 4096");
  EXPECT_EQ(refusal("gpu0.cta4096", "ld.weak r0, x", "x=1"),
            "threads: P0: \"gpu0.cta4096\" is no place; write host, or gpu0.ctaN with N below 4096");
  EXPECT_EQ(refusal("", "ld.weak r0, x", "x=1"),
            "threads: P0: \"\" is no place; write host, or gpu0.ctaN with N below 4096");
  EXPECT_EQ(refusal("host", "ld.weak r0, x || ld.weak r0, x", "x=1"),
            "program: 2 threads, but 1 places; give one place per thread");
}

TEST(program, bad_instructions_are_refused_by_name) {
  const auto on = [](std::string_view threads, std::string_view code) { return refusal(threads, code, "x=1"); };
  EXPECT_EQ(on("gpu0.cta0", "ld.weak r0, x; jump x"),
            "program: P0: \"jump\" is no instruction; write one of ld, st, atom, fence");
  EXPECT_EQ(on("host", ""),
            "program: P0: \"\" is no instruction; write one of ld, st, atom, fence, lock, mfence, sfence");
  EXPECT_EQ(on("gpu0.cta0", "st x, 1"),
            "program: P0: \"st\" is an instruction of the host; a device has ld, st, atom and fence with order and "
            "scope");
  EXPECT_EQ(on("gpu0.cta0", "mfence"),
            "program: P0: \"mfence\" is an instruction of the host; a device has ld, st, atom and fence with order and "
            "scope");
  EXPECT_EQ(on("gpu0.cta0", "ld.release.gpu r0, x"),
            "program: P0: \"release\" is no order here; write one of relaxed, acquire");
  EXPECT_EQ(on("gpu0.cta0", "st.acquire.gpu x, 1"),
            "program: P0: \"acquire\" is no order here; write one of relaxed, release");
  EXPECT_EQ(on("gpu0.cta0", "st.relaxed x, 1"),
            "program: P0: \"st.relaxed\" is no instruction; write st.ORDER.SCOPE or st.weak");
  EXPECT_EQ(on("gpu0.cta0", "st.relaxed.wave x, 1"), "program: P0: \"wave\" is no scope; write one of cta, gpu, sys");
  EXPECT_EQ(on("host", "st.relaxed.gpu x, 1"), "program: P0: the host has system scope only; write sys instead of gpu");
  EXPECT_EQ(on("host", "fence.sys"), "program: P0: fence.sys is the device's; write mfence, or fence.ORDER.sys");
  EXPECT_EQ(on("gpu0.cta0", "fence.relaxed.sys"),
            "program: P0: \"relaxed\" is no order here; write one of acq_rel, sc");
  EXPECT_EQ(on("gpu0.cta0", "fence.sc.sys x"), "program: P0: \"fence.sc.sys\" takes no operands, not 1 operands");
  EXPECT_EQ(on("gpu0.cta0", "atom.relaxed.sys.sub r0, x, 1"),
            "program: P0: \"sub\" is no operation; write one of exch, add, cas");
  EXPECT_EQ(on("gpu0.cta0", "atom.relaxed.sys.cas r0, x, 1"),
            "program: P0: \"atom.relaxed.sys.cas\" takes a register, a location, the value to find and the value to "
            "store, not 3 operands");
  EXPECT_EQ(on("host", "lock.cmpxchg r0, x, 1"),
            "program: P0: \"cmpxchg\" is no locked operation; write one of xchg, xadd");
  EXPECT_EQ(on("gpu0.cta0", "ld.weak r3, x"), "program: P0: \"r3\" is no register; write one of r0, r1, r2");
  EXPECT_EQ(on("gpu0.cta0", "ld.weak r0, X"), "program: P0: \"X\" is no location; write a word of lower-case letters");
  EXPECT_EQ(on("gpu0.cta0", "st.weak x, -1"), "program: P0: \"-1\" is no number; write one from 0 to 4294967295");
  EXPECT_EQ(on("gpu0.cta0", "st.weak x, 4294967296"),
            "program: P0: \"4294967296\" is no number; write one from 0 to 4294967295");
}

TEST(program, bad_outcomes_and_placements_are_refused_by_name) {
  const auto asks = [](std::string_view outcome) { return refusal("gpu0.cta0", "ld.weak r0, x", outcome); };
  EXPECT_EQ(asks("P1:r0=1"), "outcome: \"P1:r0\" is no register of a thread; write P0:r0 to P0:r2");
  EXPECT_EQ(asks("P0:r3=1"), "outcome: \"P0:r3\" is no register of a thread; write P0:r0 to P0:r2");
  EXPECT_EQ(asks(":r0=1"), "outcome: \":r0\" is no register of a thread; write P0:r0 to P0:r2");
  EXPECT_EQ(asks("y=1"), "outcome: no instruction names the location \"y\"");
  EXPECT_EQ(asks("x"), "outcome: \"x\" is no term; write P0:r0=1 or x=1, with = or !=");
  EXPECT_EQ(asks("x=one"), "outcome: \"x=one\" is no term; write P0:r0=1 or x=1, with = or !=");
  EXPECT_EQ(asks(""), "outcome: \"\" is no term; write P0:r0=1 or x=1, with = or !=");
  EXPECT_EQ(asks("x=1 /\\"), "outcome: \"\" is no term; write P0:r0=1 or x=1, with = or !=");
  EXPECT_EQ(asks("x=1 x=1"), "outcome: \"x=1\" is left over; join terms by /\\ or \\/");
  EXPECT_EQ(asks("(x=1"), "outcome: a \"(\" is not closed in \"(x=1\"");
  EXPECT_EQ(asks(std::string(200, '(')), "outcome: more than 100 nested parentheses");
  EXPECT_EQ(refusal("gpu0.cta0", "ld.weak r0, x", "x=1", "y=host"),
            "placement: no instruction names the location \"y\"");
  EXPECT_EQ(refusal("gpu0.cta0", "ld.weak r0, x", "x=1", "x=moon"),
            "placement: \"x=moon\" is no place of a location; write x=host or x=device");
}

}  // namespace
}  // namespace heddle::litmus
