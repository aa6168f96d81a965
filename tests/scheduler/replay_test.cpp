#include <heddle/scheduler/follow.h>
#include <heddle/scheduler/replay.h>

#include "actors.h"

#include <gtest/gtest.h>

namespace heddle::scheduler {
namespace {

const std::vector<answer> recorded = {{choice_kind::actor, 3, 2}, {choice_kind::wake, 2, 1}};

uint32_t ask(replay_strategy& deciding, choice_kind kind, uint32_t count) {
  return deciding.pick({.kind = kind, .count = count, .candidates = {}});
}

TEST(replay_strategy, gives_the_recorded_answers_again_in_each_run) {
  replay_strategy deciding(recorded);
  for (int run = 0; run < 2; ++run) {
    deciding.begin(1);
    EXPECT_EQ(ask(deciding, choice_kind::actor, 3), 2u);
    EXPECT_EQ(ask(deciding, choice_kind::wake, 2), 1u);
    EXPECT_EQ(deciding.left_over(), 0u);
    EXPECT_EQ(deciding.disagreement(), "");
  }
}

TEST(replay_strategy, another_kind_stops_the_run_and_says_so) {
  replay_strategy deciding(recorded);
  deciding.begin(1);
  ask(deciding, choice_kind::actor, 3);
  EXPECT_EQ(ask(deciding, choice_kind::actor, 2), no_answer);
  EXPECT_EQ(deciding.divergence(), "at choice 2 the run asks for actor out of 2, but recorded is wake out of 2");
  EXPECT_EQ(ask(deciding, choice_kind::wake, 2), no_answer) << "a run that has left the recording does not come back";
}

TEST(replay_strategy, another_count_stops_the_run_and_says_so) {
  replay_strategy deciding(recorded);
  deciding.begin(1);
  EXPECT_EQ(ask(deciding, choice_kind::actor, 4), no_answer);
  EXPECT_EQ(deciding.divergence(), "at choice 1 the run asks for actor out of 4, but recorded is actor out of 3");
}

TEST(replay_strategy, a_run_that_asks_more_than_was_recorded_is_stopped) {
  replay_strategy deciding(recorded);
  deciding.begin(1);
  ask(deciding, choice_kind::actor, 3);
  ask(deciding, choice_kind::wake, 2);
  EXPECT_EQ(ask(deciding, choice_kind::actor, 3), no_answer);
  EXPECT_EQ(deciding.divergence(), "at choice 3 the run asks for actor out of 3, but the recording ends there");
}

TEST(replay_strategy, answers_left_over_are_a_disagreement) {
  replay_strategy deciding(recorded);
  deciding.begin(1);
  ask(deciding, choice_kind::actor, 3);
  EXPECT_EQ(deciding.left_over(), 1u);
  EXPECT_EQ(deciding.divergence(), "");
  EXPECT_EQ(deciding.disagreement(), "the run ended after choice 1, but 2 choices are recorded");
}

uint32_t ask(try_strategy& deciding, choice_kind kind, uint32_t count) {
  const uint32_t picked = deciding.pick({.kind = kind, .count = count, .candidates = {}});
  deciding.performed({});
  return picked;
}

const std::vector<answer> longer = {
    {choice_kind::actor, 3, 2}, {choice_kind::wake, 2, 1}, {choice_kind::actor, 3, 1}, {choice_kind::visible, 4, 3}};

TEST(try_strategy, gives_the_answers_that_fit) {
  try_strategy deciding(longer);
  for (int run = 0; run < 2; ++run) {
    deciding.begin(1);
    EXPECT_EQ(ask(deciding, choice_kind::actor, 3), 2u);
    EXPECT_EQ(ask(deciding, choice_kind::wake, 2), 1u);
    EXPECT_EQ(deciding.disagreement(), "the run ended after choice 2, but 4 choices are recorded");
    EXPECT_EQ(ask(deciding, choice_kind::actor, 3), 1u);
    EXPECT_EQ(ask(deciding, choice_kind::visible, 4), 3u);
    EXPECT_EQ(deciding.disagreement(), "");
    EXPECT_EQ(deciding.followed(), 4u);
  }
}

TEST(try_strategy, says_where_it_left_first_and_goes_on) {
  try_strategy deciding(longer);
  deciding.begin(1);
  EXPECT_EQ(ask(deciding, choice_kind::actor, 3), 2u);
  EXPECT_EQ(ask(deciding, choice_kind::actor, 3), 1u) << "the choice of a wake-up is not there any more";
  EXPECT_EQ(deciding.disagreement(),
            "at step 2, choice 2 the run asks for actor out of 3, but recorded is wake out of 2");
  EXPECT_EQ(ask(deciding, choice_kind::spurious, 2), 0u) << "a new one has the machine's default";
  EXPECT_EQ(ask(deciding, choice_kind::visible, 5), 3u) << "one more answer that there could be";
  EXPECT_LT(ask(deciding, choice_kind::actor, 2), 2u) << "behind the end";
  EXPECT_EQ(deciding.followed(), 3u);
  EXPECT_NE(deciding.disagreement().find("at step 2"), std::string::npos) << "the first counts";
}

TEST(try_strategy, takes_no_answer_that_there_is_not) {
  try_strategy deciding(longer);
  deciding.begin(1);
  EXPECT_EQ(ask(deciding, choice_kind::actor, 2), 0u);
  EXPECT_EQ(ask(deciding, choice_kind::actor, 3), 2u);
}

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
