// Lanes of a wave together: what collectives give, and what becomes of masks and lanes that disagree.
#include "run.h"

#include <set>

namespace heddle::sim::tests::collective_test {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

template <typename Kernel>
program one_wave(uint32_t lanes, Kernel kernel) {
  return [lanes, kernel] {
    device host;
    auto* const words = host.allocate_device<uint32_t>(128, "words");
    host.launch({.blocks = 1, .waves = 1, .lanes = lanes}, [words, kernel] { kernel(words); });
    host.synchronize();
  };
}

uint64_t bit(uint32_t lane) { return uint64_t{1} << lane; }

TEST(collectives, broadcast_ballot_and_sync_act_on_the_lanes_of_a_partial_mask) {
  constexpr uint64_t evens = 0x5555555555555555;
  for (const uint32_t lanes : {2u, 5u, 64u})
    for (const std::string& strategy : all_strategies()) {
      machine on({}, strategy);
      const uint64_t all = lanes == 64 ? ~uint64_t{0} : bit(lanes) - 1;
      EXPECT_TRUE(always(
          verdict::ok,
          on.run_many(one_wave(lanes,
                               [all](uint32_t* words) {
                                 const uint32_t self = target::lane_id();
                                 const bool even = self % 2 == 0;
                                 const uint64_t mask = (even ? evens : ~evens) & all;
                                 for (uint32_t round = 0; round < 3; ++round) {
                                   SIM_CHECK(target::broadcast(mask, self + round) == (even ? 0u : 1u) + round);
                                   SIM_CHECK(target::broadcast(mask, uint64_t{self} << 40) == uint64_t{even ? 0u : 1u}
                                                                                                  << 40);
                                   SIM_CHECK(target::ballot(mask, self % 3 == 0) == (mask & 0x9249249249249249));
                                   // What was written before is seen behind.
                                   words[self] = round + 1;
                                   target::sync_lanes(mask);
                                   for (uint32_t other = 0; other < target::lane_count(); ++other)
                                     if ((mask & bit(other)) != 0) SIM_CHECK(words[other] == round + 1);
                                   target::sync_lanes(mask);
                                   SIM_CHECK(target::is_first_lane(mask) == (self == (even ? 0u : 1u)));
                                 }
                               }),
                      lanes == 64 ? 5 : 100)));
    }
}

TEST(collectives, without_the_sync_a_lane_may_see_what_was_before) {
  machine on;
  const tally seen = on.run_many(one_wave(2,
                                          [](uint32_t* words) {
                                            words[target::lane_id()] = 1;
                                            SIM_CHECK(words[1 - target::lane_id()] == 1);
                                          }),
                                 100);
  EXPECT_TRUE(sometimes(verdict::assertion, seen));
}

TEST(collectives, lanes_of_disjoint_masks_do_not_wait_for_each_other) {
  machine on;
  // Lanes 2 and 3 meet only after lane 0 has seen what lanes 0 and 1 did together.
  EXPECT_TRUE(always(verdict::ok, on.run_many(one_wave(4,
                                                       [](uint32_t* words) {
                                                         const word<uint32_t> flag(words[0]);
                                                         if (target::lane_id() < 2) {
                                                           target::sync_lanes(3);
                                                           SIM_CHECK(target::ballot(3, true) == 3);
                                                           flag.store(1, release);
                                                         } else {
                                                           if (target::lane_id() == 3)
                                                             while (flag.load(acquire) == 0) target::pause();
                                                           target::sync_lanes(12);
                                                         }
                                                       }),
                                              200)));
}

TEST(collectives, a_lane_that_has_ended_never_comes) {
  machine on;
  const program body = one_wave(3, [](uint32_t*) {
    if (target::lane_id() == 1) return;
    target::sync_lanes(7);
  });
  EXPECT_TRUE(always(verdict::mask, on.run_many(body, 100)));
  // Both orders occur: it ends first, or the others wait for it first.
  std::set<std::string> messages;
  for (uint64_t seed = 1; seed <= 100; ++seed) messages.insert(on.run(body, seed).message);
  std::string all;
  for (const std::string& message : messages) all += message + "\n";
  EXPECT_TRUE(says(all, "the mask of a sync_lanes names lane 1, which has ended"));
  EXPECT_TRUE(says(all, "wave 0 lane 1 has ended, but a sync_lanes of its wave names it"));
}

TEST(collectives, a_lane_that_waits_elsewhere_is_a_deadlock_that_names_it) {
  machine on;
  const program body = one_wave(3, [](uint32_t* words) {
    if (target::lane_id() == 1)
      while (word<uint32_t>(words[0]).load(acquire) == 0) target::pause();
    target::sync_lanes(7);
    word<uint32_t>(words[0]).store(1, release);
  });
  EXPECT_TRUE(always(verdict::deadlock, on.run_many(body, 100)));
  const outcome ended = on.explain(body);
  EXPECT_TRUE(says(ended.report, "lanes 0, 2: wait at a sync_lanes of lanes 0-2"));
  EXPECT_TRUE(says(ended.report, "missing: lane 1"));
}

TEST(collectives, different_collectives_or_masks_are_a_mask_mismatch) {
  machine on;
  EXPECT_TRUE(always(verdict::mask, on.run_many(one_wave(2,
                                                         [](uint32_t*) {
                                                           if (target::lane_id() == 0)
                                                             target::sync_lanes(3);
                                                           else
                                                             (void)target::ballot(3, true);
                                                         }),
                                                50)));
  EXPECT_TRUE(
      always(verdict::mask,
             on.run_many(one_wave(3, [](uint32_t*) { target::sync_lanes(target::lane_id() == 0 ? 7 : 3); }), 50)));
  const outcome outside = on.run(one_wave(3, [](uint32_t*) { target::sync_lanes(target::lane_id() == 2 ? 3 : 7); }));
  EXPECT_TRUE(is(verdict::mask, "", outside));
  const outcome beyond = on.run(one_wave(3, [](uint32_t*) { target::sync_lanes(15); }));
  EXPECT_TRUE(is(verdict::mask, "", beyond));
  EXPECT_TRUE(says(beyond.message, "names lanes that the wave does not have"));
}

TEST(collectives, masks_that_overlap_one_after_the_other_are_fine) {
  machine on;
  EXPECT_TRUE(always(verdict::ok, on.run_many(one_wave(3,
                                                       [](uint32_t*) {
                                                         if (target::lane_id() < 2) target::sync_lanes(3);
                                                         if (target::lane_id() > 0) target::sync_lanes(6);
                                                         target::sync_lanes(7);
                                                       }),
                                              300)));
}

TEST(collectives, a_wave_of_one_lane_and_a_host_thread_are_alone) {
  machine on;
  const auto alone = [](uint32_t*) {
    SIM_CHECK(target::lane_mask() == 1 && target::broadcast(1, 5u) == 5);
    SIM_CHECK(target::ballot(1, true) == 1 && target::ballot(1, false) == 0);
    target::sync_lanes(1);
    SIM_CHECK(target::is_first_lane(1));
  };
  EXPECT_TRUE(always(verdict::ok, on.run_many(one_wave(1, alone), 20)));
  EXPECT_TRUE(is(verdict::ok, "", on.run([alone] {
    alone(nullptr);
    SIM_CHECK(target::ballot(0xff, true) == 0xff && target::broadcast(0xf0, 9u) == 9);
    SIM_CHECK(target::is_first_lane(0xf0));
  })));
}

// -- the lanes that stand together ----------------------------------------------------------------------------------------------------

TEST(lane_mask, is_a_snapshot_that_holds_the_caller_and_on_which_its_lanes_agree) {
  std::set<uint64_t> seen;
  for (const std::string& strategy : all_strategies()) {
    machine on({}, strategy);
    EXPECT_TRUE(always(verdict::ok, on.run_many(
                                        [&seen] {
                                          device host;
                                          auto* const masks = host.allocate_shared<uint64_t>(8, "masks");
                                          host.launch({.blocks = 1, .waves = 1, .lanes = 4}, [masks] {
                                            const uint64_t mask = target::lane_mask();
                                            SIM_CHECK((mask & bit(target::lane_id())) != 0 && mask < 16);
                                            masks[target::lane_id()] = mask;
                                            // The lanes of the mask are the ones that a collective may name.
                                            masks[4 + target::lane_id()] = target::ballot(mask, true);
                                          });
                                          host.synchronize();
                                          for (uint32_t lane = 0; lane < 4; ++lane) {
                                            SIM_CHECK(masks[4 + lane] == masks[lane]);
                                            for (uint32_t other = 0; other < 4; ++other)
                                              if ((masks[lane] & bit(other)) != 0)
                                                SIM_CHECK(masks[other] == masks[lane]);
                                            seen.insert(masks[lane]);
                                          }
                                        },
                                        300)));
  }
  EXPECT_TRUE(seen.contains(15));
  // A lane alone, and a pair: schedules differ in the lanes that stand together.
  EXPECT_TRUE(seen.contains(1) && seen.contains(8));
  EXPECT_GT(seen.size(), 6u);
}

TEST(lane_mask, names_only_lanes_that_stand_at_the_same_place) {
  machine on;
  EXPECT_TRUE(always(verdict::ok, on.run_many(one_wave(4,
                                                       [](uint32_t* words) {
                                                         uint64_t mask = 0;
                                                         if (target::lane_id() % 2 == 0) {
                                                           mask = target::lane_mask();
                                                           SIM_CHECK((mask & ~uint64_t{5}) == 0);
                                                         } else {
                                                           mask = target::lane_mask();
                                                           SIM_CHECK((mask & ~uint64_t{10}) == 0);
                                                         }
                                                         target::sync_lanes(mask);
                                                         word<uint32_t>(words[0]).fetch_add(1, relaxed);
                                                       }),
                                              200)));
}

TEST(lane_mask, of_another_turn_of_a_loop_is_a_new_question) {
  machine on;
  EXPECT_TRUE(always(verdict::ok, on.run_many(one_wave(3,
                                                       [](uint32_t* words) {
                                                         for (uint32_t round = 0; round < 4; ++round) {
                                                           const uint64_t mask = target::lane_mask();
                                                           const uint64_t arrived = target::ballot(mask, true);
                                                           SIM_CHECK(arrived == mask);
                                                           word<uint32_t>(words[0]).fetch_add(1, relaxed);
                                                         }
                                                       }),
                                              300)));
}

}  // namespace
}  // namespace heddle::sim::tests::collective_test
