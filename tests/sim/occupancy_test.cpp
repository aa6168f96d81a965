// How many waves the device holds, and in which order blocks and launches start.
#include "run.h"

namespace heddle::sim::tests {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

program blocks_that_wait_for_each_other(uint32_t blocks) {
  return [blocks] {
    device host;
    auto* const arrived = host.allocate_device<uint32_t>(1, "arrived");
    host.launch({.blocks = blocks, .waves = 1, .lanes = 1}, [arrived, blocks] {
      word<uint32_t>(*arrived).fetch_add(1, release);
      while (word<uint32_t>(*arrived).load(acquire) != blocks) target::pause();
    });
    host.synchronize();
  };
}

TEST(occupancy, blocks_that_wait_for_each_other_hang_when_not_all_are_resident) {
  machine one({"resident=1"});
  // A larger device would do: the hang is not the program's alone.
  EXPECT_TRUE(always(verdict::progress, one.run_many(blocks_that_wait_for_each_other(2), 50)));
  const outcome ended = one.explain(blocks_that_wait_for_each_other(3));
  EXPECT_TRUE(says(ended.message, "waits for somebody who has none (resident=1)"));
  EXPECT_TRUE(says(ended.report, "2 waves have not started: the device holds 1 at a time"));
  machine two({"resident=2"});
  EXPECT_TRUE(always(verdict::ok, two.run_many(blocks_that_wait_for_each_other(2), 50)));
  EXPECT_TRUE(says(two.explain(blocks_that_wait_for_each_other(3)).report, "1 wave has not started"));
}

TEST(occupancy, where_places_are_kept_a_hang_for_want_of_them_is_a_deadlock) {
  for (const char* const progress : {"progress=fair", "progress=slots"}) {
    machine one({"resident=1", "places=kept", progress});
    EXPECT_TRUE(always(verdict::deadlock, one.run_many(blocks_that_wait_for_each_other(2), 50)));
    machine two({"resident=2", "places=kept", progress});
    EXPECT_TRUE(always(verdict::ok, two.run_many(blocks_that_wait_for_each_other(2), 50)));
  }
  machine one({"resident=1", "places=kept"});
  EXPECT_TRUE(says(one.explain(blocks_that_wait_for_each_other(2)).report,
                   "1 wave has not started: the device holds 1 at a time"));
}

TEST(occupancy, a_hang_that_no_device_is_large_enough_for_stays_a_deadlock) {
  const program body = [] {
    device host;
    auto* const flag = host.allocate_device<uint32_t>(1, "flag");
    host.launch({.blocks = 3, .waves = 1, .lanes = 1}, [flag] {
      while (word<uint32_t>(*flag).load(relaxed) == 0) target::pause();
    });
    host.synchronize();
  };
  for (const char* resident : {"resident=1", "resident=3"}) {
    machine on({resident});
    EXPECT_TRUE(always(verdict::deadlock, on.run_many(body, 50)));
  }
}

/// The last block frees the first; there is a place for one at a time.
TEST(occupancy, blocks_that_start_in_any_order_may_end_what_those_in_order_cannot) {
  const program body = [] {
    device host;
    auto* const flag = host.allocate_device<uint32_t>(1, "flag");
    host.launch({.blocks = 3, .waves = 1, .lanes = 1}, [flag] {
      const word<uint32_t> last_came(*flag);
      if (target::block_id() == 2) return last_came.store(1, relaxed);
      while (last_came.load(relaxed) == 0) target::pause();
    });
    host.synchronize();
  };
  machine in_order({"resident=1", "progress=slots"});
  EXPECT_TRUE(always(verdict::progress, in_order.run_many(body, 100)));
  machine any({"resident=1", "progress=slots", "starts=any"});
  const tally seen = any.run_many(body, 100);
  EXPECT_GT(seen.count(verdict::progress), 0u) << seen.text();
  EXPECT_GT(seen.count(verdict::ok), 0u) << seen.text();
  EXPECT_EQ(seen.count(verdict::ok) + seen.count(verdict::progress), seen.schedules) << seen.text();
}

/// Each wave tells how many of its launch have begun before it, and how many are there with it.
program own_work(uint32_t blocks, uint32_t waves, uint32_t resident) {
  return [=] {
    device host;
    auto* const words = host.allocate_device<uint32_t>(2, "present and ended");
    host.launch({.blocks = blocks, .waves = waves, .lanes = 2}, [words, resident] {
      const word<uint32_t> present(words[0]);
      SIM_CHECK(present.fetch_add(1, relaxed) < 2 * resident);
      target::sync_lanes(3);
      word<uint32_t>(words[1]).fetch_add(1, relaxed);
      present.fetch_sub(1, relaxed);
      target::sync_lanes(3);
    });
    host.synchronize();
    uint32_t ended = 0;
    host.copy(&ended, words + 1, sizeof ended);
    SIM_CHECK(ended == blocks * waves * 2);
  };
}

TEST(occupancy, no_more_waves_are_present_than_the_device_holds) {
  for (const std::string& strategy : all_strategies()) {
    machine four({"resident=4"}, strategy);
    EXPECT_TRUE(always(verdict::ok, four.run_many(own_work(9, 2, 4), 50)));
    // One more than the device holds is really there.
    EXPECT_TRUE(always(verdict::ok, four.run_many(own_work(2, 2, 4), 50)));
    machine six({"resident=6"}, strategy);
    // Pct runs the wave of the highest priority to its end: hardly ever are six begun at a time.
    if (strategy == "pct") continue;
    EXPECT_GT(six.run_many(own_work(9, 2, 4), 50).count(verdict::assertion), 0u) << strategy;
  }
}

TEST(occupancy, a_block_that_can_never_fit_is_reported) {
  machine on({"resident=3"});
  const outcome ended = on.run(own_work(1, 4, 3));
  EXPECT_TRUE(is(verdict::assertion, "", ended));
  EXPECT_TRUE(says(ended.message, "a block of 4 waves does not fit on a device that holds 3"));
  EXPECT_EQ(on.run(own_work(1, 3, 3)).verdict, verdict::ok);
}

TEST(occupancy, launches_run_one_after_the_other) {
  for (const std::string& strategy : all_strategies()) {
    machine on({}, strategy);
    EXPECT_TRUE(always(verdict::ok, on.run_many(
                                        [] {
                                          device host;
                                          auto* const ended = host.allocate_device<uint32_t>(1, "ended");
                                          for (uint32_t launch = 0; launch < 3; ++launch)
                                            host.launch({.blocks = 2, .waves = 2, .lanes = 1}, [ended, launch] {
                                              SIM_CHECK(word<uint32_t>(*ended).load(acquire) >= 4 * launch);
                                              word<uint32_t>(*ended).fetch_add(1, release);
                                            });
                                          host.synchronize();
                                        },
                                        100)));
  }
}

TEST(occupancy, a_launch_that_waits_for_a_later_one_hangs) {
  const auto waits_for_launch = [](bool later) {
    return [later] {
      device host;
      auto* const flag = host.allocate_device<uint32_t>(1, "flag");
      for (uint32_t launch = 0; launch < 2; ++launch)
        host.launch({}, [flag, waits = (launch == 0) == later] {
          if (waits)
            while (word<uint32_t>(*flag).load(acquire) == 0) target::pause();
          word<uint32_t>(*flag).store(1, release);
        });
      host.synchronize();
    };
  };
  machine on;
  EXPECT_TRUE(always(verdict::deadlock, on.run_many(waits_for_launch(true), 20)));
  EXPECT_TRUE(always(verdict::ok, on.run_many(waits_for_launch(false), 20)));
}

TEST(occupancy, a_launch_does_not_wait_and_a_query_tells_when_all_have_ended) {
  machine on;
  bool seen_running = false;
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [&] {
                                        device host;
                                        SIM_CHECK(host.query());
                                        auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
                                        host.launch({}, [flag] {
                                          while (word<uint32_t>(*flag).load(acquire) == 0) target::pause();
                                        });
                                        SIM_CHECK(!host.query());
                                        word<uint32_t>(*flag).store(1, release);
                                        while (!host.query()) seen_running = true;
                                        host.synchronize();
                                      },
                                      100)));
  EXPECT_TRUE(seen_running);
}

TEST(occupancy, positions_are_numbered_within_the_launch) {
  machine on({"resident=4"});
  EXPECT_TRUE(
      always(verdict::ok, on.run_many(
                              [] {
                                device host;
                                auto* const seen = host.allocate_device<uint32_t>(6, "seen");
                                for (uint32_t launch = 0; launch < 2; ++launch) {
                                  host.launch({.blocks = 3, .waves = 2, .lanes = 5}, [seen] {
                                    SIM_CHECK(target::block_id() == target::wave_id() / 2);
                                    SIM_CHECK(target::lane_count() == 5 && target::is_device());
                                    word<uint32_t>(seen[target::wave_id()]).fetch_or(1u << target::lane_id(), relaxed);
                                  });
                                  host.synchronize();
                                  uint32_t all[6] = {};
                                  host.copy(all, seen, sizeof all);
                                  for (const uint32_t lanes : all) SIM_CHECK(lanes == 0x1f);
                                  const uint32_t none[6] = {};
                                  host.copy(seen, none, sizeof none);
                                }
                                SIM_CHECK(!target::is_device() && target::lane_count() == 1);
                              },
                              50)));
}

}  // namespace
}  // namespace heddle::sim::tests
