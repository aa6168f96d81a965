#include <heddle/scheduler/starve.h>
#include <heddle/scheduler/unfair.h>

#include "actors.h"
#include "small_machine.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace heddle::scheduler {
namespace {

const candidate host = {.actor = 0, .group = 0, .guaranteed = true};

TEST(starve_strategy, never_picks_a_victim_that_is_guaranteed_nothing) {
  starve_strategy deciding(1);
  deciding.begin(3);
  const actors all({host, {.actor = 1, .group = 1}, {.actor = 2, .group = 1}, {.actor = 3, .group = 2}});
  for (int turn = 0; turn < 50'000; ++turn) EXPECT_NE(all[deciding.pick(all.asked())].group, 1u);
}

TEST(starve_strategy, picks_the_victim_when_nobody_else_can_run) {
  starve_strategy deciding(1);
  deciding.begin(3);
  const actors victims({{.actor = 1, .group = 1}, {.actor = 2, .group = 1}});
  std::set<uint32_t> picked;
  for (int turn = 0; turn < 100; ++turn) picked.insert(victims.picked_by(deciding));
  EXPECT_EQ(picked.size(), 2u);
}

TEST(starve_strategy, a_guaranteed_victim_is_forced_exactly_at_the_age_bound) {
  starve_strategy deciding(1);
  const actors all({host, {.actor = 1, .group = 1, .guaranteed = true}, {.actor = 3, .group = 2}});
  for (uint64_t seed = 0; seed < 20; ++seed) {
    deciding.begin(seed);
    for (int round = 0; round < 3; ++round) {
      for (uint32_t age = 0; age < deciding.age_max(); ++age) ASSERT_NE(all.picked_by(deciding), 1u) << seed;
      ASSERT_EQ(all.picked_by(deciding), 1u) << seed;
    }
  }
}

TEST(starve_strategy, only_choices_in_which_the_victim_could_run_age_it) {
  starve_strategy deciding(1);
  deciding.begin(1);
  const actors without({host, {.actor = 3, .group = 2}});
  const actors with({host, {.actor = 1, .group = 1, .guaranteed = true}, {.actor = 3, .group = 2}});
  for (uint32_t age = 0; age < deciding.age_max(); ++age) {
    ASSERT_NE(with.picked_by(deciding), 1u);
    without.picked_by(deciding);
  }
  EXPECT_EQ(with.picked_by(deciding), 1u);
}

TEST(starve_strategy, of_several_victims_the_oldest_is_forced_first) {
  starve_strategy deciding(1);
  deciding.begin(1);
  const candidate first = {.actor = 1, .group = 1, .guaranteed = true};
  const candidate second = {.actor = 2, .group = 1, .guaranteed = true};
  actors({host, second, {.actor = 3, .group = 2}}).picked_by(deciding);  // the second is one choice older
  const actors all({host, first, second});
  for (uint32_t age = 1; age < deciding.age_max(); ++age) ASSERT_EQ(all.picked_by(deciding), 0u);
  EXPECT_EQ(all.picked_by(deciding), 2u);
  EXPECT_EQ(all.picked_by(deciding), 1u);
}

TEST(starve_strategy, age_bounds_cover_their_range) {
  starve_strategy deciding;
  uint32_t below_100 = 0, above_1000 = 0;
  for (uint64_t seed = 0; seed < 1'000; ++seed) {
    deciding.begin(seed);
    ASSERT_GE(deciding.age_max(), starve_strategy::age_lowest);
    ASSERT_LE(deciding.age_max(), starve_strategy::age_highest);
    if (deciding.age_max() < 100) ++below_100;
    if (deciding.age_max() > 1'000) ++above_1000;
  }
  // Log-uniform: a third each, within four standard deviations.
  EXPECT_NEAR(below_100, 333, 60);
  EXPECT_NEAR(above_1000, 333, 60);
}

TEST(starve_strategy, each_group_is_drawn_as_the_victim_by_some_seeds) {
  starve_strategy deciding;
  const actors all({host, {.actor = 1, .group = 1}, {.actor = 2, .group = 2}, {.actor = 3, .group = 3}});
  std::map<uint32_t, int> victims;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    deciding.begin(seed);
    EXPECT_FALSE(deciding.victim());
    all.picked_by(deciding);
    ASSERT_TRUE(deciding.victim());
    ++victims[*deciding.victim()];
  }
  ASSERT_EQ(victims.size(), 4u);
  for (const auto& [group, times] : victims) EXPECT_NEAR(times, 100, 40) << group;
}

TEST(starve_strategy, the_victim_does_not_depend_on_the_order_in_which_groups_appear) {
  starve_strategy deciding;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    deciding.begin(seed);
    actors({host, {.actor = 1, .group = 1}}).picked_by(deciding);
    actors({{.actor = 2, .group = 2}, {.actor = 3, .group = 3}}).picked_by(deciding);
    const auto victim = deciding.victim();
    deciding.begin(seed);
    actors({{.actor = 3, .group = 3}, {.actor = 1, .group = 1}}).picked_by(deciding);
    actors({{.actor = 2, .group = 2}, host}).picked_by(deciding);
    EXPECT_EQ(deciding.victim(), victim);
  }
}

const candidate other = {.actor = 1, .group = 1};
const candidate third = {.actor = 2, .group = 2};

TEST(unfair_strategy, stays_on_one_actor_until_it_cannot_go_on) {
  unfair_strategy deciding(1'000'000);
  std::map<uint32_t, int> favourites;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    deciding.begin(seed);
    const actors all({host, other, third});
    const uint32_t favourite = all.picked_by(deciding);
    ++favourites[favourite];
    for (int turn = 0; turn < 100; ++turn) ASSERT_EQ(all.picked_by(deciding), favourite);
    const actors without = favourite == 0   ? actors({other, third})
                           : favourite == 1 ? actors({host, third})
                                            : actors({host, other});
    const uint32_t next = without.picked_by(deciding);
    // It does not come back for being able to.
    for (int turn = 0; turn < 100; ++turn) ASSERT_EQ(all.picked_by(deciding), next);
  }
  for (const auto& [favourite, times] : favourites) EXPECT_NEAR(times, 100, 40) << favourite;
}

TEST(unfair_strategy, whoever_is_guaranteed_nothing_may_wait_for_ever) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    unfair_strategy deciding(10);
    deciding.begin(seed);
    const actors all({other, third});
    const uint32_t favourite = all.picked_by(deciding);
    for (int turn = 0; turn < 10'000; ++turn) ASSERT_EQ(all.picked_by(deciding), favourite);
  }
}

TEST(unfair_strategy, whoever_has_a_right_is_forced_exactly_at_the_bound_and_the_favourite_goes_on) {
  constexpr uint32_t bound = 7;
  const candidate with_right = {.actor = 3, .group = 3, .guaranteed = true};
  for (uint64_t seed = 0; seed < 50; ++seed) {
    unfair_strategy deciding(bound);
    deciding.begin(seed);
    const actors all({other, with_right});
    if (all.picked_by(deciding) == 3) continue;  // then it is the favourite
    for (int round = 0; round < 5; ++round) {
      for (uint32_t age = round == 0 ? 1 : 0; age < bound; ++age) ASSERT_EQ(all.picked_by(deciding), 1u);
      ASSERT_EQ(all.picked_by(deciding), 3u);
    }
  }
}

TEST(unfair_strategy, only_choices_in_which_somebody_could_run_age_it) {
  const candidate with_right = {.actor = 3, .group = 3, .guaranteed = true};
  for (uint64_t seed = 0; seed < 50; ++seed) {
    unfair_strategy deciding(5);
    deciding.begin(seed);
    const actors with({other, third, with_right});
    const actors without({other, third});
    if (with.picked_by(deciding) == 3) continue;
    for (int turn = 0; turn < 100; ++turn) without.picked_by(deciding);
    for (int turn = 1; turn < 5; ++turn) ASSERT_NE(with.picked_by(deciding), 3u);
    ASSERT_EQ(with.picked_by(deciding), 3u);
  }
}

TEST(unfair_strategy, of_several_the_oldest_is_forced_first) {
  const candidate first = {.actor = 3, .group = 3, .guaranteed = true};
  const candidate second = {.actor = 4, .group = 4, .guaranteed = true};
  for (uint64_t seed = 0; seed < 50; ++seed) {
    unfair_strategy deciding(5);
    deciding.begin(seed);
    if (actors({other, second}).picked_by(deciding) != 1) continue;
    const actors all({other, first, second});
    for (int turn = 1; turn < 5; ++turn) ASSERT_EQ(all.picked_by(deciding), 1u);
    ASSERT_EQ(all.picked_by(deciding), 4u);
    ASSERT_EQ(all.picked_by(deciding), 3u);
  }
}

TEST(unfair_strategy, drawn_bounds_are_those_of_starve) {
  unfair_strategy deciding;
  uint32_t below_100 = 0;
  for (uint64_t seed = 0; seed < 1'000; ++seed) {
    deciding.begin(seed);
    ASSERT_GE(deciding.age_max(), starve_strategy::age_lowest);
    ASSERT_LE(deciding.age_max(), starve_strategy::age_highest);
    if (deciding.age_max() < 100) ++below_100;
  }
  EXPECT_NEAR(below_100, 333, 60);
}

// On a machine that says which actors came and went, only the one that ran is looked at: the answers must be the same.
TEST(unfair_strategy, a_machine_that_does_not_say_who_comes_gets_the_same_answers) {
  const auto worker = [](uint32_t steps) -> small_machine::actor {
    for (uint32_t step = 0; step < steps; ++step) co_await small_machine::writes(1);
  };
  unfair_strategy deciding(6);
  choice_source choices;
  small_machine says(true), silent(false);
  const auto start = [&](small_machine& here) {
    for (const uint32_t steps : {20u, 7u, 30u, 11u}) here.add(worker(steps));
  };
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    choices.begin(deciding, seed);
    const auto order = says.run(choices, start).order;
    choices.begin(deciding, seed);
    ASSERT_EQ(silent.run(choices, start).order, order) << seed;
  }
}

}  // namespace
}  // namespace heddle::scheduler
