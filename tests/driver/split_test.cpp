// One rule for pages and work-groups.
#include <gtest/gtest.h>
#include <heddle/driver/split.h>

#include <algorithm>
#include <vector>

namespace heddle::driver {
namespace {

std::vector<uint64_t> counts(uint64_t items, uint64_t gpus) {
  std::vector<uint64_t> all;
  for (uint64_t n = 0; n < gpus; ++n) all.push_back(share_of(items, gpus, n).count);
  return all;
}

TEST(driver_split, gives_the_shares_of_the_examples) {
  EXPECT_EQ(counts(15, 4), (std::vector<uint64_t>{4, 4, 4, 3}));
  EXPECT_EQ(counts(17, 4), (std::vector<uint64_t>{5, 4, 4, 4}));
  EXPECT_EQ(counts(5, 4), (std::vector<uint64_t>{2, 1, 1, 1}));
  EXPECT_EQ(counts(3, 4), (std::vector<uint64_t>{1, 1, 1, 0}));
  EXPECT_EQ(counts(5, 3), (std::vector<uint64_t>{2, 2, 1}));
}

TEST(driver_split, fifteen_over_four_are_0_to_3_and_4_to_7_and_8_to_11_and_12_to_14) {
  EXPECT_EQ(share_of(15, 4, 0), (share{0, 4}));
  EXPECT_EQ(share_of(15, 4, 1), (share{4, 4}));
  EXPECT_EQ(share_of(15, 4, 2), (share{8, 4}));
  EXPECT_EQ(share_of(15, 4, 3), (share{12, 3}));
}

TEST(driver_split, covers_everything_once_evenly_and_in_order_for_all_counts_up_to_1000_and_all_gpus_up_to_16) {
  for (uint64_t items = 0; items <= 1000; ++items)
    for (uint64_t gpus = 1; gpus <= 16; ++gpus) {
      uint64_t next = 0;
      uint64_t left = items;
      uint64_t most = 0;
      uint64_t least = ~uint64_t{0};
      uint64_t before = ~uint64_t{0};
      for (uint64_t n = 0; n < gpus; ++n) {
        const share mine = share_of(items, gpus, n);
        ASSERT_EQ(mine.first, next) << items << " over " << gpus;
        // As the rule says it: the items that are left, divided by the GPUs that are left, rounded up.
        ASSERT_EQ(mine.count, (left + (gpus - n) - 1) / (gpus - n)) << items << " over " << gpus;
        ASSERT_LE(mine.count, before);
        before = mine.count;
        most = std::max(most, mine.count);
        least = std::min(least, mine.count);
        next = mine.end();
        left -= mine.count;
      }
      ASSERT_EQ(next, items);
      ASSERT_LE(most - least, 1u);
    }
}

}  // namespace
}  // namespace heddle::driver
