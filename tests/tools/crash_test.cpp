// What ends a process or stands still is a finding like others, and ends no campaign.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "process.h"

namespace heddle::tests {
namespace {

using nlohmann::json;

ended_process crashing(std::vector<std::string> arguments, const process_options& options = {}) {
  arguments.insert(arguments.begin(), CRASHING);
  return run_process(arguments, options);
}

json crashing_json(std::vector<std::string> arguments, int status = 1) {
  arguments.emplace_back("--json");
  const ended_process ended = crashing(std::move(arguments));
  EXPECT_EQ(ended.status, status) << ended.out << ended.err;
  return json::parse(ended.out, nullptr, false);
}

struct expected_end {
  std::string scenario;
  std::string verdict;
  std::string message;
  bool has_place = true;
};

const std::vector<expected_end>& all_ends() {
  static const std::vector<expected_end> all = {
      {"crash.store", "crash", "SIGSEGV: a store to 0x123456789000, where no memory is"},
      {"crash.not-canonical", "crash", "SIGSEGV: an access through a pointer that no memory has"},
      {"crash.jump", "crash", "SIGSEGV: a jump to 0x123456789000"},
      {"crash.abort", "crash", "abort() is called"},
      {"crash.trap", "crash", "SIGILL"},
      {"crash.raise", "crash", "raise(SIGSEGV) is called"},
      {"crash.divide", "crash", "SIGFPE: an integer is divided by zero"},
      {"crash._exit", "crash", "_exit(0) is called"},
      {"crash._Exit", "crash", "_Exit(0) is called"},
      {"crash.quick_exit", "crash", "quick_exit(0) is called"},
      {"crash.syscall", "crash", "syscall(SYS_exit_group) is called"},
      {"crash.unseen", "crash", "the process ends with status 0", false},
      {"crash.pthread_exit", "crash", "pthread_exit() is called"},
      {"crash.free", "crash", "SIGABRT"},
      {"crash.overflow", "crash", "is too small in recurse: raise stack_kib"},
  };
  return all;
}

class a_crash : public testing::TestWithParam<expected_end> {};

TEST_P(a_crash, is_a_finding_with_its_place_that_can_be_repeated) {
  const expected_end& wanted = GetParam();
  const temporary_folder folder;
  const std::string out = (folder.path() / "found").string();
  const json all = crashing_json({"fuzz", wanted.scenario, "crash.none", "--schedules", "30", "--out", out});
  ASSERT_EQ(all["scenarios"].size(), 2u) << all;
  const json& tested = all["scenarios"][wanted.scenario < "crash.none" ? 0 : 1];
  const json& other = all["scenarios"][wanted.scenario < "crash.none" ? 1 : 0];
  EXPECT_EQ(other["verdict"], "ok") << "the campaign goes on";
  EXPECT_EQ(tested["schedules"], 30);
  EXPECT_EQ(tested["verdict"], wanted.verdict) << tested;
  uint64_t count = 0;
  for (const json& found : tested["findings"]) {
    count += found["count"].get<uint64_t>();
    EXPECT_EQ(found["verdict"], wanted.verdict) << found;
    EXPECT_EQ(found["reproducible"], true) << found;
    EXPECT_NE(found["message"].get<std::string>().find(wanted.message), std::string::npos) << found;
    if (wanted.has_place) {
      EXPECT_NE(found["where"].get<std::string>().find("crashing_scenarios.cpp:"), std::string::npos) << found;
    }
    const ended_process again = crashing({"replay", found["file"].get<std::string>()});
    EXPECT_EQ(again.status, 1) << again.out << again.err;
    EXPECT_NE(again.out.find(wanted.message), std::string::npos) << again.out;
    EXPECT_EQ(crashing({"replay", found["token"].get<std::string>(), "--json"}).status, 1);
  }
  EXPECT_EQ(count, 30u) << "each schedule ends so: " << tested;
}

INSTANTIATE_TEST_SUITE_P(of, a_crash, testing::ValuesIn(all_ends()), [](const auto& tested) {
  std::string name = tested.param.scenario.substr(6);
  for (char& letter : name)
    if (letter == '-' || letter == '_') letter = 'x';
  return name + std::to_string(tested.index);
});

TEST(a_damaged_heap, is_a_crash_wherever_it_is_found) {
  const json all = crashing_json({"fuzz", "crash.heap", "crash.none", "--schedules", "20"});
  EXPECT_EQ(all["scenarios"][0]["verdict"], "crash") << all;
  EXPECT_EQ(all["scenarios"][0]["schedules"], 20) << all;
  EXPECT_EQ(all["scenarios"][1]["verdict"], "ok") << all;
}

TEST(crashes, are_the_same_with_any_number_of_jobs_and_in_process) {
  const auto without_time = [](json all) {
    for (json& each : all["scenarios"]) {
      each.erase("schedules_per_second");
      each.erase("virtual_latency");
    }
    return all;
  };
  const std::vector<std::string> asked = {"fuzz", "half.abort", "crash.none", "crash.divide", "--schedules", "500"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), asked.begin(), asked.end());
    return without_time(crashing_json(more));
  };
  const json one = with({});
  EXPECT_EQ(one, with({"--jobs", "2"}));
  EXPECT_EQ(one, with({"--jobs", "5"}));
  EXPECT_EQ(one, with({"--in-process"}));
  const uint64_t half = one["scenarios"][2]["findings"][0]["count"];
  EXPECT_GT(half, 100u);
  EXPECT_LT(half, 400u);
}

void expect_json_alone(const std::vector<std::string>& words, const std::vector<std::string>& printed) {
  std::vector<std::string> all = {"/usr/bin/env", "PRINTS_EARLY=1", CRASHING};
  all.insert(all.end(), words.begin(), words.end());
  all.emplace_back("--json");
  const ended_process ended = run_process(all);
  EXPECT_TRUE(json::accept(ended.out)) << words.front() << ' ' << words[1] << ":\n" << ended.out.substr(0, 400);
  for (const std::string& each : printed)
    EXPECT_NE(ended.err.find("{\"" + each + " prints\"\n"), std::string::npos) << each << '\n' << ended.err;
}

// Other runs explain it: from where it parts from a good one, by which choices, and what other lanes would have done.
TEST(what_programs_print, is_told_of_one_run_and_of_none_beside_it) {
  const auto times = [](const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  const temporary_folder folder;
  const auto printed = [&](const std::vector<std::string>& command, const std::string& what) {
    const ended_process ended = crashing(command);
    EXPECT_NE(ended.status, 2) << ended.err;
    return times(ended.out, "{\"" + what + " prints\"\n");
  };
  EXPECT_EQ(printed({"run", "prints.well", "--out", folder.path() / "well"}, "write"), 1U);
  const std::string fails = folder.path() / "fails", hangs = folder.path() / "hangs";
  EXPECT_EQ(printed({"run", "prints.fails", "--out", fails}, "write"), 1U);
  for (const std::string each : {"printf", "a stream", "write", "a kernel"})
    EXPECT_EQ(printed({"replay", fails}, each), 1U) << each;
  EXPECT_EQ(printed({"report", fails, "-o", folder.path() / "page.html"}, "write"), 1U);
  EXPECT_EQ(printed({"run", "prints.behind", "--set", "resident=1", "--out", hangs}, "behind"), 0U);
  EXPECT_EQ(printed({"replay", hangs}, "in front"), 1U);
  EXPECT_EQ(printed({"replay", hangs}, "behind"), 0U);
  const std::string told = crashing({"fuzz", "prints.behind", "--schedules", "20", "--set", "resident=1"}).out;
  EXPECT_EQ(times(told, "    {\"in front prints\"\n"), 1U) << told;
  EXPECT_EQ(times(told, "behind prints"), 0U) << told;
}

TEST(json_of_a_command, stands_alone_on_standard_output_whatever_programs_print) {
  const std::vector<std::string> all = {"a constructor", "printf", "a stream", "write", "a kernel"};
  const std::string good = own_file("prints-good.heddle.json");
  const std::string bad = own_file("prints-bad.heddle.json");
  expect_json_alone({"fuzz", "prints.well", "--schedules", "20", "--show-output"}, all);
  expect_json_alone({"fuzz", "prints.abort", "--schedules", "20", "--show-output"}, {"write"});
  expect_json_alone({"fuzz", "prints.*", "--schedules", "20", "--jobs", "2"}, {"a constructor"});
  expect_json_alone({"run", "prints.well", "-o", good}, all);
  expect_json_alone({"run", "prints.well", "-o", good, "--in-process"}, all);
  expect_json_alone({"run", "prints.abort"}, {"write"});
  expect_json_alone({"replay", good}, all);
  expect_json_alone({"verify", "prints.well"}, {"a constructor"});
  expect_json_alone({"verify", "prints.abort", "-o", bad}, {"a constructor"});
  expect_json_alone({"replay", bad}, {"write"});
  expect_json_alone({"mend", bad, "--schedules", "20"}, {"write"});
  expect_json_alone({"slack", "prints.well", "--schedules", "20"}, {"write"});
}

TEST(what_programs_print, is_out_before_a_copy_is_ended) {
  const ended_process ended = run_process(
      {"/usr/bin/env", "SLOW_STREAM=1", CRASHING, "fuzz", "prints.well", "--schedules", "20", "--show-output"});
  for (const std::string each : {"printf", "a stream", "write", "a kernel"})
    EXPECT_NE(ended.out.find("{\"" + each + " prints\"\n"), std::string::npos) << each << '\n' << ended.out;
}

TEST(what_programs_print, is_not_shown_while_many_schedules_run_and_a_finding_has_the_end_of_it) {
  const auto times = [](const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  const std::string line = "{\"write prints\"\n";
  EXPECT_EQ(times(crashing({"fuzz", "prints.well", "--schedules", "20"}).out, line), 0U);
  EXPECT_GE(times(crashing({"fuzz", "prints.well", "--schedules", "20", "--show-output"}).out, line), 20U);
  EXPECT_EQ(times(crashing({"verify", "prints.well"}).out, line), 0U);
  const std::string to_errors = "{\"standard error prints\"\n";
  EXPECT_EQ(crashing({"fuzz", "prints.well", "--schedules", "20"}).err, "");
  EXPECT_GE(times(crashing({"fuzz", "prints.well", "--schedules", "20", "--show-output"}).err, to_errors), 20U);
  EXPECT_EQ(crashing({"verify", "prints.well"}).err, "");
  EXPECT_GE(times(crashing({"run", "prints.well"}).err, to_errors), 1U);
  // One schedule is looked at closely.
  EXPECT_GE(times(crashing({"fuzz", "prints.well", "--schedules", "1"}).out, line), 1U);
  EXPECT_GE(times(crashing({"run", "prints.well"}).out, line), 1U);
  const std::string told = crashing({"fuzz", "prints.abort", "--schedules", "20", "--jobs", "1"}).out;
  const size_t heading = told.find("  it printed:\n");
  ASSERT_NE(heading, std::string::npos) << told;
  EXPECT_LT(heading, told.find("    " + line)) << told;
  EXPECT_EQ(times(told, line), 1U) << told;
  EXPECT_EQ(times(told, "    {\"a kernel prints\"\n"), 1U) << told;
  EXPECT_EQ(times(told, "  it printed to standard error:\n    " + to_errors), 1U) << told;
  // What stops a run is at hand where the run is told.
  const ended_process misused = crashing({"fuzz", "misused.parameter", "--schedules", "20"});
  EXPECT_NE(misused.out.find("  it printed to standard error:\n    heddle: parameter \"none\" is not defined\n"),
            std::string::npos)
      << misused.out;
  EXPECT_EQ(misused.err, "");
}

TEST(json_of_a_command, is_told_as_lost_when_it_cannot_be_written) {
  const ended_process full = crashing({"run", "prints.well", "--json"}, {.out_file = "/dev/full"});
  EXPECT_EQ(full.status, 3) << full.err;
  EXPECT_NE(full.err.find("could not be written"), std::string::npos) << full.err;
}

TEST(a_killed_copy, is_found_with_its_choices) {
  const json all = crashing_json({"fuzz", "half.unseen", "--schedules", "20"});
  const json& found = all["scenarios"][0]["findings"][0];
  EXPECT_EQ(found["verdict"], "crash") << all;
  EXPECT_EQ(found["message"], "the process is killed by SIGKILL");
  EXPECT_EQ(found["reproducible"], true) << all;
  EXPECT_EQ(crashing({"replay", found["token"].get<std::string>()}).status, 1);
}

TEST(a_campaign_of_crashes, goes_on_with_resume_and_keeps_what_was_found) {
  const temporary_folder folder;
  const std::string whole = (folder.path() / "whole").string(), cut = (folder.path() / "cut").string();
  const std::vector<std::string> asked = {"half.abort", "crash.free", "crash.none", "--schedules", "400"};
  const auto fuzz_into = [&](const std::string& out) {
    std::vector<std::string> words = {"fuzz"};
    words.insert(words.end(), asked.begin(), asked.end());
    words.insert(words.end(), {"--out", out});
    return words;
  };
  const json uncut = crashing_json(fuzz_into(whole));
  crashing(fuzz_into(cut), {.kill_after_ms = 150});
  for (int again = 0; again < 4; ++again) crashing({"fuzz", "--resume", cut}, {.kill_after_ms = 100 + 60 * again});
  const json resumed = crashing_json({"fuzz", "--resume", cut});
  for (size_t n = 0; n < 3; ++n) {
    const json &one = uncut["scenarios"][n], &other = resumed["scenarios"][n];
    for (const char* const key : {"name", "verdict", "schedules", "steps", "choices", "digest"})
      EXPECT_EQ(one[key], other[key]) << key;
    ASSERT_EQ(one["findings"].size(), other["findings"].size()) << other;
    for (size_t found = 0; found < one["findings"].size(); ++found)
      for (const char* const key : {"verdict", "where", "seed", "count", "token", "reproducible"})
        EXPECT_EQ(one["findings"][found][key], other["findings"][found][key]) << key;
  }
}

TEST(a_run_that_stands_still, is_stuck_and_does_not_hold_up_the_campaign) {
  for (const std::string scenario : {"stuck.loop", "stuck.call"}) {
    const json all = crashing_json({"fuzz", scenario, "crash.none", "--schedules", "50", "--stuck", "0.3"});
    const json& tested = all["scenarios"][1];
    EXPECT_EQ(all["scenarios"][0]["verdict"], "ok");
    EXPECT_EQ(tested["verdict"], "stuck") << all;
    EXPECT_LT(tested["schedules"], 10) << "no more of them than that it is certain";
    const json& found = tested["findings"][0];
    EXPECT_NE(found["where"].get<std::string>().find("crashing_scenarios.cpp:"), std::string::npos) << found;
    EXPECT_NE(found["message"].get<std::string>().find(" goes on without a scheduling point"), std::string::npos);
    EXPECT_EQ(found["reproducible"], true) << found;
    EXPECT_EQ(crashing({"replay", found["token"].get<std::string>(), "--stuck", "0.3"}).status, 1);
  }
}

/// Time of processors that the processes which this one has begun, and waited for, have had.
double seconds_of_children() {
  rusage used = {};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

TEST(a_run_that_stands_still, is_waited_for_once_and_not_again_to_tell_of_it) {
  // It goes round, so that what it takes is the processor's: a machine with other work makes it no longer.
  const double before = seconds_of_children();
  const json all =
      crashing_json({"fuzz", "stuck.loop", "--schedules", "1", "--strategy", "random", "--stuck", "6"})["scenarios"][0];
  const double seconds = seconds_of_children() - before;
  EXPECT_EQ(all["verdict"], "stuck") << all;
  EXPECT_EQ(all["findings"][0]["reproducible"], true) << all;
  EXPECT_LT(seconds, 12) << "6 s for the schedule, and a second for each time that it is run again";
}

TEST(the_time_of_a_campaign, ends_the_schedule_that_is_under_way_and_nothing_else) {
  const auto start = std::chrono::steady_clock::now();
  const ended_process ended =
      crashing({"fuzz", "long.later", "--time", "1", "--set", "budget=1000000000000", "--json"});
  EXPECT_EQ(ended.status, 0) << ended.out;
  const json all = json::parse(ended.out)["scenarios"][0];
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LT(seconds, 1 + 1 + 6) << "a second later, and what a loaded machine takes";
  EXPECT_EQ(all["schedules"], 3) << all;
  EXPECT_EQ(all["verdict"], "ok") << all;
  EXPECT_EQ(all["cut"]["seed"], 4) << all;
  EXPECT_GT(all["cut"]["steps"], 1000) << all;
  const ended_process none = crashing({"fuzz", "long.later", "--time", "1", "--seed", "9", "--strategy", "random",
                                       "--set", "budget=1000000000000", "--jobs", "4"});
  EXPECT_NE(none.out.find("the time was over in the schedule of seed "), std::string::npos) << none.out;
}

TEST(a_campaign_of_nothing_but_the_same_unsupported, ends_early_and_says_so) {
  for (const std::string jobs : {"1", "3"}) {
    const ended_process ended = crashing({"fuzz", "unsupported.always", "--schedules", "5000", "--jobs", jobs});
    EXPECT_EQ(ended.status, 1);
    EXPECT_NE(
        ended.out.find("all of its first 300 schedules ended as unsupported, in the same way: no others were run"),
        std::string::npos)
        << ended.out;
    EXPECT_NE(ended.out.find("300 of 300 schedules"), std::string::npos) << ended.out;
  }
  const json few = crashing_json({"fuzz", "unsupported.always", "--schedules", "300"})["scenarios"][0];
  EXPECT_EQ(few["ended_alike"], false) << "all were run that were asked for";
  const json differs = crashing_json({"fuzz", "unsupported.mostly", "--schedules", "1000"})["scenarios"][0];
  EXPECT_EQ(differs["schedules"], 1000) << differs;
  EXPECT_LT(differs["findings"][0]["count"], 1000) << differs;
}

TEST(an_interrupt, takes_effect_wherever_the_run_is) {
  for (const auto& [signal, status] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}, std::pair{SIGHUP, 129}}) {
    for (const std::string command : {"fuzz", "verify"}) {
      const temporary_folder folder;
      const auto start = std::chrono::steady_clock::now();
      const ended_process ended =
          crashing({command, "stuck.loop"}, {.interrupt_after_ms = 500, .interrupt_by = signal});
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      EXPECT_EQ(ended.status, status) << command << ended.out << ended.err;
      EXPECT_LT(seconds, 0.5 + 3) << command << ": a second, and what a loaded machine takes";
      EXPECT_NE(ended.err.find("heddle: stopping"), std::string::npos) << ended.err;
    }
  }
}

TEST(an_interrupt, by_a_terminal_that_goes_is_none_under_nohup) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  const ended_process ended = crashing({"fuzz", "stuck.loop", "--stuck", "1", "--schedules", "1"},
                                       {.interrupt_after_ms = 300, .interrupt_by = SIGHUP});
  std::signal(SIGHUP, before);
  EXPECT_EQ(ended.err.find("heddle: stopping"), std::string::npos) << ended.err;
  EXPECT_NE(ended.out.find("stuck"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.status, 1) << "its verdict is not the expected one: " << ended.out;
}

TEST(an_interrupt, prints_what_was_found) {
  const temporary_folder folder;
  const ended_process ended =
      crashing({"fuzz", "crash.abort", "stuck.loop", "--schedules", "10", "--jobs", "2"}, {.interrupt_after_ms = 1500});
  EXPECT_EQ(ended.status, 130) << ended.err;
  EXPECT_NE(ended.out.find("abort() is called"), std::string::npos) << ended.out;
}

// The address sanitizer finds a block that is freed twice in the middle of its own work, and ends the process that searches: no token then.
#ifdef __SANITIZE_ADDRESS__
constexpr const char* frees_twice = "crash.abort";
#else
constexpr const char* frees_twice = "crash.free";
#endif

TEST(verify_of_a_crash, is_a_counterexample) {
  for (const std::string scenario :
       {"crash.abort", "crash.store", frees_twice, "crash.overflow", "crash.divide", "given.abort"}) {
    const json made = crashing_json({"verify", scenario});
    EXPECT_EQ(made["verdict"], "crash") << made;
    EXPECT_EQ(made["reproducible"], true) << made;
    ASSERT_TRUE(made["token"].is_string()) << made;
    EXPECT_EQ(crashing({"replay", made["token"].get<std::string>()}).status, 1) << made;
  }
  const ended_process unseen = crashing({"verify", "crash.unseen"});
  EXPECT_EQ(unseen.status, 1);
  EXPECT_NE(unseen.out.find("the process ends with status 0"), std::string::npos) << unseen.out;
  // Each run that stands still takes all of its time: no more of them are made than are needed to tell.
  const temporary_folder folder;
  const std::filesystem::path counted = folder.path() / "runs";
  setenv("COUNTED_RUNS", counted.c_str(), 1);
  const ended_process stuck = crashing({"verify", "stuck.loop", "--stuck", "0.3"});
  unsetenv("COUNTED_RUNS");
  EXPECT_LE(std::filesystem::file_size(counted), 6u);
  EXPECT_EQ(stuck.status, 1);
  EXPECT_NE(stuck.out.find("stuck"), std::string::npos) << stuck.out;
}

// Races are looked for behind all else, and were not.
TEST(verify, stopped_before_it_has_looked_for_races_has_proved_nothing) {
  const ended_process ended =
      crashing({"verify", "stopped.in-its-only-run", "--json", "--set", "fidelity=scoped", "--set", "races=weigh"});
  EXPECT_EQ(ended.status, 130) << ended.out;
  const json made = json::parse(ended.out);
  EXPECT_EQ(made["result"], "incomplete");
  EXPECT_EQ(made["incomplete_because"], "stopped");
}

TEST(shrink_and_report_of_a_crash, work_as_of_others) {
  const temporary_folder folder;
  const std::string out = (folder.path() / "found").string();
  for (const std::string scenario : {"half.abort", "crash.divide", frees_twice}) {
    const json all = crashing_json({"fuzz", scenario, "--schedules", "30", "--out", out});
    const std::string file = all["scenarios"][0]["findings"][0]["file"];
    const ended_process shrunk = crashing({"shrink", file, "--runs", "200"});
    EXPECT_EQ(shrunk.status, 0) << scenario << shrunk.out << shrunk.err;
    const ended_process page = crashing({"report", file});
    EXPECT_EQ(page.status, 0) << scenario << page.out << page.err;
  }
}

TEST(gtest_of_crashes, fails_and_goes_on) {
  const temporary_folder folder;
  setenv("HEDDLE_FINDINGS", folder.path().c_str(), 1);
  const ended_process ended = run_process({CRASHING_GTEST});
  unsetenv("HEDDLE_FINDINGS");
  EXPECT_EQ(ended.status, 1) << ended.out;
  EXPECT_NE(ended.out.find("abort() is called"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("the process ends with status 0"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("heddle/runs.run/crash_none"), std::string::npos) << ended.out;
}

TEST(copies, do_not_outlive_the_command) {
  const temporary_folder folder;
  const std::string mark = "heddle-mark-" + std::to_string(getpid());
  // The copies have the arguments of the command.
  crashing({"fuzz", "stuck.loop", "--jobs", "3", "--out", (folder.path() / mark).string()}, {.kill_after_ms = 400});
  const auto left = [&] {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::string line;
      FILE* const file = std::fopen((entry.path() / "cmdline").c_str(), "rb");
      if (file == nullptr) continue;
      char part[4096];
      line.assign(part, std::fread(part, 1, sizeof part, file));
      std::fclose(file);
      count += line.find(mark) != std::string::npos && line.find("stuck.loop") != std::string::npos ? 1 : 0;
    }
    return count;
  };
  for (int look = 0; look < 500 && left() != 0; ++look) usleep(10'000);
  EXPECT_EQ(left(), 0);
}

}  // namespace
}  // namespace heddle::tests
