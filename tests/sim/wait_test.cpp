// Loops that wait: what is a hang, what is not, and what the report says of it.
#include "run.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <string>
#include <sys/time.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace heddle::sim::tests::wait_test {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

int spin_line = 0;  // of the loop in the program that ran last

TEST(waiting, a_spin_with_pause_on_a_flag_that_nobody_sets_is_a_deadlock_with_lane_line_location_and_value) {
  machine on;
  const outcome ended = on.explain([] {
    device host;
    auto* const flags = host.allocate_shared<uint32_t>(4, "flags");
    word<uint32_t>(flags[2]).store(7, release);
    host.launch({.blocks = 1, .waves = 2, .lanes = 3}, [flags] {
      if (target::wave_id() != 1 || target::lane_id() != 2) return;
      spin_line = __LINE__ + 1;
      while (word<uint32_t>(flags[2]).load(acquire) == 7) target::pause();
    });
    host.synchronize();
  });
  EXPECT_TRUE(is(verdict::deadlock, SIM_LINE(spin_line), ended));
  EXPECT_TRUE(says(ended.report, "wave 1, block 0, lane 2: waits in a loop"));
  EXPECT_TRUE(says(ended.report, "at   " + SIM_LINE(spin_line)));
  EXPECT_TRUE(says(ended.report, "reads flags+0x8 (4 bytes) = 0x7, last changed by host main"));
  EXPECT_TRUE(says(ended.report, "host main: waits in synchronize"));
  EXPECT_TRUE(says(ended.report, "host main -> wave 1"));
  EXPECT_TRUE(says(ended.report, "wave 0 has ended")) << ended.report;
  EXPECT_FALSE(says(ended.report, "wave 0,")) << ended.report;
}

/// The hang of a program in which so many waves, and so many threads of the host, wait for a flag that is never set.
std::string hang_of(uint32_t waves, uint32_t servers) {
  machine on;
  const outcome ended = on.run([=] {
    device host;
    auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
    const auto wait = [flag] {
      while (word<uint32_t>(*flag).load(acquire) == 0) target::pause();
    };
    std::vector<host_thread> serving;
    for (uint32_t n = 0; n < servers; ++n) serving.push_back(host.spawn_host("server", wait));
    if (waves != 0) host.launch({.blocks = 1, .waves = waves, .lanes = 2}, wait);
    host.synchronize();
    for (host_thread& each : serving) each.join();
  });
  EXPECT_EQ(ended.verdict, verdict::deadlock);
  return ended.hang;
}

TEST(waiting, a_hang_is_known_by_the_roles_of_who_waits) {
  EXPECT_EQ(hang_of(1, 0), "host main, wave");
  EXPECT_EQ(hang_of(3, 0), "host main, wave");
  EXPECT_EQ(hang_of(2, 1), "host main, host server, wave");
  EXPECT_EQ(hang_of(1, 3), "host main, host server, wave");
  EXPECT_EQ(hang_of(0, 2), "host main, host server");
}

TEST(waiting, the_same_spin_ends_when_somebody_sets_the_flag) {
  machine on;
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [] {
                                        device host;
                                        auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
                                        host.launch({.blocks = 1, .waves = 2, .lanes = 1}, [flag] {
                                          const word<uint32_t> shared(*flag);
                                          if (target::wave_id() == 0)
                                            shared.store(1, release);
                                          else
                                            while (shared.load(acquire) == 0) target::pause();
                                        });
                                        host.synchronize();
                                      },
                                      300)));
}

/// A wave that waits in this way, while the host waits for the wave.
template <typename Wait>
program waits_in(Wait wait) {
  return [wait] {
    device host;
    auto* const flags = host.allocate_shared<uint32_t>(128, "flags");
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [flags, wait] { wait(flags); });
    host.synchronize();
  };
}

std::atomic<uint32_t>& standard(uint32_t& plain) { return reinterpret_cast<std::atomic<uint32_t>&>(plain); }

// The store is looked at when its lane is somewhere else already.
TEST(waiting, a_plain_store_is_told_by_its_own_line) {
  static int store_line = 0;
  machine on;
  const outcome ended = on.explain([] {
    device host;
    auto* const flags = host.allocate_shared<uint32_t>(4, "flags");
    auto waiter = host.spawn_host("waiter", [flags] {
      while (word<uint32_t>(flags[0]).load(acquire) != 2) target::pause();
    });
    store_line = __LINE__ + 1;
    flags[0] = 1;
    auto other = host.spawn_host("other", [] {});
    other.join();
  });
  EXPECT_TRUE(is(verdict::deadlock, ended.where, ended));
  EXPECT_TRUE(says(ended.report, "= 0x1, last changed by host main at " + SIM_LINE(store_line)));
}

TEST(waiting, a_spin_without_pause_is_a_deadlock_at_its_line) {
  for (const std::string& strategy : all_strategies()) {
    machine on({}, strategy);
    const outcome ended = on.explain(waits_in([](uint32_t* flags) {
      spin_line = __LINE__ + 1;
      while (standard(flags[1]).load(std::memory_order_acquire) == 0) {
      }
    }));
    EXPECT_TRUE(is(verdict::deadlock, SIM_LINE(spin_line), ended)) << on.about();
    EXPECT_TRUE(says(ended.report, "reads flags+0x4 (4 bytes) = 0x0"));
    EXPECT_LT(ended.steps, 2000u);
  }
}

TEST(waiting, a_plain_volatile_spin_is_a_deadlock) {
  for (const char* points : {"points=all", "points=atomics"}) {
    machine on({points});
    EXPECT_TRUE(always(verdict::deadlock, on.run_many(waits_in([](uint32_t* flags) {
                                                        while (*static_cast<volatile uint32_t*>(flags) == 0) {
                                                        }
                                                      }),
                                                      20)));
  }
}

TEST(waiting, a_test_and_set_loop_is_a_deadlock_and_ends_when_the_lock_is_given_back) {
  machine on;
  EXPECT_TRUE(always(verdict::deadlock, on.run_many(waits_in([](uint32_t* flags) {
                                                      standard(flags[0]) = 1;
                                                      while (standard(flags[0]).exchange(1) == 1) {
                                                      }
                                                    }),
                                                    20)));
  EXPECT_TRUE(always(verdict::deadlock, on.run_many(waits_in([](uint32_t* flags) {
                                                      standard(flags[0]) = 1;
                                                      uint32_t expected = 0;
                                                      while (!standard(flags[0]).compare_exchange_weak(expected, 1))
                                                        expected = 0;
                                                    }),
                                                    20)));
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [] {
                                        device host;
                                        auto* const memory = host.allocate_device<uint32_t>(2, "lock and count");
                                        host.launch({.blocks = 1, .waves = 3, .lanes = 2}, [memory] {
                                          while (standard(memory[0]).exchange(1, std::memory_order_acquire) == 1) {
                                          }
                                          ++memory[1];
                                          standard(memory[0]).store(0, std::memory_order_release);
                                        });
                                        host.synchronize();
                                        SIM_CHECK(word<uint32_t>(memory[1]).load(relaxed) == 6);
                                      },
                                      300)));
}

TEST(waiting, a_spin_without_pause_is_recognised_behind_a_long_loop_that_only_reads) {
  machine on;
  const tally seen = on.run_many(waits_in([](uint32_t* flags) {
                                   uint32_t sum = 0;
                                   for (uint32_t n = 0; n < 100; ++n) sum += standard(flags[n]).load();
                                   while (standard(flags[127]).load() == sum) {
                                   }
                                 }),
                                 20);
  EXPECT_TRUE(always(verdict::deadlock, seen));
  EXPECT_LT(seen.steps_most, 5000u);
}

TEST(waiting, a_spin_without_pause_over_many_locations_is_a_deadlock) {
  machine on;
  const tally seen = on.run_many(waits_in([](uint32_t* flags) {
                                   for (uint32_t n = 0; standard(flags[n]).load() == 0; n = (n + 1) % 100) {
                                   }
                                 }),
                                 5);
  EXPECT_TRUE(always(verdict::deadlock, seen));
}

// -- loops that give up -------------------------------------------------------------------------------------------------------------

TEST(waiting, a_loop_that_gives_up_is_no_hang) {
  for (const uint32_t tries : {3u, 100u})
    for (const bool pauses : {true, false}) {
      machine on;
      const tally seen = on.run_many(waits_in([tries, pauses](uint32_t* flags) {
                                       for (uint32_t n = 0; n < tries; ++n) {
                                         if (word<uint32_t>(flags[0]).load(acquire) != 0) return;
                                         if (pauses) target::pause();
                                       }
                                     }),
                                     100);
      EXPECT_TRUE(always(verdict::ok, seen)) << tries << " tries";
    }
}

/// A wave that sets a flag after some work, and one that looks for it three times.
program three_looks(uint32_t& gave_up) {
  return [&gave_up] {
    device host;
    auto* const memory = host.allocate_shared<uint32_t>(3, "flag, work and answer");
    host.launch({.blocks = 1, .waves = 2, .lanes = 1}, [memory] {
      if (target::wave_id() == 0) {
        for (uint32_t n = 0; n < 20; ++n) word<uint32_t>(memory[1]).fetch_add(1, relaxed);
        word<uint32_t>(memory[0]).store(1, release);
        return;
      }
      for (uint32_t n = 0; n < 3; ++n) {
        if (word<uint32_t>(memory[0]).load(acquire) != 0) return;
        target::pause();
      }
      memory[2] = 1;
    });
    host.synchronize();
    gave_up += memory[2];
  };
}

TEST(waiting, giving_up_while_others_run_is_explored_as_often_as_the_setting_wakes_says) {
  uint32_t gave_up = 0;
  machine patient({"wakes=0"});
  EXPECT_TRUE(always(verdict::ok, patient.run_many(three_looks(gave_up), 500)));
  EXPECT_EQ(gave_up, 0u);
  machine impatient({"wakes=3"});
  EXPECT_TRUE(always(verdict::ok, impatient.run_many(three_looks(gave_up), 500)));
  EXPECT_GT(gave_up, 0u);
  EXPECT_LT(gave_up, 500u);
}

TEST(waiting, a_loop_that_counts_for_ever_is_inconclusive_and_never_a_deadlock) {
  machine on({"budget=3000"});
  EXPECT_TRUE(always(verdict::budget, on.run_many(waits_in([](uint32_t* flags) {
                                                    for (volatile uint32_t tries = 0;;) {
                                                      tries = tries + 1;
                                                      if (word<uint32_t>(flags[0]).load(acquire) != 0) return;
                                                      target::pause();
                                                    }
                                                  }),
                                                  20)));
  EXPECT_TRUE(always(verdict::budget, on.run_many(waits_in([](uint32_t* flags) {
                                                    for (volatile uint32_t tries = 0;;) {
                                                      tries = tries + 1;
                                                      if (word<uint32_t>(flags[0]).load(acquire) != 0) return;
                                                    }
                                                  }),
                                                  20)));
}

TEST(waiting, a_loop_without_scheduling_points_runs_into_the_budget_too) {
  // With points=atomics nothing that this loop does lets others in.
  machine on({"budget=3000", "points=atomics"});
  EXPECT_TRUE(always(verdict::budget, on.run_many(waits_in([](uint32_t* flags) {
                                                    for (volatile uint32_t tries = 0;;) {
                                                      tries = tries + 1;
                                                      if (*static_cast<volatile uint32_t*>(flags) != 0) return;
                                                    }
                                                  }),
                                                  3)));
  EXPECT_TRUE(always(verdict::budget, on.run_many(waits_in([](uint32_t* flags) {
                                                    while (true) {
                                                      auto& plain = *static_cast<volatile uint32_t*>(flags);
                                                      plain = plain + 1;
                                                    }
                                                  }),
                                                  3)));
}

TEST(waiting, a_plain_spin_lets_the_one_run_that_it_waits_for) {
  machine on({"points=atomics"});
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [] {
                                        device host;
                                        auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
                                        host.launch({.blocks = 1, .waves = 2, .lanes = 1}, [flag] {
                                          auto& plain = *static_cast<volatile uint32_t*>(flag);
                                          if (target::wave_id() == 0)
                                            plain = 1;
                                          else {
                                            volatile uint32_t tries = 0;
                                            while (plain == 0) tries = tries + 1;
                                          }
                                        });
                                        host.synchronize();
                                      },
                                      100)));
}

// -- loops of more than one turn ------------------------------------------------------------------------------------------------------

/// Host threads that scan, each from where its last scan ended: the loop's state repeats after `period` turns.
program scanners(std::vector<uint32_t> periods) {
  return [periods = std::move(periods)] {
    device host;
    auto* const boxes = host.allocate_shared<uint32_t>(64, "boxes");
    std::vector<host_thread> threads;
    for (const uint32_t period : periods)
      threads.push_back(host.spawn_host("server", [boxes, period] {
        volatile uint32_t next = 0;
        while (word<uint32_t>(boxes[next]).load(acquire) == 0) {
          next = next + 1 == period ? 0 : next + 1;
          target::pause();
        }
      }));
    threads.clear();
  };
}

TEST(waiting, a_scan_that_repeats_itself_after_some_turns_is_a_deadlock) {
  for (const uint32_t period : {1u, 2u, 3u, 7u, 40u}) {
    machine on;
    const tally seen = on.run_many(scanners({period}), 10);
    EXPECT_TRUE(always(verdict::deadlock, seen)) << "period " << period;
    EXPECT_LT(seen.steps_most, 40 * period + 100);
  }
}

TEST(waiting, scans_of_different_periods_are_proven_one_by_one) {
  // Together they repeat after 2310 turns, each on its own after 11 at most.
  machine on;
  for (const std::vector<uint32_t>& periods :
       {std::vector<uint32_t>{2, 4}, {3, 6}, {4, 6, 10}, {2, 3, 5, 7, 11}, {8, 16, 32}}) {
    const tally seen = on.run_many(scanners(periods), 5);
    EXPECT_TRUE(always(verdict::deadlock, seen));
    EXPECT_LT(seen.steps_most, 2000u);
  }
}

// -- two parties ----------------------------------------------------------------------------------------------------------------------

program handshake(bool answers) {
  return [answers] {
    device host;
    auto* const memory = host.allocate_shared<uint32_t>(4, "request, answer, flags");
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [memory] {
      for (uint32_t round = 1; round <= 3; ++round) {
        memory[0] = round * 10;
        word<uint32_t>(memory[2]).store(round, release);
        while (word<uint32_t>(memory[3]).load(acquire) != round) target::pause();
        SIM_CHECK(memory[1] == round * 10 + 1);
      }
    });
    for (uint32_t round = 1; round <= 3; ++round) {
      while (word<uint32_t>(memory[2]).load(acquire) != round) target::pause();
      memory[1] = memory[0] + 1;
      if (answers || round != 3) word<uint32_t>(memory[3]).store(round, release);
    }
    host.synchronize();
  };
}

TEST(waiting, a_correct_handshake_is_ok_under_every_strategy) {
  for (const std::string& strategy : all_strategies()) {
    machine on({}, strategy);
    EXPECT_TRUE(always(verdict::ok, on.run_many(handshake(true), 2000)));
    EXPECT_TRUE(always(verdict::deadlock, on.run_many(handshake(false), 100)));
  }
}

TEST(waiting, two_waves_that_wait_for_each_other_are_a_deadlock) {
  const program crossed = [] {
    device host;
    auto* const flags = host.allocate_device<uint32_t>(2, "flags");
    host.launch({.blocks = 1, .waves = 2, .lanes = 1}, [flags] {
      const uint32_t self = target::wave_id();
      while (word<uint32_t>(flags[1 - self]).load(acquire) == 0) target::pause();
      word<uint32_t>(flags[self]).store(1, release);
    });
    host.synchronize();
  };
  for (const std::string& strategy : all_strategies()) {
    machine on({}, strategy);
    EXPECT_TRUE(always(verdict::deadlock, on.run_many(crossed, 100)));
  }
}

TEST(waiting, a_lock_order_that_can_hang_hangs_in_some_schedules_and_names_who_waits_for_whom) {
  const program locks = [] {
    device host;
    auto* const locked = host.allocate_device<uint32_t>(2, "locks");
    host.launch({.blocks = 1, .waves = 2, .lanes = 1}, [locked] {
      const uint32_t first = target::wave_id();
      for (const uint32_t which : {first, 1 - first})
        while (word<uint32_t>(locked[which]).exchange(1, acquire) != 0) target::pause();
      for (const uint32_t which : {first, 1 - first}) word<uint32_t>(locked[which]).store(0, release);
    });
    host.synchronize();
  };
  machine on;
  const tally seen = on.run_many(locks, 200);
  ASSERT_TRUE(sometimes(verdict::deadlock, seen));
  const outcome ended = on.explain(locks, seen.first_seeds.at(verdict::deadlock));
  EXPECT_TRUE(says(ended.report, "wave 0 -> wave 1  (locks+0x4)"));
  EXPECT_TRUE(says(ended.report, "wave 1 -> wave 0  (locks+0x0)"));
}

// -- Host code that waits in the C library: mutexes, yielding, sleeping.

struct guarded {
  std::mutex first, second;
  std::recursive_mutex again;
  uint32_t count = 0;
};

/// Two threads that take both mutexes, the second one in the same order or in the opposite one.
program two_mutexes(bool same_order) {
  return [=] {
    device host;
    auto* const shared = new (host.allocate_shared<guarded>(1, "guarded")) guarded;
    auto one = host.spawn_host("one", [=] {
      const std::lock_guard outer(shared->first);
      const std::lock_guard inner(shared->second);
      ++shared->count;
    });
    auto two = host.spawn_host("two", [=] {
      const std::lock_guard outer(same_order ? shared->first : shared->second);
      const std::lock_guard inner(same_order ? shared->second : shared->first);
      ++shared->count;
    });
    one.join();
    two.join();
    if (shared->count != 2) target::trap(fault::assertion, "an update under the mutexes was lost");
  };
}

TEST(blocking, mutexes_taken_in_opposite_order_are_a_deadlock_and_in_the_same_order_are_not) {
  machine on;
  const tally crossed = on.run_many(two_mutexes(false), 500);
  EXPECT_GT(crossed.count(verdict::deadlock), 0u);
  EXPECT_EQ(crossed.count(verdict::deadlock) + crossed.count(verdict::ok), 500u) << crossed.text();
  EXPECT_TRUE(always(verdict::ok, on.run_many(two_mutexes(true), 500)));
}

TEST(blocking, a_recursive_mutex_excludes_others_and_not_its_holder) {
  machine on;
  const tally seen = on.run_many(
      [] {
        device host;
        auto* const shared = new (host.allocate_shared<guarded>(1, "guarded")) guarded;
        const auto body = [=] {
          const std::lock_guard outer(shared->again);
          const std::lock_guard inner(shared->again);
          const uint32_t before = shared->count;
          shared->count = before + 1;
        };
        auto one = host.spawn_host("one", body);
        auto two = host.spawn_host("two", body);
        one.join();
        two.join();
        if (shared->count != 2) target::trap(fault::assertion, "both were inside");
      },
      500);
  EXPECT_TRUE(always(verdict::ok, seen));
}

/// A thread that yields and one that sleeps until a flag is set, by the main thread or never.
program wait_for_flag(bool set) {
  return [=] {
    device host;
    auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
    auto yields = host.spawn_host("yields", [flag] {
      while (word<uint32_t>(*flag).load(memory_order::acquire) == 0) std::this_thread::yield();
    });
    auto sleeps = host.spawn_host("sleeps", [flag] {
      while (word<uint32_t>(*flag).load(memory_order::acquire) == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    if (set) word<uint32_t>(*flag).store(1, memory_order::release);
    yields.join();
    sleeps.join();
  };
}

TEST(blocking, loops_that_yield_or_sleep_wait_for_memory_to_change) {
  machine on;
  EXPECT_TRUE(always(verdict::ok, on.run_many(wait_for_flag(true), 500)));
  EXPECT_TRUE(always(verdict::deadlock, on.run_many(wait_for_flag(false), 100)));
}

/// Every clock, and sleeps of an hour.
void look_at_clocks() {
  device host;
  auto* const times = host.allocate_shared<int64_t>(8, "times");
  const auto look = [=](size_t first) {
    const auto steady = std::chrono::steady_clock::now();
    const auto system = std::chrono::system_clock::now();
    usleep(1000000);
    std::this_thread::sleep_for(std::chrono::hours(1));
    std::this_thread::sleep_until(std::chrono::steady_clock::now() + std::chrono::hours(1));
    const timespec nap = {.tv_sec = 100, .tv_nsec = 1};
    nanosleep(&nap, nullptr);
    SIM_CHECK(std::chrono::steady_clock::now() - steady > std::chrono::hours(2) + std::chrono::seconds(101));
    SIM_CHECK(std::chrono::system_clock::now() - system > std::chrono::hours(2) + std::chrono::seconds(101));
    timespec monotonic = {};
    SIM_CHECK(clock_gettime(CLOCK_MONOTONIC, &monotonic) == 0);
    timeval day = {};
    gettimeofday(&day, nullptr);
    const time_t second = time(nullptr);
    SIM_CHECK(second >= day.tv_sec && clock() >= 0);
    times[first] = monotonic.tv_sec * 1000000000 + monotonic.tv_nsec;
    times[first + 1] = day.tv_sec * 1000000 + day.tv_usec;
  };
  auto one = host.spawn_host("one", [=] { look(0); });
  auto two = host.spawn_host("two", [=] { look(2); });
  one.join();
  two.join();
  SIM_CHECK(times[0] != times[2]);
}

TEST(clocks, show_the_same_times_in_the_same_schedule) {
  machine on;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const outcome first = on.run(look_at_clocks, seed);
    ASSERT_EQ(first.verdict, verdict::ok) << first.message;
    EXPECT_EQ(on.run(look_at_clocks, seed).digest, first.digest);
  }
}

TEST(clocks, loops_that_wait_for_a_time_come_to_their_end) {
  machine on;
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [] {
                                        device host;
                                        host.spawn_host("thread",
                                                        [] {
                                                          const auto end =
                                                              std::chrono::steady_clock::now() + std::chrono::hours(1);
                                                          while (std::chrono::steady_clock::now() < end) {
                                                          }
                                                        })
                                            .join();
                                      },
                                      50)));
}

// Nothing of what the clock shows stays in the frame of the loop.
[[gnu::noinline]] bool is_after(std::chrono::steady_clock::time_point end) {
  return std::chrono::steady_clock::now() >= end;
}

TEST(clocks, loops_that_look_again_and_again_until_a_time_end_where_all_others_wait) {
  const auto polls = [](std::chrono::microseconds patience) {
    return [=] {
      device host;
      auto* const flags = host.allocate_shared<uint32_t>(2, "flags");
      auto waits = host.spawn_host("waits", [flags] {
        while (word<uint32_t>(flags[1]).load(memory_order::acquire) == 0) target::pause();
      });
      const auto end = std::chrono::steady_clock::now() + patience;
      while (word<uint32_t>(flags[0]).load(memory_order::acquire) == 0 && !is_after(end))
        std::this_thread::sleep_for(std::chrono::microseconds(1));
      word<uint32_t>(flags[1]).store(1, memory_order::release);
      waits.join();
    };
  };
  for (const int64_t us : {1, 100, 1'000, 100'000, 10'000'000, 60'000'000})
    EXPECT_TRUE(always(verdict::ok, machine().run_many(polls(std::chrono::microseconds(us)), 100))) << us;
  // Beside a lane of a device, and beside another thread that polls.
  const auto beside = [](bool another, bool gives_up) {
    return [=] {
      device host;
      auto* const flags = host.allocate_shared<uint32_t>(3, "flags");
      host.launch({}, [flags] {
        while (word<uint32_t>(flags[0]).load(memory_order::acquire) == 0) target::pause();
      });
      const auto begun = std::chrono::steady_clock::now();
      const auto poll = [=](uint32_t* flag) {
        while (word<uint32_t>(*flag).load(memory_order::acquire) == 0 &&
               (!is_after(begun + std::chrono::milliseconds(5)) || !gives_up))
          std::this_thread::sleep_for(std::chrono::microseconds(50));
      };
      if (another) {
        auto also = host.spawn_host("also", [=] { poll(&flags[1]); });
        poll(&flags[2]);
        also.join();
      } else {
        poll(&flags[2]);
      }
      word<uint32_t>(flags[0]).store(1, memory_order::release);
      host.synchronize();
    };
  };
  for (const bool another : {false, true}) {
    EXPECT_TRUE(always(verdict::ok, machine().run_many(beside(another, true), 300))) << another;
    // Looking at the clock is no way out by itself.
    EXPECT_TRUE(always(verdict::deadlock, machine().run_many(beside(another, false), 100))) << another;
  }
}

/// A lane that gives up when the clock of its device has gone on so far, and then lets another one go on.
struct gives_up {
  uint32_t* flags;
  uint64_t cycles;
  [[gnu::noinline]] static bool is_over(uint64_t since, uint64_t most) {
    return heddle::sim::runtime::clock() - since > most;
  }
  void operator()() const {
    if (target::wave_id() != 0) {
      while (word<uint32_t>(flags[1]).load(memory_order::acquire) == 0) target::pause();
      return;
    }
    const uint64_t since = heddle::sim::runtime::clock();
    while (word<uint32_t>(flags[0]).load(memory_order::acquire) == 0 && !is_over(since, cycles)) target::pause();
    word<uint32_t>(flags[1]).store(1, memory_order::release);
  }
};

TEST(clocks, lanes_that_give_up_after_a_time_do_so_where_all_others_wait) {
  for (const char* const convergence : {"convergence=independent", "convergence=lockstep"})
    for (const uint64_t cycles : {uint64_t{1} << 10, uint64_t{1} << 20, uint64_t{1} << 34}) {
      const program body = [=] {
        device host;
        auto* const flags = host.allocate_shared<uint32_t>(2, "flags");
        host.launch({.waves = 2, .lanes = 2}, gives_up{flags, cycles});
        host.synchronize();
      };
      EXPECT_TRUE(always(verdict::ok, machine({convergence}).run_many(body, 100))) << convergence << ' ' << cycles;
    }
}

struct conditional {
  std::mutex mutex;
  std::condition_variable condition;
  std::timed_mutex timed;
  uint32_t ready = 0;
};

TEST(clocks, a_wait_with_a_time_out_ends_by_notice_or_by_time) {
  const auto waits = [](bool notifies, uint32_t* timeouts, uint32_t* notices) {
    return [=] {
      device host;
      auto* const shared = new (host.allocate_shared<conditional>(1, "shared")) conditional;
      auto waiter = host.spawn_host("waiter", [=] {
        std::unique_lock lock(shared->mutex);
        const bool in_time =
            shared->condition.wait_for(lock, std::chrono::seconds(1), [=] { return shared->ready != 0; });
        SIM_CHECK(lock.owns_lock() && (in_time || shared->ready == 0));
        ++*(in_time ? notices : timeouts);
      });
      if (notifies) {
        const std::lock_guard lock(shared->mutex);
        shared->ready = 1;
        shared->condition.notify_one();
      }
      waiter.join();
    };
  };
  machine on;
  static uint32_t timeouts, notices;
  timeouts = notices = 0;
  EXPECT_TRUE(always(verdict::ok, on.run_many(waits(false, &timeouts, &notices), 50)));
  EXPECT_EQ(timeouts, 50u);
  timeouts = notices = 0;
  EXPECT_TRUE(always(verdict::ok, on.run_many(waits(true, &timeouts, &notices), 200)));
  EXPECT_GT(notices, 0u);
  EXPECT_GT(timeouts, 0u);
}

TEST(clocks, a_mutex_is_tried_for_a_time) {
  machine on;
  static uint32_t taken, given_up;
  taken = given_up = 0;
  const tally seen = on.run_many(
      [] {
        device host;
        auto* const shared = new (host.allocate_shared<conditional>(1, "shared")) conditional;
        auto holder = host.spawn_host("holder", [=] {
          const std::lock_guard lock(shared->timed);
          ++shared->ready;
        });
        if (shared->timed.try_lock_for(std::chrono::seconds(1))) {
          ++taken;
          ++shared->ready;
          shared->timed.unlock();
        } else {
          ++given_up;
        }
        holder.join();
      },
      300);
  EXPECT_TRUE(always(verdict::ok, seen));
  EXPECT_GT(taken, 0u);
  EXPECT_GT(given_up, 0u);
}

}  // namespace
}  // namespace heddle::sim::tests::wait_test
