#include <heddle/scheduler/choice.h>

#include <heddle/scheduler/append.h>
#include <heddle/scheduler/random.h>
#include <heddle/scheduler/replay.h>
#include <heddle/scheduler/rhythm.h>
#include <heddle/scheduler/round_robin.h>

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

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

TEST(choice_source, the_short_way_gives_the_answers_of_the_long_one) {
  // Of bounds near 2^32 a third of all draws is thrown away.
  constexpr std::array<uint32_t, 6> counts = {1, 2, 3, 64, 3'000'000'000, 4'294'967'295};
  constexpr std::array<choice_kind, 3> kinds = {choice_kind::actor, choice_kind::wake, choice_kind::visible};
  uint64_t tried = 0;
  uint64_t refused = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    random_strategy one;
    random_strategy other;
    choice_source by_pick;
    choice_source by_try;
    by_pick.begin(one, seed);
    by_try.begin(other, seed);
    for (uint32_t turn = 0; turn < 400; ++turn) {
      const uint32_t count = counts[(turn + seed) % counts.size()];
      const choice_kind kind = kinds[turn / 7 % kinds.size()];
      uint32_t picked = 0;
      ++tried;
      if (count == 1 || !by_try.try_pick(count, kind, picked)) {
        ++refused;
        picked = by_try.pick(count, kind);
      }
      ASSERT_EQ(picked, by_pick.pick(count, kind)) << "seed " << seed << ", turn " << turn;
    }
    EXPECT_EQ(by_try.recorded(), by_pick.recorded()) << "seed " << seed;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_LT(refused, tried / 2);
}

TEST(choice_source, the_short_way_leaves_it_to_a_strategy_that_answers_by_itself) {
  round_robin_strategy deciding(1);
  choice_source choices;
  choices.begin(deciding, 1);
  uint32_t picked = 7;
  EXPECT_FALSE(choices.try_pick(2, choice_kind::wake, picked));
  EXPECT_EQ(picked, 7u);
  EXPECT_TRUE(choices.recorded().empty());
}

TEST(random_stream, tells_what_comes_next_without_drawing_it) {
  random_stream numbers(7, 3);
  for (int turn = 0; turn < 1'000; ++turn) {
    const uint64_t expected = numbers.upcoming();
    ASSERT_EQ(numbers.upcoming(), expected);
    ASSERT_EQ(numbers.next(), expected);
  }
}

TEST(append, does_what_push_back_does) {
  std::vector<std::string> expected;
  std::vector<std::string> made;
  for (int n = 0; n < 1'000; ++n) {
    expected.push_back(std::to_string(n));
    append(made, std::to_string(n));
  }
  append(made) = "last";
  expected.emplace_back("last");
  EXPECT_EQ(made, expected);
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
