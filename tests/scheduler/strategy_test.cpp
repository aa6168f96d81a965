#include <heddle/scheduler/strategy.h>

#include <heddle/scheduler/digest.h>
#include <heddle/scheduler/mix.h>
#include <heddle/scheduler/verdict.h>

#include <gtest/gtest.h>

#include <map>

#include "actors.h"

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

}  // namespace
}  // namespace heddle::scheduler
