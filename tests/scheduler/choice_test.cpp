#include <heddle/scheduler/choice.h>

#include <heddle/scheduler/random.h>
#include <heddle/scheduler/replay.h>
#include <heddle/scheduler/rhythm.h>
#include <heddle/scheduler/round_robin.h>

#include <gtest/gtest.h>

#include "actors.h"

namespace heddle::scheduler {
namespace {

TEST(choice_source, records_what_was_answered) {
  round_robin_strategy deciding(1);
  choice_source choices;
  choices.begin(deciding, 1);
  const actors two({{.actor = 0}, {.actor = 1}});
  EXPECT_EQ(choices.pick(2, choice_kind::actor, two.list()), 0u);
  EXPECT_EQ(choices.pick(2, choice_kind::actor, two.list()), 1u);
  EXPECT_EQ(choices.pick(3, choice_kind::wake), 0u);
  const std::vector<answer> expected = {
      {choice_kind::actor, 2, 0}, {choice_kind::actor, 2, 1}, {choice_kind::wake, 3, 0}};
  EXPECT_EQ(choices.recorded(), expected);
}

TEST(choice_source, a_choice_among_one_is_neither_asked_nor_recorded) {
  const std::vector<answer> nothing;
  replay_strategy deciding(nothing);
  choice_source choices;
  choices.begin(deciding, 1);
  EXPECT_EQ(choices.pick(1, choice_kind::actor), 0u);
  EXPECT_TRUE(choices.recorded().empty());
}

TEST(choice_source, no_answer_is_passed_on_and_not_recorded) {
  const std::vector<answer> nothing;
  replay_strategy deciding(nothing);
  choice_source choices;
  choices.begin(deciding, 1);
  EXPECT_EQ(choices.pick(2, choice_kind::actor), no_answer);
  EXPECT_TRUE(choices.recorded().empty());
}

TEST(choice_source, a_new_run_forgets_the_last_one_and_keeps_its_memory) {
  random_strategy deciding;
  choice_source choices;
  choices.begin(deciding, 1);
  for (int turn = 0; turn < 1'000; ++turn) choices.pick(4, choice_kind::actor);
  const size_t capacity = choices.recorded().capacity();
  choices.begin(deciding, 2);
  EXPECT_TRUE(choices.recorded().empty());
  EXPECT_EQ(choices.recorded().capacity(), capacity);
}

TEST(choice_source, the_end_game_is_drawn_where_the_strategy_draws_one_and_where_one_was_recorded) {
  choice_source choices;
  random_strategy random;
  choices.begin(random, 1);
  EXPECT_FALSE(choices.draws_end_game());
  rhythm_strategy rhythm;
  choices.begin(rhythm, 1);
  ASSERT_TRUE(choices.draws_end_game());
  const uint32_t drawn = choices.pick(16, choice_kind::end);
  choices.pick(2, choice_kind::actor);
  const std::vector<answer> recorded = choices.recorded();
  replay_strategy again(recorded);
  choices.begin(again, 1);
  EXPECT_TRUE(choices.draws_end_game());
  EXPECT_EQ(choices.pick(16, choice_kind::end), drawn);
  const std::vector<answer> without = {{choice_kind::actor, 2, 1}};
  replay_strategy other(without);
  choices.begin(other, 1);
  EXPECT_FALSE(choices.draws_end_game());
}

TEST(choice_kind, names_and_their_inverse_agree) {
  for (uint32_t kind = 0; kind < choice_kind_count; ++kind)
    EXPECT_EQ(parse_choice_kind(to_string(static_cast<choice_kind>(kind))), static_cast<choice_kind>(kind));
  EXPECT_FALSE(parse_choice_kind("nobody"));
}

}  // namespace
}  // namespace heddle::scheduler
