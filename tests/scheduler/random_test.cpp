#include <heddle/scheduler/random.h>

#include <gtest/gtest.h>

namespace heddle::scheduler {
namespace {

std::vector<uint32_t> first_picks(strategy& deciding, uint64_t seed, choice_kind kind, uint32_t count) {
  deciding.begin(seed);
  std::vector<uint32_t> picks;
  for (int turn = 0; turn < 200; ++turn)
    picks.push_back(deciding.pick({.kind = kind, .count = count, .candidates = {}}));
  return picks;
}

TEST(random_strategy, equal_seeds_give_equal_answers_and_others_do_not) {
  random_strategy deciding;
  const auto of_seed_7 = first_picks(deciding, 7, choice_kind::actor, 5);
  const auto of_seed_8 = first_picks(deciding, 8, choice_kind::actor, 5);
  EXPECT_EQ(of_seed_7, first_picks(deciding, 7, choice_kind::actor, 5));
  EXPECT_NE(of_seed_7, of_seed_8);
}

TEST(random_strategy, a_further_kind_of_choice_does_not_shift_the_others) {
  random_strategy deciding;
  const auto undisturbed = first_picks(deciding, 7, choice_kind::actor, 5);
  deciding.begin(7);
  for (const uint32_t expected : undisturbed) {
    deciding.pick({.kind = choice_kind::wake, .count = 2, .candidates = {}});
    EXPECT_EQ(deciding.pick({.kind = choice_kind::actor, .count = 5, .candidates = {}}), expected);
  }
  EXPECT_NE(first_picks(deciding, 7, choice_kind::wake, 5), undisturbed);
}

TEST(random_strategy, answers_are_uniform_for_any_count) {
  // Upper 0.1 % points of chi square with count - 1 degrees of freedom.
  const std::vector<std::pair<uint32_t, double>> bounds = {
      {2, 10.83}, {3, 13.82}, {7, 22.46}, {10, 27.88}, {64, 103.4}};
  for (const auto& [count, bound] : bounds) {
    random_strategy deciding;
    deciding.begin(1);
    constexpr int draws = 100'000;
    std::vector<int> seen(count);
    for (int turn = 0; turn < draws; ++turn)
      ++seen[deciding.pick({.kind = choice_kind::actor, .count = count, .candidates = {}})];
    const double expected = static_cast<double>(draws) / count;
    double chi_square = 0;
    for (const int times : seen) chi_square += (times - expected) * (times - expected) / expected;
    EXPECT_LT(chi_square, bound) << count;
  }
}

TEST(random_stream, small_seeds_and_streams_do_not_meet) {
  EXPECT_NE(random_stream(0, 1).next(), random_stream(1, 0).next());
  EXPECT_NE(random_stream(0, 0).next(), random_stream(0, 1).next());
}

TEST(random_stream, is_the_published_generator) {
  // xoshiro256** after SplitMix64 of seed 0, whose first outputs are known from S. Vigna's splitmix64.c.
  split_mix words(0);
  EXPECT_EQ(words.next(), 0xe220a8397b1dcdafu);
  EXPECT_EQ(words.next(), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(words.next(), 0x06c45d188009454fu);
}

}  // namespace
}  // namespace heddle::scheduler
