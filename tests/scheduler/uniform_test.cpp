// What urw and surw are named after: some orders are equally likely.
#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/pct.h>
#include <heddle/scheduler/random.h>
#include <heddle/scheduler/surw.h>
#include <heddle/scheduler/urw.h>

#include "actors.h"
#include "chances.h"
#include "small_machine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

namespace heddle::scheduler {
namespace {

using machine = small_machine;

machine::actor steps(std::vector<uint64_t> locations) {
  for (const uint64_t location : locations) co_await machine::writes(location);
}

using program = std::function<void(machine&)>;

program of(std::vector<std::vector<uint64_t>> actors) {
  return [actors = std::move(actors)](machine& here) {
    for (const auto& locations : actors) here.add(steps(locations));
  };
}

/// Runs seeds 1 to `runs`, with an estimate of the program, and calls each(ended).
template <typename Each>
void run_many(strategy& deciding, const program& start, uint64_t runs, Each&& each, bool says_version = true) {
  machine small(says_version);
  deciding.estimated(estimate_for(deciding, [&](choice_source& counted) { small.run(counted, start); }));
  choice_source choices;
  for (uint64_t seed = 1; seed <= runs; ++seed) {
    choices.begin(deciding, seed);
    each(seed, small.run(choices, start));
  }
  std::printf("seeds 1 to %llu\n", static_cast<unsigned long long>(runs));
}

std::map<std::vector<uint32_t>, uint64_t> orders(strategy& deciding, const program& start, uint64_t runs,
                                                 bool says_version = true) {
  std::map<std::vector<uint32_t>, uint64_t> counts;
  run_many(deciding, start, runs, [&](uint64_t, const machine::ended& ended) { ++counts[ended.order]; }, says_version);
  return counts;
}

/// All orders of as many steps of each actor, each with the same count.
std::map<std::vector<uint32_t>, double> all_orders(std::vector<uint32_t> left, double runs) {
  std::map<std::vector<uint32_t>, double> all;
  std::vector<uint32_t> order;
  const std::function<void()> extend = [&] {
    bool complete = true;
    for (uint32_t actor = 0; actor < left.size(); ++actor) {
      if (left[actor] == 0) continue;
      complete = false;
      --left[actor];
      order.push_back(actor);
      extend();
      order.pop_back();
      ++left[actor];
    }
    if (complete) all[order] = 0;
  };
  extend();
  for (auto& [each, wanted] : all) wanted = runs / static_cast<double>(all.size());
  return all;
}

TEST(urw_strategy, every_order_of_steps_is_equally_likely) {
  constexpr uint64_t runs = 21'000;
  for (const bool says_version : {true, false}) {
    urw_strategy deciding;
    const auto counts = orders(deciding, of({{1, 1}, {2, 2, 2}, {1, 3}}), runs, says_version);
    EXPECT_EQ(counts.size(), 210u);
    EXPECT_LT(deviations(counts, all_orders({2, 3, 2}, runs)), one_in_a_million);
  }
}

// The test above could not fail if a random walk passed it.
TEST(random_strategy, orders_of_steps_are_not_equally_likely) {
  constexpr uint64_t runs = 21'000;
  random_strategy deciding;
  EXPECT_GT(deviations(orders(deciding, of({{1, 1}, {2, 2, 2}, {1, 3}}), runs), all_orders({2, 3, 2}, runs)),
            one_in_a_million);
}

machine::actor starts_another(machine* on, uint32_t before, uint32_t after, std::vector<uint64_t> child) {
  for (uint32_t step = 0; step < before; ++step) co_await machine::writes(1);
  on->add(steps(child));
  for (uint32_t step = 0; step < after; ++step) co_await machine::writes(1);
}

// What it lets start is still to come of a parent: orders in which the child exists are the child's and the parent's, merged.
TEST(urw_strategy, a_parent_weighs_what_it_lets_start) {
  constexpr uint64_t runs = 20'000;
  urw_strategy deciding;
  const auto counts = orders(
      deciding,
      [](machine& here) {
        here.add(starts_another(&here, 2, 1, {2, 2}));
        here.add(steps({3, 3}));
      },
      runs);
  // The child's steps are orders of their own, behind the parent's second step.
  std::map<std::vector<uint32_t>, double> expected;
  for (const auto& [order, unused] : all_orders({3, 2, 2}, runs)) {
    uint32_t of_parent = 0;
    bool can_be = true;
    for (const uint32_t actor : order) {
      of_parent += actor == 0 ? 1 : 0;
      can_be = can_be && (actor != 2 || of_parent >= 2);
    }
    if (can_be) expected[order] = 0;
  }
  for (auto& [order, wanted] : expected) wanted = static_cast<double>(runs) / static_cast<double>(expected.size());
  EXPECT_EQ(counts.size(), expected.size());
  EXPECT_LT(deviations(counts, expected), one_in_a_million);
}

TEST(urw_strategy, without_an_estimate_all_weigh_the_same) {
  urw_strategy deciding;
  deciding.estimated(nullptr);
  uint64_t second = 0;
  const actors two({{.actor = 0, .group = 0}, {.actor = 1, .group = 1}});
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    deciding.begin(seed);
    second += two.picked_by(deciding);
  }
  EXPECT_NEAR(static_cast<double>(second), 5'000, 5 * 50);
}

/// In which order the accesses to the seed's location were made.
std::map<std::vector<uint32_t>, uint64_t> orders_of_accesses(surw_strategy& deciding, const program& start,
                                                             uint64_t runs, bool says_version = true) {
  std::map<std::vector<uint32_t>, uint64_t> counts;
  run_many(
      deciding, start, runs,
      [&](uint64_t, const machine::ended& ended) {
        std::vector<uint32_t> order;
        for (size_t step = 0; step < ended.order.size(); ++step)
          if (ended.locations[step] == deciding.location()) order.push_back(ended.order[step]);
        ++counts[order];
      },
      says_version);
  return counts;
}

// Two accesses of one and three of another, however much else each has to do before.
TEST(surw_strategy, every_order_of_accesses_is_equally_likely) {
  constexpr uint64_t runs = 10'000;
  const program start = of({{1, 1}, {2, 2, 2, 2, 2, 2, 2, 2, 1, 2, 2, 1, 1}, {3, 3, 3, 3, 3, 3}});
  for (const bool says_version : {true, false}) {
    surw_strategy deciding;
    const auto counts = orders_of_accesses(deciding, start, runs, says_version);
    EXPECT_EQ(deciding.location(), 1u) << "the only one that two actors touch";
    EXPECT_LT(deviations(counts, all_orders({2, 3}, runs)), one_in_a_million);
  }
}

TEST(urw_strategy, orders_of_accesses_are_not_equally_likely) {
  constexpr uint64_t runs = 10'000;
  urw_strategy deciding;
  std::map<std::vector<uint32_t>, uint64_t> counts;
  run_many(deciding, of({{1, 1}, {2, 2, 2, 2, 2, 2, 2, 2, 1, 2, 2, 1, 1}, {3, 3, 3, 3, 3, 3}}), runs,
           [&](uint64_t, const machine::ended& ended) {
             std::vector<uint32_t> order;
             for (size_t step = 0; step < ended.order.size(); ++step)
               if (ended.locations[step] == 1) order.push_back(ended.order[step]);
             ++counts[order];
           });
  EXPECT_GT(deviations(counts, all_orders({2, 3}, runs)), one_in_a_million);
}

struct halves {
  int32_t first = 0, second = 0;
  bool failed = false;
  machine::actor writes() {
    co_await machine::writes(1);
    first = 1;
    co_await machine::writes(2);
    second = 1;
  }
  machine::actor reads() {
    co_await machine::reads(1);
    const bool seen = first == 1;
    co_await machine::reads(2);
    failed = seen && second == 0;
  }
  /// Starts the others one after another, the reader last.
  machine::actor main(machine* here) {
    for (int n = 0; n < 12; ++n) {
      co_await machine::writes(3);
      here->add(writes());
    }
    co_await machine::writes(3);
    here->add(reads());
  }
};

uint64_t writers_seen_half_way(strategy& deciding, uint64_t runs) {
  halves memory;
  uint64_t found = 0;
  run_many(
      deciding,
      [&](machine& here) {
        memory = {};
        here.add(memory.main(&here));
      },
      runs, [&](uint64_t, const machine::ended&) { found += memory.failed ? 1 : 0; });
  return found;
}

// The bug of many writers that start one after another: one is seen half-way, and no other has come as far. By a random walk the first have
// ended long before the reader starts.
TEST(surw_strategy, one_of_many_writers_is_seen_half_way) {
  surw_strategy deciding;
  random_strategy walk;
  constexpr uint64_t runs = 5'000;
  const uint64_t found = writers_seen_half_way(deciding, runs);
  const uint64_t by_walk = writers_seen_half_way(walk, runs);
  std::printf("%llu of %llu, a random walk %llu\n", static_cast<unsigned long long>(found),
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(by_walk));
  EXPECT_GT(found, 20u);
  EXPECT_GT(found, 5 * by_walk);
}

TEST(surw_strategy, each_location_that_is_shared_is_drawn_by_some_seeds) {
  surw_strategy deciding;
  std::map<uint64_t, uint64_t> drawn;
  run_many(deciding, of({{1, 2, 3, 9}, {3, 2, 1, 8}}), 900,
           [&](uint64_t, const machine::ended&) { ++drawn[deciding.location()]; });
  EXPECT_EQ(drawn.size(), 3u) << "8 and 9 are of one actor each";
  for (const auto& [location, times] : drawn) EXPECT_NEAR(static_cast<double>(times), 300, 5 * 15) << location;
}

TEST(surw_strategy, where_nobody_shares_anything_every_order_of_steps_is_equally_likely) {
  constexpr uint64_t runs = 10'000;
  surw_strategy deciding;
  EXPECT_LT(deviations(orders(deciding, of({{1, 1}, {2, 2, 2}}), runs), all_orders({2, 3}, runs)), one_in_a_million);
}

// The intended actor may wait for one that is held.
TEST(surw_strategy, a_lock_does_not_stop_it) {
  surw_strategy deciding;
  bool locked = false;
  const auto user = [](bool* lock, uint32_t times) -> machine::actor {
    for (uint32_t n = 0; n < times; ++n) {
      co_await machine::operation{.location = 7, .writes = true, .ready = [lock] { return !*lock; }};
      *lock = true;
      co_await machine::writes(1);
      co_await machine::writes(7);
      *lock = false;
    }
  };
  run_many(
      deciding,
      [&](machine& here) {
        locked = false;
        for (const uint32_t times : {3u, 1u, 5u}) here.add(user(&locked, times));
      },
      500, [&](uint64_t seed, const machine::ended& ended) { EXPECT_TRUE(ended.all) << seed; });
}

/// A spin loop that is not put to sleep: its turns give back what they counted.
TEST(uniform_strategies, whoever_spins_weighs_no_less_for_it) {
  struct {
    bool flag = false;
  } memory;
  const auto waits = [](bool* flag) -> machine::actor {
    while (true) {
      co_await machine::reads(1);
      if (*flag) break;
      co_await machine::pauses();
    }
    for (int n = 0; n < 3; ++n) co_await machine::writes(1);
  };
  const auto sets = [](bool* flag) -> machine::actor {
    for (int n = 0; n < 20; ++n) co_await machine::writes(2);
    co_await machine::writes(1);
    *flag = true;
    for (int n = 0; n < 3; ++n) co_await machine::writes(1);
  };
  urw_strategy all;
  surw_strategy some;
  for (strategy* deciding : std::initializer_list<strategy*>{&all, &some}) {
    uint64_t waiter_first = 0;
    constexpr uint64_t runs = 4'000;
    run_many(
        *deciding,
        [&](machine& here) {
          memory.flag = false;
          here.add(waits(&memory.flag));
          here.add(sets(&memory.flag));
        },
        runs,
        [&](uint64_t seed, const machine::ended& ended) {
          EXPECT_TRUE(ended.all) << seed;
          waiter_first += ended.order.back() == 1 ? 1 : 0;
        });
    // Behind the flag one has 4 steps left, or 3, and the other 3: either ends last, about as often.
    EXPECT_NEAR(static_cast<double>(waiter_first), runs / 2.0, runs * 0.12) << deciding->name();
  }
}

machine::actor works(std::vector<machine::operation> operations) {
  for (const machine::operation& each : operations) co_await each;
}

estimate of(const std::function<void(machine&)>& start) {
  machine small;
  return estimated_by([&](choice_source& choices) { small.run(choices, start); });
}

TEST(estimate, counts_all_operations_also_those_that_nobody_was_asked_about) {
  const estimate made = of([](machine& here) {
    here.add(works(std::vector<machine::operation>(5, machine::writes(1))));
    here.add(works(std::vector<machine::operation>(50, machine::writes(2))));
  });
  ASSERT_EQ(made.actors.size(), 2u);
  EXPECT_EQ(made.actors[0].operations, 5u);
  EXPECT_EQ(made.actors[1].operations, 50u);
  // What comes when one has ended is no choice.
  EXPECT_GE(made.choices_of(choice_kind::actor), 5u);
  EXPECT_LT(made.choices_of(choice_kind::actor), 55u);
  EXPECT_EQ(made.steps, 55u);
  EXPECT_EQ(made.choices_of(choice_kind::visible), 0u);
}

TEST(estimate, knows_what_two_touch_and_one_writes) {
  const estimate made = of([](machine& here) {
    using here_is = machine;
    here.add(works({here_is::reads(7), here_is::writes(9), here_is::reads(8), here_is::reads(9)}));
    here.add(works({here_is::reads(7), here_is::reads(9), here_is::writes(6), here_is::pauses()}));
  });
  ASSERT_EQ(made.shared.size(), 1u) << "7 is only read, 6 and 8 are of one actor each";
  EXPECT_EQ(made.shared[0].location, 9u);
  EXPECT_TRUE(made.shared[0].written);
  ASSERT_EQ(made.shared[0].uses.size(), 2u);
  EXPECT_EQ(made.shared[0].uses[0].actor, 0u);
  EXPECT_EQ(made.shared[0].uses[0].operations, 2u);
  EXPECT_EQ(made.shared[0].uses[1].operations, 1u);
}

TEST(estimate, turns_in_loops_that_wait_count_for_nothing) {
  struct {
    bool flag = false;
    machine::actor waits() {
      co_await machine::writes(2);
      while (true) {
        co_await machine::reads(1);
        if (flag) break;
        co_await machine::pauses();
      }
      co_await machine::writes(2);
    }
    machine::actor sets() {
      for (uint32_t step = 0; step < 200; ++step) co_await machine::writes(3);
      co_await machine::writes(1);
      flag = true;
    }
  } waiting;
  const estimate made = of([&](machine& here) {
    here.add(waiting.waits());
    here.add(waiting.sets());
  });
  EXPECT_EQ(made.actors[0].operations, 3u);
  EXPECT_EQ(made.actors[1].operations, 201u);
  ASSERT_EQ(made.shared.size(), 1u);
  EXPECT_EQ(made.shared[0].uses[0].operations, 1u) << "the one that saw it";
}

TEST(estimate, who_is_let_start_knows_by_whom) {
  const estimate made = of([](machine& here) {
    const auto child = []() -> machine::actor { co_await machine::writes(2); };
    const auto parent = [](machine* on, auto start) -> machine::actor {
      co_await machine::writes(1);
      on->add(start());
      co_await machine::writes(1);
    };
    here.add(works({machine::reads(3)}));
    here.add(parent(&here, child));
  });
  ASSERT_EQ(made.actors.size(), 3u);
  EXPECT_EQ(made.actors[0].parent, estimate::no_actor);
  EXPECT_EQ(made.actors[2].parent, 1u);
}

TEST(estimate, is_made_for_strategies_that_want_one_and_is_always_the_same) {
  uint64_t runs = 0;
  machine small;
  const auto run = [&](choice_source& choices) {
    ++runs;
    small.run(choices, [](machine& here) {
      here.add(works({machine::writes(1), machine::writes(1)}));
      here.add(works({machine::reads(1), machine::reads(1)}));
    });
  };
  random_strategy none;
  EXPECT_EQ(estimate_for(none, run), nullptr);
  EXPECT_EQ(runs, 0u);
  pct_strategy wants;
  const auto once = estimate_for(wants, run);
  ASSERT_NE(once, nullptr);
  EXPECT_EQ(runs, 1u);
  EXPECT_EQ(estimate_for(wants, run)->choices, once->choices);
}

}  // namespace
}  // namespace heddle::scheduler
