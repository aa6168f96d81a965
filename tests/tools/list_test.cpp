#include <heddle/tools/cli/command_line.h>
#include <heddle/tools/cli/completion.h>
#include <heddle/tools/cli/help_page.h>
#include <heddle/tools/gtest.h>

#include "command.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace heddle::tests {
namespace {

HEDDLE_TEST(in_another_file, "port.echo", 50);  // gtest_test.cpp looks for it

TEST(list, names_scenarios_with_defaults_and_expected_verdicts) {
  const ended_process ended = heddle({"list"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.out.find("port.echo\n    Calls come back.\n    calls=3\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("zoo.crossed-calls  (expected: deadlock)\n"), std::string::npos);
  EXPECT_LT(ended.out.find("fake.racy"), ended.out.find("port.echo")) << "sorted by name";
}

TEST(list, takes_names_and_the_settings_by_groups) {
  const ended_process one = heddle({"list", "port.echo"});
  EXPECT_EQ(one.status, 0);
  EXPECT_TRUE(one.out.starts_with("port.echo\n")) << one.out;
  EXPECT_EQ(one.out.find("zoo."), std::string::npos) << one.out;
  const ended_process groups = heddle({"list", "--settings"});
  EXPECT_EQ(groups.out.find("port.echo"), std::string::npos) << groups.out;
  EXPECT_EQ(heddle_json({"list", "zoo.crossed-calls"})["scenarios"].size(), 1u);
}

TEST(list, json_has_the_documented_keys_and_the_machines_settings) {
  const nlohmann::json all = heddle_json({"list"});
  ASSERT_TRUE(all.contains("scenarios"));
  for (const nlohmann::json& each : all["scenarios"]) {
    ASSERT_TRUE(has_keys(each, {"name", "summary", "expected", "parameters"})) << each;
    for (const nlohmann::json& key : each["parameters"])
      EXPECT_TRUE(has_keys(key, {"key", "type", "default", "min", "max", "unit", "help"})) << key;
  }
}

TEST(list, a_scenarios_own_default_wins_over_the_machines) {
  const nlohmann::json all = heddle_json({"list"});
  for (const nlohmann::json& each : all["scenarios"]) {
    const bool own = each["name"].get<std::string>().starts_with("fake.a-name");
    for (const nlohmann::json& key : each["parameters"]) {
      if (key["key"] == "budget") {
        EXPECT_EQ(key["default"], own ? 500 : 1'000);
      }
    }
  }
}

// -- What shells complete, and the manual page: both are made of the help, and the help of what the parser takes.

using tools::suggestions;

std::vector<std::string> texts(const std::vector<std::string>& typed) {
  std::vector<std::string> made;
  for (const suggestions::word& each : tools::suggest(typed).words) made.push_back(each.text);
  return made;
}

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

bool is_there(const std::string& name) { return run_process({"/bin/sh", "-c", "command -v " + name}).status == 0; }

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream from(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(from, line);) lines.push_back(line);
  return lines;
}

TEST(help, names_the_options_that_the_parser_takes_and_no_others) {
  for (const std::string& command : tools::command_names()) {
    std::vector<std::string> told;
    for (const tools::help_option& option : tools::options_of(tools::parse_help(tools::help_text(command))))
      told.insert(told.end(), option.names.begin(), option.names.end());
    // What stands behind it is the program's.
    std::erase(told, "--");
    std::sort(told.begin(), told.end());
    EXPECT_EQ(told, tools::option_names(command)) << "heddle help " << command;
  }
}

TEST(help, lists_every_command_and_fits_80_columns) {
  const std::vector<std::string> commands = texts({""});
  for (const std::string& command : tools::command_names()) {
    EXPECT_TRUE(has(commands, command)) << command << " is not in heddle help";
    for (const std::string& line : lines_of(tools::help_text(command)))
      EXPECT_LE(line.size(), 80u) << command << ": " << line;
  }
}

TEST(help, is_taken_apart_as_it_was_printed) {
  const tools::help_page page = tools::parse_help(tools::help_text("shrink"));
  ASSERT_EQ(page.usage.size(), 1u);
  EXPECT_EQ(tools::argument_of(page), "FILE|TOKEN");
  const std::vector<tools::help_option> options = tools::options_of(page);
  ASSERT_FALSE(options.empty());
  EXPECT_EQ(options[0].names, (std::vector<std::string>{"-o", "--out"}));
  EXPECT_EQ(options[0].value, "FILE");
  EXPECT_NE(options[0].meaning.find("where it is written (default: NAME-shrunk.heddle.json beside NAME"),
            std::string::npos)
      << options[0].meaning;
  EXPECT_EQ(tools::argument_of(tools::parse_help(tools::help_text("list"))), "SCENARIO");
}

TEST(completion, knows_options_scenarios_strategies_and_settings) {
  EXPECT_EQ(texts({"fu"}), std::vector<std::string>{"fuzz"});
  EXPECT_EQ(texts({"fuzz", "--sch"}), std::vector<std::string>{"--schedules"});
  EXPECT_TRUE(has(texts({"fuzz", ""}), "port.echo"));
  EXPECT_TRUE(has(texts({"fuzz", "--schedules", "5", "port.e"}), "port.echo"));
  EXPECT_EQ(texts({"fuzz", "--strategy", "rou"}), std::vector<std::string>{"round-robin"});
  EXPECT_TRUE(has(texts({"fuzz", "port.echo", "--set", ""}), "calls="));
  EXPECT_TRUE(has(texts({"help", ""}), "replay"));
  EXPECT_EQ(texts({"completion", "z"}), std::vector<std::string>{"zsh"});
  EXPECT_EQ(tools::suggest({"fuzz", "--out", ""}).is, suggestions::kind::folders);
  EXPECT_EQ(tools::suggest({"fuzz", "--junit", ""}).is, suggestions::kind::files);
  EXPECT_EQ(tools::suggest({"replay", ""}).is, suggestions::kind::files);
  EXPECT_TRUE(texts({"fuzz", "--schedules", ""}).empty()) << "a number";
  EXPECT_TRUE(texts({"nonsense", "-"}).size() <= 1);
}

// The scripts in the shells themselves.

std::string complete_in_bash(const std::string& line) {
  const std::string typed = std::string(FAKE_HEDDLE) + " " + line;
  return run_process({"/bin/bash", "-c",
                      "source <(" FAKE_HEDDLE " completion bash); COMP_LINE='" + typed +
                          "'; COMP_POINT=${#COMP_LINE}; "
                          "_fake_heddle_complete; printf '%s\\n' \"${COMPREPLY[@]}\"; complete -p fake_heddle"})
      .out;
}

TEST(completion, works_in_bash) {
  const std::string registered = "complete -F _fake_heddle_complete fake_heddle\n";
  EXPECT_EQ(complete_in_bash("fuzz --sch"), "--schedules\n" + registered);
  EXPECT_EQ(complete_in_bash("fuzz port.ech"), "port.echo\n" + registered);
  EXPECT_EQ(complete_in_bash("repl"), "replay\n" + registered);
  // "=" ends a word of readline: what stands behind it is replaced.
  const std::string all = complete_in_bash("fuzz port.echo --set cal");
  EXPECT_EQ(all, "calls=\n" + registered);
  const temporary_folder folder;
  std::ofstream(folder.path() / "a.heddle.json") << "{}";
  EXPECT_EQ(complete_in_bash("replay " + folder.path().string() + "/a.h"),
            folder.path().string() + "/a.heddle.json\n" + registered);
}

TEST(completion, works_in_fish) {
  if (!is_there("fish")) GTEST_SKIP() << "there is no fish";
  const ended_process ended =
      run_process({"/bin/sh", "-c",
                   "HOME=/nonexistent fish --no-config -c '" FAKE_HEDDLE
                   " completion fish | source; complete -C \"" FAKE_HEDDLE " fuzz --strategy rou\"'"});
  EXPECT_EQ(ended.out.substr(0, ended.out.find('\t')), "round-robin") << ended.out << ended.err;
}

TEST(completion, works_in_zsh) {
  if (!is_there("zsh")) GTEST_SKIP() << "there is no zsh";
  // zsh completes in its line editor only: what the script hands to it is shown instead.
  const auto complete = [](const std::string& words) {
    return run_process({"/bin/sh", "-c",
                        "zsh -f -c 'compdef() { :; }; _describe() { print -l -- \"${(@P)2}\"; }; _files() { print "
                        "files \"$@\"; }; "
                        "compadd() { print -- \"${@[-1]}\"; }; source <(" FAKE_HEDDLE
                        " completion zsh); words=(" FAKE_HEDDLE " " +
                            words + "); CURRENT=$#words; _fake_heddle_complete'"})
        .out;
  };
  EXPECT_EQ(complete("fuzz --sch"), "--schedules:schedules per scenario\n");
  EXPECT_EQ(complete("fuzz --out \"\""), "files -/\n");
  EXPECT_EQ(complete("fuzz port.echo --set cal"), "calls=\n");
}

TEST(completion, is_refused_for_other_shells) {
  const ended_process ended = heddle({"completion", "tcsh"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.err, "heddle: completion is for bash, zsh and fish, not for \"tcsh\"\n");
}

TEST(manual_page, has_every_command_and_option) {
  const ended_process made = heddle({"help", "--man"});
  ASSERT_EQ(made.status, 0);
  for (const std::string& command : tools::command_names()) {
    EXPECT_NE(made.out.find(".SS \"heddle " + command + "\""), std::string::npos) << command;
    for (std::string option : tools::option_names(command)) {
      for (size_t at = 0; (at = option.find('-', at)) != std::string::npos; at += 2) option.replace(at, 1, "\\-");
      EXPECT_NE(made.out.find(option), std::string::npos) << option;
    }
  }
  EXPECT_NE(made.out.find(".SH \"EXIT STATUS\""), std::string::npos);
}

TEST(manual_page, is_well_formed_roff) {
  if (!is_there("mandoc")) GTEST_SKIP() << "there is no mandoc";
  const temporary_folder folder;
  const std::string page = (folder.path() / "heddle.1").string();
  std::ofstream(page) << heddle({"help", "--man"}).out;
  // A page that is made anew has no date.
  const ended_process checked =
      run_process({"/bin/sh", "-c", "mandoc -T lint -W warning " + page + " | grep -v 'missing date'"});
  EXPECT_EQ(checked.out, "");
  const ended_process shown = run_process({"/bin/sh", "-c", "mandoc -T ascii " + page + " | col -b"});
  EXPECT_NE(shown.out.find("heddle - finds schedules under which GPU and host hang"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("--schedules N"), std::string::npos);
}

}  // namespace
}  // namespace heddle::tests
