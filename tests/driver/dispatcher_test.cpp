// Work-groups on compute units: row 28 of the driver's table; and those that are executed outside of the driver.
#include "machine.h"

#include <heddle/scheduler/random_stream.h>

#include <algorithm>

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
