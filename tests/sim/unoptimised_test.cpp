// Code under test without optimization: what the compiler would inline stays a call.
#include "run.h"

#include <heddle/hw/host/wait.h>

namespace heddle::sim::tests {
namespace {

// Two functions, so two places.
template <int Place>
uint64_t mask_at() {
  return target::lane_mask();
}

TEST(unoptimised, lanes_that_call_from_two_places_do_not_stand_together) {
  machine on;
  const tally seen = on.run_many(
      [] {
        device host;
        host.launch({.lanes = 2}, [] {
          const bool first = target::lane_id() == 0;
          const uint64_t mask = first ? mask_at<0>() : mask_at<1>();
          if (mask != (first ? 1u : 2u)) target::trap(fault::assertion, "a lane stands with one of another place");
        });
        host.synchronize();
      },
      200);
  EXPECT_TRUE(always(verdict::ok, seen));
}

TEST(unoptimised, lanes_that_call_from_one_place_may_stand_together) {
  machine on;
  const tally seen = on.run_many(
      [] {
        device host;
        host.launch({.lanes = 2}, [] {
          if (mask_at<0>() == 3) target::trap(fault::assertion, "together");
        });
        host.synchronize();
      },
      200);
  EXPECT_GT(seen.count(verdict::assertion), 0u);
}

/// A thread of the host that polls for a ring of a GPU.
program poll_for_doorbell(bool rings, uint64_t timeout_ns) {
  return [=] {
    device host;
    auto* const bell = host.allocate_shared<doorbell>(1, "bell");
    auto polls = host.spawn_host("polls", [=] {
      host::poll_until_rung(*bell, 0, timeout_ns);
      SIM_CHECK(timeout_ns != no_timeout || word<doorbell>(*bell).load(memory_order::relaxed) == 1);
    });
    if (rings) word<doorbell>(*bell).store(1, memory_order::release);
    polls.join();
  };
}

// What a turn has read off a clock stays in its frame: no turn would be as the one before.
TEST(unoptimised, a_poll_for_a_doorbell_ends_by_its_ring_or_its_time_and_without_either_is_a_deadlock) {
  machine on;
  EXPECT_TRUE(always(verdict::ok, on.run_many(poll_for_doorbell(true, no_timeout), 100)));
  EXPECT_TRUE(always(verdict::ok, on.run_many(poll_for_doorbell(false, 5'000'000), 100)));
  EXPECT_TRUE(always(verdict::deadlock, on.run_many(poll_for_doorbell(false, no_timeout), 5)));
}

}  // namespace
}  // namespace heddle::sim::tests
