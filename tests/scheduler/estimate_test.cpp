#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/pct.h>
#include <heddle/scheduler/random.h>

#include <gtest/gtest.h>

#include "small_machine.h"

namespace heddle::scheduler {
namespace {

using machine = small_machine;

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
  } program;
  const estimate made = of([&](machine& here) {
    here.add(program.waits());
    here.add(program.sets());
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
  EXPECT_EQ(made.actors[0].parent, estimate::nobody);
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
