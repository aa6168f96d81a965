#include <heddle/scheduler/pct.h>
#include <heddle/scheduler/pos.h>

#include "actors.h"
#include "chances.h"
#include "small_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

namespace heddle::scheduler {
namespace {

using machine = small_machine;
constexpr uint64_t first_seed = 1;
constexpr double confidence = 1e-6;  ///< the probability with which a strategy that keeps its promise fails a test

/// Of so many runs, those in which `fails` says so after the run of what `start` adds.
template <typename Program>
uint64_t hits(strategy& deciding, uint64_t runs, bool says_version = true) {
  machine small(says_version);
  choice_source choices;
  deciding.estimated(estimate_for(deciding, [&](choice_source& counted) {
    Program program;
    small.run(counted, [&](machine& here) { program.start(here); });
  }));
  uint64_t found = 0;
  for (uint64_t seed = first_seed; seed < first_seed + runs; ++seed) {
    Program program;
    choices.begin(deciding, seed);
    const machine::ended ended = small.run(choices, [&](machine& here) { program.start(here); });
    EXPECT_TRUE(ended.all);
    if (program.failed) ++found;
  }
  std::printf("seeds %llu to %llu: %llu hits\n", static_cast<unsigned long long>(first_seed),
              static_cast<unsigned long long>(first_seed + runs - 1), static_cast<unsigned long long>(found));
  return found;
}

/// Another actor's steps, of no consequence.
machine::actor noise(uint64_t location, uint32_t steps) {
  for (uint32_t step = 0; step < steps; ++step) co_await machine::writes(location);
}

/// Depth 1: one ordering. The value is used before it is there.
struct used_too_early {
  static constexpr uint32_t actors = 4;
  static constexpr uint32_t length = 16;
  static constexpr uint32_t depth = 1;
  bool there = false, failed = false;
  machine::actor maker() {
    co_await machine::writes(1);
    there = true;
    for (uint32_t step = 0; step < 3; ++step) co_await machine::writes(2);
  }
  machine::actor user() {
    co_await machine::reads(1);
    failed = !there;
    for (uint32_t step = 0; step < 3; ++step) co_await machine::writes(3);
  }
  void start(machine& here) {
    here.add(maker());
    here.add(noise(4, 4));
    here.add(noise(5, 4));
    here.add(user());
  }
};

/// Depth 2: a counter is read and written, and another actor runs in between.
struct lost_update {
  static constexpr uint32_t actors = 3;
  static constexpr uint32_t length = 24;
  static constexpr uint32_t depth = 2;
  uint32_t count = 0, ended = 0;
  bool failed = false;
  machine::actor add_one() {
    for (uint32_t step = 0; step < 6; ++step) co_await machine::writes(2);
    co_await machine::reads(1);
    const uint32_t read = count;
    co_await machine::writes(1);
    count = read + 1;
    failed = ++ended == 2 && count != 2;
  }
  void start(machine& here) {
    here.add(add_one());
    here.add(add_one());
    here.add(noise(3, 8));
  }
};

/// Depth 3: the reader must see both values, each between two writes.
struct both_values_seen {
  static constexpr uint32_t actors = 2;
  static constexpr uint32_t length = 14;
  static constexpr uint32_t depth = 3;
  uint32_t value = 0;
  bool failed = false;
  machine::actor writer() {
    for (uint32_t step = 0; step < 5; ++step) co_await machine::writes(2);
    co_await machine::writes(1);
    value = 1;
    co_await machine::writes(1);
    value = 2;
  }
  machine::actor reader() {
    for (uint32_t step = 0; step < 5; ++step) co_await machine::writes(3);
    co_await machine::reads(1);
    const bool first = value == 1;
    co_await machine::reads(1);
    failed = first && value == 2;
  }
  void start(machine& here) {
    here.add(reader());
    here.add(writer());
  }
};

template <typename Program>
class pct_promise : public testing::Test {};
using programs = testing::Types<used_too_early, lost_update, both_values_seen>;
TYPED_TEST_SUITE(pct_promise, programs);

TYPED_TEST(pct_promise, a_bug_is_hit_as_often_as_is_proven_at_least) {
  constexpr uint64_t runs = 20'000;
  pct_strategy deciding(TypeParam::depth);
  double promised = 1.0 / TypeParam::actors;
  for (uint32_t each = 1; each < TypeParam::depth; ++each) promised /= TypeParam::length;
  const uint64_t found = hits<TypeParam>(deciding, runs);
  EXPECT_GT(at_most(found, runs, promised), confidence) << found << " of " << runs << " promised " << promised;
}

// The tests above could not fail if every depth did.
TEST(pct_strategy, less_depth_misses_the_bug) {
  pct_strategy one(1);
  EXPECT_EQ(hits<lost_update>(one, 2'000), 0u);
  pct_strategy two(2);
  EXPECT_EQ(hits<both_values_seen>(two, 2'000), 0u);
}

TEST(pct_strategy, a_machine_that_does_not_say_who_comes_gets_the_same_answers) {
  pct_strategy deciding(3);
  EXPECT_EQ(hits<both_values_seen>(deciding, 1'000, true), hits<both_values_seen>(deciding, 1'000, false));
}

TEST(pct_strategy, change_points_are_distinct_and_cover_the_length) {
  pct_strategy deciding(5);
  auto known = std::make_shared<estimate>();
  known->steps = 40;
  deciding.estimated(known);
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    deciding.begin(seed);
    const std::set<uint64_t> points(deciding.change_points().begin(), deciding.change_points().end());
    ASSERT_EQ(points.size(), 4u);
    seen.insert(points.begin(), points.end());
  }
  EXPECT_EQ(*seen.begin(), 1u);
  EXPECT_EQ(*seen.rbegin(), 40u);
  EXPECT_EQ(seen.size(), 40u);
}

TEST(pct_strategy, depths_are_drawn_and_more_points_than_choices_end) {
  pct_strategy deciding;
  std::set<uint32_t> depths;
  auto known = std::make_shared<estimate>();
  known->steps = 3;
  deciding.estimated(known);
  for (uint64_t seed = 0; seed < 100; ++seed) {
    deciding.begin(seed);
    depths.insert(deciding.depth());
    EXPECT_LE(deciding.change_points().size(), 3u);
  }
  EXPECT_EQ(depths, (std::set<uint32_t>{2, 3, 5, 10}));
}

/// Waits without being put to sleep: it goes round and round.
struct spin {
  bool flag = false, failed = false;
  machine::actor waits() {
    while (true) {
      co_await machine::reads(1);
      if (flag) break;
      co_await machine::pauses();
    }
  }
  machine::actor sets() {
    for (uint32_t step = 0; step < 10; ++step) co_await machine::writes(2);
    co_await machine::writes(1);
    flag = true;
  }
  void start(machine& here) {
    here.add(waits());
    here.add(sets());
    here.add(waits());
  }
};

// Every run ends (hits() says so): an actor that spins lets the others go on.
TEST(pct_strategy, spinning_does_not_keep_others_from_running) {
  pct_strategy deciding(3);
  EXPECT_EQ(hits<spin>(deciding, 500, true), 0u);
  EXPECT_EQ(hits<spin>(deciding, 500, false), 0u);
}

/// Waits in a way that no machine sees: each turn changes something.
struct restless_spin {
  bool flag = false, failed = false;
  machine::actor waits() {
    while (!flag) co_await machine::writes(1);
  }
  machine::actor sets() {
    for (uint32_t step = 0; step < 10; ++step) co_await machine::writes(2);
    flag = true;
  }
  void start(machine& here) {
    here.add(waits());
    here.add(sets());
  }
};

TEST(pct_strategy, whoever_goes_on_for_longer_than_a_run_falls) {
  pct_strategy deciding(3);
  EXPECT_EQ(hits<restless_spin>(deciding, 500), 0u);
}

/// Two that wait so by turns, as a host does that has a word copied again and again: each turn of one lets the other go on.
struct restless_pair {
  bool flag = false, failed = false;
  uint32_t copies = 0, asked = 0;
  machine::actor asks() {
    while (!flag) {
      co_await machine::writes(1);
      ++asked;
      co_await machine::reads_when(1, [this] { return copies == asked; });
    }
    asked = ~0u;
  }
  machine::actor copies_it() {
    while (true) {
      co_await machine::reads_when(1, [this] { return copies != asked; });
      if (asked == ~0u) break;
      ++copies;
    }
  }
  machine::actor sets() {
    for (uint32_t step = 0; step < 10; ++step) co_await machine::writes(2);
    flag = true;
  }
  void start(machine& here) {
    here.add(asks());
    here.add(copies_it());
    here.add(sets());
  }
};

TEST(pct_strategy, those_that_go_on_by_turns_for_longer_than_a_run_fall) {
  pct_strategy deciding(3);
  EXPECT_EQ(hits<restless_pair>(deciding, 500), 0u);
}

TEST(pct_strategy, whoever_woke_in_vain_falls_and_whoever_woke_first_does_not) {
  pct_strategy deciding(1);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    deciding.begin(seed);
    candidate first = {.actor = 0, .group = 0, .operations = 5};
    const candidate second = {.actor = 1, .group = 1, .operations = 5};
    const uint32_t favourite = actors({first, second}).picked_by(deciding);
    candidate waiter = favourite == 0 ? first : second;
    const candidate other = favourite == 0 ? second : first;
    // It looked once, and waits for its first time.
    waiter.operations = 6;
    waiter.fruitless = 2;
    actors({other, {.actor = 2, .group = 2}}).picked_by(deciding);
    ASSERT_EQ(actors({waiter, other}).picked_by(deciding), favourite) << "it may have got what it waited for";
    // It looked again, in vain.
    waiter.operations = 8;
    waiter.fruitless = 4;
    actors({other, {.actor = 2, .group = 2}}).picked_by(deciding);
    ASSERT_NE(actors({waiter, other}).picked_by(deciding), favourite);
  }
}

TEST(pct_strategy, of_the_group_that_goes_on_each_is_equally_likely) {
  pct_strategy deciding(1);
  const actors all({{.actor = 0, .group = 0},
                    {.actor = 1, .group = 1, .member = 0},
                    {.actor = 2, .group = 1, .member = 1},
                    {.actor = 3, .group = 1, .member = 2}});
  uint64_t of_group = 0;
  std::map<uint32_t, uint64_t> counts;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    deciding.begin(seed);
    const uint32_t group = all[deciding.pick(all.asked())].group;
    of_group += group;
    for (int turn = 0; turn < 30; ++turn) {
      const uint32_t picked = deciding.pick(all.asked());
      ASSERT_EQ(all[picked].group, group);
      if (group == 1) ++counts[picked];
    }
  }
  EXPECT_NEAR(static_cast<double>(of_group), 100, 5 * 7.1) << "three lanes weigh no more than one";
  std::map<uint32_t, double> expected;
  for (uint32_t lane = 1; lane <= 3; ++lane) expected[lane] = static_cast<double>(of_group) * 10;
  EXPECT_LT(deviations(counts, expected), one_in_a_million);
}

TEST(pct_strategy, loads_see_the_newest_value_as_a_rule_and_each_other_one_at_times) {
  pct_strategy deciding(3);
  auto known = std::make_shared<estimate>();
  known->choices[static_cast<size_t>(choice_kind::visible)] = 300;
  deciding.estimated(known);
  uint64_t older = 0;
  std::set<uint32_t> answers;
  constexpr uint64_t runs = 200;
  for (uint64_t seed = 0; seed < runs; ++seed) {
    deciding.begin(seed);
    for (uint32_t read = 0; read < 300; ++read) {
      const uint32_t answer = deciding.pick({.kind = choice_kind::visible, .count = 3, .candidates = {}});
      answers.insert(answer);
      older += answer != 0 ? 1 : 0;
    }
  }
  // Three draws a run, two of three of which are older values; within five standard deviations.
  EXPECT_NEAR(static_cast<double>(older), 2 * runs, 5 * 20);
  EXPECT_EQ(answers.size(), 3u);
}

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
