#include <heddle/scheduler/trace.h>

#include "command.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <utility>

namespace heddle::tests {
namespace {

TEST(fuzz, scenarios_that_give_their_expected_verdicts_are_status_0) {
  const ended_process ended = heddle({"fuzz", "port.echo", "zoo.crossed-calls", "-n", "100", "-v"});
  EXPECT_EQ(ended.status, 0) << ended.out;
  EXPECT_EQ(ended.err, "");
  EXPECT_NE(ended.out.find("zoo.crossed-calls: deadlock at zoo/crossed.cpp:12, as expected"), std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("  lane 0 waits for lane 1\n  lane 1 waits for lane 0\n"), std::string::npos);
  EXPECT_NE(ended.out.find("2 scenarios, all as expected\n"), std::string::npos);
}

TEST(fuzz, a_planted_bug_that_is_not_found_is_as_wrong_as_a_violation) {
  const ended_process missing = heddle({"fuzz", "zoo.unplanted", "--schedules", "50"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.out.find("deadlock was expected, and not found in 50 schedules"), std::string::npos) << missing.out;
  const ended_process violated = heddle({"fuzz", "fake.racy", "--schedules", "50"});
  EXPECT_EQ(violated.status, 1);
  EXPECT_NE(violated.out.find("WRONG"), std::string::npos);
  EXPECT_EQ(heddle({"fuzz", "fake.endless", "--schedules", "1"}).status, 1) << "inconclusive is not ok";
}

TEST(fuzz, any_of_several_expected_verdicts_will_do) {
  const ended_process any = heddle({"fuzz", "fake.either", "entry.either", "--schedules", "50", "--verbose"});
  EXPECT_EQ(any.status, 0) << any.out;
  EXPECT_NE(any.out.find("any violation"), std::string::npos) << any.out;
  EXPECT_NE(any.out.find("deadlock or race"), std::string::npos) << any.out;
  EXPECT_NE(any.out.find("fake.either: race at fake/either.cpp:1, as expected: "), std::string::npos) << any.out;
  EXPECT_NE(any.out.find("fake.either: deadlock at fake/either.cpp:2, as expected: "), std::string::npos) << any.out;
  const nlohmann::json one = heddle_json({"fuzz", "entry.either", "--schedules", "50"})["scenarios"][0];
  EXPECT_EQ(one["expected"], "deadlock or race");
  EXPECT_EQ(one["ok"], true);
}

TEST(fuzz, different_messages_of_one_place_are_different_findings) {
  const nlohmann::json one = heddle_json({"fuzz", "fake.protocols", "--schedules", "50"})["scenarios"][0];
  ASSERT_EQ(one["findings"].size(), 2u) << one;
  EXPECT_NE(one["findings"][0]["message"], one["findings"][1]["message"]);
}

TEST(fuzz, behind_the_first_race_it_says_how_to_look_past_races) {
  const std::string line = "to see what comes of it, --set races=weigh\n";
  const std::string text = heddle({"fuzz", "fake.racy", "--schedules", "50"}).out;
  EXPECT_NE(text.find(line), std::string::npos) << text;
  EXPECT_EQ(text.find(line, text.find(line) + 1), std::string::npos);
  EXPECT_EQ(heddle({"fuzz", "fake.either", "--schedules", "50"}).out.find(line), std::string::npos) << "it is expected";
}

TEST(fuzz, the_printed_command_replays_the_finding) {
  const temporary_folder folder;
  // Where no file can be, the token is told.
  const ended_process ended =
      run_process({"/bin/sh", "-c", "HEDDLE_FINDINGS=/dev/null/no " FAKE_HEDDLE " fuzz fake.racy --schedules 50"});
  EXPECT_NE(ended.out.find("findings are not kept: cannot write"), std::string::npos) << ended.out;
  std::istringstream lines(ended.out);
  std::string line, token, command;
  const std::string begin = "  replay it: ";
  while (std::getline(lines, line)) {
    if (line.starts_with("heddle2.")) token = line;  // alone on a line, to be copied
    if (line.starts_with(begin)) command = line.substr(begin.size());
  }
  ASSERT_EQ(command, std::string(FAKE_HEDDLE) + " replay TOKEN") << ended.out;
  EXPECT_NE(ended.out.find("  as a page: " + std::string(FAKE_HEDDLE) + " report TOKEN\n"), std::string::npos);
  command.replace(command.find("TOKEN"), 5, token);
  const ended_process again = run_process({"/bin/sh", "-c", command});
  EXPECT_EQ(again.status, 1);
  EXPECT_NE(again.out.find("fake.racy: race at fake/racy.cpp:7"), std::string::npos) << again.out;
}

TEST(fuzz, without_a_folder_findings_are_kept_in_the_usual_one_and_their_token_is_told_when_asked) {
  const temporary_folder folder;
  const std::string kept = (folder.path() / "kept").string();
  const auto run = [&](const std::string& more) {
    return run_process({"/bin/sh", "-c", "HEDDLE_FINDINGS=" + kept + " " FAKE_HEDDLE " fuzz fake.racy -n 50" + more});
  };
  const ended_process ended = run("");
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.out.find("heddle2."), std::string::npos) << ended.out;
  const std::string begin = "  replay it: " FAKE_HEDDLE " replay " + kept + "/fake.racy-race-";
  const size_t at = ended.out.find(begin);
  ASSERT_NE(at, std::string::npos) << ended.out;
  const size_t file = at + begin.size() - kept.size() - std::string("/fake.racy-race-").size();
  EXPECT_EQ(heddle({"replay", ended.out.substr(file, ended.out.find('\n', at) - file)}).status, 1);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "kept" / "campaign.jsonl"));
  EXPECT_NE(run(" --tokens").out.find("\nheddle2."), std::string::npos);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(kept), {}), 1) << "the same finding is one file";
}

TEST(fuzz, an_expected_finding_of_several_scenarios_is_a_line_and_quiet_tells_what_is_wrong_alone) {
  const std::vector<std::string> words = {"fuzz", "port.echo", "zoo.crossed-calls", "fake.racy", "-n", "50"};
  const std::string text = heddle(words).out;
  EXPECT_NE(text.find("zoo.crossed-calls: deadlock at zoo/crossed.cpp:12, as expected: "), std::string::npos) << text;
  EXPECT_EQ(text.find("zoo.crossed-calls-deadlock-"), std::string::npos) << "not in full:\n" << text;
  const size_t wrong = text.find("\nfake.racy: race at fake/racy.cpp:7: ");
  ASSERT_NE(wrong, std::string::npos) << text;
  EXPECT_GT(wrong, text.find("zoo.crossed-calls: deadlock")) << "what is wrong comes last";
  EXPECT_TRUE(text.ends_with("3 scenarios, 1 WRONG: fake.racy (race at fake/racy.cpp:7)\n")) << text;
  std::vector<std::string> quiet = words;
  quiet.emplace_back("-q");
  const std::string less = heddle(quiet).out;
  EXPECT_EQ(less.find("zoo.crossed-calls"), std::string::npos) << less;
  EXPECT_EQ(less.find("port.echo"), std::string::npos) << less;
  EXPECT_NE(less.find("fake.racy: race"), std::string::npos) << less;
}

TEST(fuzz, stops_at_the_first_that_is_wrong_when_asked) {
  const nlohmann::json all = heddle_json({"fuzz", "fake.racy", "port.echo", "-n", "5000", "--stop-at-first"});
  ASSERT_EQ(all["scenarios"].size(), 1u) << all;
  EXPECT_EQ(all["scenarios"][0]["verdict"], "race");
  EXPECT_LT(all["scenarios"][0]["schedules"], 5'000);
  EXPECT_EQ(all["ok"], false);
  const nlohmann::json expected = heddle_json({"fuzz", "zoo.crossed-calls", "-n", "50", "--stop-at-first"});
  EXPECT_EQ(expected["scenarios"][0]["schedules"], 50) << "what is expected does not end it";
}

TEST(fuzz, takes_the_scenarios_with_a_word_in_their_name) {
  const nlohmann::json all = heddle_json({"fuzz", "-k", "crossed", "-n", "5"});
  ASSERT_FALSE(all["scenarios"].empty());
  for (const nlohmann::json& each : all["scenarios"])
    EXPECT_NE(each["name"].get<std::string>().find("crossed"), std::string::npos);
  const ended_process none = heddle({"fuzz", "-k", "no such word"});
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.err, "heddle: no scenario has \"no such word\" in its name; see " FAKE_HEDDLE " list\n");
}

TEST(fuzz, the_table_fits_80_columns) {
  const ended_process ended = heddle({"fuzz", "port.*", "fake.a-*", "zoo.*", "--schedules", "20"});
  std::istringstream lines(ended.out);
  std::string line;
  while (std::getline(lines, line) && !line.empty()) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(ended.out.find('\033'), std::string::npos) << "no colour where nothing looks";
}

TEST(fuzz, json_has_the_documented_keys) {
  const nlohmann::json all = heddle_json({"fuzz", "zoo.crossed-calls", "--schedules", "50"});
  ASSERT_TRUE(has_keys(all, {"scenarios", "ok"}));
  EXPECT_EQ(all["ok"], true);
  const nlohmann::json& one = all["scenarios"][0];
  ASSERT_TRUE(has_keys(
      one, {"name", "expected", "verdict", "ok", "schedules", "schedules_per_second", "steps", "digest", "findings"}))
      << one;
  EXPECT_EQ(one["schedules"], 50);
  EXPECT_EQ(one["verdict"], "deadlock");
  EXPECT_EQ(one["digest"].get<std::string>().size(), 16u);
  const nlohmann::json& found = one["findings"][0];
  ASSERT_TRUE(has_keys(found, {"verdict", "where", "seed", "token", "file", "count"})) << found;
  EXPECT_TRUE(found["file"].is_null());
  EXPECT_EQ(found["where"], "zoo/crossed.cpp:12");
}

TEST(fuzz, equal_seeds_have_equal_digests_and_one_seed_repeats_one_schedule) {
  const auto fuzzed = [](const std::string& seed, const std::string& schedules) {
    return heddle_json({"fuzz", "zoo.crossed-calls", "--seed", seed, "--schedules", schedules})["scenarios"][0];
  };
  const nlohmann::json all = fuzzed("1", "200");
  EXPECT_EQ(all["digest"], fuzzed("1", "200")["digest"]);
  EXPECT_NE(all["digest"], fuzzed("2", "200")["digest"]);
  const uint64_t seed = all["findings"][0]["seed"];
  EXPECT_EQ(fuzzed(std::to_string(seed), "1")["findings"][0]["token"], all["findings"][0]["token"]);
}

TEST(fuzz, a_run_without_any_choice_is_warned_of) {
  const ended_process ended = heddle({"fuzz", "fake.silent", "--schedules", "3"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.out.find("warning: fake.silent:\n  nothing was scheduled"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("the program is not compiled with the flags of heddle::main"), std::string::npos)
      << ended.out;
  EXPECT_EQ(heddle({"fuzz", "port.echo", "--schedules", "3"}).out.find("warning"), std::string::npos);
}

TEST(fuzz, a_finding_that_cannot_be_repeated_is_wrong_and_said_to_be_so) {
  const ended_process ended = heddle({"fuzz", "fake.forgetful", "--schedules", "5"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("not reproducible: every choice agrees, but the run ended with ok"), std::string::npos)
      << ended.out;
}

TEST(fuzz, findings_are_written_to_files_that_replay) {
  const temporary_folder folder;
  const std::string out = (folder.path() / "new" / "findings").string();
  const nlohmann::json all = heddle_json({"fuzz", "fake.racy", "zoo.*", "--schedules", "50", "--out", out});
  const nlohmann::json& found = all["scenarios"][0]["findings"][0];
  const std::string file = found["file"];
  EXPECT_EQ(file, out + "/fake.racy-race-" + std::to_string(found["seed"].get<uint64_t>()) + ".heddle.json");
  scheduler::trace kept = *scheduler::read_trace(file).value;
  const scheduler::trace told = *scheduler::from_token(found["token"].get<std::string>()).value;
  EXPECT_TRUE(told.parameters.empty()) << "all settings are as by default";
  kept.parameters.clear();
  EXPECT_EQ(kept, told);
  EXPECT_EQ(heddle({"replay", file}).status, 1);
}

TEST(fuzz, a_folder_that_cannot_be_made_is_status_3) {
  const ended_process ended = heddle({"fuzz", "port.echo", "--out", "/dev/null/findings"});
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(line_count(ended.err), 1u);
}

TEST(fuzz, a_full_disk_is_status_3_and_leaves_no_half_file) {
  const temporary_folder folder;
  const ended_process ended =
      heddle({"fuzz", "fake.racy", "port.echo", "--schedules", "50", "--out", folder.path().string()},
             {.out_file = "/dev/null", .file_bytes_max = 0});
  EXPECT_EQ(ended.status, 3);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(fuzz, a_token_that_no_command_line_takes_is_not_offered) {
  const ended_process ended = run_process(
      {"/bin/sh", "-c", "HEDDLE_FINDINGS=/dev/null/no " FAKE_HEDDLE " fuzz fake.long --schedules 1 --strategy random"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_LT(ended.out.size(), 5'000u);
  EXPECT_NE(ended.out.find("fuzz fake.long --strategy random --seed 1 --schedules 1 --out ."), std::string::npos)
      << ended.out;
}

TEST(fuzz, time_is_a_limit_for_all_scenarios_together) {
  const nlohmann::json all = heddle_json({"fuzz", "fake.slow", "port.echo", "--time", "0.3"});
  EXPECT_LT(all["scenarios"][0]["schedules"], 200);
  EXPECT_GT(all["scenarios"][0]["schedules"], 1);
  EXPECT_GT(all["scenarios"][1]["schedules"], 1);
}

TEST(fuzz, ctrl_c_prints_the_table_so_far_and_is_status_130) {
  const ended_process ended =
      heddle({"fuzz", "fake.slow", "port.echo", "--schedules", "1000000"}, {.interrupt_after_ms = 400});
  EXPECT_EQ(ended.status, 130);
  EXPECT_NE(ended.out.find("fake.slow"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("1 scenario, all as expected; interrupted, 1 was not run"), std::string::npos) << ended.out;
}

// -- What a person sees: the command on a terminal.

ended_process on_terminal(std::vector<std::string> arguments, const std::vector<std::string>& environment = {}) {
  arguments.insert(arguments.begin(), FAKE_HEDDLE);
  return run_in_terminal(arguments, environment);
}

/// Without colours and without what was overwritten.
std::string plain(const std::string& shown) {
  return std::regex_replace(std::regex_replace(shown, std::regex("\033\\[[0-9;]*m"), ""),
                            std::regex("\r[^\n]*\r\033\\[K"), "");
}

TEST(terminal, has_colours_for_what_is_wrong_and_what_is_well) {
  const ended_process ended = on_terminal({"fuzz", "fake.racy", "port.echo", "--schedules", "50"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("\033[1;31mWRONG\033[0m"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\033[32mok\033[0m"), std::string::npos) << ended.out;
}

TEST(terminal, has_none_where_they_are_not_wanted) {
  const ended_process plain_text = on_terminal({"fuzz", "fake.racy", "--schedules", "50"}, {"NO_COLOR=1"});
  EXPECT_FALSE(std::regex_search(plain_text.out, std::regex("\033\\[[0-9;]*m"))) << plain_text.out;
  EXPECT_NE(plain_text.out.find("WRONG"), std::string::npos);
  // Nor can a dumb one write a line anew, as progress does behind a tenth of a second.
  const ended_process dumb = on_terminal({"fuzz", "port.echo", "fake.racy", "--time", "0.5"}, {"TERM=dumb"});
  EXPECT_EQ(dumb.out.find('\033'), std::string::npos) << dumb.out;
  EXPECT_NE(dumb.out.find("WRONG"), std::string::npos);
  const ended_process empty = on_terminal({"fuzz", "fake.racy", "--schedules", "50"}, {"NO_COLOR="});
  EXPECT_NE(empty.out.find("\033["), std::string::npos) << "empty is as if it were not there (no-color.org)";
}

TEST(terminal, says_on_the_first_screen_what_was_found_and_where) {
  const ended_process ended = on_terminal({"fuzz", "zoo.crossed-calls", "--schedules", "50"});
  std::istringstream lines(plain(ended.out));
  std::string screen, line;
  size_t rows = 0;
  while (rows < 24 && std::getline(lines, line)) {
    rows += 1 + (line.empty() ? 0 : (line.size() - 1) / 80);
    if (rows <= 24) screen += line + '\n';
  }
  for (const char* told :
       {"deadlock at zoo/crossed.cpp:12", "lane 0 waits for lane 1", "lane 1 waits for lane 0", " of 50 schedules"})
    EXPECT_NE(screen.find(told), std::string::npos) << told << " is not in\n" << screen;
}

/// What a screen of 24 lines and 80 columns shows from a line on that begins so.
std::string screen_from(const std::string& shown, const std::string& begin) {
  std::istringstream lines(shown.substr(shown.find("\n" + begin) + 1));
  std::string screen, line;
  for (size_t left = 24; left > 0 && std::getline(lines, line);) {
    const size_t rows = std::min(left, 1 + (line.empty() ? 0 : (line.size() - 1) / 80));
    screen += line.substr(0, rows * 80) + '\n';
    left -= rows;
  }
  return screen;
}

TEST(terminal, a_screen_of_a_finding_says_what_happened_why_and_how_to_see_it_again) {
  if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << "heddle is not built";
  const std::vector<std::pair<std::string, std::vector<std::string>>> findings = {
      {"zoo.crossed-calls",
       {"nothing can ever move again", "finds the client's lock of port 0 taken", ": nothing can move"}},
      {"zoo.lost-doorbell", {"nothing can ever move again", "was lost", ": nothing can move"}},
      {"zoo.handover-without-release", {"is not ordered after", "missing: "}},
      {"zoo.device-scope-mailbox", {"a scope is too narrow", "missing: a wider scope at "}},
      {"zoo.crossed-try-locks",
       {"wave 0 finds locks[1] = 1", "wave 1 finds locks[0] = 1", "repeated for ever, ", "wave 0 lane 0"}},
      {"zoo.unfair-lock", {"was passed over 9 times"}},
      {"zoo.freed-before-read", {"after the memory was freed", "at   scenarios/zoo/handlers.cpp:112"}}};
  for (const auto& [scenario, parts] : findings) {
    const ended_process ended = run_in_terminal({REAL_HEDDLE, "fuzz", scenario, "--schedules", "300"});
    const std::string screen = screen_from(plain(ended.out), scenario + ": ");
    for (const std::string& told : parts)
      EXPECT_NE(screen.find(told), std::string::npos) << told << " is not in\n" << screen;
  }
}

TEST(terminal, shows_progress_and_takes_it_away) {
  const ended_process ended = on_terminal({"fuzz", "port.echo", "--time", "1"});
  EXPECT_NE(ended.out.find("\r\033[K1/1 port.echo: "), std::string::npos) << ended.out;
  EXPECT_EQ(plain(ended.out).find("/s, "), std::string::npos) << "the line is gone in the end: " << plain(ended.out);
  std::istringstream parts(std::regex_replace(ended.out, std::regex("[\r\n]"), "\n"));
  for (std::string part; std::getline(parts, part);)
    EXPECT_TRUE(!part.starts_with("\033[K1/1 ") || part.size() < 3 + 80u) << part;
}

TEST(fuzz_latencies, are_not_measured_where_they_are_not_told) {
  const auto measures = [](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"/usr/bin/env", "FAKE_TELLS_OF_TIMES=1", FAKE_HEDDLE, "fuzz", "port.echo", "--schedules", "5"});
    return run_process(more).err.find("times are asked for") != std::string::npos;
  };
  EXPECT_TRUE(measures({}));
  EXPECT_TRUE(measures({"-q", "--json"}));
  EXPECT_FALSE(measures({"-q"}));
}

}  // namespace
}  // namespace heddle::tests
