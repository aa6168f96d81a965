// Campaigns of several threads and several lives: the same findings whatever the number of jobs and shards, and nothing lost when one is
// killed.
#include <heddle/scheduler/trace.h>
#include <heddle/tools/fuzz/campaign/journal.h>
#include <heddle/tools/fuzz/campaign/seeds.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <random>
#include <set>

#include <sys/stat.h>

#include "command.h"

namespace heddle::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using tools::campaign_record;
using tools::journal;
using tools::seed_dealer;
using tools::seed_range;
using tools::shard;

std::string content(const fs::path& file) {
  std::ifstream from(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
}

// -- seeds --------------------------------------------------------------------------------------------------------------------

std::vector<seed_range> all_of(seed_dealer dealer, uint64_t most) {
  std::vector<seed_range> dealt;
  while (const auto next = dealer.next(most)) dealt.push_back(*next);
  return dealt;
}

TEST(seeds, are_dealt_out_once_and_in_order) {
  EXPECT_EQ(all_of(seed_dealer({5, 10}), 4), (std::vector<seed_range>{{5, 4}, {9, 4}, {13, 2}}));
  EXPECT_EQ(all_of(seed_dealer({5, 10}, {{9, 2}, {5, 1}, {14, 1}}), 4), (std::vector<seed_range>{{6, 3}, {11, 3}}));
  EXPECT_EQ(all_of(seed_dealer({5, 10}, {{5, 6}, {7, 8}}), 4), std::vector<seed_range>{});
  EXPECT_EQ(all_of(seed_dealer({~uint64_t{0}, 3}), 2), (std::vector<seed_range>{{~uint64_t{0}, 2}, {1, 1}}))
      << "numbers wrap";
}

TEST(seeds, without_an_end_go_on_behind_what_is_done) {
  seed_dealer dealer({5, 0}, {{8, 2}});
  EXPECT_EQ(dealer.next(10), (seed_range{5, 3}));
  EXPECT_EQ(dealer.next(10), (seed_range{10, 10}));
  dealer.give_back({15, 5});
  EXPECT_EQ(dealer.next(10), (seed_range{15, 5}));
  EXPECT_EQ(dealer.next(10), (seed_range{20, 10}));
}

TEST(seeds, of_all_shards_are_those_of_the_campaign) {
  for (const uint64_t schedules : {1u, 7u, 100u, 1001u}) {
    for (const uint32_t parts : {1u, 2u, 3u, 10u}) {
      uint64_t next = 50;
      uint64_t least = ~uint64_t{0}, most = 0;
      for (uint32_t number = 1; number <= parts; ++number) {
        const seed_range mine = shard{number, parts}.of(50, schedules);
        EXPECT_EQ(mine.first, next);
        next += mine.count;
        least = std::min(least, mine.count);
        most = std::max(most, mine.count);
      }
      EXPECT_EQ(next, 50 + schedules);
      EXPECT_LE(most - least, 1u);
    }
  }
  EXPECT_NE((shard{1, 2}.of(1, 0)), (shard{2, 2}.of(1, 0)));
}

// -- the journal --------------------------------------------------------------------------------------------------------------

const tools::campaign_plan some_plan = {
    .version = "1", .build_id = "b", .scenarios = {"port.echo"}, .strategy = "mix", .schedules = 100};

/// A journal of two pieces.
fs::path written_journal(const temporary_folder& folder) {
  fs::path file = journal::file_in(folder.path(), {});
  journal writing;
  EXPECT_EQ(writing.begin(file, some_plan).value_or(""), "");
  scheduler::campaign_result part;
  part.schedules = 10;
  part.steps = 70;
  part.digest = 3;
  part.findings.emplace_back();
  part.findings[0].first.outcome = scheduler::verdict::race;
  part.findings[0].first.where = "a.cpp:1";
  part.findings[0].first.seed = 12;
  part.findings[0].count = 4;
  part.seen.add(~uint64_t{0}, 12);
  EXPECT_EQ(writing.add("port.echo", {11, 10}, part, 0.5).value_or(""), "");
  part.findings[0].first.seed = 2;
  part.seen.add(5, 13);
  EXPECT_EQ(writing.add("port.echo", {1, 10}, part, 0.7).value_or(""), "");
  return file;
}

TEST(a_journal, says_what_was_written) {
  const temporary_folder folder;
  const fs::path file = written_journal(folder);
  journal reading;
  campaign_record record;
  ASSERT_EQ(reading.resume(file, record).value_or(""), "");
  EXPECT_EQ(record.plan, some_plan);
  const tools::scenario_record& known = record.scenarios.at("port.echo");
  EXPECT_EQ(known.done, (std::vector<seed_range>{{11, 10}, {1, 10}}));
  EXPECT_EQ(known.sum.schedules, 20u);
  EXPECT_EQ(known.sum.steps, 140u);
  EXPECT_EQ(known.sum.digest, 6u);
  EXPECT_EQ(known.sum.seconds, 0.7);
  ASSERT_EQ(known.sum.findings.size(), 1u);
  EXPECT_EQ(known.sum.findings[0].first.seed, 2u);
  EXPECT_EQ(known.sum.findings[0].count, 8u);
  ASSERT_EQ(known.sum.seen.count(), 2u);
  EXPECT_EQ(known.sum.seen.all().at(~uint64_t{0}).runs, 2u);
  EXPECT_EQ(known.sum.seen.last_new(), 13u);
}

TEST(a_journal, may_end_anywhere_behind_its_first_line) {
  const temporary_folder folder;
  const fs::path file = written_journal(folder);
  const std::string whole = content(file);
  const size_t first_line = whole.find('\n') + 1;
  for (size_t size = first_line; size <= whole.size(); ++size) {
    std::ofstream(file, std::ios::binary) << whole.substr(0, size);
    const size_t lines = static_cast<size_t>(std::count(whole.begin(), whole.begin() + static_cast<long>(size), '\n'));
    journal reading;
    campaign_record record;
    ASSERT_EQ(reading.resume(file, record).value_or(""), "") << size;
    EXPECT_EQ(record.scenarios["port.echo"].done.size(), lines - 1);
    // It goes on behind the last whole line.
    ASSERT_EQ(reading.add("port.echo", {90, 1}, {}, 1).value_or(""), "");
    EXPECT_TRUE(content(file).starts_with(whole.substr(0, whole.rfind('\n', size - 1) + 1))) << size;
    EXPECT_EQ(static_cast<size_t>(line_count(content(file))), lines + 1);
  }
}

TEST(a_journal, that_was_changed_is_refused) {
  const temporary_folder folder;
  const fs::path file = written_journal(folder);
  const std::string whole = content(file);
  for (const size_t line : {size_t{1}, size_t{2}}) {
    std::string damaged = whole;
    size_t at = 20;
    if (line == 2) at += damaged.find('\n');
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    std::ofstream(file, std::ios::binary) << damaged;
    journal reading;
    campaign_record record;
    EXPECT_NE(reading.resume(file, record).value_or("").find("is damaged in line " + std::to_string(line)),
              std::string::npos);
  }
}

// What checksums seal may still be what no campaign writes: numbers are looked at before they become numbers of the machine.
TEST(a_journal, with_a_number_that_is_none_is_refused) {
  const std::string plan =
      R"(2bd2a9f9 {"heddle":"1","build":"b","scenarios":["port.echo"],"settings":[],"strategy":"mix","seed":1,"schedules":30,"seconds_max":0.0,"shard":"1/1"})";
  const auto read = [&](const std::string& line) {
    campaign_record record;
    size_t whole = 0;
    return tools::read_journal(plan + '\n' + line + '\n', "a/journal", record, whole).value_or("");
  };
  EXPECT_EQ(
      read(
          R"(cbe30b90 {"scenario":"port.echo","first":1,"count":8,"steps":432,"choices":24,"digest":7,"elapsed":0.5,"findings":[]})"),
      "");
  for (
      const char* const line :
      {R"(374e4eef {"scenario":"port.echo","first":1,"count":8,"steps":432,"choices":25555555555552555535469920369135,"digest":7,"elapsed":0.5,"findings":[]})",
       R"(feab1ae6 {"scenario":"port.echo","first":1,"count":8,"steps":432,"choices":-1,"digest":7,"elapsed":0.5,"findings":[]})",
       R"(85fceafe {"scenario":"port.echo","first":1,"count":8,"steps":432,"choices":0.5,"digest":7,"elapsed":0.5,"findings":[]})",
       R"(8f66a507 {"scenario":"port.echo","first":1,"count":8,"steps":432,"choices":"24","digest":7,"elapsed":0.5,"findings":[]})"})
    EXPECT_EQ(read(line),
              "\"a/journal\" is damaged in line 2: \"choices\" must be a whole number from 0 to 18446744073709551615")
        << line;
}

// A reader that writes what it has read again, in order to compare, takes as much of the stack as the line is deep.
TEST(a_journal, with_a_line_of_any_depth_is_refused) {
  constexpr size_t depth = 1'000'000;
  const std::string text = "00000000 " + std::string(depth, '[') + std::string(depth, ']') + '\n';
  campaign_record record;
  size_t whole = 0;
  const std::optional<std::string> wrong = tools::read_journal(text, "a/journal", record, whole);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_NE(wrong->find("\"a/journal\" is damaged in line 1"), std::string::npos) << *wrong;
  EXPECT_EQ(whole, 0u);
}

TEST(a_journal, is_written_by_one_process_at_a_time) {
  const temporary_folder folder;
  const fs::path file = written_journal(folder);
  journal one, other;
  campaign_record record;
  ASSERT_EQ(one.resume(file, record).value_or(""), "");
  EXPECT_NE(other.resume(file, record).value_or("").find("another process"), std::string::npos);
  EXPECT_NE(other.begin(file, some_plan).value_or("").find("another process"), std::string::npos);
}

// -- the command --------------------------------------------------------------------------------------------------------------

/// What must not depend on how a campaign was run.
json essence(const json& all) {
  json kept;
  for (const json& scenario : all["scenarios"]) {
    json findings;
    for (const json& each : scenario["findings"])
      findings.push_back({each["verdict"], each["where"], each["seed"], each["token"], each["count"], each["message"]});
    kept.push_back({scenario["name"], scenario["schedules"], scenario["steps"], scenario["choices"], scenario["digest"],
                    scenario["verdict"], findings});
  }
  return kept;
}

std::set<std::string> traces_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().string().ends_with(".heddle.json")) names.insert(entry.path().filename().string());
  return names;
}

json fuzzed(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"fuzz",      "fake.racy",   "fake.hangs", "zoo.crossed-calls",
                                    "port.echo", "--schedules", "2000",       "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return json::parse(heddle(words).out);
}

TEST(a_campaign, finds_the_same_with_any_number_of_jobs) {
  const temporary_folder folder;
  const json one = fuzzed({"--out", (folder.path() / "1").string()});
  for (const char* const jobs : {"2", "3", "8", "0"}) {
    const std::string out = (folder.path() / jobs).string();
    const json many = fuzzed({"--jobs", jobs, "--out", out});
    EXPECT_EQ(essence(many), essence(one));
    EXPECT_EQ(traces_in(out), traces_in(folder.path() / "1"));
    for (const std::string& name : traces_in(out))
      EXPECT_EQ(content(fs::path(out) / name), content(folder.path() / "1" / name));
  }
}

std::string group_of(const json& found) {
  return found["where"].get<std::string>() + " | " + found["hang"].get<std::string>();
}

TEST(a_campaign, groups_hangs_at_one_place_by_who_waits) {
  const temporary_folder folder;
  const json made = fuzzed({"--out", folder.path().string()});
  const json hangs = *std::find_if(made["scenarios"].begin(), made["scenarios"].end(),
                                   [](const json& each) { return each["name"] == "fake.hangs"; });
  ASSERT_EQ(hangs["findings"].size(), 2u) << hangs;
  EXPECT_EQ(hangs["findings"][0]["where"], hangs["findings"][1]["where"]);
  EXPECT_NE(hangs["findings"][0]["hang"], hangs["findings"][1]["hang"]);
  EXPECT_NE(hangs["findings"][0]["file"], hangs["findings"][1]["file"]);
  // What is no hang has none.
  size_t others = 0;
  for (const json& scenario : made["scenarios"])
    for (const json& each : scenario["findings"]) {
      if (each["verdict"] == "deadlock") continue;
      ++others;
      EXPECT_EQ(each["hang"], "") << each;
    }
  EXPECT_GT(others, 0u);
  const json again = json::parse(heddle({"fuzz", "--resume", folder.path().string(), "--json"}).out);
  EXPECT_EQ(essence(again), essence(made));
}

TEST(a_campaign, finds_the_same_in_shards) {
  const json whole = fuzzed({});
  for (size_t scenario = 0; scenario < whole["scenarios"].size(); ++scenario) {
    std::map<std::string, std::pair<uint64_t, uint64_t>> expected, found;  // by group: the lowest seed, and how often
    uint64_t schedules = 0, digest = 0;
    for (const json& each : whole["scenarios"][scenario]["findings"])
      expected[group_of(each)] = {each["seed"], each["count"]};
    for (const char* const part : {"1/3", "2/3", "3/3"}) {
      const json one = fuzzed({"--shard", part})["scenarios"][scenario];
      schedules += one["schedules"].get<uint64_t>();
      digest += std::stoull(one["digest"].get<std::string>(), nullptr, 16);
      for (const json& each : one["findings"]) {
        auto& group = found.try_emplace(group_of(each), each["seed"], 0).first->second;
        group.first = std::min<uint64_t>(group.first, each["seed"]);
        group.second += each["count"].get<uint64_t>();
      }
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(schedules, whole["scenarios"][scenario]["schedules"]);
    EXPECT_EQ(digest, std::stoull(whole["scenarios"][scenario]["digest"].get<std::string>(), nullptr, 16))
        << "digests of shards add up";
  }
}

TEST(a_campaign, that_is_over_is_told_again) {
  const temporary_folder folder;
  const json first = fuzzed({"--out", folder.path().string()});
  const ended_process again = heddle({"fuzz", "--resume", folder.path().string(), "--json"});
  EXPECT_EQ(essence(json::parse(again.out)), essence(first));
  EXPECT_EQ(again.status, 1);
}

TEST(a_campaign, that_was_interrupted_goes_on) {
  const temporary_folder folder;
  const std::string out = folder.path().string();
  const ended_process cut = heddle({"fuzz", "fake.slow", "fake.racy", "--schedules", "1000", "--out", out, "--json"},
                                   {.interrupt_after_ms = 300});
  EXPECT_EQ(cut.status, 130);
  const json before = json::parse(cut.out);
  EXPECT_LT(before["scenarios"].back()["schedules"], 1000);
  const ended_process rest = heddle({"fuzz", "--resume", out, "--json", "--jobs", "8"});
  EXPECT_EQ(rest.status, 1) << "fake.racy has a race";
  EXPECT_EQ(essence(json::parse(rest.out)),
            essence(heddle_json({"fuzz", "fake.slow", "fake.racy", "--schedules", "1000", "--jobs", "8"})));
}

TEST(a_campaign, that_has_a_time_goes_on_for_what_is_left_of_it) {
  const temporary_folder folder;
  const std::string out = folder.path().string();
  const auto cut = heddle({"fuzz", "fake.slow", "--time", "1.2", "--out", out, "--json"}, {.interrupt_after_ms = 600});
  const json rest = json::parse(heddle({"fuzz", "--resume", out, "--json"}).out);
  const auto before = json::parse(cut.out)["scenarios"][0]["schedules"].get<uint64_t>();
  const auto after = rest["scenarios"][0]["schedules"].get<uint64_t>();
  EXPECT_GT(after, before);
  EXPECT_LE(after, 1200 / 5 + 8) << "a run takes 5 ms";
  const json over = json::parse(heddle({"fuzz", "--resume", out, "--json"}).out);
  EXPECT_EQ(over["scenarios"][0]["schedules"], after);
}

TEST(a_campaign, cannot_go_on_where_there_is_none_or_that_of_another_build) {
  const temporary_folder folder;
  const std::string out = folder.path().string();
  const ended_process none = heddle({"fuzz", "--resume", out});
  EXPECT_EQ(none.status, 2);
  EXPECT_NE(none.err.find("there is no campaign in"), std::string::npos) << none.err;
  EXPECT_EQ(line_count(none.err), 1u);
  fuzzed({"--out", out});
  const ended_process other = run_process({FAKE_HEDDLE_REBUILT, "fuzz", "--resume", out});
  EXPECT_EQ(other.status, 2);
  EXPECT_NE(other.err.find("was begun by another build"), std::string::npos) << other.err;
  const ended_process shard_of_none = heddle({"fuzz", "--resume", out, "--shard", "1/2"});
  EXPECT_EQ(shard_of_none.status, 2);
}

TEST(a_campaign, leaves_alone_what_another_one_has_written) {
  const temporary_folder folder;
  const std::string out = folder.path().string();
  const auto begun = [&](const char* calls) {
    return heddle_json(
        {"fuzz", "zoo.crossed-calls", "--set", std::string("budget=") + calls, "--schedules", "20", "--out", out});
  };
  const std::string first = begun("500")["scenarios"][0]["findings"][0]["file"];
  const std::string text = content(first);
  const std::string second = begun("600")["scenarios"][0]["findings"][0]["file"];
  EXPECT_NE(first, second);
  EXPECT_EQ(content(first), text);
  EXPECT_TRUE(fs::exists(folder.path() / "campaign.before-1.jsonl"));
  EXPECT_EQ(begun("500")["scenarios"][0]["findings"][0]["file"], first);
}

TEST(a_campaign, takes_no_trace_of_an_earlier_one_away) {
  const temporary_folder folder;
  const std::string out = folder.path().string();
  const auto begun = [&](const char* seed) {
    return heddle_json({"fuzz", "fake.racy", "--seed", seed, "--schedules", "2000", "--jobs", "2", "--out", out});
  };
  const std::string later = begun("1000")["scenarios"][0]["findings"][0]["file"];
  const std::string text = content(later);
  const std::string first = begun("1")["scenarios"][0]["findings"][0]["file"];
  EXPECT_NE(first, later);
  EXPECT_EQ(content(later), text);
}

/// Checks that no seed was counted twice, and that all that lies there can be read.
void expect_sound(const fs::path& folder) {
  journal reading;
  campaign_record record;
  ASSERT_EQ(reading.resume(journal::file_in(folder, {}), record).value_or(""), "");
  for (auto& [name, known] : record.scenarios) {
    std::sort(known.done.begin(), known.done.end(), [](auto one, auto other) { return one.first < other.first; });
    for (size_t index = 1; index < known.done.size(); ++index)
      EXPECT_GE(known.done[index].first, known.done[index - 1].first + known.done[index - 1].count) << name;
  }
  for (const std::string& name : traces_in(folder))
    EXPECT_EQ(scheduler::read_trace((folder / name).string()).error, "") << name;
}

TEST(a_campaign, that_is_killed_again_and_again_loses_nothing) {
  const char* const wanted = std::getenv("HEDDLE_TEST_KILLS");
  const int kills_wanted = wanted != nullptr ? std::atoi(wanted) : 16;
  const uint64_t seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const std::vector<std::string> words = {
      REAL_HEDDLE, "fuzz", "zoo.crossed-calls", "zoo.lost-doorbell", "lanes.flag-then", "--schedules", "6000"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return more;
  };
  const temporary_folder folder;
  const fs::path reference = folder.path() / "whole";
  const json expected = json::parse(run_process(with({"--json", "--out", reference.string()})).out);
  int kills = 0;
  for (int campaign = 0; kills < kills_wanted; ++campaign) {
    const fs::path out = folder.path() / std::to_string(campaign);
    std::vector<std::string> next = with({"--json", "--jobs", "2", "--out", out.string()});
    for (bool over = false; !over;) {
      // A build that is slow must come to an end too.
      const uint64_t most_ms = 300 * (1 + static_cast<uint64_t>(kills / kills_wanted));
      const ended_process ended = run_process(next, {.kill_after_ms = static_cast<int>(random() % most_ms)});
      over = ended.status != 128 + SIGKILL;
      if (!over) ++kills;
      if (!fs::exists(out / "campaign.jsonl")) continue;  // killed before it began
      expect_sound(out);
      if (over) {
        EXPECT_EQ(essence(json::parse(ended.out)), essence(expected));
      }
      next = {REAL_HEDDLE, "fuzz", "--json", "--jobs", "2", "--resume", out.string()};
    }
    EXPECT_EQ(traces_in(out), traces_in(reference));
    for (const std::string& name : traces_in(out)) EXPECT_EQ(content(out / name), content(reference / name)) << name;
  }
}

TEST(a_campaign, that_was_killed_before_it_took_the_later_trace_away_does_so_when_it_goes_on) {
  const temporary_folder folder;
  const auto begun = [&](const char* seed, const fs::path& out) -> fs::path {
    const json made = heddle_json({"fuzz", "fake.racy", "--seed", seed, "--schedules", "2000", "--out", out.string()});
    return std::string(made["scenarios"][0]["findings"][0]["file"]);
  };
  const fs::path out = folder.path() / "killed";
  const fs::path first = begun("1", out);
  const uint64_t seed = scheduler::read_trace(first.string()).value->seed;
  const fs::path later = begun(std::to_string(seed + 1).c_str(), folder.path() / "later");
  ASSERT_NE(first.filename(), later.filename());
  ASSERT_LT(scheduler::read_trace(later.string()).value->seed, 2000u);
  const std::string text = content(first);
  fs::copy_file(later, out / later.filename());
  heddle_json({"fuzz", "--resume", out.string()});
  EXPECT_EQ(traces_in(out), std::set<std::string>{first.filename().string()});
  EXPECT_EQ(content(first), text);
}

TEST(a_campaign, on_a_full_disk_says_so_and_goes_on_when_there_is_room) {
  const temporary_folder folder;
  const std::string out = folder.path().string();
  // As large as a journal's first lines; a trace of these scenarios has several hundred bytes.
  const ended_process full = heddle({"fuzz", "port.echo", "fake.racy", "--schedules", "2000", "--out", out},
                                    {.out_file = "/dev/null", .file_bytes_max = 900});
  EXPECT_EQ(full.status, 3) << full.err;
  EXPECT_NE(full.err.find("cannot write"), std::string::npos) << full.err;
  EXPECT_EQ(line_count(full.err), 1u);
  expect_sound(out);
  const json rest = json::parse(heddle({"fuzz", "--resume", out, "--json"}).out);
  EXPECT_EQ(essence(rest), essence(heddle_json({"fuzz", "port.echo", "fake.racy", "--schedules", "2000"})));
}

// -- JUnit --------------------------------------------------------------------------------------------------------------------

TEST(junit, has_a_case_for_each_scenario_and_says_what_failed) {
  const temporary_folder folder;
  const fs::path file = folder.path() / "results.xml";
  heddle({"fuzz", "port.echo", "fake.racy", "zoo.unplanted", "--schedules", "20", "--junit", file.string()});
  const std::string text = content(file);
  EXPECT_NE(text.find("<testsuite name=\"heddle fuzz\" tests=\"3\" failures=\"2\""), std::string::npos) << text;
  EXPECT_NE(text.find("name=\"port.echo\""), std::string::npos);
  EXPECT_NE(text.find("<failure type=\"race\" message=\"race at fake/racy.cpp:7"), std::string::npos) << text;
  EXPECT_NE(text.find("heddle2."), std::string::npos) << "the token";
  EXPECT_NE(text.find("deadlock was expected, and not found"), std::string::npos);
  const ended_process nowhere = heddle({"fuzz", "port.echo", "--schedules", "1", "--junit", "/nowhere/results.xml"});
  EXPECT_EQ(nowhere.status, 3);
  EXPECT_EQ(line_count(nowhere.err), 1u);
  EXPECT_EQ(nowhere.out, "") << "it is known before anything runs";
  const ended_process folder_of_that_name =
      heddle({"fuzz", "port.echo", "--schedules", "1", "--junit", folder.path().string()});
  EXPECT_EQ(folder_of_that_name.status, 3);
  EXPECT_EQ(folder_of_that_name.out, "");
}

TEST(junit, takes_the_place_of_no_pipe_and_of_no_symbolic_link) {
  const temporary_folder folder;
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string at_pipe =
      "cat '" + pipe + "' & " FAKE_HEDDLE " fuzz port.echo -n 1 --junit '" + pipe + "'; s=$?; wait; exit $s";
  const ended_process piped = run_process({"/bin/sh", "-c", at_pipe});
  EXPECT_EQ(piped.status, 0) << piped.err;
  EXPECT_NE(piped.out.find("</testsuites>"), std::string::npos) << piped.out;
  EXPECT_TRUE(fs::is_fifo(pipe));

  fs::create_directory(folder.path() / "kept");
  fs::create_symlink("kept/results.xml", folder.path() / "link");
  for (int times = 0; times < 2; ++times) {  // the first time it names nothing
    EXPECT_EQ(heddle({"fuzz", "port.echo", "-n", "1", "--junit", (folder.path() / "link").string()}).status, 0);
    EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
    EXPECT_NE(content(folder.path() / "kept/results.xml").find("</testsuites>"), std::string::npos);
  }
}

TEST(junit, goes_to_no_file_whose_name_might_mean_standard_output) {
  const ended_process ended = heddle({"fuzz", "port.echo", "-n", "1", "--junit", "-"});
  EXPECT_EQ(ended.status, 3) << ended.out;
  EXPECT_EQ(ended.err,
            "heddle: cannot write \"-\": standard output is \"/dev/stdout\", and a file of that name is \"./-\"\n");
  EXPECT_EQ(ended.out, "");
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST(junit, may_be_what_standard_output_goes_to) {
  const temporary_folder folder;
  const std::string file = (folder.path() / "out").string();
  const fs::path like_dev_stdout = folder.path() / "stdout";
  fs::create_symlink("/proc/self/fd/1", like_dev_stdout);
  const ended_process ended =
      heddle({"fuzz", "port.echo", "-n", "1", "--junit", like_dev_stdout.string()}, {.out_file = file});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const std::string text = content(file);
  EXPECT_LT(text.find("port.echo"), text.find("<?xml")) << text;
  EXPECT_TRUE(text.ends_with("</testsuites>\n")) << text;
  EXPECT_TRUE(fs::is_symlink(like_dev_stdout));
}

}  // namespace
}  // namespace heddle::tests
