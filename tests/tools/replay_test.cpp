#include <heddle/scheduler/shrink.h>
#include <heddle/scheduler/trace.h>

#include "command.h"

#include <filesystem>
#include <fstream>

namespace heddle::tests {
namespace {

using scheduler::trace;

trace recorded_crossed() { return *scheduler::from_token(token_of("zoo.crossed-calls")).value; }

TEST(replay, takes_several_traces_and_standard_input) {
  const std::string token = token_of("zoo.crossed-calls");
  const ended_process both = heddle({"replay", token, token_of("fake.racy")});
  EXPECT_EQ(both.status, 1);
  const size_t first = both.out.find("zoo.crossed-calls: deadlock");
  ASSERT_NE(first, std::string::npos) << both.out;
  EXPECT_NE(both.out.find("fake.racy: race", first), std::string::npos) << both.out;
  const ended_process piped = run_process({"/bin/sh", "-c", "echo " + token + " | " FAKE_HEDDLE " replay -"});
  EXPECT_EQ(piped.status, 1) << piped.err;
  EXPECT_NE(piped.out.find("zoo.crossed-calls: deadlock"), std::string::npos) << piped.out;
  EXPECT_EQ(run_process({"/bin/sh", "-c", "echo nothing | " FAKE_HEDDLE " replay -"}).status, 2);
}

TEST(replay, a_violation_is_reproduced_with_its_report_and_status_1) {
  const ended_process ended = heddle({"replay", token_of("zoo.crossed-calls")});
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.err, "");
  EXPECT_NE(ended.out.find("zoo.crossed-calls: deadlock at zoo/crossed.cpp:12, 2 steps, digest "), std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("  lane 0 waits for lane 1"), std::string::npos);
}

TEST(replay, repetitions_are_counted_and_compared) {
  const ended_process ended = heddle({"replay", token_of("zoo.crossed-calls"), "--repeat", "7"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("7 of 7 equal digests\n"), std::string::npos) << ended.out;
}

TEST(replay, json_has_the_documented_keys) {
  const nlohmann::json all = heddle_json({"replay", token_of("zoo.crossed-calls"), "--trace"});
  ASSERT_TRUE(has_keys(all, {"scenario", "verdict", "where", "steps", "digest", "ok"})) << all;
  EXPECT_EQ(all["ok"], true);
  EXPECT_EQ(all["verdict"], "deadlock");
  EXPECT_EQ(all["trace"].size(), 2u);
}

TEST(replay, writes_who_waits_for_whom) {
  const std::string file = own_file("waits.dot");
  EXPECT_EQ(heddle({"replay", token_of("zoo.crossed-calls"), "--dot", file}).status, 1);
  std::ifstream written(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(written), {}), "digraph waits {}\n");
  EXPECT_EQ(heddle_json({"replay", token_of("zoo.crossed-calls")})["waits"], "digraph waits {}\n");

  const ended_process cannot = heddle({"replay", token_of("zoo.crossed-calls"), "--dot", "/nowhere/waits.dot"});
  EXPECT_EQ(cannot.status, 3);
  EXPECT_EQ(cannot.err, "heddle: cannot write \"/nowhere/waits.dot\": No such file or directory\n");
}

TEST(replay, a_recorded_run_that_was_ok_is_status_0) {
  trace good = recorded_crossed();
  good.scenario = "port.echo";
  good.parameters = {{"progress", "fair"}, {"budget", "1000"}, {"calls", "1"}};
  good.outcome = scheduler::verdict::ok;
  good.where.clear();
  good.answers = {{scheduler::choice_kind::actor, 3, 2}};
  good.steps = 1;
  const nlohmann::json wrong_digest = heddle_json({"replay", to_token(good)});
  EXPECT_EQ(wrong_digest["ok"], false);
  good.digest = std::stoull(wrong_digest["digest"].get<std::string>(), nullptr, 16);
  EXPECT_EQ(heddle({"replay", to_token(good)}).status, 0);
}

TEST(replay, a_run_that_leaves_the_recording_is_status_2_and_says_where) {
  trace other = recorded_crossed();
  other.answers[1].count = 9;
  const ended_process ended = heddle({"replay", to_token(other)});
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(
      ended.err,
      "heddle: not the recorded run: at choice 2 the run asks for actor out of 4, but recorded is actor out of 9\n");
  other = recorded_crossed();
  other.answers.push_back(other.answers.back());
  EXPECT_NE(heddle({"replay", to_token(other)}).err.find("the run ended after choice 2, but 3 choices"),
            std::string::npos);
  other = recorded_crossed();
  other.outcome = scheduler::verdict::race;
  EXPECT_EQ(heddle({"replay", to_token(other)}).status, 2);
}

TEST(replay, tries_a_trace_of_another_build_and_says_where_it_left) {
  const trace before = *scheduler::from_token(token_of("fake.edited")).value;
  const std::vector<std::string> words = {FAKE_HEDDLE_REBUILT, "replay", "--try", to_token(before)};
  const ended_process ended = run_process(words);
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_EQ(ended.err, "");
  for (const char* const told :
       {"fake.edited: assertion at fake/edited.cpp:8", "another build",
        "it left the recording at step 3, choice 3 the run asks for actor out of 7, but the recording ends there",
        "it ended at another line, else as the recorded run: assertion at fake/edited.cpp:7"})
    EXPECT_NE(ended.out.find(told), std::string::npos) << told << "\n" << ended.out;
  // What was made is a trace of this build.
  std::vector<std::string> as_json = words;
  as_json.emplace_back("--json");
  const nlohmann::json all = nlohmann::json::parse(run_process(as_json).out);
  ASSERT_TRUE(has_keys(all, {"left", "followed", "recorded", "unknown_settings", "token", "ok"})) << all;
  EXPECT_EQ(run_process({FAKE_HEDDLE_REBUILT, "replay", all["token"]}).status, 1);
}

TEST(replay, tries_what_fits_wholly_and_what_ends_otherwise) {
  const trace before = *scheduler::from_token(token_of("fake.edited")).value;
  const ended_process same = heddle({"replay", "--try", to_token(before)});
  EXPECT_EQ(same.status, 1);
  EXPECT_NE(same.out.find("it fits: all 2 choices\n  it ended as the recorded run: assertion at fake/edited.cpp:7\n"),
            std::string::npos)
      << same.out;
  trace other = before;
  other.answers[1].picked = (other.answers[1].picked + 1) % 4;
  other.parameters.emplace_back("colour", "red");
  const ended_process gone = heddle({"replay", "--try", to_token(other)});
  EXPECT_EQ(gone.status, 2);
  EXPECT_NE(gone.out.find("  without colour=red, which is not valid here\n"), std::string::npos) << gone.out;
  EXPECT_EQ(gone.err, "heddle: not the recorded finding: it ended with ok instead of assertion at fake/edited.cpp:7\n");
}

TEST(replay, settings_and_scenarios_that_there_are_not_are_refused) {
  trace other = recorded_crossed();
  other.parameters.emplace_back("colour", "red");
  EXPECT_NE(heddle({"replay", to_token(other)}).err.find("unknown key \"colour\""), std::string::npos);
  other = recorded_crossed();
  other.scenario = "zoo.crossed-cals";
  const ended_process ended = heddle({"replay", to_token(other)});
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.err.find("did you mean \"zoo.crossed-calls\"?"), std::string::npos) << ended.err;
}

TEST(replay, of_a_folder_or_a_journal_says_which_trace_to_give) {
  const std::filesystem::path folder = own_file("found");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto said = [&](const std::string& given) {
    const ended_process ended = heddle({"replay", given});
    EXPECT_EQ(ended.status, 2);
    return ended.err;
  };
  const std::string name = folder.string();
  EXPECT_EQ(said(name), "heddle: \"" + name + "\" is a folder, and no trace lies in it\n");
  ASSERT_FALSE(scheduler::write_trace(recorded_crossed(), folder / "b.heddle.json"));
  EXPECT_EQ(said(name), "heddle: \"" + name + "\" is a folder: give the trace in it, " + name + "/b.heddle.json\n");
  ASSERT_FALSE(scheduler::write_trace(recorded_crossed(), folder / "a.heddle.json"));
  const std::string journal = name + "/campaign.jsonl";
  std::ofstream(journal) << "dc1f4a09 {}\n";
  EXPECT_EQ(said(journal), "heddle: \"" + journal +
                               "\" is the journal of a campaign: give one of the 2 traces beside it, such as " + name +
                               "/a.heddle.json\n");
}

TEST(replay, steps_are_aligned_and_repetitions_folded) {
  trace spinning = recorded_crossed();
  spinning.scenario = "port.echo";
  spinning.parameters = {{"calls", "40"}};
  spinning.answers.assign(40, {scheduler::choice_kind::actor, 3, 2});
  spinning.answers[0].picked = 1;
  const ended_process ended = heddle({"replay", to_token(spinning), "--trace"});
  EXPECT_NE(ended.out.find("   1  lane 1  load       word      1      fake.cpp:1\n"
                           "   2  lane 2  load       word      2      fake.cpp:1  x 39\n"),
            std::string::npos)
      << ended.out;
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream read(file);
  return std::string(std::istreambuf_iterator<char>(read), {});
}

/// The file of the scenario's first finding.
std::string found_by(const std::string& program, const std::string& scenario, const std::filesystem::path& folder,
                     const std::string& schedules = "1000") {
  const ended_process ended =
      run_process({program, "fuzz", scenario, "--schedules", schedules, "--out", folder.string(), "--json"});
  const nlohmann::json made = nlohmann::json::parse(ended.out, nullptr, false);
  if (!made.contains("scenarios")) return ended.err;
  return made["scenarios"][0]["findings"][0]["file"];
}

TEST(shrink, reduces_settings_and_steps_and_writes_a_trace_that_replays) {
  const temporary_folder folder;
  const std::string file = found_by(FAKE_HEDDLE, "fake.counted", folder.path());
  const ended_process ended = heddle({"shrink", file});
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.err, "");
  EXPECT_NE(ended.out.find("fake.counted: assertion at fake/counted.cpp:5\n"), std::string::npos) << ended.out;
  // Four calls are needed, of which the last three get the answer 1.
  const std::string written = file.substr(0, file.size() - std::string(".heddle.json").size()) + "-shrunk.heddle.json";
  const trace small = *scheduler::read_trace(written).value;
  EXPECT_EQ(small.strategy, scheduler::shrunk_strategy);
  EXPECT_EQ(small.steps, 4u);
  EXPECT_NE(
      std::find(small.parameters.begin(), small.parameters.end(), std::pair<std::string, std::string>("calls", "4")),
      small.parameters.end());
  EXPECT_NE(ended.out.find("calls"), std::string::npos);
  EXPECT_NE(ended.out.find("replay " + written), std::string::npos) << ended.out;
  const ended_process again = heddle({"replay", written});
  EXPECT_EQ(again.status, 1) << again.err;
  EXPECT_NE(again.out.find("fake.counted: assertion at fake/counted.cpp:5, 4 steps"), std::string::npos) << again.out;
}

TEST(shrink, the_same_input_gives_the_same_bytes) {
  const temporary_folder folder;
  const std::string token = token_of("fake.counted");
  const std::string one = folder.path() / "one", other = folder.path() / "other";
  ASSERT_EQ(heddle({"shrink", token, "-o", one}).status, 0);
  ASSERT_EQ(heddle({"shrink", token, "--out", other, "--json"}).status, 0);
  EXPECT_EQ(text_of(one), text_of(other));
  EXPECT_NE(text_of(one), "");
}

TEST(shrink, json_has_the_documented_keys) {
  const temporary_folder folder;
  const std::string file = folder.path() / "small.heddle.json";
  const nlohmann::json made = heddle_json({"shrink", token_of("fake.counted"), "-o", file});
  ASSERT_TRUE(has_keys(made, {"scenario", "verdict", "where", "file", "token", "before", "after", "changed", "runs",
                              "seconds", "finished"}))
      << made;
  EXPECT_EQ(made["file"], file);
  EXPECT_EQ(made["verdict"], "assertion");
  EXPECT_EQ(made["finished"], true);
  EXPECT_EQ(made["after"]["steps"], 4);
  EXPECT_GT(made["before"]["steps"], 4);
  EXPECT_TRUE(has_keys(made["after"], {"steps", "switches", "preemptions", "odd_answers"}));
  EXPECT_EQ(made["changed"][0]["key"], "calls");
  EXPECT_EQ(made["changed"][0]["after"], "4");
  EXPECT_EQ(heddle({"replay", made["token"]}).status, 1);
}

TEST(shrink, of_a_token_the_trace_is_written_here) {
  const temporary_folder folder;
  const std::string command =
      "cd " + folder.path().string() + " && " + FAKE_HEDDLE + " shrink " + token_of("zoo.crossed-calls");
  EXPECT_EQ(run_process({"/bin/sh", "-c", command}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "zoo.crossed-calls-deadlock-shrunk.heddle.json"));
}

TEST(shrink, wrong_input_is_status_2_and_one_line) {
  const temporary_folder folder;
  const auto refused = [](const std::vector<std::string>& words, const std::string& line) {
    const ended_process ended = heddle(words);
    EXPECT_EQ(ended.status, 2);
    EXPECT_EQ(line_count(ended.err), 1u) << ended.err;
    EXPECT_NE(ended.err.find(line), std::string::npos) << ended.err;
    EXPECT_EQ(ended.out, "");
  };
  refused({"shrink"}, "required");
  refused({"shrink", "nowhere.heddle.json"}, "there is no file \"nowhere.heddle.json\"");
  refused({"shrink", "heddle1.x"}, "this token is damaged");
  refused({"shrink", token_of("zoo.crossed-calls"), "--runs", "0"}, "--runs cannot be \"0\"");
  refused({"shrink", token_of("zoo.crossed-calls"), "--time", "soon"}, "--time cannot be \"soon\"");
  trace other = *scheduler::from_token(token_of("zoo.crossed-calls")).value;
  other.steps += 1;
  refused({"shrink", to_token(other)}, "not the recorded run");
  other.steps -= 1;
  other.outcome = scheduler::verdict::ok;
  refused({"shrink", to_token(other)}, "there is nothing to shrink: the recorded run ended with verdict ok");
  const std::string rebuilt = nlohmann::json::parse(
      run_process({FAKE_HEDDLE_REBUILT, "fuzz", "fake.edited", "--json"}).out)["scenarios"][0]["findings"][0]["token"];
  refused({"shrink", rebuilt}, "the trace was recorded by another build");
}

TEST(shrink, survives_a_rebuild_that_left_the_scenario_alone) {
  const temporary_folder folder;
  const std::string file = folder.path() / "small.heddle.json";
  ASSERT_EQ(heddle({"shrink", token_of("fake.counted"), "-o", file}).status, 0);
  const ended_process ended = run_process({FAKE_HEDDLE_REBUILT, "replay", file});
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_NE(ended.out.find("here every choice agrees, and it ends the same way"), std::string::npos) << ended.out;
  const std::string again = folder.path() / "smaller.heddle.json";
  EXPECT_EQ(run_process({FAKE_HEDDLE_REBUILT, "shrink", file, "-o", again}).status, 0);
  EXPECT_EQ(run_process({FAKE_HEDDLE_REBUILT, "report", file, "-o", folder.path() / "page.html"}).status, 0);
  EXPECT_EQ(run_process({FAKE_HEDDLE_REBUILT, "replay", again}).out.find("another build"), std::string::npos)
      << "what is made of it is of this build";
}

TEST(shrink, of_another_build_it_is_said_how_to_search_again) {
  const temporary_folder folder;
  const std::string file = folder.path() / "small.heddle.json";
  ASSERT_EQ(heddle({"shrink", token_of("fake.edited"), "-o", file}).status, 0);
  trace small = *scheduler::read_trace(file).value;
  small.strategy = scheduler::shrunk_strategy;
  const ended_process ended = run_process({FAKE_HEDDLE_REBUILT, "replay", to_token(small)});
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.err.find("fuzz fake.edited\n"), std::string::npos) << ended.err;
}

TEST(shrink, a_file_that_cannot_be_written_is_status_3) {
  const ended_process ended = heddle({"shrink", token_of("zoo.crossed-calls"), "-o", "/nowhere/small.heddle.json"});
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(line_count(ended.err), 1u) << ended.err;
  EXPECT_NE(ended.err.find("cannot write \"/nowhere/small.heddle.json\""), std::string::npos) << ended.err;
}

TEST(shrink, a_symbolic_link_stays_one) {
  const temporary_folder folder;
  std::filesystem::create_symlink("small.heddle.json", folder.path() / "link");
  ASSERT_EQ(heddle({"shrink", token_of("zoo.crossed-calls"), "-o", (folder.path() / "link").string()}).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link"));
  EXPECT_TRUE(scheduler::read_trace((folder.path() / "small.heddle.json").string()).value);
}

TEST(shrink, interrupted_it_writes_what_it_has) {
  const temporary_folder folder;
  const std::string found = found_by(FAKE_HEDDLE, "fake.fairly-long", folder.path(), "1");
  const std::string file = folder.path() / "small.heddle.json";
  process_options soon;
  soon.interrupt_after_ms = 700;
  const ended_process ended = run_process({FAKE_HEDDLE, "shrink", found, "-o", file, "--runs", "1000000"}, soon);
  EXPECT_EQ(ended.status, 130);
  EXPECT_EQ(heddle({"replay", file}).status, 1);
}

// -- on the real simulator -----------------------------------------------------------------------------------------------------------

struct shrunk_bug {
  const char* scenario;
  double steps_at_most;  ///< of those before
};

class real_shrink : public testing::TestWithParam<shrunk_bug> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << REAL_HEDDLE << " is not built";
  }
};

TEST_P(real_shrink, is_smaller_the_same_failure_and_replays_strictly) {
  const temporary_folder folder;
  const std::string found = found_by(REAL_HEDDLE, GetParam().scenario, folder.path());
  const std::string one = folder.path() / "one.heddle.json", other = folder.path() / "other.heddle.json";
  const nlohmann::json made =
      nlohmann::json::parse(run_process({REAL_HEDDLE, "shrink", found, "-o", one, "--json"}).out, nullptr, false);
  ASSERT_TRUE(made.contains("after")) << made;
  ASSERT_EQ(run_process({REAL_HEDDLE, "shrink", found, "-o", other}).status, 0);
  EXPECT_EQ(text_of(one), text_of(other)) << "two processes, one result";

  const trace large = *scheduler::read_trace(found).value, small = *scheduler::read_trace(one).value;
  EXPECT_EQ(small.outcome, large.outcome);
  EXPECT_EQ(small.where, large.where);
  EXPECT_EQ(made["before"]["steps"], large.steps);
  EXPECT_EQ(made["after"]["steps"], small.steps);
  EXPECT_LE(static_cast<double>(small.steps), GetParam().steps_at_most * static_cast<double>(large.steps));
  EXPECT_LT(made["after"]["switches"], made["before"]["switches"]);
  const ended_process again = run_process({REAL_HEDDLE, "replay", one, "--repeat", "3"});
  EXPECT_EQ(again.status, 1) << again.err;
  EXPECT_NE(again.out.find("3 of 3 equal digests"), std::string::npos) << again.out;
}

INSTANTIATE_TEST_SUITE_P(zoo, real_shrink,
                         testing::Values(shrunk_bug{"zoo.device-scope-mailbox", 0.7},
                                         shrunk_bug{"zoo.late-reset-erases-flag", 0.8},
                                         shrunk_bug{"zoo.offload-ring-hole", 0.6},
                                         shrunk_bug{"zoo.crossed-try-locks", 1.0},
                                         shrunk_bug{"zoo.stack-without-tag", 0.8}),
                         [](const auto& of) {
                           std::string name = of.param.scenario;
                           for (char& letter : name)
                             if (letter == '.' || letter == '-') letter = '_';
                           return name;
                         });

}  // namespace
}  // namespace heddle::tests
