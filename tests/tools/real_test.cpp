// The command on the real simulator: enough to see that the two fit.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "command.h"

namespace heddle::tests {
namespace {

class real_command : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << REAL_HEDDLE << " is not built";
  }

  static nlohmann::json fuzzed(const std::string& scenario, const std::string& schedules) {
    return nlohmann::json::parse(
        run_process({REAL_HEDDLE, "fuzz", scenario, "--schedules", schedules, "--json"}).out)["scenarios"][0];
  }
};

TEST_F(real_command, a_scenario_without_a_bug_is_ok_and_has_choices) {
  const nlohmann::json echo = fuzzed("port.echo", "50");
  EXPECT_EQ(echo["verdict"], "ok") << echo;
  EXPECT_GT(echo["choices"], 0);
  EXPECT_EQ(echo["digest"], fuzzed("port.echo", "50")["digest"]) << "two processes, one digest";
}

TEST_F(real_command, a_planted_bug_is_found_and_replays_in_another_process) {
  const nlohmann::json crossed = fuzzed("zoo.crossed-calls", "500");
  EXPECT_EQ(crossed["ok"], true) << crossed;
  ASSERT_FALSE(crossed["findings"].empty());
  const std::string token = crossed["findings"][0]["token"];
  const ended_process again = run_process({REAL_HEDDLE, "replay", token, "--repeat", "3"});
  EXPECT_EQ(again.status, 1) << again.err;
  EXPECT_NE(again.out.find("3 of 3 equal digests"), std::string::npos) << again.out;
}

TEST_F(real_command, run_records_a_schedule_whatever_comes_of_it_and_it_is_that_of_fuzz) {
  const temporary_folder folder;
  const std::string file = (folder.path() / "one.heddle.json").string();
  bool passed = false, failed = false;
  for (int seed = 1; seed <= 12 && !(passed && failed); ++seed) {
    const std::string number = std::to_string(seed);
    const ended_process ended =
        run_process({REAL_HEDDLE, "run", "zoo.lost-doorbell", "--seed", number, "-o", file, "--json"});
    const nlohmann::json one = nlohmann::json::parse(ended.out);
    const nlohmann::json all = nlohmann::json::parse(
        run_process({REAL_HEDDLE, "fuzz", "zoo.lost-doorbell", "--seed", number, "-n", "1", "--json"}).out);
    const bool hangs = one["verdict"] == "deadlock";
    (hangs ? failed : passed) = true;
    EXPECT_EQ(ended.status, hangs ? 0 : 1) << "the scenario expects the deadlock";
    EXPECT_EQ(all["scenarios"][0]["findings"].size(), hangs ? 1u : 0u) << number;
    // What passes is found to pass, and what hangs stands beside a run that does not.
    EXPECT_EQ(one["contrast"].empty(), !hangs) << one;
    const ended_process again = run_process({REAL_HEDDLE, "replay", file, "--json"});
    EXPECT_EQ(again.status, hangs ? 1 : 0) << again.err;
    EXPECT_EQ(nlohmann::json::parse(again.out)["digest"], one["digest"]);
  }
  EXPECT_TRUE(passed && failed);
  EXPECT_EQ(run_process({REAL_HEDDLE, "run", "zoo.*"}).status, 2);
}

// The share of one of so many scenarios is below a hundredth of the whole time: what is left of the whole counts.
TEST_F(real_command, a_campaign_of_many_scenarios_goes_on_for_what_is_left_of_its_time) {
  const temporary_folder folder;
  const std::string out = folder.path().string();
  const ended_process cut =
      run_process({REAL_HEDDLE, "fuzz", "*", "--time", "3", "--out", out, "--json"}, {.interrupt_after_ms = 1000});
  const nlohmann::json before = nlohmann::json::parse(cut.out)["scenarios"];
  ASSERT_FALSE(before.empty()) << cut.err;
  const nlohmann::json after =
      nlohmann::json::parse(run_process({REAL_HEDDLE, "fuzz", "--resume", out, "--json"}).out)["scenarios"];
  ASSERT_GT(after.size(), 150u);
  EXPECT_EQ(after[0]["name"], before[0]["name"]);
  EXPECT_GT(after[0]["schedules"].get<uint64_t>(), before[0]["schedules"].get<uint64_t>());
}

TEST_F(real_command, fuzz_tells_how_long_calls_take_and_that_it_is_a_model) {
  const nlohmann::json echo = fuzzed("port.echo", "50")["virtual_latency"];
  EXPECT_EQ(echo["is"], "a model in virtual time, not a measurement");
  EXPECT_EQ(echo["calls"], 50 * 24);
  EXPECT_EQ(echo["schedules"], 50);
  EXPECT_GT(echo["median_us"], 1.1) << "two ways across the link at least";
  EXPECT_LE(echo["median_us"], echo["p99_us"]);
  EXPECT_LE(echo["p99_us"], echo["longest_us"]);
  EXPECT_EQ(fuzzed("driver.copy-back", "50")["virtual_latency"], nullptr);
  const std::string text = run_process({REAL_HEDDLE, "fuzz", "port.echo", "driver.copy-back", "--schedules", "50"}).out;
  const size_t table = text.find("a call, in virtual time");
  ASSERT_NE(table, std::string::npos) << text;
  EXPECT_NE(text.find("port.echo", table), std::string::npos);
  EXPECT_EQ(text.find("driver.copy-back", table), std::string::npos);
  EXPECT_NE(text.find("no measurement", table), std::string::npos);
  EXPECT_EQ(run_process({REAL_HEDDLE, "fuzz", "driver.copy-back", "--schedules", "50"}).out.find("virtual"),
            std::string::npos);
}

TEST_F(real_command, behaviours_are_the_same_by_any_number_of_jobs_and_where_a_campaign_goes_on) {
  const std::vector<std::string> words = {"port.echo", "--set",   "waves=2",     "--set", "lanes=1",
                                          "--set",     "ports=1", "--schedules", "1500",  "--behaviours"};
  const auto counted = [&](const std::vector<std::string>& more, bool as_asked = true) {
    std::vector<std::string> all = {REAL_HEDDLE, "fuzz", "--json"};
    if (as_asked) all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), more.begin(), more.end());
    const ended_process ended = run_process(all);
    return nlohmann::json::parse(ended.out)["scenarios"][0];
  };
  const nlohmann::json one = counted({});
  EXPECT_EQ(one["verdict"], "ok") << one;
  EXPECT_GT(one["behaviours"]["count"], 20) << one;
  EXPECT_LT(one["behaviours"]["count"], 1000) << one;
  EXPECT_LT(one["behaviours"]["chance_of_new_at_most"], 0.9) << one;
  EXPECT_EQ(counted({"--jobs", "3"})["behaviours"], one["behaviours"]);
  const temporary_folder folder;
  const std::string out = folder.path().string();
  EXPECT_EQ(counted({"--out", out})["behaviours"], one["behaviours"]);
  EXPECT_EQ(counted({"--resume", out}, false)["behaviours"], one["behaviours"]);
  EXPECT_TRUE(fuzzed("port.echo", "50")["behaviours"].is_null());
  const ended_process in_words =
      run_process({REAL_HEDDLE, "fuzz", "offload.single", "--schedules", "30", "--behaviours"});
  EXPECT_NE(in_words.out.find(" behaviours in 30 schedules, none new in the last "), std::string::npos) << in_words.out;
}

TEST_F(real_command, a_finding_says_nothing_of_behaviours_that_are_counted) {
  const auto token_of = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {REAL_HEDDLE, "fuzz", "zoo.crossed-calls", "--schedules", "300", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return nlohmann::json::parse(run_process(words).out)["scenarios"][0]["findings"].at(0)["token"];
  };
  EXPECT_EQ(token_of({"--behaviours"}), token_of({}));
}

TEST_F(real_command, a_setting_without_effect_is_refused_and_with_one_is_taken) {
  const ended_process refused = run_process({REAL_HEDDLE, "fuzz", "port.echo", "--set", "link.wc=on"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.err,
            "heddle: scenario port.echo: link.wc=on has no effect with fidelity=scoped; use --set fidelity=link\n");
  EXPECT_EQ(refused.out, "");
  const ended_process taken = run_process(
      {REAL_HEDDLE, "fuzz", "port.echo", "--set", "link.wc=on", "--set", "fidelity=link", "--schedules", "5"});
  EXPECT_EQ(taken.status, 0) << taken.err << taken.out;
}

TEST_F(real_command, races_that_are_left_alone_are_counted_and_excuses_without_one_are_told) {
  const temporary_folder folder;
  const std::string file = (folder.path() / "excuses.txt").string();
  std::ofstream(file) << "# known\nvariable ports\nvariable nothing\n";
  const std::vector<std::string> fuzz = {REAL_HEDDLE, "fuzz", "zoo.no-acquire-after-wait", "--schedules", "20"};
  const auto with = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = fuzz;
    all.insert(all.end(), words.begin(), words.end());
    return run_process(all).out;
  };
  EXPECT_NE(with({}).find(": race at "), std::string::npos);
  for (const char* jobs : {"1", "2"}) {
    const std::string told = with({"--excuse", file, "--jobs", jobs});
    EXPECT_NE(told.find("zoo.no-acquire-after-wait: races left alone: "), std::string::npos) << told;
    EXPECT_NE(told.find("(" + file + ":2)"), std::string::npos) << told;
    EXPECT_NE(told.find("warning: no race needs " + file + ":3 (variable nothing)\n"), std::string::npos) << told;
    EXPECT_EQ(told.find(": race at "), std::string::npos) << told;
  }
  EXPECT_NE(with({"--set", "races.excuse=acquire+acquire-store"}).find("(acquire)"), std::string::npos);
  const nlohmann::json all = nlohmann::json::parse(with({"--excuse", file, "--json"}));
  EXPECT_GT(all["scenarios"][0]["excused"][file + ":2"], 0) << all;
  EXPECT_EQ(all["unused_excuses"], nlohmann::json::array({file + ":3 (variable nothing)"}));
  // What is wrong is one line.
  std::ofstream(file) << "ring.cu:7\n";
  const ended_process refused = run_process({REAL_HEDDLE, "fuzz", "port.echo", "--excuse", file});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find(file + ":1: \"ring.cu:7\" excuses nothing"), std::string::npos) << refused.err;
  EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
}

TEST_F(real_command, verify_weighs_races_and_excuses_variables_alone) {
  const temporary_folder folder;
  const std::string file = (folder.path() / "excuses.txt").string();
  const std::vector<std::string> verify = {
      REAL_HEDDLE, "verify", "zoo.no-acquire-after-wait", "--set", "waves=1", "--set", "lanes=1", "--time", "60"};
  const auto with = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = verify;
    all.insert(all.end(), words.begin(), words.end());
    return run_process(all);
  };
  EXPECT_NE(with({}).out.find(": race at "), std::string::npos);
  const std::string weighed = with({"--set", "races=weigh"}).out;
  EXPECT_NE(weighed.find("zoo.no-acquire-after-wait: "), std::string::npos) << weighed;
  EXPECT_EQ(weighed.find("proved"), std::string::npos) << weighed;
  std::ofstream(file) << "place a.cu:7\n";
  const ended_process place = with({"--excuse", file});
  EXPECT_EQ(place.status, 2);
  EXPECT_NE(place.err.find("verify excuses variables alone"), std::string::npos) << place.err;
  const ended_process kind = with({"--set", "races.excuse=acquire"});
  EXPECT_EQ(kind.status, 2);
  EXPECT_NE(kind.err.find("verify excuses no kinds of races"), std::string::npos) << kind.err;
}

TEST_F(real_command, a_trace_of_another_fidelity_is_taken_with_all_the_settings_that_it_names) {
  const nlohmann::json found =
      nlohmann::json::parse(run_process({REAL_HEDDLE, "fuzz", "zoo.crossed-calls", "--schedules", "50", "--set",
                                         "fidelity=interleaving", "--json"})
                                .out)["scenarios"][0]["findings"];
  ASSERT_FALSE(found.empty());
  const std::string token = found[0]["token"];
  EXPECT_EQ(run_process({REAL_HEDDLE, "replay", token}).status, 1);
}

struct hang_of_the_zoo {
  const char* name;
  std::set<std::string>
      circles;  ///< of its findings, without the numbers of waves; empty where the description has none
};

// As the descriptions in scenarios/zoo have it. Where what would end a wait is not known, the circle is supposed; where that is the
// thread which launches, words say that it is left (server-is-the-waiter).
const std::vector<hang_of_the_zoo> hangs = {
    {"all-blocks-resident", {"perhaps in a circle: wave -> wave -> wave"}},
    {"cached-token", {"in a circle: host peer -> wave -> host peer"}},
    {"close-without-handback", {""}},
    {"crossed-calls", {"perhaps in a circle: host server -> wave -> wave -> host server"}},
    {"crossed-try-locks", {""}},
    {"doorbell-counted-by-client", {"in a circle: wave -> host server -> wave"}},
    {"driver-engine-end", {"in a circle: host main -> host engine -> host connection -> host main"}},
    {"driver-engine-start", {"in a circle: host main -> host engine -> host connection -> host main"}},
    {"early-return-skips-notify", {""}},
    {"flag-wrap-at-2-31", {"in a circle: host consumer -> wave -> host consumer"}},
    {"handler-waits-for-device", {"perhaps in a circle: wave -> host server -> wave"}},
    {"handler-waits-for-device-context", {"in a circle: wave -> host server -> host main -> wave"}},
    // In its second form the ring that is lost is that of the end.
    {"interrupt-never-arrives", {"in a circle: wave -> host server -> wave", ""}},
    {"late-reset-erases-flag", {"in a circle: host consumer -> wave -> host consumer"}},
    {"listener-teardown", {"in a circle: host main -> host listener -> host main"}},
    {"lock-held-across-callback", {"in a circle: host server -> host server"}},
    {"lock-held-across-callback-slow", {""}},
    {"lost-doorbell", {"in a circle: wave -> host server -> wave"}},
    {"no-pcie-atomics", {"perhaps in a circle: host server -> wave -> host server"}},
    {"not-for-complement", {""}},
    {"null-mailbox-uncounted", {""}},
    {"offload-kernel-stream", {"perhaps in a circle: wave -> host server -> wave"}},
    {"offload-ring-hole", {""}},
    {"op-pool-exhausted", {"perhaps in a circle: host main -> host proxy -> host main"}},
    {"poll-before-first-post", {"perhaps in a circle: host network -> wave -> host network"}},
    {"ports-below-occupancy", {""}},
    {"scan-from-zero", {""}},
    {"server-is-the-waiter", {""}},
    {"single-port-wait", {""}},
    {"spin-without-yield", {""}},
    {"sunk-close", {"in a circle: wave lane -> wave lane -> wave lane"}},
    {"swapped-compare", {""}},
    {"unfair-lock", {""}},
};

// "wave 1 lane 0" is one of many.
std::string without_numbers(const std::string& line) {
  std::string text;
  for (const char each : line)
    if (std::isdigit(static_cast<unsigned char>(each)) == 0)
      text += each;
    else if (text.ends_with(' '))
      text.pop_back();
  return text;
}

TEST_F(real_command, hangs_of_the_zoo_show_the_circle_of_their_description_and_end_their_stacks_in_the_program) {
  std::vector<std::string> arguments = {REAL_HEDDLE, "fuzz", "-v", "--schedules", "300"};
  for (const hang_of_the_zoo& each : hangs) arguments.push_back(std::string("zoo.") + each.name);
  std::istringstream lines(run_process(arguments).out);
  std::map<std::string, std::set<std::string>> seen;
  std::string name;
  bool at_heading = false;
  for (std::string line; std::getline(lines, line); at_heading = line == "  what waits for what:") {
    // Stacks end where the program's own code ends.
    for (const char* const frame : {"sim/fiber/", "sim/run/", "tools/heddle/", "make_fcontext"})
      EXPECT_EQ(line.find(frame), std::string::npos) << line;
    if (line.starts_with("zoo.") && line.find(": ") != std::string::npos) name = line.substr(4, line.find(':') - 4);
    if (!at_heading) continue;
    const size_t circle = std::min(line.find("in a circle"), line.find("perhaps in a circle"));
    seen[name].insert(circle == std::string::npos ? "" : without_numbers(line.substr(circle)));
  }
  for (const hang_of_the_zoo& each : hangs)
    // A starvation may be found before anything waits.
    EXPECT_TRUE((!seen[each.name].empty() || each.circles == std::set<std::string>{""}) &&
                std::includes(each.circles.begin(), each.circles.end(), seen[each.name].begin(), seen[each.name].end()))
        << each.name << ": " << testing::PrintToString(seen[each.name]);
}

}  // namespace
}  // namespace heddle::tests
