#include <heddle/scheduler/pos.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "chances.h"
#include "small_machine.h"

namespace heddle::scheduler {
namespace {

using machine = small_machine;

machine::actor steps(std::vector<uint64_t> locations) {
  for (const uint64_t location : locations) co_await machine::writes(location);
}

/// How often each order of steps came, over `runs` seeds from 1.
std::map<std::vector<uint32_t>, uint64_t> orders(const std::vector<std::vector<uint64_t>>& actors, uint64_t runs,
                                                 bool says_version = true) {
  pos_strategy deciding;
  machine small(says_version);
  choice_source choices;
  std::map<std::vector<uint32_t>, uint64_t> counts;
  for (uint64_t seed = 1; seed <= runs; ++seed) {
    choices.begin(deciding, seed);
    ++counts[small
                 .run(choices,
                      [&](machine& here) {
                        for (const auto& locations : actors) here.add(steps(locations));
                      })
                 .order];
  }
  return counts;
}

// One operation each, all on one word: n! orders, the very case for which the method is made.
TEST(pos_strategy, orders_of_one_operation_each_are_equally_likely) {
  constexpr uint64_t runs = 24'000;
  const auto counts = orders({{1}, {1}, {1}, {1}}, runs);
  std::map<std::vector<uint32_t>, double> expected;
  std::vector<uint32_t> order = {0, 1, 2, 3};
  do expected[order] = runs / 24.0;
  while (std::next_permutation(order.begin(), order.end()));
  std::printf("seeds 1 to %llu\n", static_cast<unsigned long long>(runs));
  EXPECT_LT(deviations(counts, expected), one_in_a_million);
}

// The race of one actor's only operation with another's last of m: the first must have drawn the least of m + 1 numbers to come last, so
// that happens with probability 1/(m + 1); a random walk has 2^-m. (The reasoning of the paper's section on the base algorithm.)
TEST(pos_strategy, unrelated_operations_before_a_race_cost_little) {
  constexpr uint64_t runs = 20'000;
  for (const uint32_t before : {1u, 4u, 11u}) {
    std::vector<uint64_t> long_one;
    for (uint32_t each = 0; each < before; ++each) long_one.push_back(2);
    long_one.push_back(1);
    uint64_t last = 0;
    for (const auto& [order, times] : orders({{1}, long_one}, runs))
      if (order.back() == 0) last += times;
    const double wanted = 1.0 / (before + 2);
    EXPECT_NEAR(static_cast<double>(last), runs * wanted, 5 * std::sqrt(runs * wanted)) << before;
  }
}

// Where everything races, every actor draws anew at each step: a random walk.
TEST(pos_strategy, operations_that_all_race_are_a_random_walk) {
  constexpr uint64_t runs = 32'000;
  const std::map<std::vector<uint32_t>, double> expected = {
      {{0, 0, 1, 1}, runs / 4.0}, {{0, 1, 0, 1}, runs / 8.0}, {{0, 1, 1, 0}, runs / 8.0},
      {{1, 1, 0, 0}, runs / 4.0}, {{1, 0, 1, 0}, runs / 8.0}, {{1, 0, 0, 1}, runs / 8.0},
  };
  for (const bool says_version : {true, false})
    EXPECT_LT(deviations(orders({{1, 1}, {1, 1}}, runs, says_version), expected), one_in_a_million);
}

// Nothing races: numbers are kept, and an actor that has drawn a low one waits. A random walk would have given each of them 1/4 or 1/8.
TEST(pos_strategy, operations_that_do_not_race_keep_their_numbers) {
  constexpr uint64_t runs = 32'000;
  // AABB: B's first number is the least of three, 1/3. ABAB: A1 > B1 > A2 > B2, 1/24. ABBA: what is left of 1/2.
  const std::map<std::vector<uint32_t>, double> expected = {
      {{0, 0, 1, 1}, runs / 3.0}, {{0, 1, 0, 1}, runs / 24.0}, {{0, 1, 1, 0}, runs / 8.0},
      {{1, 1, 0, 0}, runs / 3.0}, {{1, 0, 1, 0}, runs / 24.0}, {{1, 0, 0, 1}, runs / 8.0},
  };
  for (const bool says_version : {true, false})
    EXPECT_LT(deviations(orders({{1, 1}, {2, 2}}, runs, says_version), expected), one_in_a_million);
}

TEST(pos_strategy, two_reads_do_not_race) {
  machine small;
  pos_strategy deciding;
  choice_source choices;
  const auto reader = [](uint32_t times) -> machine::actor {
    for (uint32_t each = 0; each < times; ++each) co_await machine::reads(1);
  };
  std::map<std::vector<uint32_t>, uint64_t> counts;
  constexpr uint64_t runs = 20'000;
  for (uint64_t seed = 1; seed <= runs; ++seed) {
    choices.begin(deciding, seed);
    ++counts[small
                 .run(choices,
                      [&](machine& here) {
                        here.add(reader(1));
                        here.add(reader(2));
                      })
                 .order];
  }
  // As operations on two words. If they raced, {1, 0, 1} would have 1/4.
  const std::map<std::vector<uint32_t>, double> expected = {
      {{0, 1, 1}, runs / 2.0}, {{1, 0, 1}, runs / 6.0}, {{1, 1, 0}, runs / 3.0}};
  EXPECT_LT(deviations(counts, expected), one_in_a_million);
}

}  // namespace
}  // namespace heddle::scheduler
