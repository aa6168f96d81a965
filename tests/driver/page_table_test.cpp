// The row of the page table, and the tree that it is made of.
#include <gtest/gtest.h>
#include <heddle/driver/page_table.h>
#include <heddle/scheduler/random_stream.h>

#include <map>
#include <vector>

namespace heddle::driver {
namespace {

page entry(process_id process, uint64_t virtual_address, uint64_t physical_address, device_id device = 1) {
  return {.process = process,
          .device = device,
          .virtual_address = virtual_address,
          .physical_address = physical_address,
          .size_bytes = 4096,
          .valid = true};
}

TEST(driver_page_table, an_address_within_a_page_finds_updates_and_removes_it) {
  page_table table(12);
  table.insert(entry(1, 0x5000, 0x9000)).value();
  ASSERT_NE(table.find(1, 0x5fff), nullptr);
  EXPECT_EQ(table.find(1, 0x5fff)->entry.physical_address, 0x9000u);
  EXPECT_EQ(table.find(1, 0x4fff), nullptr);
  EXPECT_EQ(table.find(1, 0x6000), nullptr);
  EXPECT_EQ(table.find(2, 0x5000), nullptr);
  EXPECT_TRUE(table.update(entry(1, 0x5123, 0xa456, 2)));
  EXPECT_EQ(table.find(1, 0x5000)->entry.physical_address, 0xa000u);
  EXPECT_EQ(table.find(1, 0x5000)->entry.virtual_address, 0x5000u);
  EXPECT_EQ(table.find(1, 0x5000)->entry.device, 2u);
  EXPECT_TRUE(table.remove(1, 0x5abc));
  EXPECT_EQ(table.find(1, 0x5000), nullptr);
  EXPECT_EQ(table.find_physical(0xa000), nullptr);
}

TEST(driver_page_table, what_is_there_twice_or_not_at_all_is_an_error_and_changes_nothing) {
  page_table table(12);
  table.insert(entry(1, 0x5000, 0x9000)).value();
  EXPECT_EQ(table.insert(entry(1, 0x5800, 0xb000)).why().name, "already there");
  EXPECT_EQ(table.insert(entry(2, 0x5000, 0x9000)).why().name, "already there") << "a physical page has one owner";
  EXPECT_EQ(table.insert(entry(1, uint64_t{1} << 60, 0xb000)).why().name, "out of range");
  EXPECT_EQ(table.remove(1, 0x7000).why().name, "not there");
  EXPECT_EQ(table.remove(2, 0x5000).why().name, "not there");
  EXPECT_EQ(table.update(entry(1, 0x7000, 0xb000)).why().name, "not there");
  EXPECT_EQ(table.pages(1), 1u);
  EXPECT_EQ(table.pages(2), 0u);
  EXPECT_EQ(table.find_physical(0xb000), nullptr);
  table.insert(entry(1, 0x6000, 0xb000)).value();
  EXPECT_EQ(table.update(entry(1, 0x5000, 0xb000)).why().name, "already there");
  EXPECT_EQ(table.find_physical(0x9000)->entry.virtual_address, 0x5000u);
  EXPECT_EQ(table.find_physical(0xb000)->entry.virtual_address, 0x6000u);
}

TEST(driver_page_table, pages_can_change_places_in_one_update) {
  page_table table(12);
  table.insert(entry(1, 0x5000, 0x9000)).value();
  table.insert(entry(1, 0x6000, 0xa000)).value();
  const std::vector<page> crossed = {entry(1, 0x5000, 0xa000), entry(1, 0x6000, 0x9000)};
  EXPECT_TRUE(table.update(crossed));
  EXPECT_EQ(table.find_physical(0xa123)->entry.virtual_address, 0x5000u);
  EXPECT_EQ(table.find_physical(0x9123)->entry.virtual_address, 0x6000u);
}

TEST(driver_page_table, keeps_the_order_of_insertion) {
  page_table table(12);
  for (const uint64_t number : std::vector<uint64_t>{7, 3, 5, 1})
    table.insert(entry(1, number << 12, number << 16)).value();
  const auto order = [&] {
    std::vector<uint64_t> seen;
    table.for_each(1, [&](const page& each) { seen.push_back(each.virtual_address >> 12); });
    return seen;
  };
  EXPECT_EQ(order(), (std::vector<uint64_t>{7, 3, 5, 1}));
  table.update(entry(1, 3 << 12, 0x900000)).value();
  EXPECT_EQ(order(), (std::vector<uint64_t>{7, 3, 5, 1}));
  table.remove(1, 7 << 12).value();
  table.remove(1, 5 << 12).value();
  table.insert(entry(1, 7 << 12, 7 << 16)).value();
  EXPECT_EQ(order(), (std::vector<uint64_t>{3, 1, 7}));
}

TEST(driver_page_table, finds_backwards_over_all_processes) {
  page_table table(12);
  table.insert(entry(1, 0x5000, 0x9000)).value();
  table.insert(entry(2, 0x5000, 0xa000)).value();
  EXPECT_EQ(table.find_physical(0x9fff)->entry.process, 1u);
  EXPECT_EQ(table.find_physical(0xa000)->entry.process, 2u);
  EXPECT_EQ(table.find_physical(0xb000), nullptr);
}

TEST(driver_page_table, the_tree_agrees_with_an_ordered_map) {
  constexpr uint64_t seed = 20;
  scheduler::random_stream random(seed);
  radix_map<uint64_t> tree;
  std::map<uint64_t, uint64_t> reference;
  for (int n = 0; n < 200'000; ++n) {
    // Keys near to each other and far apart.
    const uint64_t far = random.below(4) == 0 ? uint64_t{random.below(1 << 18)} << 18 : 0;
    const uint64_t key = far | random.below(600);
    if (random.below(2) == 0) {
      const uint64_t value = random.next();
      tree[key] = value;
      reference[key] = value;
    } else {
      tree.erase(key);
      reference.erase(key);
    }
    ASSERT_EQ(tree.size(), reference.size()) << "seed " << seed << ", step " << n;
    const uint64_t asked = random.below(600);
    const auto known = reference.find(asked);
    const uint64_t* const found = tree.find(asked);
    ASSERT_EQ(found != nullptr, known != reference.end()) << "seed " << seed << ", step " << n;
    if (found != nullptr) {
      ASSERT_EQ(*found, known->second);
    }
  }
  std::vector<std::pair<uint64_t, uint64_t>> in_order;
  tree.for_each([&](uint64_t key, uint64_t value) { in_order.emplace_back(key, value); });
  EXPECT_EQ(in_order, (std::vector<std::pair<uint64_t, uint64_t>>(reference.begin(), reference.end())));
  EXPECT_EQ(tree.find(uint64_t{1} << 36), nullptr);
}

}  // namespace
}  // namespace heddle::driver
