#include <heddle/scheduler/trace.h>

#include <fstream>

#include "command.h"

namespace heddle::tests {
namespace {

using scheduler::trace;

trace recorded_crossed() { return *scheduler::from_token(token_of("zoo.crossed-calls")).value; }

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
  EXPECT_EQ(cannot.err, "heddle: cannot write /nowhere/waits.dot\n");
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

}  // namespace
}  // namespace heddle::tests
