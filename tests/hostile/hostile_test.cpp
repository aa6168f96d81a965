// What heddle says of programs that behave as badly as they can (scenarios.cpp): each ends with its right verdict, place and status; none
// ends the campaign, and nothing that was found before is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "process.h"

namespace heddle::tests {
namespace {

using nlohmann::json;

struct row {
  std::string name;
  std::vector<std::string> verdicts;  ///< each finding has one of them; the first one is that of some finding
  bool slow = false;                  ///< a run ends by the watchdog, after a second
  size_t places = 1;                  ///< how many findings there are at the least
};

const std::vector<row> rows = {
    {"wild_store", {"crash"}},
    {"wild_load", {"crash"}},
    {"wild_store_in_main", {"crash"}},
    {"wild_store_in_thread", {"crash"}},
    {"wild_atomic", {"crash"}},
    {"store_not_canonical", {"crash"}},
    {"wild_memcpy", {"crash"}},
    {"wild_call", {"crash"}},
    {"store_to_code", {"crash"}},
    {"aborts", {"crash"}},
    {"aborts_in_thread", {"crash"}},
    {"traps", {"crash"}},
    {"raises_segv", {"crash"}},
    {"raises_fpe", {"crash"}},
    {"raises_bus", {"crash"}},
    {"kills_itself", {"crash"}},
    {"divides_by_zero", {"crash"}},
    {"exits_quietly", {"crash"}},
    {"exits_quietly_in_main", {"crash"}},
    {"exits_by_c", {"crash"}},
    {"exits_quickly", {"crash"}},
    {"exits_by_system_call", {"crash"}},
    {"ends_the_thread", {"crash"}},
    {"terminates", {"crash"}},
    {"throws_through_noexcept", {"crash"}},
    {"damages_the_heap", {"crash"}},
    {"damages_the_heap_anew", {"crash"}},
    {"frees_twice", {"crash"}},
    {"recurses_for_ever", {"crash"}},
    {"large_frame", {"crash"}},
    {"null_store", {"memory"}},
    {"null_load", {"memory"}},
    {"far_out_of_bounds", {"memory"}},
    {"one_behind", {"memory"}},
    {"one_before", {"memory"}},
    {"used_after_free", {"memory"}},
    {"freed_twice", {"memory"}},
    {"of_a_destroyed_device", {"memory"}},
    {"misaligned_atomic", {"memory"}},
    {"touches_the_hosts_stack", {"memory"}},
    {"launches_in_a_kernel", {"unsupported"}},
    {"allocates_too_much", {"memory"}},
    {"check_fails", {"assertion"}},
    {"assert_fails", {"assertion"}},
    {"exits", {"assertion"}},
    {"throws_in_a_lane", {"assertion"}},
    {"throws_in_main", {"assertion"}},
    {"throws_in_a_thread", {"assertion"}},
    {"throws_a_number", {"assertion"}},
    {"looks_behind_a_vector", {"assertion"}},
    {"two_throws", {"assertion"}, false, 2},
    {"no_lanes", {"assertion", "memory"}},
    {"many_lanes", {"assertion", "memory"}},
    {"many_waves", {"assertion", "memory"}},
    {"spins_on_a_local", {"stuck"}, true},
    {"spins_in_main", {"stuck"}, true},
    {"reads_a_pipe", {"deadlock"}},
    {"reads_from_outside", {"stuck"}, true},
    {"waits_for_a_condition", {"deadlock"}},
    {"waits_for_an_atomic", {"deadlock"}},
    {"waits_for_a_semaphore", {"deadlock"}},
    {"waits_for_a_latch", {"deadlock"}},
    {"pauses_for_ever", {"stuck"}, true},
    {"starts_a_thread", {}},
    {"starts_a_jthread", {}},
    {"starts_asynchronously", {}},
    {"creates_a_pthread", {}},
    {"served_by_a_thread", {}},
    {"forks", {"unsupported"}},
    {"handles_signals", {"unsupported"}},
    {"sets_an_alarm", {"unsupported"}},
    {"sets_a_timer", {"unsupported"}},
    {"runs_a_command", {"unsupported"}},
    {"waits_for_what_has_ended", {"deadlock"}},
    {"host_loop", {"budget"}},
    {"keeps_state", {"assertion"}},
    {"name <&\"'>\x1b[31m\xff\n", {"assertion"}},
    {"catches", {}},
    {"sleeps", {}},
    {"prints_much", {}},
    {"reads_a_file", {}},
    {"lends_its_frame", {}},
    {"well", {}},
};

/// The lines that "// HERE name" marks; none where a finding has no line of its own.
std::map<std::string, std::vector<std::string>> marked_lines() {
  std::map<std::string, std::vector<std::string>> places;
  std::ifstream source(HOSTILE_SOURCE);
  std::string line;
  for (size_t number = 1; std::getline(source, line); ++number) {
    const size_t at = line.find("// HERE ");
    if (at == std::string::npos) continue;
    const std::string rest = line.substr(at + 8);
    places[rest.substr(0, rest.find(' '))].push_back("scenarios.cpp:" + std::to_string(number));
  }
  return places;
}

std::string full_name(const row& of) { return "hostile." + of.name; }

/// A pattern that chooses this scenario; its name may have what a command line cannot hold.
std::string pattern_of(const row& of) { return of.name.starts_with("name ") ? "hostile.name*" : full_name(of); }

ended_process hostile(std::vector<std::string> arguments, const process_options& options = {}) {
  arguments.insert(arguments.begin(), HOSTILE);
  return run_process(arguments, options);
}

json parsed(const ended_process& ended) {
  json result = json::parse(ended.out, nullptr, false);
  EXPECT_FALSE(result.is_discarded()) << "status " << ended.status << '\n' << ended.out << ended.err;
  return result;
}

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What a campaign says of a scenario, without what differs from run to run.
json essence(const json& trial) {
  json findings = json::array();
  for (const json& each : trial.at("findings"))
    findings.push_back({each.at("verdict"), each.at("where"), each.at("seed"), each.at("count")});
  return {trial.at("name"), trial.at("verdict"), trial.at("schedules"), trial.at("digest"), findings};
}

bool ends_with_one_of(const std::string& text, const std::vector<std::string>& ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const std::string& each) { return text.ends_with(each); });
}

void check_row(const row& of, const json& trial, const std::map<std::string, std::vector<std::string>>& places) {
  const json& findings = trial.at("findings");
  if (of.verdicts.empty()) {
    EXPECT_EQ(trial.at("verdict"), "ok") << trial.dump(1, ' ', false, json::error_handler_t::replace);
    return;
  }
  ASSERT_GE(findings.size(), of.places) << trial.dump(1, ' ', false, json::error_handler_t::replace);
  const auto marked = places.find(of.name);
  for (const json& each : findings) {
    const std::string verdict = each.at("verdict");
    const std::string where = each.at("where");
    EXPECT_NE(std::find(of.verdicts.begin(), of.verdicts.end(), verdict), of.verdicts.end())
        << verdict << " at " << where << ": " << each.at("message");
    if (marked != places.end()) {
      EXPECT_TRUE(ends_with_one_of(where, marked->second))
          << verdict << " at " << where << ", not " << marked->second[0];
    }
    EXPECT_FALSE(each.at("message").get<std::string>().empty() && verdict == "crash");
    EXPECT_EQ(each.at("reproducible").get<bool>(), of.name != "keeps_state") << verdict << ": " << each.at("message");
  }
}

class each_scenario : public testing::TestWithParam<size_t> {
 protected:
  const row& of() const { return rows.at(GetParam()); }
  std::vector<std::string> fuzz(std::vector<std::string> more) const {
    std::vector<std::string> words = {"fuzz", pattern_of(of()), "--schedules", of().slow ? "2" : "20", "--stuck", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_P(each_scenario, ends_with_its_verdict_place_and_status) {
  const temporary_folder folder;
  const std::string out = (folder.path() / "out").string();
  const std::string junit = (folder.path() / "junit.xml").string();
  const ended_process ended = hostile(fuzz({"--json", "--out", out, "--junit", junit}));
  EXPECT_EQ(ended.status, of().verdicts.empty() ? 0 : 1) << ended.err;
  const json result = parsed(ended);
  ASSERT_EQ(result.at("scenarios").size(), 1u);
  const json& trial = result["scenarios"][0];
  EXPECT_EQ(trial.at("schedules"), of().slow ? 2 : 20);
  check_row(of(), trial, marked_lines());

  // The result file is whole, and tells of a failure where there is one.
  const std::string xml = content(junit);
  EXPECT_NE(xml.find("</testsuites>"), std::string::npos) << xml;
  EXPECT_EQ(xml.find("<failure") != std::string::npos, !of().verdicts.empty()) << xml;

  // What was finished is not begun anew, and is told again.
  const json again = parsed(hostile({"fuzz", "--resume", out, "--json", "--stuck", "1"}));
  ASSERT_EQ(again.at("scenarios").size(), 1u);
  EXPECT_EQ(essence(again["scenarios"][0]), essence(trial));

  // Each finding has a file, and the file plays it again.
  if (of().name == "keeps_state") return;
  for (const json& each : trial.at("findings")) {
    ASSERT_TRUE(each.at("file").is_string()) << each;
    const ended_process replayed = hostile({"replay", each["file"], "--json", "--stuck", "1"});
    EXPECT_EQ(replayed.status, 1) << replayed.out << replayed.err;
    EXPECT_EQ(parsed(replayed).value("verdict", ""), each.at("verdict").get<std::string>());
  }
}

std::string test_name(const testing::TestParamInfo<size_t>& of) {
  std::string name = rows.at(of.param).name;
  if (name.starts_with("name ")) return "name";
  return name;
}

INSTANTIATE_TEST_SUITE_P(hostile, each_scenario, testing::Range(size_t{0}, rows.size()), test_name);

TEST(hostile, there_are_sixty_and_all_are_in_the_table) {
  EXPECT_GE(rows.size(), 60u);
  std::set<std::string> names;
  for (const row& each : rows) names.insert(full_name(each));
  const json listed = parsed(hostile({"list", "--json"}));
  EXPECT_EQ(listed.at("scenarios").size(), names.size());
}

/// All that end without the watchdog, and whose runs depend on nothing but the seed. Where a damaged heap shows depends on the process, too.
std::vector<std::string> quick_scenarios() {
  std::vector<std::string> names;
  for (const row& each : rows)
    if (!each.slow && each.name != "keeps_state" && each.name != "host_loop" &&
        !std::string(each.name).starts_with("damages_the_heap"))
      names.push_back(pattern_of(each));
  return names;
}

std::vector<std::string> quick_campaign(const std::string& out, const std::string& jobs) {
  std::vector<std::string> words = {"fuzz"};
  for (const std::string& each : quick_scenarios()) words.push_back(each);
  for (const char* const each : {"--schedules", "40", "--json", "--out"}) words.emplace_back(each);
  words.push_back(out);
  words.insert(words.end(), {"--jobs", jobs});
  return words;
}

std::vector<json> essences(const json& result) {
  std::vector<json> all;
  for (const json& each : result.at("scenarios")) all.push_back(essence(each));
  return all;
}

TEST(hostile, two_jobs_find_the_same) {
  const temporary_folder folder;
  const json one = parsed(hostile(quick_campaign((folder.path() / "one").string(), "1")));
  const json two = parsed(hostile(quick_campaign((folder.path() / "two").string(), "2")));
  EXPECT_EQ(essences(one), essences(two));
}

TEST(hostile, a_campaign_that_is_killed_loses_nothing) {
  const temporary_folder folder;
  const char* const asked = std::getenv("HEDDLE_KILLS");
  const int kills = asked != nullptr ? std::atoi(asked) : 6;
  const auto seed = static_cast<uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 draw(seed);

  const auto begin = std::chrono::steady_clock::now();
  const json whole = parsed(hostile(quick_campaign((folder.path() / "whole").string(), "2")));
  const auto took_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count();

  int sent = 0;
  for (int campaign = 0; sent < kills; ++campaign) {
    const std::string out = (folder.path() / ("killed" + std::to_string(campaign))).string();
    std::vector<std::string> words = quick_campaign(out, campaign % 2 == 0 ? "2" : "1");
    // A kill comes after a tenth of the whole at the most, so that a campaign meets many of them.
    for (int round = 0; sent < kills && round < 40; ++round, ++sent) {
      process_options options;
      const int after_ms = static_cast<int>(draw() % static_cast<uint32_t>(took_ms / 8 + 20));
      if (draw() % 3 == 0) {
        options.interrupt_after_ms = after_ms;
        options.interrupt_by = draw() % 2 == 0 ? SIGINT : SIGTERM;
      } else {
        options.kill_after_ms = after_ms;
      }
      hostile(words, options);
      // Killed before the journal was there, it begins anew.
      if (std::filesystem::exists(std::filesystem::path(out) / "campaign.jsonl"))
        words = {"fuzz", "--resume", out, "--json", "--jobs", draw() % 2 == 0 ? "1" : "2"};
    }
    const json rest = parsed(hostile(words));
    EXPECT_EQ(essences(rest), essences(whole)) << "campaign " << campaign;
  }
}

TEST(hostile, an_interrupt_takes_effect_within_a_second_wherever_the_run_is) {
  for (const int by : {SIGINT, SIGTERM}) {
    for (const char* const name :
         {"hostile.spins_in_main", "hostile.reads_from_outside", "hostile.well", "hostile.aborts"}) {
      const temporary_folder folder;
      process_options options;
      options.interrupt_after_ms = 700;
      options.interrupt_by = by;
      const auto begin = std::chrono::steady_clock::now();
      const ended_process ended = hostile(
          {"fuzz", name, "--schedules", "100000000", "--stuck", "3600", "--json", "--out", folder.path().string()},
          options);
      const auto took = std::chrono::steady_clock::now() - begin;
      EXPECT_EQ(ended.status, 128 + by) << name << '\n' << ended.err;
      // One second of promise, the rest for a machine that has other work.
      EXPECT_LT(took, std::chrono::seconds(8)) << name;
      EXPECT_TRUE(parsed(ended).at("interrupted").get<bool>()) << name;
    }
  }
}

TEST(hostile, a_proof_of_none_of_them_is_given) {
  for (const row& each : rows) {
    if (each.verdicts.empty() || each.slow || each.name == "keeps_state" || each.name == "host_loop") continue;
    const ended_process ended = hostile({"verify", pattern_of(each), "--time", "20", "--stuck", "1"});
    EXPECT_EQ(ended.status, 1) << each.name << '\n' << ended.out << ended.err;
    EXPECT_EQ(ended.out.find("proved"), std::string::npos) << each.name << '\n' << ended.out;
  }
}

}  // namespace
}  // namespace heddle::tests
