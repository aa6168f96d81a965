// Waves with one program counter: which lanes run together, where they come together again, and what each sees of the others.
#include <heddle/sim/runtime/gpu_calls.h>
#include <heddle/tools/gtest.h>
#include <heddle/tools/gtest_main.h>

#include "run.h"

#include <set>

namespace heddle::sim::tests {
namespace {

constexpr auto relaxed = memory_order::relaxed;

template <typename Kernel>
program one_wave(uint32_t lanes, Kernel kernel) {
  return [lanes, kernel] {
    device host;
    auto* const words = host.allocate_device<uint32_t>(256, "words");
    host.launch({.blocks = 1, .waves = 1, .lanes = lanes}, [words, kernel] { kernel(words); });
    host.synchronize();
  };
}

uint64_t bit(uint32_t lane) { return uint64_t{1} << lane; }
uint64_t lowest(uint32_t count) { return ~uint64_t{0} >> (64 - count); }

void in_every_order(const program& body, uint64_t schedules = 60) {
  for (const char* arms : {"arms=then-first", "arms=else-first", "arms=any"})
    for (const std::string& strategy : all_strategies()) {
      machine on({"convergence=lockstep", arms}, strategy);
      EXPECT_TRUE(always(verdict::ok, on.run_many(body, schedules)));
    }
}

TEST(lockstep, lanes_that_have_not_parted_are_all_there) {
  for (const uint32_t lanes : {2u, 7u, 32u, 64u})
    in_every_order(one_wave(lanes,
                            [lanes](uint32_t* words) {
                              const uint64_t all = ~uint64_t{0} >> (64 - lanes);
                              SIM_CHECK(target::lane_mask() == all);
                              word<uint32_t>(words[target::lane_id()]).store(1, relaxed);
                              SIM_CHECK(target::lane_mask() == all);
                              SIM_CHECK(target::ballot(all, target::lane_id() % 2 == 1) == (all & 0xaaaaaaaaaaaaaaaa));
                              SIM_CHECK(target::broadcast(all, target::lane_id() + 5) == 5u);
                            }),
                   lanes == 64 ? 5 : 40);
}

TEST(lockstep, an_arm_is_alone_and_all_come_together_behind_it) {
  in_every_order(one_wave(6, [](uint32_t* words) {
    const uint32_t self = target::lane_id();
    if (self % 2 == 0) {
      SIM_CHECK(target::lane_mask() == 0x15);
      word<uint32_t>(words[0]).fetch_add(1, relaxed);
      if (self == 2) {
        SIM_CHECK(target::lane_mask() == 4);
        word<uint32_t>(words[1]).fetch_add(1, relaxed);
      }
      SIM_CHECK(target::lane_mask() == 0x15);
    } else {
      SIM_CHECK(target::lane_mask() == 0x2a);
      // The mask says which lanes the program expects; those that are there take part.
      SIM_CHECK(target::broadcast(0x2a, self) == 1u);
    }
    SIM_CHECK(target::lane_mask() == 0x3f);
  }));
}

TEST(lockstep, an_arm_without_an_operation_is_no_arm) {
  in_every_order(one_wave(4, [](uint32_t* words) {
    uint32_t added = 0;
    if (target::lane_id() > 1) added = 7;
    word<uint32_t>(words[0]).fetch_add(added, relaxed);
    SIM_CHECK(target::lane_mask() == 0xf);
  }));
}

TEST(lockstep, lanes_that_leave_a_loop_wait_behind_it) {
  in_every_order(one_wave(5, [](uint32_t* words) {
    const uint32_t self = target::lane_id();
    // Lane n goes round n + 1 times.
    for (uint32_t turn = 0; turn <= self; ++turn) {
      const uint64_t left = 0x1f & ~((uint64_t{1} << turn) - 1);
      SIM_CHECK(target::lane_mask() == left);
      SIM_CHECK(target::ballot(left, true) == left);
      word<uint32_t>(words[turn]).fetch_add(1, relaxed);
    }
    SIM_CHECK(target::lane_mask() == 0x1f);
  }));
}

TEST(lockstep, break_and_continue_part_as_the_source_says) {
  in_every_order(one_wave(4, [](uint32_t* words) {
    const uint32_t self = target::lane_id();
    for (uint32_t turn = 0; turn < 4; ++turn) {
      if (self == turn) {
        word<uint32_t>(words[0]).fetch_add(1, relaxed);
        continue;
      }
      if (turn == 3) {
        word<uint32_t>(words[1]).fetch_add(1, relaxed);
        break;
      }
      word<uint32_t>(words[2]).fetch_add(1, relaxed);
    }
    SIM_CHECK(target::lane_mask() == 0xf);
  }));
}

TEST(lockstep, lanes_that_leave_within_an_arm_keep_the_others_from_nothing) {
  // A `break`, `continue` or `return` in an arm: the lanes that stay are together right behind the branch.
  in_every_order(one_wave(5, [](uint32_t* words) {
    const uint32_t self = target::lane_id();
    uint64_t here = 0x1f;
    for (uint32_t turn = 0; turn < 4; ++turn) {
      if (self % 2 == 0) {
        word<uint32_t>(words[turn]).fetch_add(1, relaxed);
        if (self == turn) break;
        word<uint32_t>(words[turn]).fetch_add(1, relaxed);
      }
      if (turn % 2 == 0) here &= ~bit(turn);
      SIM_CHECK(target::lane_mask() == here);
      word<uint32_t>(words[8]).fetch_add(1, relaxed);
      SIM_CHECK(target::ballot(here, self == 1) == 2u);
    }
    SIM_CHECK(target::lane_mask() == 0x1f);
  }));
}

TEST(lockstep, lanes_that_go_on_with_the_next_round_wait_for_it) {
  in_every_order(one_wave(4, [](uint32_t* words) {
    const uint32_t self = target::lane_id();
    for (uint32_t turn = 0; turn < 4; ++turn) {
      SIM_CHECK(target::lane_mask() == 0xf);
      if (self >= 2) {
        word<uint32_t>(words[turn]).fetch_add(1, relaxed);
        if (self == 2 && turn % 2 == 1) continue;
        word<uint32_t>(words[turn]).fetch_add(1, relaxed);
      }
      SIM_CHECK(target::lane_mask() == (turn % 2 == 1 ? 0xbu : 0xfu));
      SIM_CHECK(target::broadcast(0xb, turn) == turn);
    }
  }));
}

TEST(lockstep, a_lane_that_leaves_without_an_operation_is_known_to_have_left) {
  in_every_order(one_wave(4, [](uint32_t*) {
    const uint32_t self = target::lane_id();
    for (uint32_t turn = 0; turn < 5; ++turn) {
      if (self % 2 == 0)
        if ((self + turn) % 3 == 0) continue;
      uint64_t here = 0xf;
      if (turn % 3 == 0) here &= ~uint64_t{1};
      if ((2 + turn) % 3 == 0) here &= ~uint64_t{4};
      SIM_CHECK(target::ballot(here, true) == here);
    }
    SIM_CHECK(target::ballot(0xf, true) == 0xf);
  }));
}

[[gnu::noinline]] uint32_t looks_for(uint32_t* words, uint32_t self) {
  for (uint32_t turn = 0; turn < 3; ++turn) {
    if (self != 1) {
      if (word<uint32_t>(words[0]).fetch_add(1, relaxed) > 1'000) return 7;
      if (self == turn) return turn;
    }
    const uint64_t here = turn == 0 ? 0xe : turn == 1 ? 0xe : 0xa;
    SIM_CHECK(target::lane_mask() == here);
    SIM_CHECK(target::ballot(here, true) == here);
  }
  return 9;
}

TEST(lockstep, lanes_that_return_from_a_loop_are_there_behind_the_call) {
  in_every_order(one_wave(4, [](uint32_t* words) {
    const uint32_t self = target::lane_id();
    for (uint32_t turn = 0; turn < 2; ++turn) {
      const uint32_t found = looks_for(words, self);
      SIM_CHECK(found == (self % 2 == 0 ? self : 9u));
      SIM_CHECK(target::ballot(0xf, true) == 0xf);
    }
  }));
}

TEST(lockstep, a_kernel_that_some_lanes_end_within_an_arm) {
  in_every_order([] {
    device host;
    auto* const words = host.allocate_device<uint32_t>(256, "words");
    host.launch({.blocks = 1, .waves = 2, .lanes = 4}, [words] {
      if (target::lane_id() == 0) {
        word<uint32_t>(words[0]).fetch_add(1, relaxed);
        if (target::wave_id() == 1) return;
        word<uint32_t>(words[1]).fetch_add(1, relaxed);
      }
      SIM_CHECK(target::lane_mask() == (target::wave_id() == 1 ? 0xe : 0xf));
      runtime::block_barrier(runtime::barrier_kind::plain, false);
      SIM_CHECK(target::lane_mask() == (target::wave_id() == 1 ? 0xe : 0xf));
    });
    host.synchronize();
  });
}

TEST(lockstep, lanes_that_have_ended_are_not_there) {
  in_every_order(one_wave(4, [](uint32_t* words) {
    if (target::lane_id() == 0) return;
    if (target::lane_id() == 3) {
      word<uint32_t>(words[0]).store(1, relaxed);
      return;
    }
    SIM_CHECK(target::lane_mask() == 6);
    SIM_CHECK(target::broadcast(6, target::lane_id()) == 1u);
    SIM_CHECK(target::is_first_lane(6) == (target::lane_id() == 1));
  }));
}

[[gnu::noinline]] uint64_t ask_in_a_call(uint32_t* words, uint32_t deep) {
  word<uint32_t>(words[0]).fetch_add(1, relaxed);
  if (deep != 0) return ask_in_a_call(words, deep - 1);
  return target::lane_mask();
}

TEST(lockstep, calls_from_two_arms_are_apart_and_recursion_is_followed) {
  in_every_order(one_wave(4, [](uint32_t* words) {
    const uint32_t self = target::lane_id();
    uint64_t mask = 0;
    if (self < 2)
      mask = ask_in_a_call(words, 2);
    else
      mask = ask_in_a_call(words, 2);
    SIM_CHECK(mask == (self < 2 ? 3u : 12u));
    // From one place at different depths.
    SIM_CHECK(ask_in_a_call(words, self) == uint64_t{1} << self);
    SIM_CHECK(target::lane_mask() == 0xf);
    SIM_CHECK(ask_in_a_call(words, self / 2) == (self < 2 ? 3u : 12u));
  }));
}

[[gnu::noinline]] void enter(uint32_t* words) { word<uint32_t>(words[0]).fetch_add(1, relaxed); }
[[gnu::noinline]] void leave_all(uint32_t* words) {
  SIM_CHECK(target::lane_mask() == 0xf);
  word<uint32_t>(words[0]).fetch_sub(1, relaxed);
}

TEST(lockstep, one_call_that_two_branches_lead_to_is_made_together) {
  in_every_order(one_wave(4, [](uint32_t* words) {
    if (target::lane_id() % 2 == 0) {
      enter(words);
    } else {
      enter(words);
      enter(words + 1);
    }
    leave_all(words);
  }));
}

TEST(lockstep, which_arm_runs_first_is_as_the_source_has_them) {
  const program body = one_wave(4, [](uint32_t* words) {
    const word<uint32_t> first(words[0]);
    uint32_t none = 0;
    if (target::lane_id() == 2) {
      first.compare_exchange_strong(none, 1, relaxed);
    } else if (target::lane_id() == 1) {
      first.compare_exchange_strong(none, 2, relaxed);
    } else {
      first.compare_exchange_strong(none, 3, relaxed);
    }
    if (first.load(relaxed) != 1) target::trap(fault::assertion, "another arm was first");
  });
  EXPECT_TRUE(always(verdict::ok, machine({"convergence=lockstep"}).run_many(body, 100)));
  EXPECT_TRUE(always(verdict::assertion, machine({"convergence=lockstep", "arms=else-first"}).run_many(body, 100)));
  EXPECT_TRUE(sometimes(verdict::assertion, machine({"convergence=lockstep", "arms=any"}).run_many(body, 100)));
}

TEST(lockstep, no_lane_takes_a_second_operation_before_all_have_taken_their_first) {
  // Each stores and then loads what its neighbour stored: never too early.
  in_every_order(one_wave(8, [](uint32_t* words) {
    const uint32_t self = target::lane_id();
    for (uint32_t turn = 1; turn < 4; ++turn) {
      word<uint32_t>(words[self]).store(turn, relaxed);
      SIM_CHECK(word<uint32_t>(words[(self + 1) % 8]).load(relaxed) == turn);
    }
  }));
}

TEST(lockstep, within_one_operation_the_lanes_come_in_any_order) {
  const tally seen = machine({"convergence=lockstep"})
                         .run_many(one_wave(4,
                                            [](uint32_t* words) {
                                              const uint32_t place = word<uint32_t>(words[0]).fetch_add(1, relaxed);
                                              if (place != target::lane_id())
                                                target::trap(fault::assertion, "not by number");
                                            }),
                                   100);
  EXPECT_TRUE(sometimes(verdict::assertion, seen));
}

TEST(lockstep, copies_and_comparisons_are_one_call_of_several_operations) {
  in_every_order(one_wave(4, [](uint32_t* words) {
    uint32_t* const mine = words + size_t{8} * target::lane_id();
    uint32_t own[8] = {1, 2, 3, 4, 5, 6, 7, target::lane_id()};
    __builtin_memcpy(mine, own, sizeof own);
    // Some of these copy from memory that others see, and some do not.
    __builtin_memcpy(mine + 64, target::lane_id() % 2 == 0 ? mine : own, sizeof own);
    SIM_CHECK(target::lane_mask() == 0xf);
    for (int turn = 0; turn < 2; ++turn) {
      SIM_CHECK(__builtin_memcmp(mine, mine + 64, sizeof own) == 0);
      SIM_CHECK(target::lane_mask() == 0xf);
    }
  }));
}

TEST(lockstep, waves_are_scheduled_on_their_own) {
  for (const char* arms : {"arms=then-first", "arms=else-first"}) {
    machine on({"convergence=lockstep", arms});
    EXPECT_TRUE(always(verdict::ok, on.run_many(
                                        [] {
                                          device host;
                                          auto* const words = host.allocate_device<uint32_t>(4, "words");
                                          host.launch({.blocks = 3, .waves = 1, .lanes = 4}, [words] {
                                            // Each wave waits for the one before it.
                                            const word<uint32_t> turn(words[0]);
                                            while (turn.load(memory_order::acquire) / 4 != target::block_id())
                                              target::pause();
                                            turn.fetch_add(1, memory_order::acq_rel);
                                          });
                                          host.synchronize();
                                        },
                                        100)));
  }
}

TEST(lockstep, a_mask_that_names_absent_lanes_says_where_they_are) {
  machine on({"convergence=lockstep"});
  const program body = one_wave(5, [](uint32_t* words) {
    if (target::lane_id() == 4) return;
    if (target::lane_id() != 1) {
      if (target::lane_id() == 2)
        word<uint32_t>(words[1]).store(1, relaxed);
      else
        target::sync_lanes(31);
    }
    word<uint32_t>(words[0]).store(1, relaxed);
  });
  const outcome ended = on.explain(body);
  EXPECT_TRUE(is(verdict::mask, "", ended));
  EXPECT_TRUE(says(ended.message, "the mask of a sync_lanes names lanes that are not there: "));
  EXPECT_TRUE(says(ended.message, "lanes 1-2, masked off at " + SIM_LINE(__LINE__ - 5)));
  EXPECT_TRUE(says(ended.message, "lane 4, ended"));
  const outcome beyond = on.run(one_wave(3, [](uint32_t*) { target::sync_lanes(15); }));
  EXPECT_TRUE(is(verdict::mask, "", beyond));
  EXPECT_TRUE(says(beyond.message, "lane 3, which the wave does not have"));
}

TEST(lockstep, a_hang_names_what_is_masked_off_and_the_place_that_the_others_have_to_reach) {
  machine on({"convergence=lockstep"});
  const program body = one_wave(3, [](uint32_t* words) {
    const word<uint32_t> lock(words[0]);
    while (lock.exchange(1, memory_order::acquire) != 0) target::pause();
    lock.store(0, memory_order::release);
  });
  const outcome ended = on.explain(body);
  EXPECT_TRUE(is(verdict::deadlock, SIM_LINE(__LINE__ - 4), ended));
  EXPECT_TRUE(says(ended.message, "masked off until lanes "));
  EXPECT_TRUE(says(ended.message, " reach " + SIM_LINE(__LINE__ - 5)));
  EXPECT_TRUE(says(ended.report, "is masked off until lanes "));
  EXPECT_TRUE(says(ended.report, "which is masked off"));
}

TEST(lockstep, a_lane_that_another_wave_lets_go_on_takes_its_arm_with_it) {
  // Lanes wait for different words of another wave; the arm goes on when all have what they wait for.
  in_every_order([] {
    device host;
    auto* const words = host.allocate_device<uint32_t>(8, "words");
    host.launch({.blocks = 2, .waves = 1, .lanes = 4}, [words] {
      const word<uint32_t> mine(words[target::lane_id()]);
      if (target::block_id() == 1) {
        mine.store(1, memory_order::release);
      } else {
        while (mine.load(memory_order::acquire) == 0) target::pause();
        SIM_CHECK(target::lane_mask() == 0xf);
      }
    });
    host.synchronize();
  });
}

TEST(lockstep, loops_without_pause_are_seen_to_wait) {
  machine on({"convergence=lockstep"});
  EXPECT_TRUE(always(verdict::deadlock, on.run_many(one_wave(4,
                                                             [](uint32_t* words) {
                                                               // Loops of different lengths, by lane.
                                                               while (word<uint32_t>(words[0]).load(relaxed) == 0)
                                                                 for (uint32_t n = 0; n < target::lane_id(); ++n)
                                                                   (void)word<uint32_t>(words[1 + n]).load(relaxed);
                                                             }),
                                                    20)));
}

TEST(lockstep, collectives_in_a_loop_that_waits_for_ever) {
  machine on({"convergence=lockstep"});
  EXPECT_TRUE(always(verdict::deadlock,
                     on.run_many(one_wave(4,
                                          [](uint32_t* words) {
                                            while (true) {
                                              const bool seen =
                                                  word<uint32_t>(words[target::lane_id()]).load(relaxed) != 0;
                                              if (target::ballot(15, seen) != 0) break;
                                              target::pause();
                                            }
                                          }),
                                 20)));
}

TEST(lockstep, a_lane_alone_has_nothing_to_wait_for) {
  machine on({"convergence=lockstep"});
  EXPECT_TRUE(always(verdict::ok, on.run_many(one_wave(1,
                                                       [](uint32_t* words) {
                                                         SIM_CHECK(target::lane_mask() == bit(0));
                                                         SIM_CHECK(lowest(1) == 1);
                                                         word<uint32_t>(words[0]).store(1, relaxed);
                                                       }),
                                              20)));
}

TEST(lockstep, lanes_that_back_off_from_each_other_in_step_never_stop) {
  // Each takes its own lock, finds that the other has the other one, and gives its own back.
  const program crossed = one_wave(2, [](uint32_t* words) {
    const uint32_t self = target::lane_id();
    const word<uint32_t> mine(words[self]);
    const word<uint32_t> other(words[1 - self]);
    bool done = false;
    while (!done) {
      while (mine.exchange(1, memory_order::acquire) != 0) target::pause();
      if (other.exchange(1, memory_order::acquire) == 0) {
        other.store(0, memory_order::release);
        done = true;
      }
      mine.store(0, memory_order::release);
    }
  });
  for (const char* arms : {"arms=then-first", "arms=else-first", "arms=any"})
    EXPECT_TRUE(always(verdict::livelock,
                       machine({"convergence=lockstep", "budget=500", arms}, "random").run_many(crossed, 40)));
  EXPECT_GT(machine({"budget=5000"}, "random").run_many(crossed, 40).count(verdict::ok), 0u) << "on their own";
}

TEST(lockstep, a_hang_is_the_same_after_the_budget) {
  const program around = one_wave(3, [](uint32_t* words) {
    const word<uint32_t> lock(words[0]);
    for (uint32_t n = 0; n < 100; ++n) word<uint32_t>(words[1]).fetch_add(1, relaxed);
    while (lock.exchange(1, memory_order::acquire) != 0) target::pause();
    lock.store(0, memory_order::release);
  });
  EXPECT_TRUE(always(verdict::deadlock, machine({"convergence=lockstep", "budget=250"}).run_many(around, 40)));
  EXPECT_TRUE(always(verdict::ok, machine({"budget=250"}).run_many(around, 40)));
}

TEST(lockstep, the_same_seed_makes_the_same_run) {
  machine on({"convergence=lockstep", "arms=any"});
  const program body = one_wave(5, [](uint32_t* words) {
    for (uint32_t turn = 0; turn <= target::lane_id(); ++turn)
      if ((turn + target::lane_id()) % 2 == 0)
        word<uint32_t>(words[0]).fetch_add(1, relaxed);
      else
        word<uint32_t>(words[1]).fetch_add(1, relaxed);
  });
  std::set<uint64_t> digests;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const uint64_t digest = on.run(body, seed).digest;
    EXPECT_EQ(digest, on.run(body, seed).digest);
    digests.insert(digest);
  }
  EXPECT_GT(digests.size(), 10u);
}

}  // namespace
}  // namespace heddle::sim::tests

// -- What lanes of a wave do to each other: the scenarios of scenarios/lanes, under every convergence. This file and they are compiled
// in several ways, because where lanes come together again is read from the machine code.

namespace {

HEDDLE_TEST(lanes_on_their_own, "lanes.*", 200);
HEDDLE_TEST(lanes_in_lockstep, "lanes.*", 200, "convergence=lockstep");
HEDDLE_TEST(lanes_in_lockstep_else_first, "lanes.*", 200, "convergence=lockstep", "arms=else-first");
HEDDLE_TEST(lanes_in_lockstep_in_any_order, "lanes.*", 200, "convergence=lockstep", "arms=any");

HEDDLE_TEST(lanes_that_spin, "lanes.[bfl]*", 200, "pause=no");
HEDDLE_TEST(lanes_that_spin_in_lockstep, "lanes.[bfl]*", 200, "pause=no", "convergence=lockstep");
HEDDLE_TEST(lanes_that_spin_in_lockstep_else_first, "lanes.[bfl]*", 200, "pause=no", "convergence=lockstep",
            "arms=else-first");

HEDDLE_TEST(half_a_wave_in_lockstep, "lanes.[bfl]*", 20, "lanes=32", "convergence=lockstep");
HEDDLE_TEST(a_whole_wave_in_lockstep, "lanes.[bfl]*", 20, "lanes=64", "convergence=lockstep", "arms=else-first");
HEDDLE_TEST(a_whole_wave_on_its_own, "lanes.[bfl]*", 5, "lanes=64");

HEDDLE_TEST(a_close_behind_two_branches, "zoo.sunk-close*", 200);
HEDDLE_TEST(a_close_behind_two_branches_else_first, "zoo.sunk-close*", 200, "arms=else-first");
HEDDLE_TEST(a_close_behind_two_branches_of_lanes_on_their_own, "zoo.sunk-close*", 200, "convergence=independent");
HEDDLE_TEST(a_port_for_each_branch, "zoo.sunk-close*", 200, "ports=2");
HEDDLE_TEST(a_port_for_each_lane, "lanes.port-*", 200, "ports=3", "convergence=lockstep");
HEDDLE_TEST(one_memory_in_lockstep, "lanes.*", 100, "convergence=lockstep", "fidelity=interleaving");

}  // namespace
