// Runs that end early: checks, exceptions, launches that cannot be.
#include "run.h"

#include <heddle/rpc/check.h>
#include <heddle/tools/scenario.h>

#include <stdexcept>

namespace heddle::sim::tests {
namespace {

int line = 0;

void launch_lanes(uint32_t blocks, uint32_t waves, uint32_t lanes) {
  device host;
  auto* const ran = host.allocate_device<uint32_t>(1, "lanes that ran");
  host.launch({.blocks = blocks, .waves = waves, .lanes = lanes},
              [ran] { word<uint32_t>(*ran).fetch_add(1, memory_order::relaxed); });
  host.synchronize();
  uint32_t count = 0;
  host.copy(&count, ran, sizeof count);
  SIM_CHECK(count == blocks * waves * lanes);
}

TEST(verdicts, an_exception_that_leaves_the_program_is_an_assertion_with_its_text) {
  machine on;
  const outcome host = on.run([] { throw std::runtime_error("no such port"); });
  EXPECT_TRUE(is(verdict::assertion, "", host));
  EXPECT_TRUE(says(host.message, "no such port"));
  const outcome kernel = on.run([] {
    device here;
    here.launch({}, [] { throw 7; });
    here.synchronize();
  });
  EXPECT_TRUE(is(verdict::assertion, "", kernel));
  EXPECT_TRUE(says(kernel.message, "does not derive from std::exception"));
  EXPECT_EQ(on.run([] { launch_lanes(1, 1, 1); }).verdict, verdict::ok);
}

TEST(verdicts, a_failed_check_is_an_assertion_at_its_line) {
  machine on;
  const auto checks = [](bool holds) {
    return [holds] {
      device host;
      auto* const value = host.allocate_shared<uint32_t>(1, "value");
      host.launch({.blocks = 1, .waves = 1, .lanes = 2}, [value, holds] {
        if (target::lane_id() == 0) return;
        line = __LINE__ + 1;
        HEDDLE_CHECK(word<uint32_t>(*value).load(memory_order::relaxed) == (holds ? 0 : 1), "the value is not one");
        word<uint32_t>(*value).store(2, memory_order::relaxed);
      });
      host.synchronize();
    };
  };
  const outcome broken = on.explain(checks(false));
  EXPECT_TRUE(is(verdict::assertion, SIM_LINE(line), broken));
  EXPECT_EQ(broken.message, "the value is not one");
  EXPECT_EQ(on.run(checks(true)).verdict, verdict::ok);
}

TEST(verdicts, a_broken_invariant_of_a_protocol_is_protocol) {
  machine on;
  const auto requires_that = [](bool holds) {
    return [holds] { rpc::require<target, rpc::checked>(holds, "two owners"); };
  };
  const outcome broken = on.run(requires_that(false));
  EXPECT_TRUE(is(verdict::protocol, "", broken));
  EXPECT_EQ(broken.message, "two owners");
  EXPECT_EQ(on.run(requires_that(true)).verdict, verdict::ok);
}

TEST(verdicts, the_first_failure_ends_the_run) {
  machine on;
  const outcome ended = on.run([] {
    device host;
    host.launch({.blocks = 1, .waves = 4, .lanes = 4}, [] { HEDDLE_CHECK(false, "every lane fails"); });
    host.synchronize();
    throw std::runtime_error("never reached");
  });
  EXPECT_EQ(ended.message, "every lane fails");
}

TEST(verdicts, a_launch_of_no_or_too_many_lanes_says_so) {
  machine on;
  for (const auto& [blocks, waves, lanes] :
       {std::array{0u, 1u, 1u}, {1u, 0u, 1u}, {1u, 1u, 0u}, {1u, 1u, 65u}, {1u, 1u, ~0u}}) {
    const outcome ended = on.run([=] { launch_lanes(blocks, waves, lanes); });
    EXPECT_TRUE(is(verdict::assertion, "", ended));
    EXPECT_TRUE(says(ended.message, "at least one block, one wave and one lane, and at most 64 lanes a wave"));
  }
  const outcome many = on.run([] { launch_lanes((1u << 20) + 1, 1, 1); });
  EXPECT_TRUE(is(verdict::assertion, "", many));
  EXPECT_TRUE(says(many.message, "a launch of more than"));
  EXPECT_EQ(on.run([] { launch_lanes(3, 2, 64); }).verdict, verdict::ok);
}

TEST(verdicts, more_host_threads_than_there_are_stacks_says_so) {
  machine on;
  const auto threads = [](uint32_t count) {
    return [count] {
      device host;
      for (uint32_t n = 0; n < count; ++n) host.spawn_host("short", [] {}).join();
    };
  };
  EXPECT_EQ(on.run(threads(1000)).verdict, verdict::ok);
  const outcome ended = on.run(threads(2000));
  EXPECT_TRUE(is(verdict::assertion, "", ended));
  EXPECT_TRUE(says(ended.message, "host threads"));
}

TEST(verdicts, the_steps_of_an_explained_run_tell_who_did_what_where) {
  machine on;
  const outcome ended = on.explain([] {
    device host;
    auto* const value = host.allocate_shared<uint32_t>(2, "value");
    auto thread = host.spawn_host("writer", [value] {
      line = __LINE__ + 1;
      word<uint32_t>(value[1]).store(0x2a, memory_order::release);
      word<uint32_t>(value[0]).fetch_add(1, memory_order::relaxed);
    });
    thread.join();
  });
  ASSERT_EQ(ended.verdict, verdict::ok);
  uint32_t stores = 0;
  for (const step_record& step : ended.steps_taken)
    if (step.actor == "host writer" && step.operation == "store release system") {
      ++stores;
      EXPECT_EQ(step.location, "value+0x4 (4 bytes)");
      EXPECT_EQ(step.value, "0x2a");
      EXPECT_EQ(step.where, SIM_LINE(line));
    }
  EXPECT_EQ(stores, 1u);
}

TEST(verdicts, the_budget_ends_a_run_that_works_for_ever) {
  machine on({"budget=1000"});
  const outcome ended = on.run([] {
    device host;
    auto* const value = host.allocate_shared<uint32_t>(1, "value");
    while (true) word<uint32_t>(*value).fetch_add(1, memory_order::relaxed);
  });
  EXPECT_TRUE(is(verdict::budget, "", ended));
  EXPECT_TRUE(says(ended.message, "inconclusive"));
  EXPECT_EQ(ended.steps, 2000u);
}

}  // namespace
}  // namespace heddle::sim::tests
