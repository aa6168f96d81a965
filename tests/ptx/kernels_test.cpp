// Kernels of PTX on the simulator: kernels.ptx, which tools/ptx made C++ of.
#include <heddle/sim/compat/ptx/module.h>
#include <heddle/sim/device.h>

#include <cmath>
#include <cstring>

#include "../sim/run.h"

namespace {

using namespace heddle::sim::tests;
namespace runtime = heddle::sim::runtime;

machine scoped() { return machine({"fidelity=scoped"}); }

template <typename T>
T* on_device(size_t count) {
  return static_cast<T*>(runtime::allocate_unnamed(count * sizeof(T), runtime::memory_place::device, "memory"));
}

struct shape {
  uint32_t blocks = 1;
  uint32_t threads = 1;
  size_t shared_bytes = 0;
};

template <typename... Arguments>
void start(const char* name, shape how, Arguments... arguments) {
  const heddle::ptx::kernel* const kernel = heddle::ptx::kernel_named(name);
  SIM_CHECK(kernel != nullptr);
  void* addresses[] = {&arguments..., nullptr};
  heddle::ptx::launch(
      *kernel,
      {.grid = {how.blocks, 1, 1}, .block = {how.threads, 1, 1}, .wave_lanes = 32, .shared_bytes = how.shared_bytes},
      addresses);
}
template <typename... Arguments>
void run(const char* name, shape how, Arguments... arguments) {
  start(name, how, arguments...);
  runtime::synchronize();
}

TEST(ptx_kernels, call_functions_that_call_themselves_and_through_pointers) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        auto* const out = on_device<uint32_t>(3);
                                        run("calls", {}, out);
                                        SIM_CHECK(out[0] == 720 && out[1] == 42 && out[2] == 24);
                                      },
                                      3)));
}

TEST(ptx_kernels, are_found_by_their_names_without_a_step) {
  const auto steps = [](int looks) {
    return scoped()
        .run([looks] {
          start("calls", {}, on_device<uint32_t>(3));
          const int count = looks;
          for (int n = 0; n < count; ++n)
            SIM_CHECK(heddle::ptx::kernel_named("a_name_that_is_too_long_for_a_string_without_the_heap") == nullptr);
          runtime::synchronize();
        })
        .steps;
  };
  EXPECT_EQ(steps(0), steps(10));
}

TEST(ptx_kernels, end_where_a_pointer_is_no_function) {
  EXPECT_TRUE(is(verdict::assertion, "", scoped().explain([] { run("calls_nothing", {}, on_device<uint32_t>(1)); })));
}

TEST(ptx_kernels, have_memory_of_the_block_that_a_barrier_orders) {
  const auto rotate = [](uint32_t planted) {
    return [planted] {
      auto* const out = on_device<uint32_t>(64);
      run("rotates", {.threads = 64}, out, planted);
      for (uint32_t n = 0; planted == 0 && n < 64; ++n) SIM_CHECK(out[n] == (n + 1) % 64);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(rotate(0), 20)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(rotate(1), 20)));
  const heddle::sim::outcome ended = scoped().explain(rotate(1));
  EXPECT_TRUE(says(ended.report, "kernels.cu:14"));
  EXPECT_TRUE(says(ended.report, "kernels.cu:18"));
  EXPECT_TRUE(says(ended.report, "tile of block 0+0x"));
}

TEST(ptx_kernels, have_all_state_spaces) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        auto* const out = on_device<uint32_t>(6);
                                        run("spaces", {.shared_bytes = 64}, out);
                                        SIM_CHECK(out[0] == 77 && out[1] == 3 && out[2] == 5 && out[3] == 53);
                                        SIM_CHECK(out[4] == 5 && out[5] == 77);
                                        // A variable of the device, which begins anew with each run.
                                        const heddle::ptx::device_variable counter =
                                            heddle::ptx::variable_named("counter");
                                        SIM_CHECK(counter.bytes == 4 && *static_cast<uint32_t*>(counter.address) == 6);
                                      },
                                      3)));
}

TEST(ptx_kernels, are_told_where_memory_of_a_block_ends) {
  const heddle::sim::outcome ended =
      scoped().explain([] { run("spaces", {.shared_bytes = 8}, on_device<uint32_t>(6)); });
  EXPECT_TRUE(is(verdict::memory, "", ended));
  EXPECT_TRUE(says(ended.message, "dynamic shared memory"));
}

TEST(ptx_kernels, print) {
  testing::internal::CaptureStdout();
  EXPECT_TRUE(is(verdict::ok, "", scoped().run([] { run("prints", {}); })));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "42 it 1.5\n");
}

TEST(ptx_kernels, do_together_what_lanes_of_a_warp_do) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        auto* const out = on_device<uint32_t>(32 * 6);
                                        run("lanes", {.threads = 32}, out);
                                        for (uint32_t n = 0; n < 32; ++n) {
                                          const uint32_t* const own = out + n * 6;
                                          SIM_CHECK(own[0] == (n == 31 ? 31 : n + 1) && own[1] == 0xaaaaaaaa);
                                          SIM_CHECK(own[2] == 0xfU << (n / 4 * 4) && own[3] == 496);
                                          SIM_CHECK(own[4] == (n == 0 ? 1 : 0) && own[5] == 100 + n % 3);
                                        }
                                      },
                                      5)));
}

TEST(ptx_kernels, have_barriers_for_a_part_of_the_block) {
  const auto body = [](uint32_t planted) {
    return [planted] {
      auto* const out = on_device<uint32_t>(64);
      run("named", {.threads = 64}, out, planted);
      for (uint32_t n = 32; planted == 0 && n < 64; ++n) SIM_CHECK(out[n] == 9);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(body(0), 20)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(body(1), 20)));
}

TEST(ptx_kernels, arrive_at_barrier_0_of_lanes_that_wait_there) {
  const auto hands_over = [](uint32_t planted) {
    return [planted] {
      auto* const out = on_device<uint32_t>(32);
      run("arrives_at_zero", {.threads = 64}, out, planted);
      for (uint32_t n = 0; n < 32; ++n) SIM_CHECK(out[n] == 42);
    };
  };
  for (const char* const convergence : {"independent", "lockstep"}) {
    machine one({"fidelity=scoped", std::string("convergence=") + convergence});
    for (const uint32_t right : {0u, 3u}) EXPECT_TRUE(always(verdict::ok, one.run_many(hands_over(right), 50)));
    for (const uint32_t wrong : {1u, 2u}) EXPECT_TRUE(always(verdict::race, one.run_many(hands_over(wrong), 50)));
  }
  const heddle::sim::outcome hangs = machine({"fidelity=scoped", "barriers=any"}).explain(hands_over(4));
  EXPECT_TRUE(is(verdict::deadlock, "", hangs));
  EXPECT_TRUE(says(hangs.report, "missing: wave 0 lane 5\n"));
}

TEST(ptx_kernels, come_to_one_barrier_by_one_instruction_of_a_warp) {
  const auto comes = [](uint32_t which) { return [which] { run("lines_of_barrier", {.threads = 64}, which); }; };
  for (const uint32_t apart : {0u, 1u}) EXPECT_TRUE(always(verdict::mask, scoped().run_many(comes(apart), 30)));
  for (const uint32_t right : {2u, 3u}) EXPECT_TRUE(always(verdict::ok, scoped().run_many(comes(right), 100)));
  EXPECT_TRUE(says(scoped().explain(comes(1)).message, "all lanes of a wave come to one and the same"));
  for (const uint32_t apart : {0u, 1u})
    EXPECT_TRUE(always(verdict::ok, machine({"fidelity=scoped", "barriers=any"}).run_many(comes(apart), 30)));
}

TEST(ptx_kernels, say_how_many_threads_a_block_of_them_has) {
  const auto launched = [](const char* kernel, uint32_t x, uint32_t y) {
    return scoped().run([=] {
      auto* out = on_device<uint32_t>(1);
      void* addresses[] = {&out};
      heddle::ptx::launch(*heddle::ptx::kernel_named(kernel), {.grid = {1, 1, 1}, .block = {x, y, 1}}, addresses);
      runtime::synchronize();
    });
  };
  EXPECT_TRUE(is(verdict::ok, "", launched("of_64_at_most", 64, 1)));
  EXPECT_TRUE(says(launched("of_64_at_most", 65, 1).message, "the kernel's .maxntid"));
  EXPECT_TRUE(is(verdict::ok, "", launched("of_32_by_2", 32, 2)));
  EXPECT_TRUE(says(launched("of_32_by_2", 64, 1).message, "the kernel's .reqntid"));
}

TEST(ptx_kernels, have_numbers_of_no_numbers_and_special_registers) {
  EXPECT_TRUE(is(verdict::ok, "", scoped().run([] {
    auto* const out = on_device<uint32_t>(6);
    run("numbers", {}, out);
    run("numbers", {.shared_bytes = 48}, out);
    SIM_CHECK(out[0] == 0 && out[1] == 0x80000000 && out[2] == 0x80000000);
    SIM_CHECK(out[3] == 48 && out[4] == 1 && out[5] == 1);
  })));
}

TEST(ptx_kernels, that_look_once_and_then_spin_hang) {
  const auto body = [](const char* kernel) {
    return [kernel] {
      auto* const flag = static_cast<uint32_t*>(runtime::allocate_unnamed(4, runtime::memory_place::host, "flag"));
      runtime::store(flag, 4, 0, heddle::memory_order::relaxed, heddle::scope::system);
      start(kernel, {}, flag);
      runtime::store(flag, 4, 1, heddle::memory_order::release, heddle::scope::system);
      runtime::synchronize();
    };
  };
  machine without_races({"fidelity=scoped", "races=count"});
  const tally hoisted = without_races.run_many(body("hoisted"), 200);
  EXPECT_TRUE(sometimes(verdict::deadlock, hoisted));
  EXPECT_EQ(hoisted.examples.at(verdict::deadlock).where, "/made/kernels.cu:41");
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(body("waits"), 200)));
}

TEST(ptx_kernels, that_only_compute_for_long_end) {
  EXPECT_TRUE(is(verdict::ok, "", scoped().run([] {
    auto* const out = on_device<uint32_t>(1);
    run("counts", {}, out);
    uint32_t expected = 0;
    for (uint32_t n = 0; n < 100050; ++n) expected ^= n;
    SIM_CHECK(out[0] == expected);
  })));
}

TEST(ptx_kernels, make_no_access_where_the_predicate_is_false) {
  const auto body = [](uint32_t which) {
    return [which] { run("predicated", {.blocks = 2}, on_device<uint32_t>(1), which); };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(body(1), 50)));
  EXPECT_TRUE(
      is(verdict::memory, "", scoped().run([] { run("predicated", {}, static_cast<uint32_t*>(nullptr), 0U); })));
  EXPECT_TRUE(is(verdict::ok, "", scoped().run([] { run("predicated", {}, static_cast<uint32_t*>(nullptr), 1U); })));
}

TEST(ptx_kernels, access_a_vector_of_16_bytes_in_one_piece_but_for_volatile_ones) {
  const auto pairs = [](uint32_t is_volatile) {
    return [is_volatile] {
      auto* const pair = on_device<uint64_t>(2);
      auto* const out = on_device<uint32_t>(1);
      pair[0] = pair[1] = 0;
      run("pairs", {.blocks = 2}, pair, out, is_volatile);
      SIM_CHECK(*out == 1);
    };
  };
#ifdef HEDDLE_PTX_VECTORS_IN_PIECES
  EXPECT_TRUE(sometimes(verdict::assertion, scoped().run_many(pairs(0), 500)));
#else
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(pairs(0), 500)));
#endif
  EXPECT_TRUE(sometimes(verdict::assertion, scoped().run_many(pairs(1), 500)));
}

TEST(ptx_kernels, have_memory_by_which_the_blocks_of_a_cooperative_launch_meet) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        constexpr uint32_t blocks = 3;
                                        auto* data = on_device<uint32_t>(blocks);
                                        auto* out = on_device<uint32_t>(blocks);
                                        void* addresses[] = {&data, &out};
                                        heddle::ptx::launch(*heddle::ptx::kernel_named("meets"),
                                                            {.grid = {blocks, 1, 1}}, addresses, true);
                                        runtime::synchronize();
                                        for (uint32_t n = 0; n < blocks; ++n) SIM_CHECK(out[n] == (n + 1) % blocks + 1);
                                      },
                                      100)));
}

TEST(ptx_kernels, have_what_is_copied_beside_them_when_they_have_waited) {
  const auto copied = [](uint32_t planted) {
    return [planted] {
      constexpr uint32_t lanes = 32;
      auto* const from = on_device<uint32_t>(4 * lanes);
      auto* const out = on_device<uint32_t>(lanes);
      for (uint32_t n = 0; n < 4 * lanes; ++n) from[n] = n + 1;
      run("copies", {.threads = lanes}, from, out, planted);
      // Of four words the first and the third; the last is 0.
      for (uint32_t n = 0; n < lanes; ++n) SIM_CHECK(out[n] == 4 * n + 1 + 4 * n + 3);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(copied(0), 10)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(copied(1), 10)));
  EXPECT_TRUE(says(scoped().explain(copied(1)).message, "is not ordered after a copy that is under way"));
}

TEST(ptx_kernels, meet_at_an_mbarrier) {
  const auto arrives = [](uint32_t planted) {
    return [planted] {
      constexpr uint32_t lanes = 32;
      auto* const from = on_device<uint32_t>(lanes);
      auto* const out = on_device<uint32_t>(lanes);
      for (uint32_t n = 0; n < lanes; ++n) from[n] = n + 7;
      run("arrives", {.threads = lanes}, from, out, planted);
      for (uint32_t n = 0; n < lanes; ++n) SIM_CHECK(out[n] == (n + 1) % lanes + 7);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(arrives(0), 50)));
  // Or the block has ended before a copy has been made.
  const tally unwaited = scoped().run_many(arrives(1), 50);
  EXPECT_EQ(unwaited.count(verdict::race) + unwaited.count(verdict::assertion), 50U);
  EXPECT_TRUE(sometimes(verdict::race, unwaited));
  EXPECT_TRUE(says(scoped().explain(arrives(2)).message, "has not been made one by mbarrier.init"));
  EXPECT_TRUE(always(verdict::deadlock, scoped().run_many(arrives(3), 10)));
  EXPECT_LT(scoped().run_many(arrives(4), 50).count(verdict::ok), 50U);
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        auto* const out = on_device<uint32_t>(4);
                                        run("phases", {.threads = 4}, out);
                                        for (uint32_t n = 0; n < 3; ++n) SIM_CHECK(out[n] == 11);
                                      },
                                      100)));
}

TEST(ptx_kernels, end_an_mbarrier_when_others_of_the_wave_have_waited) {
  const auto ends = [](uint32_t planted) { return [planted] { run("ends_mbarrier", {.threads = 32}, planted); }; };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(ends(0), 50)));
  EXPECT_TRUE(always(verdict::assertion, scoped().run_many(ends(1), 20)));
  EXPECT_TRUE(says(scoped().explain(ends(1)).message, "has not been made one by mbarrier.init"));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(ends(2), 20)));
}

TEST(ptx_kernels, change_words_of_16_bytes_as_one) {
  for (const char* const fidelity : {"scoped", "interleaving"}) {
    machine one({std::string("fidelity=") + fidelity});
    EXPECT_TRUE(always(verdict::ok, one.run_many(
                                        [] {
                                          auto* const word = on_device<uint64_t>(2);
                                          auto* const taken = on_device<uint64_t>(2);
                                          word[0] = word[1] = 0;
                                          run("wide_words", {.blocks = 4}, word, taken);
                                          SIM_CHECK(taken[0] == 4 && taken[1] == 8);
                                          SIM_CHECK(word[0] == 100 && word[1] == 100);
                                        },
                                        50)));
  }
}

TEST(ptx_kernels, see_what_bulk_copies_bring_and_the_proxy_fences_that_they_lack) {
  const auto bulk = [](uint32_t planted) {
    return [planted] {
      constexpr uint32_t lanes = 32;
      constexpr uint32_t words = 4 * lanes;
      auto* const from = on_device<uint32_t>(words + 4);
      auto* const out = on_device<uint32_t>(words);
      auto* const seen = on_device<uint32_t>(lanes);
      for (uint32_t n = 0; n < words; ++n) from[n] = n + 5;
      run("bulk", {.threads = lanes}, from, out, seen, planted);
      for (uint32_t n = 0; n < words; ++n) SIM_CHECK(out[n] == 2 * (n + 5));
      for (uint32_t n = 0; n < lanes; ++n) SIM_CHECK(planted == 5 || seen[n] == 2 * (n + 5));
    };
  };
  const auto fenced = [&](const char* convergence) {
    return machine({"fidelity=scoped", std::string("convergence=") + convergence});
  };
  for (const char* const convergence : {"independent", "lockstep"}) {
    SCOPED_TRACE(convergence);
    EXPECT_TRUE(always(verdict::ok, fenced(convergence).run_many(bulk(0), 50)));
    for (const uint32_t planted : {1u, 2u, 3u, 4u}) {
      SCOPED_TRACE(planted);
      // What copies to a block that has ended may come first.
      const auto seen = fenced(convergence).run_many(bulk(planted), 20);
      EXPECT_EQ(seen.count(verdict::race) + (planted == 1 ? seen.count(verdict::assertion) : 0), 20u) << seen.text();
      EXPECT_GT(seen.count(verdict::race), 10u) << seen.text();
    }
    EXPECT_TRUE(sometimes(verdict::assertion, fenced(convergence).run_many(bulk(5), 50)));
  }
  for (const char* const fidelity : {"interleaving", "link"})
    EXPECT_TRUE(always(verdict::ok, machine({std::string("fidelity=") + fidelity}).run_many(bulk(0), 50))) << fidelity;
  // Without a proxy fence only the order of proxies is missing, and the report says so.
  EXPECT_TRUE(says(scoped().explain(bulk(2)).message, "there is no proxy fence between them"));
  EXPECT_TRUE(says(scoped().explain(bulk(2)).report, "a fence.proxy.async that names this memory"));
  EXPECT_TRUE(says(scoped().explain(bulk(1)).message, "by bulk copy 1 of wave 0 lane 0"));
  EXPECT_TRUE(says(scoped().explain(bulk(4)).message, "by bulk copy 2 of wave 0 lane 0"));
  EXPECT_TRUE(says(scoped().explain(bulk(4)).report, "wait_group.read waits for what it reads alone"));
  EXPECT_TRUE(says(scoped().explain(bulk(6)).message, "multiples of 16"));
}

// The rows of NVlabs/mixedproxy (tests/MP_cta, MP_gpu, CoWR) in which a lane stores and another proxy reads, with a bulk copy in the place of the load
// from a surface: where they let the old value be read, the copy races.
TEST(ptx_kernels, order_proxies_by_the_fences_of_the_published_tests) {
  struct row {
    uint32_t fences;  ///< as the kernel has it
    bool permits;     ///< the old value
  };
  constexpr row rows[] = {{0, true},      {2, false},         {4, false},     {2 | 4, false},
                          {1, true},      {8, true},          {1 | 8, true},  {2 | 16, true},
                          {4 | 16, true}, {2 | 4 | 16, true}, {1 | 2, false}, {4 | 8, false}};
  for (const uint32_t apart : {0u, 1u, 2u})
    for (const row& each : rows) {
      const auto copied = [&] {
        auto* const data = on_device<uint32_t>(4);
        auto* const flag = on_device<uint32_t>(1);
        auto* const out = on_device<uint32_t>(1);
        for (uint32_t n = 0; n < 4; ++n) data[n] = 0;
        *flag = *out = 0;
        run("proxy_fences", {.blocks = 2, .threads = 64}, data, flag, out, apart, each.fences);
        SIM_CHECK(*out == 7);
      };
      SCOPED_TRACE("apart " + std::to_string(apart) + ", fences " + std::to_string(each.fences));
      EXPECT_TRUE(always(each.permits ? verdict::race : verdict::ok, scoped().run_many(copied, 20)));
    }
}

TEST(ptx_kernels, trap_at_a_line_of_their_source) {
  EXPECT_TRUE(is(verdict::assertion, "/made/kernels.cu:60", scoped().explain([] { run("fails", {}); })));
}

TEST(ptx_kernels, compute_with_floats_as_ieee_says) {
  EXPECT_TRUE(is(verdict::ok, "", scoped().run([] {
    auto* const out = on_device<unsigned char>(128);
    run("floats", {}, out);
    const auto single = [&](size_t at) {
      float value;
      std::memcpy(&value, out + at, sizeof value);
      return value;
    };
    const auto word_at = [&](size_t at) {
      uint32_t value;
      std::memcpy(&value, out + at, sizeof value);
      return value;
    };
    SIM_CHECK(single(0) == 1.0F / 3);
    SIM_CHECK(static_cast<int32_t>(word_at(4)) == -2);
    SIM_CHECK(std::nextafterf(single(8), 1) == single(12) && single(8) < single(12));
    SIM_CHECK(single(16) == 0.333251953125F && single(20) == 0.66650390625F);
    SIM_CHECK(single(24) == 0.333984375F);
    SIM_CHECK(word_at(28) == 0x7fffffff && single(32) == 1);
    SIM_CHECK(word_at(40) == 1 && word_at(44) == 0);
    double wide;
    std::memcpy(&wide, out + 48, sizeof wide);
    SIM_CHECK(wide == 0x1p-51 + 0x1p-104 || wide == std::fma(1 + 0x1p-52, 1 + 0x1p-52, -1.0));
    SIM_CHECK(word_at(56) == 0 && single(60) == 1 && single(64) == 0x1p64F);
  })));
}

TEST(ptx_kernels, keep_halves_that_are_subnormal_where_an_f32_is_flushed) {
  EXPECT_TRUE(is(verdict::ok, "", scoped().run([] {
    auto* const out = on_device<uint32_t>(3);
    run("flushes", {}, out);
    SIM_CHECK(out[0] == 0x10 && out[1] == 0x35800000);
    SIM_CHECK(out[2] == 0);
  })));
}

TEST(ptx_kernels, have_magnitudes_with_the_signs_exclusive_or) {
  EXPECT_TRUE(is(verdict::ok, "", scoped().run([] {
    auto* const out = on_device<uint32_t>(5);
    run("magnitudes", {}, out);
    SIM_CHECK(out[0] == 0xbf800000 && out[2] == 0xc0000000);
    // A NaN has no sign.
    SIM_CHECK(out[1] == 0x7fffffff && out[3] == 0xc0007fff);
    SIM_CHECK(out[4] == 0x3f800000);
  })));
}

// -- arithmetic, against what tests/ptx/generate.py computes

struct random_row {
  uint32_t kernel;
  uint64_t in[4];
  uint64_t out;
};
constexpr random_row random_rows[] = {
#include RANDOM_ROWS
};

TEST(ptx_kernels, compute_as_the_isa_says) {
  for (const random_row& row : random_rows) {
    machine quick({"fidelity=interleaving"});
    const heddle::sim::outcome ended = quick.run([&] {
      auto* const in = on_device<uint64_t>(4);
      auto* const out = on_device<uint64_t>(1);
      for (size_t n = 0; n < 4; ++n) in[n] = row.in[n];
      run(("random_" + std::to_string(row.kernel)).c_str(), {}, in, out);
      SIM_CHECK(*out == row.out);
    });
    ASSERT_EQ(ended.verdict, verdict::ok) << "random_" << row.kernel << ": " << ended.message;
  }
}

}  // namespace
