#include <heddle/scheduler/trace.h>
#include <heddle/tools/replay/shrink.h>
#include <heddle/tools/trial/trial.h>

#include "command.h"

namespace heddle::tests {
namespace {

TEST(zoo, finds_repeats_and_shrinks_an_entry_and_runs_its_twin) {
  const nlohmann::json all = heddle_json({"zoo", "entry.counted", "--twin", "200"});
  ASSERT_TRUE(has_keys(all, {"entries", "ok", "interrupted"})) << all;
  const nlohmann::json& entry = all["entries"][0];
  ASSERT_TRUE(has_keys(entry, {"name", "expected", "found", "verdict", "where", "schedules_to_find", "replayed",
                               "steps_found", "steps_shrunk", "switches_found", "switches_shrunk", "token",
                               "shrunk_token", "ordinary", "twin_schedules", "twin_ok", "ok"}))
      << entry;
  EXPECT_EQ(all["ok"], true);
  EXPECT_EQ(entry["verdict"], "assertion");
  EXPECT_EQ(entry["steps_shrunk"], 4);
  EXPECT_EQ(entry["twin_schedules"], 200);
  EXPECT_EQ(heddle({"zoo", "entry.counted", "--twin", "200"}).status, 0);
}

TEST(zoo, shrinks_what_is_found_in_a_program_of_ordinary_size_too) {
  const nlohmann::json entry = heddle_json({"zoo", "entry.counted", "--twin", "1", "--seed", "2"})["entries"][0];
  const nlohmann::json& ordinary = entry["ordinary"];
  ASSERT_TRUE(has_keys(ordinary, {"settings", "schedules_to_find", "replayed", "steps_found", "steps_shrunk",
                                  "switches_found", "switches_shrunk", "token", "shrunk_token"}))
      << entry;
  EXPECT_EQ(ordinary["settings"], (nlohmann::json{{"calls", "16"}}));
  EXPECT_EQ(ordinary["steps_shrunk"], 4);
  EXPECT_EQ(heddle({"replay", ordinary["token"]}).status, 1);
  const scheduler::trace small = *scheduler::from_token(ordinary["shrunk_token"].get<std::string>()).value;
  EXPECT_EQ(small.steps, 4u);
  EXPECT_EQ(heddle({"replay", ordinary["shrunk_token"]}).status, 1);
  // What was asked for stays.
  EXPECT_TRUE(
      heddle_json({"zoo", "entry.counted", "--twin", "1", "--set", "calls=4"})["entries"][0]["ordinary"].is_null());
}

TEST(zoo, a_twin_with_the_bug_and_a_bug_that_is_not_there_are_wrong) {
  const ended_process leaky = heddle({"zoo", "entry.leaky", "--twin", "200"});
  EXPECT_EQ(leaky.status, 1);
  EXPECT_NE(leaky.out.find("entry.leaky.fixed: assertion at fake/counted.cpp:5 with seed"), std::string::npos)
      << leaky.out;
  const ended_process missed = heddle({"zoo", "entry.missed", "--twin", "5", "--schedules", "50"});
  EXPECT_EQ(missed.status, 1);
  EXPECT_NE(missed.out.find("entry.missed: assertion was expected, and not found in 50 schedules"), std::string::npos)
      << missed.out;
}

TEST(zoo, an_entry_that_shows_in_several_ways_is_found_by_any_of_them) {
  const nlohmann::json all = heddle_json({"zoo", "entry.either", "--twin", "20"});
  EXPECT_EQ(all["ok"], true) << all;
  EXPECT_EQ(all["entries"][0]["expected"], "deadlock or race");
  const ended_process compared = heddle({"zoo", "entry.either", "--compare", "--schedules", "20"});
  EXPECT_EQ(compared.out.find(" - |"), std::string::npos) << compared.out;
  EXPECT_NE(compared.out.find("| `entry.either` | deadlock or race | 1 |"), std::string::npos) << compared.out;
}

TEST(zoo, the_same_with_any_number_of_jobs) {
  const auto with = [](const std::string& jobs) {
    return heddle({"zoo", "entry.*", "--twin", "50", "--jobs", jobs, "--json"}).out;
  };
  EXPECT_EQ(with("1"), with("2"));
}

TEST(zoo, what_an_interrupt_left_out_is_not_wrong) {
  for (const int by : {SIGINT, SIGTERM}) {
    const ended_process ended = heddle({"zoo", "--twin", "1000000000", "--jobs", "1", "--json"},
                                       {.interrupt_after_ms = 300, .interrupt_by = by});
    EXPECT_EQ(ended.status, 128 + by) << ended.err;
    const nlohmann::json all = nlohmann::json::parse(ended.out);
    EXPECT_EQ(all["interrupted"], true);
    EXPECT_EQ(all["ok"], false);
    EXPECT_EQ(all["not_run"], all["entries"].size() - 1) << all;
    EXPECT_EQ(all["entries"].back()["run"], false);
    EXPECT_EQ(all["entries"].back()["interrupted"], false);
    const ended_process told =
        heddle({"zoo", "--twin", "1000000000", "--jobs", "1"}, {.interrupt_after_ms = 300, .interrupt_by = by});
    EXPECT_EQ(told.out.find("WRONG"), std::string::npos) << told.out;
    EXPECT_EQ(told.out.find("cannot be repeated"), std::string::npos) << told.out;
    EXPECT_NE(told.out.find("; interrupted, "), std::string::npos) << told.out;
    EXPECT_NE(told.out.find("not run"), std::string::npos) << told.out;
  }
}

// -- larger programs -------------------------------------------------------------------------------------------------------------------

const parameter waves = parameter::number("waves", 2, 1, 64, "", "");
const parameter ports = parameter::number("ports", 1, 1, 6, "", "");
const parameter entries = parameter::one_of("entries", "2", {"1", "2", "4", "16"}, "");
const parameter way = parameter::one_of("way", "short", {"short", "long"}, "");

std::string values_of(const parameters& set) {
  return set.value_text("waves") + ' ' + set.value_text("ports") + ' ' + set.value_text("entries") + ' ' +
         set.value_text("way");
}

scenario with_expectation(scheduler::verdict (*expected)(const parameters&)) {
  return {.name = "larger", .summary = "", .parameters = {waves, ports, entries, way}, .expected = expected};
}

TEST(raised, all_numbers_as_far_as_their_bounds_allow) {
  const scenario tested = with_expectation(nullptr);
  const parameters set = *tools::simulator_settings(tested, {}).value;
  EXPECT_EQ(values_of(tools::raised(tested, set, 4)), "8 4 4 short");
  EXPECT_EQ(values_of(tools::raised(tested, set, 8)), "16 6 16 short");
  EXPECT_EQ(values_of(tools::raised(tested, set, 4, {"waves", "entries"})), "2 4 2 short");
  EXPECT_EQ(values_of(tools::raised(tested, *tools::simulator_settings(tested, {"waves=64"}).value, 4)),
            "64 4 4 short");
  // No setting of the machine is a size of the program.
  EXPECT_EQ(tools::raised(tested, set, 4).value_text("budget"), set.value_text("budget"));
}

TEST(raised, only_what_leaves_the_expected_verdict_as_it_is) {
  const scenario by_ports = with_expectation([](const parameters& set) {
    return set.count("ports") < set.count("waves") ? scheduler::verdict::progress : scheduler::verdict::ok;
  });
  const parameters set = *tools::simulator_settings(by_ports, {}).value;
  EXPECT_EQ(values_of(tools::raised(by_ports, set, 4)), "8 4 4 short") << "together they expect the same";
  const scenario by_one = with_expectation([](const parameters& given) {
    return given.count("ports") == 1 ? scheduler::verdict::progress : scheduler::verdict::ok;
  });
  EXPECT_EQ(values_of(tools::raised(by_one, set, 4)), "8 1 4 short");
  const scenario by_all = with_expectation([](const parameters& given) {
    return values_of(given) == "2 1 2 short" ? scheduler::verdict::progress : scheduler::verdict::ok;
  });
  EXPECT_EQ(values_of(tools::raised(by_all, set, 4)), "2 1 2 short");
}

}  // namespace
}  // namespace heddle::tests
