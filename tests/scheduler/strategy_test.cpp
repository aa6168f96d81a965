#include <heddle/scheduler/digest.h>
#include <heddle/scheduler/mix.h>
#include <heddle/scheduler/random.h>
#include <heddle/scheduler/round_robin.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/scheduler/verdict.h>

#include "actors.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace heddle::scheduler {
namespace {

std::vector<uint32_t> picks(strategy& deciding, uint64_t seed) {
  const actors all({{.actor = 0, .group = 0, .guaranteed = true}, {.actor = 1, .group = 1}, {.actor = 2, .group = 2}});
  deciding.begin(seed);
  std::vector<uint32_t> made;
  for (int turn = 0; turn < 300; ++turn) made.push_back(deciding.pick(all.asked()));
  return made;
}

TEST(make_strategy, every_listed_strategy_can_be_made_and_is_a_function_of_its_seed) {
  for (const strategy_help& each : strategies()) {
    std::string error;
    const auto deciding = make_strategy(each.name, error);
    ASSERT_NE(deciding, nullptr) << each.name;
    EXPECT_EQ(deciding->name(), each.name);
    const auto once = picks(*deciding, 42);
    picks(*deciding, 43);
    EXPECT_EQ(picks(*deciding, 42), once) << each.name;
  }
  EXPECT_EQ(strategies().front().name, "mix");
}

TEST(make_strategy, takes_a_parameter_where_there_is_one) {
  std::string error;
  EXPECT_NE(make_strategy("round-robin:8", error), nullptr);
  EXPECT_NE(make_strategy("starve:0", error), nullptr);
  EXPECT_NE(make_strategy("pct:3", error), nullptr);
  EXPECT_NE(make_strategy("unfair:100", error), nullptr);
  EXPECT_EQ(error, "");
}

TEST(make_strategy, wrong_names_and_parameters_are_one_line) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"rando", "unknown strategy \"rando\"; did you mean \"random\"?"},
      {"quantum-annealing",
       "unknown strategy \"quantum-annealing\"; there are mix, pct, pos, random, rhythm, round-robin, starve, surw, "
       "unfair, urw"},
      {"round-robin:0", "the quantum \"0\" must be a whole number from 1 to 1000000"},
      {"round-robin:x", "the quantum \"x\" must be a whole number from 1 to 1000000"},
      {"starve:-1", "the group to starve \"-1\" must be a whole number from 0 to 1000000"},
      {"mix:2", "strategy \"mix\" takes no parameter"},
      {"pct:0", "the depth \"0\" must be a whole number from 1 to 1000"},
      {"pos:1", "strategy \"pos\" takes no parameter"},
      {"unfair:none", "the age bound \"none\" must be a whole number from 1 to 1000000000"},
      {"", "unknown strategy \"\"; there are mix, pct, pos, random, rhythm, round-robin, starve, surw, unfair, urw"},
  };
  for (const auto& [text, expected] : wrong) {
    std::string error;
    EXPECT_EQ(make_strategy(text, error), nullptr);
    EXPECT_EQ(error, expected);
  }
}

TEST(mix_strategy, deals_the_seeds_out_and_each_seed_means_what_it_means_alone) {
  mix_strategy mixed;
  std::map<std::string, int> shares;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    mixed.begin(seed);
    const std::string name(mixed.current().name());
    ++shares[name];
    std::string error;
    EXPECT_EQ(picks(mixed, seed), picks(*make_strategy(name, error), seed));
  }
  EXPECT_EQ(shares, (std::map<std::string, int>{{"pct", 50},
                                                {"pos", 75},
                                                {"random", 75},
                                                {"rhythm", 50},
                                                {"round-robin", 25},
                                                {"starve", 50},
                                                {"surw", 50},
                                                {"unfair", 25}}));
}

TEST(verdict, names_and_their_inverse_agree) {
  for (size_t value = 0; value < verdict_count; ++value)
    EXPECT_EQ(parse_verdict(to_string(static_cast<verdict>(value))), static_cast<verdict>(value));
  EXPECT_EQ(to_string(verdict::scope_race), "scope race");
  EXPECT_FALSE(parse_verdict("fine"));
  EXPECT_FALSE(parse_verdict(""));
}

TEST(digest, tells_order_and_boundaries_apart) {
  const auto of = [](const std::vector<std::string_view>& texts) {
    digest made;
    for (const std::string_view text : texts) made.add(text);
    return made.value();
  };
  EXPECT_EQ(of({"ab", "c"}), of({"ab", "c"}));
  EXPECT_NE(of({"ab", "c"}), of({"a", "bc"}));
  EXPECT_NE(of({"ab", "c"}), of({"c", "ab"}));
  EXPECT_NE(of({""}), of({}));
  EXPECT_NE(of({std::string_view("\0", 1)}), of({std::string_view("\0\0", 2)}));
}

TEST(round_robin_strategy, every_actor_gets_its_quantum_in_cyclic_order) {
  round_robin_strategy deciding(2);
  deciding.begin(1);
  const actors three({{.actor = 4}, {.actor = 0}, {.actor = 9}});
  std::vector<uint32_t> turns;
  for (int turn = 0; turn < 8; ++turn) turns.push_back(three.picked_by(deciding));
  EXPECT_EQ(turns, (std::vector<uint32_t>{0, 0, 4, 4, 9, 9, 0, 0}));
}

TEST(round_robin_strategy, goes_on_when_the_current_actor_cannot) {
  round_robin_strategy deciding(100);
  deciding.begin(1);
  EXPECT_EQ(actors({{.actor = 0}, {.actor = 1}, {.actor = 2}}).picked_by(deciding), 0u);
  EXPECT_EQ(actors({{.actor = 1}, {.actor = 2}}).picked_by(deciding), 1u);
  EXPECT_EQ(actors({{.actor = 0}, {.actor = 1}, {.actor = 2}}).picked_by(deciding), 1u);
}

TEST(round_robin_strategy, gives_other_kinds_the_default) {
  round_robin_strategy deciding(1);
  deciding.begin(1);
  EXPECT_EQ(deciding.pick({.kind = choice_kind::wake, .count = 5, .candidates = {}}), 0u);
}

TEST(round_robin_strategy, a_quantum_that_is_not_given_is_drawn_by_the_seed) {
  round_robin_strategy deciding;
  std::set<uint32_t> drawn;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    deciding.begin(seed);
    const uint32_t quantum = deciding.quantum();
    drawn.insert(quantum);
    EXPECT_GE(quantum, 1u);
    EXPECT_LE(quantum, round_robin_strategy::drawn_quantum_max);
    deciding.begin(seed);
    EXPECT_EQ(deciding.quantum(), quantum);
  }
  EXPECT_GT(drawn.size(), 20u);
  EXPECT_TRUE(drawn.contains(1));
}

/// Candidates whose machine keeps them in order, and lets none be looked at.
struct ordered_actors {
  std::vector<candidate> all;
  static candidate look(const void* context, uint32_t index) {
    return static_cast<const ordered_actors*>(context)->all[index];
  }
  static uint32_t next(const void* context, uint32_t actor) {
    const actors same(static_cast<const ordered_actors*>(context)->all);
    return next_in_turn(same.asked(), actor);
  }
  choice asked() const {
    return {.kind = choice_kind::actor,
            .count = static_cast<uint32_t>(all.size()),
            .candidates = candidate_list(this, look, next)};
  }
};

TEST(round_robin_strategy, takes_the_order_that_the_machine_keeps) {
  round_robin_strategy looks(2);
  round_robin_strategy asks(2);
  looks.begin(1);
  asks.begin(1);
  const std::vector<std::vector<candidate>> rounds = {{{.actor = 4}, {.actor = 0}, {.actor = 9}},
                                                      {{.actor = 9}, {.actor = 0}},
                                                      {{.actor = 4}},
                                                      {{.actor = 0}, {.actor = 4}}};
  for (int turn = 0; turn < 40; ++turn) {
    const auto& now = rounds[static_cast<size_t>(turn / 3) % rounds.size()];
    const ordered_actors ordered{now};
    EXPECT_EQ(now[asks.pick(ordered.asked())].actor, actors(now).picked_by(looks)) << turn;
  }
}

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
