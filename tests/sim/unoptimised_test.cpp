// Code under test without optimization: what the compiler would inline stays a call.
#include "run.h"

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

}  // namespace
}  // namespace heddle::sim::tests
