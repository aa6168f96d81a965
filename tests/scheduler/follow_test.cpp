#include <gtest/gtest.h>
#include <heddle/scheduler/follow.h>

#include "actors.h"

namespace heddle::scheduler {
namespace {

constexpr uint64_t strict = 5;

candidate who(uint32_t group, uint64_t headway) { return {.actor = group, .group = group, .headway = headway}; }

TEST(follow, picks_who_comes_next_until_it_has_come_as_far_as_recorded) {
  const recorded_order order{.steps = {{1, 0, 1}, {2, 0, 1}, {1, 0, 3}}};
  follow_strategy following(order, strict);
  following.begin(strict);
  EXPECT_EQ(actors({who(0, 0), who(1, 0), who(2, 0)}).picked_by(following), 1u);
  EXPECT_EQ(actors({who(0, 0), who(1, 0), who(2, 0)}).picked_by(following), 1u) << "it has not got there yet";
  EXPECT_EQ(actors({who(0, 0), who(1, 1), who(2, 0)}).picked_by(following), 2u);
  EXPECT_EQ(actors({who(0, 0), who(1, 1), who(2, 1)}).picked_by(following), 1u);
  EXPECT_EQ(actors({who(0, 0), who(1, 2), who(2, 1)}).picked_by(following), 1u) << "3 is what was recorded";
}

TEST(follow, passes_over_who_waits) {
  const recorded_order order{.steps = {{1, 0, 1}, {2, 0, 1}}};
  follow_strategy following(order, strict);
  following.begin(strict);
  EXPECT_EQ(actors({who(0, 0), who(1, 0), who(2, 0)}).picked_by(following), 1u);
  EXPECT_EQ(actors({who(0, 0), who(2, 0)}).picked_by(following), 2u);
}

TEST(follow, lets_those_of_whom_nothing_is_recorded_make_who_is_not_there_yet) {
  const recorded_order order{.steps = {{3, 0, 1}, {1, 0, 5}}};
  for (uint32_t turn = 0; turn < 20; ++turn) {
    follow_strategy following(order, strict);
    following.begin(strict);
    EXPECT_EQ(actors({who(0, 0), who(1, 0)}).picked_by(following), 0u);
  }
}

TEST(follow, gives_a_step_up_that_never_comes) {
  const recorded_order order{.steps = {{1, 0, 9}, {2, 0, 1}}};
  follow_strategy following(order, strict);
  following.begin(strict);
  for (uint32_t turn = 0; turn < follow_strategy::patience; ++turn)
    ASSERT_EQ(actors({who(1, 0), who(2, 0)}).picked_by(following), 1u) << turn;
  EXPECT_EQ(actors({who(1, 0), who(2, 0)}).picked_by(following), 2u);
}

TEST(follow, leaves_what_came_before_the_order_open) {
  const recorded_order order{.steps = {{1, 0, headway_of(8, 0)}, {2, 0, 1}}, .starts = {{1, 0, headway_of(7, 0)}}};
  follow_strategy following(order, strict);
  following.begin(strict);
  bool other_ran = false;
  for (uint32_t turn = 0; turn < 100; ++turn) other_ran |= actors({who(1, 0), who(2, 0)}).picked_by(following) == 2;
  EXPECT_TRUE(other_ran) << "nothing is known of group 2 either";
  EXPECT_EQ(actors({who(1, headway_of(7, 0)), who(2, 0)}).picked_by(following), 1u) << "from here on it is";
}

TEST(follow, is_freer_with_each_seed_and_repeats_itself) {
  const recorded_order order{.steps = {{1, 0, 1'000'000}}};
  const auto strays = [&](uint64_t seed) {
    follow_strategy following(order, strict);
    following.begin(seed);
    uint32_t count = 0;
    for (uint32_t turn = 0; turn < follow_strategy::patience; ++turn)
      if (actors({who(0, 0), who(1, 0)}).picked_by(following) == 0) ++count;
    return count;
  };
  EXPECT_EQ(strays(strict), 0u);
  EXPECT_GT(strays(strict + 200), 10u);
  EXPECT_GT(strays(strict + 500), strays(strict + 50));
  EXPECT_EQ(strays(strict + 77), strays(strict + 77));
}

}  // namespace
}  // namespace heddle::scheduler
