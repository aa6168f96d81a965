// Progress models: small programs whose verdict under each model follows from the model's definition, and the shapes of
// an RPC under them. Host threads are always guaranteed turns, and a wave starts when none of the device is.
#include "run.h"

#include <heddle/scheduler/replay.h>

#include <algorithm>
#include <map>

namespace heddle::sim::tests::progress_test {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

/// Runs `kernel(words)` on waves of one lane, with 8 zeroed words; `serve(words)` on a host thread beside them.
template <typename Kernel, typename Serve>
program waves_and_server(uint32_t waves, Kernel kernel, Serve serve) {
  return [=] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(8, "words");
    auto server = host.spawn_host("server", [words, serve] { serve(words); });
    host.launch({.blocks = waves, .waves = 1, .lanes = 1}, [words, kernel] { kernel(words); });
    host.synchronize();
    server.join();
  };
}

template <typename Kernel>
program waves_of(uint32_t waves, Kernel kernel) {
  return waves_and_server(waves, kernel, [](uint32_t*) {});
}

void wait_until(uint32_t& flag, uint32_t wanted) {
  while (word<uint32_t>(flag).load(acquire) != wanted) target::pause();
}

void take(uint32_t& lock) {
  while (word<uint32_t>(lock).exchange(1, acquire) != 0) target::pause();
}
void give(uint32_t& lock) { word<uint32_t>(lock).store(0, release); }

/// A request that the server answers.
void call(uint32_t& port) {
  word<uint32_t>(port).store(1, release);
  wait_until(port, 2);
}
void serve_calls(uint32_t& port, uint32_t& served, uint32_t calls) {
  // Reads all ports of the program in turn; every request is answered.
  if (served == calls) return;
  if (word<uint32_t>(port).load(acquire) != 1) return;
  ++served;
  word<uint32_t>(port).store(2, release);
}

struct expected {
  verdict fair;
  verdict hsa;
  verdict obe;
  verdict hsa_obe;
  verdict lobe;
  verdict unfair;
};
constexpr verdict ok = verdict::ok;
constexpr verdict progress = verdict::progress;
constexpr verdict deadlock = verdict::deadlock;

/// `ok` and `deadlock` in every schedule; `progress` in some schedule of some strategy, and nothing else beside ok.
void check(const char* name, const program& body, const expected& wanted) {
  const std::pair<const char*, verdict> models[] = {{"fair", wanted.fair}, {"hsa", wanted.hsa},
                                                    {"obe", wanted.obe},   {"hsa_obe", wanted.hsa_obe},
                                                    {"lobe", wanted.lobe}, {"unfair", wanted.unfair}};
  for (const auto& [model, verdict_wanted] : models) {
    uint64_t hangs = 0;
    for (const std::string& strategy : all_strategies()) {
      machine on({std::string("progress=") + model}, strategy);
      const tally seen = on.run_many(body, 200);
      if (verdict_wanted == progress) {
        EXPECT_EQ(seen.count(ok) + seen.count(progress), seen.schedules) << name << ": " << seen.text();
        hangs += seen.count(progress);
      } else {
        EXPECT_TRUE(always(verdict_wanted, seen)) << name;
      }
    }
    if (verdict_wanted == progress) {
      EXPECT_GT(hangs, 0u) << name << " never hangs under " << model;
    }
  }
}

TEST(progress_models, waves_that_do_their_own_work_need_a_turn_and_nothing_else) {
  check("own work",
        waves_of(3, [](uint32_t* words) { word<uint32_t>(words[target::wave_id()]).fetch_add(1, relaxed); }),
        {.fair = ok, .hsa = ok, .obe = ok, .hsa_obe = ok, .lobe = ok, .unfair = progress});
}

TEST(progress_models, a_wave_that_waits_for_one_of_higher_id_needs_fair) {
  check("0 waits for 1",
        waves_of(2,
                 [](uint32_t* words) {
                   if (target::wave_id() == 0)
                     wait_until(words[0], 1);
                   else
                     word<uint32_t>(words[0]).store(1, release);
                 }),
        {.fair = ok, .hsa = progress, .obe = progress, .hsa_obe = progress, .lobe = progress, .unfair = progress});
}

TEST(progress_models, a_wave_that_waits_for_one_of_lower_id_needs_hsa) {
  check("1 waits for 0",
        waves_of(2,
                 [](uint32_t* words) {
                   if (target::wave_id() == 1)
                     wait_until(words[0], 1);
                   else
                     word<uint32_t>(words[0]).store(1, release);
                 }),
        {.fair = ok, .hsa = ok, .obe = progress, .hsa_obe = ok, .lobe = ok, .unfair = progress});
}

TEST(progress_models, a_spin_lock_needs_obe) {
  check("lock",
        waves_of(3,
                 [](uint32_t* words) {
                   take(words[0]);
                   ++words[1];
                   give(words[0]);
                 }),
        {.fair = ok, .hsa = progress, .obe = ok, .hsa_obe = ok, .lobe = ok, .unfair = progress});
}

TEST(progress_models, a_barrier_of_waves_needs_fair) {
  check("barrier",
        waves_of(3,
                 [](uint32_t* words) {
                   word<uint32_t>(words[0]).fetch_add(1, relaxed);
                   wait_until(words[0], 3);
                 }),
        {.fair = ok, .hsa = progress, .obe = progress, .hsa_obe = progress, .lobe = progress, .unfair = progress});
}

TEST(progress_models, a_flag_that_nobody_sets_is_a_deadlock_under_every_model) {
  check(
      "nothing", waves_of(1, [](uint32_t* words) { wait_until(words[0], 1); }),
      {.fair = deadlock, .hsa = deadlock, .obe = deadlock, .hsa_obe = deadlock, .lobe = deadlock, .unfair = deadlock});
}

TEST(progress_models, a_deadlock_stays_one_when_waves_that_could_not_help_are_starved) {
  // To starve wave 1 for ever does not cause the hang: with every wave running it is the same.
  check(
      "nothing, and others work",
      waves_of(3,
               [](uint32_t* words) {
                 if (target::wave_id() == 0)
                   wait_until(words[0], 1);
                 else
                   for (uint32_t n = 0; n < 5; ++n) word<uint32_t>(words[1]).fetch_add(1, relaxed);
               }),
      {.fair = deadlock, .hsa = deadlock, .obe = deadlock, .hsa_obe = deadlock, .lobe = deadlock, .unfair = deadlock});
}

TEST(progress_models, a_deadlock_stays_one_when_waves_that_were_starved_wake_the_waiting_one_for_nothing) {
  check(
      "nothing, and others change the word",
      waves_of(2,
               [](uint32_t* words) {
                 if (target::wave_id() == 0)
                   wait_until(words[0], 1);
                 else
                   for (uint32_t n = 2; n < 5; ++n) word<uint32_t>(words[0]).store(n, release);
               }),
      {.fair = deadlock, .hsa = deadlock, .obe = deadlock, .hsa_obe = deadlock, .lobe = deadlock, .unfair = deadlock});
}

TEST(progress_models, a_hang_that_another_wave_would_end_after_some_work_is_one_of_progress) {
  check("0 waits for 1, which works first",
        waves_of(2,
                 [](uint32_t* words) {
                   if (target::wave_id() == 0) return wait_until(words[0], 1);
                   for (uint32_t n = 0; n < 5; ++n) word<uint32_t>(words[1]).fetch_add(1, relaxed);
                   word<uint32_t>(words[0]).store(1, release);
                 }),
        {.fair = ok, .hsa = progress, .obe = progress, .hsa_obe = progress, .lobe = progress, .unfair = progress});
}

TEST(progress_models, a_wave_below_one_that_has_stepped_is_what_lobe_adds) {
  // Wave 0 waits for wave 1, and only after wave 2 has stepped.
  check("0 waits for 2, then for 1",
        waves_of(3,
                 [](uint32_t* words) {
                   if (target::wave_id() == 1) return word<uint32_t>(words[1]).store(1, release);
                   if (target::wave_id() == 2) return word<uint32_t>(words[2]).store(1, release);
                   if (word<uint32_t>(words[2]).load(acquire) == 1) wait_until(words[1], 1);
                 }),
        {.fair = ok, .hsa = progress, .obe = progress, .hsa_obe = progress, .lobe = ok, .unfair = progress});
}

TEST(progress_models, under_slots_every_wave_with_a_place_gets_its_turn_and_no_other) {
  const auto barrier = [](uint32_t waves) {
    return waves_of(waves, [waves](uint32_t* words) {
      word<uint32_t>(words[0]).fetch_add(1, relaxed);
      wait_until(words[0], waves);
    });
  };
  for (const std::string& strategy : all_strategies()) {
    machine on({"progress=slots", "resident=2"}, strategy);
    EXPECT_TRUE(always(ok, on.run_many(barrier(2), 100)));
    EXPECT_TRUE(always(progress, on.run_many(barrier(3), 100)));
  }
}

TEST(progress_models, under_cuda_the_waves_of_a_block_that_has_stepped_get_their_turn) {
  const auto barrier_of = [](const launch_shape& shape) {
    return [shape] {
      device host;
      auto* const count = host.allocate_shared<uint32_t>(1, "count");
      host.launch(shape, [count, waves = shape.blocks * shape.waves] {
        word<uint32_t>(*count).fetch_add(1, relaxed);
        wait_until(*count, waves);
      });
      host.synchronize();
    };
  };
  uint64_t hangs = 0;
  for (const std::string& strategy : all_strategies()) {
    machine on({"progress=cuda"}, strategy);
    EXPECT_TRUE(always(ok, on.run_many(barrier_of({.blocks = 1, .waves = 3, .lanes = 1}), 200)));
    const tally seen = on.run_many(barrier_of({.blocks = 3, .waves = 1, .lanes = 1}), 200);
    EXPECT_EQ(seen.count(ok) + seen.count(progress), seen.schedules) << seen.text();
    hangs += seen.count(progress);
  }
  EXPECT_GT(hangs, 0u);
}

// CUDA's execution model: a kernel starts for a host that is in a call, or that calls again and again.
TEST(progress_models, under_cuda_a_kernel_need_not_start_while_the_host_asks_for_nothing) {
  enum class asks { never, once, in_the_loop };
  const auto host_waits = [](asks how) {
    return [how] {
      device host;
      auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
      host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [flag] { word<uint32_t>(*flag).store(1, release); });
      if (how == asks::once) host.query();
      while (word<uint32_t>(*flag).load(acquire) == 0) {
        if (how == asks::in_the_loop) host.query();
        target::pause();
      }
      host.synchronize();
    };
  };
  for (const asks how : {asks::never, asks::once, asks::in_the_loop}) {
    uint64_t hangs = 0;
    for (const std::string& strategy : all_strategies()) {
      machine on({"progress=cuda"}, strategy);
      const tally seen = on.run_many(host_waits(how), 200);
      EXPECT_EQ(seen.count(ok) + seen.count(progress), seen.schedules) << seen.text();
      hangs += seen.count(progress);
    }
    EXPECT_EQ(hangs != 0, how != asks::in_the_loop) << "asks " << static_cast<int>(how);
  }
}

// -- shapes of an RPC: the server is a host thread --------------------------------------------------------------------------------

TEST(progress_models, waves_with_a_port_each_need_hsa_or_obe) {
  check("own ports",
        waves_and_server(
            2, [](uint32_t* words) { call(words[target::wave_id()]); },
            [](uint32_t* words) {
              for (uint32_t served = 0; served < 2; target::pause())
                for (uint32_t port = 0; port < 2; ++port) serve_calls(words[port], served, 2);
            }),
        {.fair = ok, .hsa = ok, .obe = ok, .hsa_obe = ok, .lobe = ok, .unfair = progress});
}

template <uint32_t Waves>
program shared_port() {
  return waves_and_server(
      Waves,
      [](uint32_t* words) {
        take(words[1]);
        call(words[0]);
        give(words[1]);
      },
      [](uint32_t* words) {
        for (uint32_t served = 0; served < Waves; target::pause()) serve_calls(words[0], served, Waves);
      });
}

TEST(progress_models, waves_that_share_a_port_under_a_lock_need_obe) {
  check("two share a port", shared_port<2>(),
        {.fair = ok, .hsa = progress, .obe = ok, .hsa_obe = ok, .lobe = ok, .unfair = progress});
  check("three share a port", shared_port<3>(),
        {.fair = ok, .hsa = progress, .obe = ok, .hsa_obe = ok, .lobe = ok, .unfair = progress});
}

TEST(progress_models, three_waves_that_scan_two_ports_with_try_lock_need_obe) {
  check("scan",
        waves_and_server(
            3,
            [](uint32_t* words) {
              for (uint32_t port = 0;; port = 1 - port) {
                if (word<uint32_t>(words[2 + port]).exchange(1, acquire) == 0) {
                  call(words[port]);
                  return give(words[2 + port]);
                }
                target::pause();
              }
            },
            [](uint32_t* words) {
              for (uint32_t served = 0; served < 3; target::pause())
                for (uint32_t port = 0; port < 2; ++port) serve_calls(words[port], served, 3);
            }),
        {.fair = ok, .hsa = progress, .obe = ok, .hsa_obe = ok, .lobe = ok, .unfair = progress});
}

TEST(progress_models, a_wave_that_waits_for_what_another_does_after_its_call) {
  const auto ports = [](uint32_t* words) {
    for (uint32_t served = 0; served < 2; target::pause())
      for (uint32_t port = 0; port < 2; ++port) serve_calls(words[port], served, 2);
  };
  const auto waits = [&](uint32_t waiter) {
    return waves_and_server(
        2,
        [waiter](uint32_t* words) {
          if (target::wave_id() == waiter) wait_until(words[4], 1);
          call(words[target::wave_id()]);
          if (target::wave_id() != waiter) word<uint32_t>(words[4]).store(1, release);
        },
        ports);
  };
  check("0 waits for what 1 does after its call", waits(0),
        {.fair = ok, .hsa = progress, .obe = progress, .hsa_obe = progress, .lobe = progress, .unfair = progress});
  check("1 waits for what 0 does after its call", waits(1),
        {.fair = ok, .hsa = ok, .obe = progress, .hsa_obe = ok, .lobe = ok, .unfair = progress});
}

// -- fairness in the small ----------------------------------------------------------------------------------------------------------

TEST(progress_models, a_starved_wave_of_the_fair_set_gets_its_turn) {
  // Under obe and fair the victim may be passed over for a while, not for ever: wave 0 works until wave 1 has stored.
  const program body = waves_of(2, [](uint32_t* words) {
    if (target::wave_id() == 1) {
      word<uint32_t>(words[1]).fetch_add(1, relaxed);
      word<uint32_t>(words[0]).store(1, release);
      return;
    }
    while (word<uint32_t>(words[0]).load(acquire) == 0) word<uint32_t>(words[2]).fetch_add(1, relaxed);
  });
  for (const std::string& strategy : {std::string("starve"), std::string("starve:3"), std::string("mix")}) {
    machine on({"progress=fair"}, strategy);
    EXPECT_TRUE(always(verdict::ok, on.run_many(body, 100)));
  }
}

TEST(progress_models, under_obe_a_wave_that_has_not_started_may_be_starved_for_ever) {
  const program body = waves_of(2, [](uint32_t* words) {
    if (target::wave_id() == 1) return word<uint32_t>(words[0]).store(1, release);
    while (word<uint32_t>(words[0]).load(acquire) == 0) word<uint32_t>(words[2]).fetch_add(1, relaxed);
  });
  // Wave 0 never waits, and only counts: the tail in which only the fair set runs shows that it does so for ever.
  machine on({"progress=obe", "budget=2000"}, "starve");
  const tally seen = on.run_many(body, 100);
  EXPECT_GT(seen.count(verdict::progress), 0u) << seen.text();
  EXPECT_EQ(seen.count(verdict::progress) + seen.count(verdict::ok), seen.schedules) << seen.text();
}

TEST(progress_models, somebody_starts_when_no_wave_is_guaranteed_a_turn) {
  // Under obe no wave is at first, and the host waits.
  for (const std::string& strategy : all_strategies()) {
    machine on({"progress=obe"}, strategy);
    EXPECT_TRUE(
        always(verdict::ok,
               on.run_many(waves_of(4, [](uint32_t* words) { word<uint32_t>(words[0]).fetch_add(1, relaxed); }), 100)));
  }
}

TEST(progress_models, the_report_says_who_waits_and_who_is_not_guaranteed_a_turn) {
  machine on({"progress=hsa"}, "starve:3");
  const program body = waves_of(2, [](uint32_t* words) {
    if (target::wave_id() == 0)
      wait_until(words[0], 1);
    else
      word<uint32_t>(words[0]).store(1, release);
  });
  const tally seen = on.run_many(body, 50);
  ASSERT_GT(seen.count(verdict::progress), 0u) << seen.text();
  const outcome ended = on.explain(body, seen.first_seeds.at(verdict::progress));
  EXPECT_TRUE(says(ended.message, "the progress model 'hsa'"));
  EXPECT_TRUE(says(ended.report, "wave 0, block 0, lane 0: waits in a loop"));
  EXPECT_TRUE(says(ended.report, "wave 1, block 1, lane 0: can run, but is not guaranteed a turn"));
  EXPECT_TRUE(says(ended.report, "reads words+0x0 (4 bytes) = 0x0"));
  EXPECT_TRUE(says(ended.report, "progress models under which one of these would have to move: fair"));
}

// -- How many waves the device holds, and in which order blocks and launches start.

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
  EXPECT_TRUE(says(ended.message, "waits for what has none (resident=1)"));
  EXPECT_TRUE(says(ended.report, "2 waves have not started: the device holds 1 at a time"));
  machine two({"resident=2"});
  EXPECT_TRUE(always(verdict::ok, two.run_many(blocks_that_wait_for_each_other(2), 50)));
  EXPECT_TRUE(says(two.explain(blocks_that_wait_for_each_other(3)).report, "1 wave has not started"));
}

TEST(occupancy, where_places_are_kept_a_hang_for_want_of_them_is_a_deadlock) {
  for (const char* const model : {"progress=fair", "progress=slots"}) {
    machine one({"resident=1", "places=kept", model});
    EXPECT_TRUE(always(verdict::deadlock, one.run_many(blocks_that_wait_for_each_other(2), 50)));
    machine two({"resident=2", "places=kept", model});
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

// -- eviction: places on the device are taken in turns ------------------------------------------------------------------------------

/// A wave a block: each waits until all of the launch are there.
program all_there(uint32_t blocks, uint32_t waves = 1, uint32_t lanes = 1) {
  return [=] {
    device host;
    auto* const count = host.allocate_shared<uint32_t>(1, "count");
    host.launch({.blocks = blocks, .waves = waves, .lanes = lanes}, [=] {
      word<uint32_t>(*count).fetch_add(1, relaxed);
      wait_until(*count, blocks * waves * lanes);
    });
    host.synchronize();
  };
}

/// The first stream's kernel waits for that of the second, which the host waits for first.
program helped_by_second(uint32_t waves, int32_t priority) {
  return [=] {
    device host;
    auto* const flag = host.allocate_device<uint32_t>(1, "flag");
    const device::stream first = host.create_stream();
    const device::stream second = host.create_stream(priority);
    host.launch({.blocks = waves, .waves = 1, .lanes = 1}, [flag] { wait_until(*flag, 1); }, first);
    host.launch({}, [flag] { word<uint32_t>(*flag).store(1, release); }, second);
    host.synchronize(second);
    host.synchronize(first);
  };
}

/// Each wave counts in memory of its own and in its frame, through `rounds` steps, without ever waiting.
program count_to(uint32_t blocks, uint32_t rounds) {
  return [=] {
    device host;
    auto* const counts = host.allocate_device<uint32_t>(blocks, "counts");
    host.launch({.blocks = blocks, .waves = 1, .lanes = 1}, [=] {
      uint32_t kept[4] = {};
      for (uint32_t n = 0; n < rounds; ++n) {
        kept[n % 4] += n;
        const uint32_t before = word<uint32_t>(counts[target::block_id()]).fetch_add(n, relaxed);
        SIM_CHECK(before + n == kept[0] + kept[1] + kept[2] + kept[3]);
      }
    });
    host.synchronize();
    std::vector<uint32_t> all(blocks);
    host.copy(all.data(), counts, all.size() * sizeof(uint32_t));
    for (const uint32_t each : all) SIM_CHECK(each == rounds * (rounds - 1) / 2);
  };
}

bool leaves(const step_record& one) { return one.operation.ends_with(" is taken off the device"); }
bool comes_back(const step_record& one) { return one.operation.ends_with(" comes back on the device"); }
/// "wave 1" of "wave 1 lane 0" and of "wave 1 is taken off the device".
std::string wave_in(const std::string& text) { return text.substr(0, text.find(' ', sizeof "wave")); }

TEST(evictions, a_wave_gets_the_place_of_one_that_waits_for_it) {
  for (const std::string& strategy : all_strategies())
    for (const char* model : {"progress=fair", "progress=slots"})
      for (const char* resident : {"resident=1", "resident=2"}) {
        machine off({model, resident, "evict=off"}, strategy);
        EXPECT_TRUE(always(progress, off.run_many(all_there(3), 20)));
        for (const char* quantum : {"evict.quantum=1", "evict.quantum=2", "evict.quantum=64"}) {
          machine on({model, resident, "evict=wave", quantum}, strategy);
          EXPECT_TRUE(always(ok, on.run_many(all_there(3), 50)));
          // A queue that comes back has its own places again.
          machine queue({model, resident, "evict=queue", quantum}, strategy);
          EXPECT_TRUE(always(progress, queue.run_many(all_there(3), 20)));
        }
      }
}

TEST(evictions, blocks_of_several_waves_wait_together_and_meet_at_barriers_and_collectives) {
  const program meets = [] {
    device host;
    auto* const count = host.allocate_shared<uint32_t>(1, "count");
    host.launch({.blocks = 3, .waves = 2, .lanes = 2}, [count] {
      target::sync_lanes(3);
      word<uint32_t>(*count).fetch_add(1, relaxed);
      target::sync_lanes(3);
      wait_until(*count, 12);
      target::sync_lanes(3);
    });
    host.synchronize();
  };
  for (const std::string& strategy : all_strategies())
    for (const char* convergence : {"convergence=independent", "convergence=lockstep"})
      for (const char* resident : {"resident=2", "resident=3", "resident=5"})
        for (const char* quantum : {"evict.quantum=1", "evict.quantum=7"}) {
          machine on({convergence, resident, "evict=wave", quantum, "progress=slots"}, strategy);
          EXPECT_TRUE(always(ok, on.run_many(meets, 20)));
          EXPECT_TRUE(always(ok, on.run_many(all_there(3, 2, 2), 20)));
          EXPECT_TRUE(always(ok, on.run_many(count_to(4, 6), 20)));
        }
}

TEST(evictions, another_queue_gets_the_places_of_one_that_waits_for_it) {
  for (const std::string& strategy : all_strategies())
    for (const char* model : {"progress=fair", "progress=slots"}) {
      machine off({model, "resident=2", "evict=off"}, strategy);
      EXPECT_TRUE(always(progress, off.run_many(helped_by_second(2, 0), 20)));
      EXPECT_TRUE(always(progress, off.run_many(helped_by_second(3, 1), 20)));
      for (const char* evict : {"evict=wave", "evict=queue"}) {
        machine on({model, "resident=2", evict, "evict.quantum=3"}, strategy);
        EXPECT_TRUE(always(ok, on.run_many(helped_by_second(2, 0), 50)));
        EXPECT_TRUE(always(ok, on.run_many(helped_by_second(5, 0), 50)));
      }
    }
}

TEST(evictions, each_of_several_queues_that_stay_has_turns_again_and_again) {
  const program all_stay = [] {
    constexpr uint32_t queues = 3;
    constexpr uint32_t rounds = 4;
    device host;
    auto* const rounds_of = host.allocate_device<uint32_t>(queues, "rounds");
    for (uint32_t own = 0; own < queues; ++own)
      host.launch(
          {.blocks = 2, .waves = 1, .lanes = 1},
          [=] {
            // Each goes on until all have come as far.
            for (bool all = false; !all;) {
              word<uint32_t>(rounds_of[own]).fetch_add(1, relaxed);
              all = true;
              for (uint32_t n = 0; n < queues; ++n) all = all && word<uint32_t>(rounds_of[n]).load(relaxed) >= rounds;
            }
          },
          host.create_stream());
    host.synchronize();
  };
  for (const std::string& strategy : all_strategies())
    for (const char* evict : {"evict=wave", "evict=queue"})
      for (const char* resident : {"resident=1", "resident=2", "resident=5"}) {
        machine on({"progress=slots", resident, evict, "evict.quantum=3", "budget=2000"}, strategy);
        EXPECT_TRUE(always(ok, on.run_many(all_stay, 20)));
      }
}

// Without turns what has a place keeps it, but from what is of higher priority.
TEST(evictions, higher_priority_evicts_lower_and_is_never_evicted_for_it) {
  for (const std::string& strategy : all_strategies())
    for (const char* evict : {"evict=wave", "evict=queue"}) {
      machine without_turns({"progress=slots", "resident=2", evict, "evict.quantum=0"}, strategy);
      EXPECT_TRUE(always(ok, without_turns.run_many(helped_by_second(2, 1), 50)));
      EXPECT_TRUE(always(progress, without_turns.run_many(helped_by_second(2, 0), 20)));
      machine turns({"progress=slots", "resident=2", evict, "evict.quantum=2"}, strategy);
      EXPECT_TRUE(always(progress, turns.run_many(helped_by_second(2, -1), 20)));
    }
}

TEST(evictions, work_of_higher_priority_gets_places_first) {
  const auto started_before = [](int32_t second, int32_t third) {
    return [=] {
      device host;
      auto* const words = host.allocate_shared<uint32_t>(2, "go, and kernels that have begun");
      const device::stream a = host.create_stream();
      const device::stream b = host.create_stream(second);
      const device::stream c = host.create_stream(third);
      host.launch({}, [words] { wait_until(words[0], 1); }, a);
      host.launch({}, [words] { SIM_CHECK(word<uint32_t>(words[1]).fetch_add(1, relaxed) == 0); }, b);
      host.launch({}, [words] { word<uint32_t>(words[1]).fetch_add(1, relaxed); }, c);
      word<uint32_t>(words[0]).store(1, release);
      host.synchronize();
    };
  };
  machine off({"resident=1", "evict=off"});
  EXPECT_TRUE(always(ok, off.run_many(started_before(0, 0), 50)));
  EXPECT_TRUE(always(ok, off.run_many(started_before(2, 1), 50)));
  EXPECT_TRUE(always(verdict::assertion, off.run_many(started_before(1, 2), 50)));
}

TEST(evictions, what_no_eviction_cures_stays_a_hang) {
  const program nothing_comes = [] {
    device host;
    auto* const flag = host.allocate_device<uint32_t>(1, "flag");
    host.launch({.blocks = 3, .waves = 1, .lanes = 1}, [flag] { wait_until(*flag, 1); });
    host.synchronize();
  };
  // Each undoes what the others do.
  const program livelock = [] {
    device host;
    auto* const flag = host.allocate_device<uint32_t>(1, "flag");
    host.launch({.blocks = 2, .waves = 1, .lanes = 1}, [flag] {
      while (word<uint32_t>(*flag).exchange(1 + target::block_id(), relaxed) != 7) {
      }
    });
    host.synchronize();
  };
  for (const std::string& strategy : all_strategies())
    for (const char* evict : {"evict=off", "evict=wave", "evict=queue"}) {
      machine on({"resident=1", evict, "evict.quantum=2", "budget=3000", "progress=slots"}, strategy);
      EXPECT_TRUE(always(deadlock, on.run_many(nothing_comes, 20)));
      EXPECT_TRUE(always(verdict::livelock, on.run_many(livelock, 20)));
    }
}

// A place is not yet a turn: that the model has to promise, too.
TEST(evictions, a_model_that_promises_a_wave_no_turn_promises_it_none_with_a_place) {
  for (const char* model : {"progress=obe", "progress=hsa", "progress=hsa_obe", "progress=lobe", "progress=cuda"})
    for (const char* places : {"places=lifted", "places=kept"}) {
      uint64_t hangs = 0;
      for (const std::string& strategy : all_strategies()) {
        machine on({model, "resident=1", "evict=wave", "evict.quantum=2", places}, strategy);
        const tally seen = on.run_many(helped_by_second(1, 0), 100);
        EXPECT_EQ(seen.count(ok) + seen.count(progress), seen.schedules) << seen.text();
        hangs += seen.count(progress);
      }
      EXPECT_GT(hangs, 0u) << model;
    }
}

TEST(evictions, no_step_is_taken_off_the_device_and_a_turn_has_as_many_as_the_quantum) {
  constexpr uint32_t quantum = 3;
  for (const std::string& strategy : all_strategies()) {
    machine on({"resident=1", "evict=wave", "evict.quantum=3", "progress=slots"}, strategy);
    uint64_t turns = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      const outcome ended = on.run(count_to(3, 10), seed, true);
      ASSERT_EQ(ended.verdict, ok) << ended.message;
      std::map<std::string, bool> off;
      std::map<std::string, uint32_t> taken;
      for (const step_record& one : ended.steps_taken) {
        if (leaves(one)) {
          EXPECT_EQ(taken[wave_in(one.operation)], quantum) << one.operation << " behind step " << one.step;
          taken[wave_in(one.operation)] = 0;
          off[wave_in(one.operation)] = true;
          ++turns;
        } else if (comes_back(one)) {
          EXPECT_TRUE(off[wave_in(one.operation)]) << one.operation;
          off[wave_in(one.operation)] = false;
        } else if (one.actor.starts_with("wave ")) {
          EXPECT_FALSE(off[wave_in(one.actor)]) << one.actor << ", step " << one.step;
          ++taken[wave_in(one.actor)];
        }
      }
    }
    EXPECT_GT(turns, 30u) << strategy;
  }
}

TEST(evictions, a_queue_leaves_as_a_whole_and_is_named_so) {
  machine on({"resident=2", "evict=queue", "evict.quantum=3", "progress=slots"});
  const outcome ended = on.explain(helped_by_second(2, 0));
  EXPECT_EQ(ended.verdict, ok);
  uint32_t left = 0;
  for (const step_record& one : ended.steps_taken)
    if (leaves(one)) {
      EXPECT_EQ(one.operation, "the queue of stream 1 is taken off the device");
      EXPECT_EQ(one.actor, "(device)");
      ++left;
    }
  EXPECT_EQ(left, 1u);
}

TEST(evictions, where_all_have_places_nothing_changes) {
  for (const std::string& strategy : all_strategies()) {
    machine off({"progress=slots"}, strategy);
    machine wave({"progress=slots", "evict=wave", "evict.quantum=1", "evict.early=9"}, strategy);
    machine queue({"progress=slots", "evict=queue", "evict.quantum=1", "evict.early=9"}, strategy);
    for (uint64_t seed = 1; seed <= 20; ++seed)
      for (const program& each : {all_there(3, 2, 2), count_to(4, 6), helped_by_second(2, 1)}) {
        const uint64_t digest = off.run(each, seed).digest;
        EXPECT_EQ(wave.run(each, seed).digest, digest);
        EXPECT_EQ(queue.run(each, seed).digest, digest);
      }
  }
}

TEST(evictions, an_early_one_is_a_choice_that_a_recording_repeats) {
  uint64_t helped = 0;
  uint64_t hung = 0;
  std::string wrong;
  const auto deciding = scheduler::make_strategy("random", wrong);
  parameters settings(machine_parameters());
  for (const char* each :
       {"fidelity=interleaving", "progress=slots", "resident=1", "evict=wave", "evict.quantum=0", "evict.early=1"})
    ASSERT_FALSE(settings.set(each));
  simulation runs;
  scheduler::choice_source choices;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    choices.begin(*deciding, seed);
    const outcome first = runs.run(settings, helped_by_second(1, 0), choices, false);
    const std::vector<scheduler::answer> recorded = choices.recorded();
    const bool evicted = std::any_of(recorded.begin(), recorded.end(), [](const scheduler::answer& one) {
      return one.kind == scheduler::choice_kind::evict && one.picked != 0;
    });
    helped += first.verdict == ok ? 1 : 0;
    hung += first.verdict == progress ? 1 : 0;
    EXPECT_TRUE(first.verdict != ok || evicted) << seed;
    scheduler::replay_strategy again(recorded);
    choices.begin(again, seed);
    const outcome second = runs.run(settings, helped_by_second(1, 0), choices, false);
    EXPECT_EQ(second.digest, first.digest);
    EXPECT_EQ(second.verdict, first.verdict);
  }
  EXPECT_GT(helped, 0u);
  EXPECT_GT(hung, 0u);
  EXPECT_EQ(helped + hung, 200u);
}

TEST(evictions, a_wave_off_the_device_is_told_in_the_report_of_a_hang) {
  // The queue of high priority waits for ever for the one that it has evicted.
  const program inverted = [] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(2, "begun and done");
    const device::stream low = host.create_stream();
    const device::stream high = host.create_stream(1);
    host.launch(
        {},
        [words] {
          word<uint32_t>(words[0]).store(1, release);
          for (uint32_t n = 0; n < 50; ++n) word<uint32_t>(words[0]).load(acquire);
          word<uint32_t>(words[1]).store(1, release);
        },
        low);
    wait_until(words[0], 1);
    host.launch({}, [words] { wait_until(words[1], 1); }, high);
    host.synchronize();
  };
  machine on({"resident=1", "evict=wave", "places=kept", "progress=slots"});
  uint64_t hangs = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const outcome ended = on.run(inverted, seed, true);
    if (ended.verdict == ok) continue;
    EXPECT_TRUE(is(deadlock, "", ended));
    EXPECT_TRUE(says(ended.report, "could run, but is off the device"));
    EXPECT_TRUE(says(ended.report, "a place on the device"));
    ++hangs;
  }
  EXPECT_GT(hangs, 0u);
}

}  // namespace
}  // namespace heddle::sim::tests::progress_test
