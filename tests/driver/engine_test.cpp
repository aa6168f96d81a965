// The event engine: ties, time, ticks.
#include <heddle/driver/engine.h>
#include <heddle/scheduler/random_stream.h>

#include "machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace heddle::driver {
namespace {

class log final : public event_handler {
 public:
  void handle(const timed_event& now) override {
    seen.push_back(now.what);
    if (then) then(now);
  }
  std::vector<uint64_t> seen;
  std::function<void(const timed_event&)> then;
};

TEST(driver_engine, of_one_time_primary_events_come_first_and_then_those_scheduled_earlier) {
  event_engine engine;
  log all;
  engine.schedule(5, event_rank::secondary, all, 1).value();
  engine.schedule(5, event_rank::primary, all, 2).value();
  engine.schedule(4, event_rank::secondary, all, 3).value();
  engine.schedule(5, event_rank::secondary, all, 4).value();
  engine.schedule(5, event_rank::primary, all, 5).value();
  engine.run();
  EXPECT_EQ(all.seen, (std::vector<uint64_t>{3, 2, 5, 1, 4}));
  EXPECT_EQ(engine.now(), 5u);
  EXPECT_EQ(engine.handled(), 5u);
}

TEST(driver_engine, its_owner_may_choose_and_what_one_handler_is_told_of_one_thing_keeps_its_order) {
  event_engine engine;
  log one;
  log other;
  engine.schedule(1, event_rank::primary, one, 1).value();
  engine.schedule(2, event_rank::primary, one, 1).value();
  engine.schedule(3, event_rank::primary, one, 2).value();
  engine.schedule(9, event_rank::primary, other, 1).value();
  ASSERT_EQ(engine.choices(), 3u);
  engine.step(2);
  EXPECT_EQ(other.seen, (std::vector<uint64_t>{1}));
  EXPECT_EQ(engine.now(), 9u);
  engine.step(1);
  EXPECT_EQ(one.seen, (std::vector<uint64_t>{2}));
  EXPECT_EQ(engine.now(), 9u) << "what is overtaken is late";
  ASSERT_EQ(engine.choices(), 1u);
  engine.step(0);
  engine.step(0);
  EXPECT_EQ(one.seen, (std::vector<uint64_t>{2, 1, 1}));
  EXPECT_EQ(engine.choices(), 0u);
}

TEST(driver_engine, a_primary_event_that_a_secondary_one_schedules_for_now_comes_before_the_other_secondary_ones) {
  event_engine engine;
  log all;
  all.then = [&](const timed_event& now) {
    if (now.what == 1) engine.schedule(now.time, event_rank::primary, all, 3).value();
  };
  engine.schedule(5, event_rank::secondary, all, 1).value();
  engine.schedule(5, event_rank::secondary, all, 2).value();
  engine.run();
  EXPECT_EQ(all.seen, (std::vector<uint64_t>{1, 3, 2}));
}

TEST(driver_engine, scheduling_in_the_past_is_an_error_that_names_both_times) {
  event_engine engine;
  log all;
  engine.schedule(10, event_rank::primary, all).value();
  engine.run();
  const result<void> said = engine.schedule(9, event_rank::primary, all);
  ASSERT_FALSE(said);
  EXPECT_EQ(said.why().line(), "schedule(time 9 ps): in the past: it is 10 ps already");
  EXPECT_TRUE(engine.schedule(10, event_rank::primary, all));
  EXPECT_EQ(engine.pending(), 1u);
}

TEST(driver_engine, run_until_stops_behind_all_events_of_its_time) {
  event_engine engine;
  log all;
  all.then = [&](const timed_event& now) {
    if (now.what == 1) engine.schedule(now.time, event_rank::secondary, all, 7).value();
  };
  engine.schedule(10, event_rank::primary, all, 1).value();
  engine.schedule(10, event_rank::secondary, all, 2).value();
  engine.schedule(11, event_rank::primary, all, 3).value();
  engine.run_until(10);
  EXPECT_EQ(all.seen, (std::vector<uint64_t>{1, 2, 7}));
  EXPECT_EQ(engine.now(), 10u);
  EXPECT_EQ(engine.next_time(), 11u);
  engine.run_until(30);
  EXPECT_EQ(engine.now(), 30u);
  EXPECT_EQ(engine.next_time(), never);
  engine.run_until(20);
  EXPECT_EQ(engine.now(), 30u) << "time does not go back";
}

TEST(driver_engine, a_hook_sees_each_event_before_and_after) {
  class both final : public engine_hook {
   public:
    void before(const timed_event& which) override { said += "<" + std::to_string(which.what); }
    void after(const timed_event& which) override { said += std::to_string(which.what) + ">"; }
    std::string said;
  } hook;
  event_engine engine;
  log all;
  engine.set_hook(&hook);
  engine.schedule(1, event_rank::primary, all, 4).value();
  engine.schedule(2, event_rank::primary, all, 5).value();
  engine.run();
  EXPECT_EQ(hook.said, "<44><55>");
}

class worker final : public ticking {
 public:
  worker(event_engine& engine, int work) : ticking(engine, 10), engine_(&engine), work_(work) {}
  bool tick() override {
    at.push_back(engine_->now());
    return work_-- > 0;
  }
  std::vector<picoseconds> at;

 private:
  event_engine* engine_;
  int work_;
};

TEST(driver_engine, something_ticks_as_long_as_it_gets_on) {
  event_engine engine;
  worker it(engine, 3);
  it.tick_soon();
  engine.run();
  EXPECT_EQ(it.at, (std::vector<picoseconds>{0, 10, 20, 30}));
  EXPECT_EQ(engine.pending(), 0u) << "it sleeps";
}

TEST(driver_engine, two_wishes_for_one_tick_are_one) {
  event_engine engine;
  worker it(engine, 0);
  it.tick_at(15);
  it.tick_at(20);
  it.tick_soon();
  it.tick_soon();
  engine.run();
  EXPECT_EQ(it.at, (std::vector<picoseconds>{0, 20}));
  // It has ticked at 20 already.
  it.tick_soon();
  engine.run();
  EXPECT_EQ(it.at, (std::vector<picoseconds>{0, 20, 30}));
}

TEST(driver_engine, a_tick_between_two_cycles_is_at_the_next_one) {
  event_engine engine;
  worker it(engine, 0);
  engine.run_until(11);
  it.tick_soon();
  engine.run();
  EXPECT_EQ(it.at, (std::vector<picoseconds>{20}));
}

}  // namespace
}  // namespace heddle::driver

// -- Work-groups on compute units: row 28 of the driver's table; and those that are executed outside of the driver.

namespace heddle::driver::tests {
namespace {

using enum dispatch_policy;

TEST(driver_dispatcher, greedy_fills_the_first_unit_and_round_robin_goes_round) {
  const auto units = [](dispatch_policy policy) {
    dispatcher it(3, 2, policy);
    dispatcher::work work;
    it.begin(work, {.first = 10, .count = 100});
    std::vector<uint32_t> all;
    uint64_t next = 10;
    while (const auto placed = it.place(work)) {
      all.push_back(placed->unit);
      if (policy != partition) {
        EXPECT_EQ(placed->group, next++);
      }
    }
    return all;
  };
  EXPECT_EQ(units(greedy), (std::vector<uint32_t>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(units(round_robin), (std::vector<uint32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(units(partition), (std::vector<uint32_t>{0, 1, 2, 0, 1, 2}));
}

TEST(driver_dispatcher, partition_gives_each_unit_consecutive_groups_of_the_gpus_share) {
  dispatcher it(3, 8, partition);
  dispatcher::work work;
  it.begin(work, {.first = 100, .count = 7});
  std::vector<std::vector<uint64_t>> by_unit(3);
  while (const auto placed = it.place(work)) by_unit[placed->unit].push_back(placed->group);
  EXPECT_EQ(by_unit, (std::vector<std::vector<uint64_t>>{{100, 101, 102}, {103, 104}, {105, 106}}));
}

TEST(driver_dispatcher, each_policy_runs_every_group_once_and_no_unit_has_more_than_it_holds) {
  constexpr uint64_t seed = 8;
  scheduler::random_stream random(seed);
  for (const dispatch_policy policy : {greedy, round_robin, partition})
    for (int round = 0; round < 200; ++round) {
      const uint32_t units = 1 + random.below(130);
      const uint32_t most = 1 + random.below(3);
      dispatcher it(units, most, policy);
      // Two kernels at a time, each with a share of its own.
      std::vector<dispatcher::work> works(2);
      std::vector<std::vector<uint32_t>> times(2);
      for (size_t n = 0; n < 2; ++n) {
        const uint32_t count = random.below(300);
        times[n].resize(1000 + count);
        it.begin(works[n], {.first = 1000, .count = count});
      }
      std::vector<uint32_t> on;
      while (works[0].left + works[1].left != 0 || !on.empty()) {
        const size_t which = random.below(2);
        const auto placed = it.place(works[which]);
        if (placed) {
          ++times[which].at(placed->group);
          on.push_back(placed->unit);
          ASSERT_LE(it.groups_on(placed->unit), most) << "seed " << seed;
        }
        if (!on.empty() && (!placed || random.below(3) == 0)) {
          const uint32_t leaving = random.below(static_cast<uint32_t>(on.size()));
          it.leave(on[leaving]);
          on.erase(on.begin() + leaving);
        }
      }
      for (const auto& each : times)
        for (size_t group = 1000; group < each.size(); ++group)
          ASSERT_EQ(each[group], 1u) << "seed " << seed << ", round " << round;
    }
}

TEST(driver_dispatcher, kernels_run_whole_by_every_policy_on_a_unified_device) {
  for (const dispatch_policy policy : {greedy, round_robin, partition}) {
    driver_settings settings = small();
    settings.dispatch = policy;
    machine it({16, 16}, settings);
    it.select(it.unified({1, 2}));
    uint32_t most = 0;
    it.kernels.what = [&](const work_group& group, group_memory_port&) -> execution {
      most = std::max(most, it.driver.gpu_of(group.device)->units().groups_on(group.unit));
      return {.duration = 1000 * (1 + group.flat % 7)};
    };
    it.driver.launch(it.context, a_launch({101, 1, 1}, {1, 1, 1})).value();
    std::vector<uint32_t> times(101);
    for (const work_group& each : it.kernels.executed) ++times[each.flat];
    EXPECT_EQ(times, std::vector<uint32_t>(101, 1));
    EXPECT_EQ(most, 2u);
  }
}

TEST(driver_dispatcher, at_most_so_many_groups_start_in_a_cycle) {
  driver_settings settings = small();
  settings.groups_per_cycle = 3;
  settings.groups_per_unit = 8;
  machine it({16}, settings);
  std::vector<picoseconds> started;
  it.kernels.what = [&](const work_group&, group_memory_port&) -> execution {
    started.push_back(it.driver.now());
    return {.duration = 1'000'000};
  };
  it.driver.launch(it.context, a_launch({10, 1, 1}, {1, 1, 1})).value();
  ASSERT_EQ(started.size(), 10u);
  for (size_t n = 0; n < started.size(); ++n) EXPECT_EQ(started[n] - started[0], n / 3 * 1000);
}

TEST(driver_dispatcher, two_kernels_of_two_queues_share_a_gpu) {
  machine it({32});
  it.kernels.what = [](const work_group&, group_memory_port&) -> execution { return {.duration = 100'000'000}; };
  const queue_id first = it.queue();
  const queue_id second = it.queue();
  it.driver.queues().enqueue_launch(first, a_launch({4, 1, 1}, {1, 1, 1})).value();
  it.driver.queues().enqueue_launch(second, a_launch({4, 1, 1}, {1, 1, 1})).value();
  it.driver.drain(first).value();
  it.driver.drain(second).value();
  EXPECT_LT(it.driver.now(), 200'000'000u) << "at the same time, not one after the other";
}

TEST(driver_dispatcher, what_a_runner_leaves_to_somebody_ends_when_he_says_so) {
  machine it({16});
  it.kernels.what = [](const work_group&, group_memory_port&) -> execution { return {.how = execution::state::later}; };
  const queue_id queue = it.queue();
  it.driver.queues().enqueue_launch(queue, a_launch({12, 1, 1}, {1, 1, 1})).value();
  EXPECT_TRUE(fails(it.driver.drain(queue), "waits", {"8 work-groups"})) << "as many as the units hold";
  EXPECT_EQ(it.driver.outside(), 8u);
  size_t finished = 0;
  while (!it.driver.is_empty(queue)) {
    ASSERT_LT(finished, it.kernels.executed.size());
    const work_group group = it.kernels.executed[finished++];
    EXPECT_TRUE(works(it.driver.finish(group)));
    EXPECT_TRUE(fails(it.driver.finish(group), "invalid value")) << "once";
    while (it.driver.step()) {
    }
  }
  EXPECT_EQ(finished, 12u);
  EXPECT_EQ(it.driver.outside(), 0u);
  EXPECT_TRUE(works(it.driver.drain(queue)));
}

}  // namespace
}  // namespace heddle::driver::tests
