#include <heddle/scheduler/random_stream.h>
#include <heddle/sim/core/turn_order.h>

#include <gtest/gtest.h>

#include <set>

namespace heddle::sim {
namespace {

TEST(turn_order, finds_the_next_as_an_ordered_set_does) {
  constexpr uint64_t seed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  scheduler::random_stream draws(seed);
  // Ranges in which the numbers fill one word, many words under one of the level above, and many of those.
  for (const uint32_t range : {60u, 4000u, 300000u}) {
    turn_order order;
    std::set<uint32_t> expected;
    for (int round = 0; round < 2; ++round) {
      for (int step = 0; step < 20000; ++step) {
        const uint32_t number = draws.below(range);
        if (expected.erase(number) != 0) {
          order.remove(number);
        } else {
          expected.insert(number);
          order.add(number);
        }
        if (step % 4 == 0 && expected.size() > 3) {
          // Few are left at times, far from each other.
          const uint32_t last = *expected.rbegin();
          expected.erase(last);
          order.remove(last);
        }
        const uint32_t from = draws.below(range + 100);
        const auto next = expected.lower_bound(from);
        ASSERT_EQ(order.next(from), next == expected.end() ? turn_order::none : *next) << range << ' ' << from;
      }
      order.clear();
      expected.clear();
      ASSERT_EQ(order.next(0), turn_order::none);
    }
  }
}

}  // namespace
}  // namespace heddle::sim
