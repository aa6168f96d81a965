#include <heddle/scheduler/parameters.h>

#include <gtest/gtest.h>

namespace heddle {
namespace {

parameters made() {
  return parameters({parameter::number("waves", 2, 1, 64, "waves", "how many"),
                     parameter::one_of("progress", "fair", {"unfair", "hsa", "fair"}, "who is guaranteed a turn"),
                     parameter::number("offset", 0, -5, 5, "", "may be negative")});
}

TEST(parameters, have_their_defaults_until_they_are_set) {
  parameters set = made();
  EXPECT_EQ(set.number("waves"), 2);
  EXPECT_EQ(set.text("progress"), "fair");
  EXPECT_FALSE(set.set("waves=64"));
  EXPECT_FALSE(set.set("progress=hsa"));
  EXPECT_FALSE(set.set("offset=-5"));
  EXPECT_EQ(set.count("waves"), 64u);
  EXPECT_EQ(set.text("progress"), "hsa");
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"waves", "64"}, {"progress", "hsa"}, {"offset", "-5"}};
  EXPECT_EQ(set.values(), expected);
}

TEST(parameters, a_later_definition_replaces_an_earlier_one_in_place) {
  const parameters set({parameter::number("budget", 1000, 1, 1000000, "steps", ""),
                        parameter::number("waves", 1, 1, 2, "", ""),
                        parameter::number("budget", 50, 1, 100, "steps", "")});
  ASSERT_EQ(set.definitions().size(), 2u);
  EXPECT_EQ(set.definitions().front().key, "budget");
  EXPECT_EQ(set.number("budget"), 50);
  EXPECT_EQ(set.definitions().front().maximum, 100);
}

TEST(parameters, wrong_input_is_one_line_that_says_how_to_mend_it) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"waves", "\"waves\" is no setting; write key=value"},
      {"wave=3", "unknown key \"wave\"; did you mean \"waves\"?"},
      {"colour=red", "unknown key \"colour\"; the keys are waves, progress, offset"},
      {"=3", "unknown key \"\"; the keys are waves, progress, offset"},
      {"waves=65", "\"waves\" cannot be \"65\"; it must be a whole number from 1 to 64 (waves)"},
      {"waves=0", "\"waves\" cannot be \"0\"; it must be a whole number from 1 to 64 (waves)"},
      {"waves=2x", "\"waves\" cannot be \"2x\"; it must be a whole number from 1 to 64 (waves)"},
      {"waves=", "\"waves\" cannot be \"\"; it must be a whole number from 1 to 64 (waves)"},
      {"waves=99999999999999999999",
       "\"waves\" cannot be \"99999999999999999999\"; it must be a whole number from 1 to 64 (waves)"},
      {"offset=6", "\"offset\" cannot be \"6\"; it must be a whole number from -5 to 5"},
      {"progress=has", "\"progress\" cannot be \"has\"; it must be one of unfair, hsa, fair; did you mean \"hsa\"?"},
      {"progress=4", "\"progress\" cannot be \"4\"; it must be one of unfair, hsa, fair"},
      {"a\nb=1", "unknown key \"a?b\"; the keys are waves, progress, offset"},
  };
  for (const auto& [assignment, expected] : wrong) {
    parameters set = made();
    EXPECT_EQ(set.set(assignment), expected);
    EXPECT_EQ(set.values(), made().values()) << "a wrong assignment changes nothing";
  }
}

TEST(parameters_death, mistakes_of_the_program_end_it_with_a_message) {
  EXPECT_DEATH(made().number("colour"), "\"colour\" is not defined");
  EXPECT_DEATH(made().number("progress"), "\"progress\" is no number");
  EXPECT_DEATH(made().text("waves"), "\"waves\" is no text");
  EXPECT_DEATH(parameters({parameter::number("waves", 0, 1, 2, "", "")}), "default outside its range");
}

TEST(nearest, takes_what_was_probably_meant) {
  const std::vector<std::string> known = {"waves", "lanes", "port.echo", "zoo.crossed-calls"};
  EXPECT_EQ(nearest("wave", known), "waves");
  EXPECT_EQ(nearest("wvaes", known), "waves");
  EXPECT_EQ(nearest("port.ecko", known), "port.echo");
  EXPECT_EQ(nearest("crossed", known), "zoo.crossed-calls");
  EXPECT_EQ(nearest("colour", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(nearest(std::string(100'000, 'a'), known), "");
}

}  // namespace
}  // namespace heddle
