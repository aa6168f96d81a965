#include <heddle/tools/report/drawn.h>
#include <heddle/tools/trial/place_names.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "command.h"

namespace heddle::tests {
namespace {

using nlohmann::json;
using sim::run_record;
using tools::state_strip;

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// The data of a page, as a browser would find it: up to the first thing that ends the element.
json data_in(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t from = page.find(begin) + begin.size();
  return json::parse(page.substr(from, page.find("</", from) - from), nullptr, false);
}

std::string page_file() { return own_file("report.html"); }

TEST(report, takes_several_traces) {
  const temporary_folder out;
  const std::string first = out.path() / "first.heddle.json";
  const std::string second = out.path() / "second.heddle.json";
  for (const std::string& each : {first, second}) heddle({"run", "zoo.crossed-calls", "-o", each});
  const ended_process both = heddle({"report", first, second});
  EXPECT_EQ(both.status, 0) << both.err;
  for (const char* const each : {"first.html", "second.html"}) {
    EXPECT_TRUE(std::filesystem::exists(out.path() / each)) << each;
    EXPECT_NE(both.out.find(each), std::string::npos) << both.out;
  }
  const ended_process one_page = heddle({"report", first, second, "-o", out.path() / "both.html"});
  EXPECT_EQ(one_page.status, 2);
  EXPECT_NE(one_page.err.find("take one trace at a time"), std::string::npos) << one_page.err;
}

TEST(report, a_page_holds_what_happened_and_how_to_play_it_again) {
  const std::string token = token_of("zoo.crossed-calls");
  const ended_process ended = heddle({"report", token, "-o", page_file()});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(ended.out.find(page_file()), std::string::npos) << ended.out;
  const std::string page = text_of(page_file());
  EXPECT_NE(page.find("<h1>zoo.crossed-calls</h1>"), std::string::npos);
  EXPECT_NE(page.find(">deadlock</span>"), std::string::npos);
  EXPECT_NE(page.find("replay " + token + " --trace"), std::string::npos);
  EXPECT_NE(page.find("lane 0 waits for lane 1"), std::string::npos);
  const json data = data_in(page);
  ASSERT_TRUE(has_keys(data, {"format", "steps", "sorts", "actors", "waits", "flows", "strips", "edges", "circle",
                              "settings", "sources", "missing"}));
  EXPECT_EQ(data["format"], "heddle report 1");
  EXPECT_EQ(data["steps"].size(), 2u);
  EXPECT_EQ(data["circle"].size(), 2u);
  // What was not told is said to be missing.
  EXPECT_FALSE(data["missing"].empty());
}

TEST(report, no_text_of_a_trace_or_source_ends_what_it_stands_in) {
  ASSERT_EQ(heddle({"report", token_of("zoo.crossed-calls"), "-o", page_file()}).status, 0);
  const std::string page = text_of(page_file());
  EXPECT_EQ(count_of(page, "<script"), 2u);
  EXPECT_EQ(count_of(page, "</script"), 2u);
  EXPECT_EQ(count_of(page, "<!--"), 0u);
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/2000/svg"));  // a name, and nothing is fetched
  EXPECT_EQ(count_of(page, "https://"), 0u);
  const json data = data_in(page);
  ASSERT_FALSE(data.is_discarded());
  EXPECT_EQ(data["texts"][0], "load </script><script>alert(1)</script>");
  EXPECT_EQ(data["texts"][1], "word <!-- & \"quotes\" ]]>");
  EXPECT_EQ(data["actors"][1][0], "host </script>");
  ASSERT_EQ(data["sources"].size(), 1u);
  ASSERT_TRUE(data["sources"][0]["found"].get<bool>());
  EXPECT_EQ(data["sources"][0]["ranges"][0]["lines"][1], "</script><script>document.title = \"broken\";</script>");
  EXPECT_NE(page.find("host &lt;/script&gt; waits"), std::string::npos);
}

TEST(report, the_page_goes_beside_the_trace_unless_told_otherwise) {
  const temporary_folder folder;
  std::ofstream(folder.path() / "x.heddle.json") << token_of("zoo.crossed-calls") << std::flush;
  EXPECT_EQ(heddle({"report", (folder.path() / "x.heddle.json").string()}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "x.html"));
}

TEST(report, wrong_input_is_one_line) {
  EXPECT_EQ(heddle({"report", "heddle1.x"}).status, 2);
  EXPECT_EQ(heddle({"report"}).status, 2);
  const ended_process cannot = heddle({"report", token_of("zoo.crossed-calls"), "-o", "/nowhere/x.html"});
  EXPECT_EQ(cannot.status, 3);
  EXPECT_EQ(cannot.err, "heddle: cannot write \"/nowhere/x.html\": No such file or directory\n");
  const ended_process timeline =
      heddle({"report", token_of("zoo.crossed-calls"), "-o", page_file(), "--perfetto", "/nowhere/x.json"});
  EXPECT_EQ(timeline.status, 3);
  EXPECT_EQ(timeline.err, "heddle: cannot write \"/nowhere/x.json\": No such file or directory\n");
}

TEST(report, a_trace_for_perfetto_has_slices_for_steps_and_waits_and_arrows) {
  const std::string file = own_file("perfetto.json");
  ASSERT_EQ(heddle({"report", token_of("zoo.crossed-calls"), "-o", page_file(), "--perfetto", file}).status, 0);
  const json all = json::parse(text_of(file), nullptr, false);
  ASSERT_FALSE(all.is_discarded());
  size_t steps = 0, waits = 0, begins = 0, ends = 0;
  for (const json& each : all["traceEvents"]) {
    const bool slice = each["ph"] == "X";
    if (slice && each["cat"] == "step") ++steps;
    if (slice && each["cat"] == "wait") ++waits;
    if (each["ph"] == "s") ++begins;
    if (each["ph"] == "f") ++ends;
  }
  EXPECT_EQ(steps, 2u);
  EXPECT_EQ(waits, 1u);
  EXPECT_EQ(begins, 1u);
  EXPECT_EQ(ends, 1u);
}

/// What Perfetto's importer of JSON rests on (src/trace_processor/importers/json, and the Trace Event Format): numbers where they must be, slices
/// of a track one in another or one behind another, and arrows whose ends lie in slices and belong together.
void expect_sound_for_perfetto(const json& all) {
  using track = std::pair<int64_t, int64_t>;
  std::map<track, std::vector<std::pair<int64_t, int64_t>>> slices;
  std::map<int64_t, std::vector<json>> arrows;
  std::set<track> named;
  for (const json& each : all["traceEvents"]) {
    const std::string phase = each["ph"];
    ASSERT_TRUE(each["pid"].is_number_integer()) << each;
    const bool has_track = each.contains("tid");
    const track on = {each["pid"], has_track ? each["tid"].get<int64_t>() : -1};
    if (phase == "M") {
      EXPECT_TRUE(each["args"].is_object()) << each;
      if (each["name"] == "thread_name") {
        EXPECT_TRUE(each["args"]["name"].is_string() && has_track) << each;
        EXPECT_TRUE(named.insert(on).second) << "named twice: " << each;
      }
      continue;
    }
    ASSERT_TRUE(each["ts"].is_number_integer() && each["name"].is_string()) << each;
    if (phase == "X") {
      ASSERT_TRUE(has_track && each["dur"].is_number_integer()) << each;
      ASSERT_GT(each["dur"], 0) << each;
      slices[on].emplace_back(each["ts"], each["ts"].get<int64_t>() + each["dur"].get<int64_t>());
    } else if (phase == "C") {
      EXPECT_TRUE(each["args"].begin().value().is_number()) << each;
    } else {
      ASSERT_TRUE(phase == "s" || phase == "t" || phase == "f") << each;
      ASSERT_TRUE(has_track && each["id"].is_number_integer() && each["cat"].is_string()) << each;
      arrows[each["id"]].push_back(each);
    }
  }
  for (auto& [on, spans] : slices) {
    EXPECT_TRUE(named.contains(on)) << "track " << on.first << ", " << on.second;
    // The outer one first, as the importer sorts them.
    std::sort(spans.begin(), spans.end(), [](const auto& one, const auto& other) {
      return one.first != other.first ? one.first < other.first : one.second > other.second;
    });
    std::vector<int64_t> open;
    for (const auto& [from, to] : spans) {
      while (!open.empty() && open.back() <= from) open.pop_back();
      EXPECT_TRUE(open.empty() || to <= open.back()) << "slices cross on track " << on.second << " at " << from;
      open.push_back(to);
    }
  }
  for (const auto& [id, parts] : arrows) {
    ASSERT_GE(parts.size(), 2u) << id;
    EXPECT_EQ(parts.front()["ph"], "s") << id;
    EXPECT_EQ(parts.back()["ph"], "f") << id;
    for (size_t n = 0; n < parts.size(); ++n) {
      const json& part = parts[n];
      if (n > 0) {
        EXPECT_GE(part["ts"], parts[n - 1]["ts"]) << part;
        EXPECT_EQ(part["cat"], parts[n - 1]["cat"]) << part;
      }
      if (n > 0 && n + 1 < parts.size()) {
        EXPECT_EQ(part["ph"], "t") << part;
      }
      // Without it the importer binds an end to the slice that begins next.
      EXPECT_EQ(part.value("bp", ""), part["ph"] == "f" ? "e" : "") << part;
      const auto& spans = slices[{part["pid"], part["tid"]}];
      const int64_t at = part["ts"];
      EXPECT_TRUE(std::any_of(spans.begin(), spans.end(),
                              [at](const auto& span) { return span.first <= at && at < span.second; }))
          << "no slice is there: " << part;
    }
  }
}

TEST(real_report, what_perfetto_reads_keeps_the_rules_of_its_importer) {
  if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << "heddle is not built";
  const std::string file = own_file("perfetto.json");
  for (const std::vector<std::string>& fuzz :
       std::vector<std::vector<std::string>>{{"zoo.crossed-calls"},
                                             {"zoo.crossed-calls", "--set", "fidelity=link"},
                                             {"zoo.handover-without-release"},
                                             {"zoo.lost-doorbell"},
                                             {"service.calls", "--set", "budget=300", "--set", "lanes=4"}}) {
    std::vector<std::string> words = {REAL_HEDDLE, "fuzz"};
    words.insert(words.end(), fuzz.begin(), fuzz.end());
    words.insert(words.end(), {"--json", "--schedules", "200"});
    const json found = json::parse(run_process(words).out, nullptr, false);
    const std::string token = found["scenarios"][0]["findings"][0]["token"];
    ASSERT_EQ(run_process({REAL_HEDDLE, "report", token, "-o", page_file(), "--perfetto", file}).status, 0);
    const json all = json::parse(text_of(file), nullptr, false);
    ASSERT_FALSE(all.is_discarded()) << fuzz.front();
    ASSERT_GT(all["traceEvents"].size(), 50u);
    SCOPED_TRACE(fuzz.front());
    expect_sound_for_perfetto(all);
  }
}

// -- what is drawn ---------------------------------------------------------------------------------------------------------------------

run_record two_actors() {
  run_record made;
  made.texts = {"store", "word+0x0"};
  made.waves = {{.name = "wave 0"}, {.name = "host main", .host = true}};
  made.actors = {{.name = "wave 0 lane 0", .wave = 0}, {.name = "host main", .wave = 1}};
  return made;
}

run_record::step access(uint32_t actor, sim::operation_kind kind, uint64_t reads, bool is_old = false) {
  return {.actor = actor,
          .operation = 0,
          .kind = kind,
          .place = 1,
          .size_bytes = 4,
          .address = 64,
          .is_old = is_old,
          .reads = reads};
}

TEST(report_flows, a_store_leads_to_the_first_load_of_each_other_one_that_returns_it) {
  run_record made = two_actors();
  using enum sim::operation_kind;
  made.steps = {access(0, store, run_record::never), access(1, load, 0, true), access(1, load, 1), access(1, load, 1),
                access(0, load, 1)};
  const auto flows = tools::flows_of(made);
  ASSERT_EQ(flows.size(), 1u);
  EXPECT_EQ(flows[0].store, 0u);
  EXPECT_EQ(flows[0].missed, 1u);
  EXPECT_EQ(flows[0].seen, 2u);
}

TEST(report_flows, a_store_that_nobody_sees_leads_to_the_last_load_that_missed_it) {
  run_record made = two_actors();
  using enum sim::operation_kind;
  made.steps = {access(0, store, run_record::never), access(1, load, 0, true), access(1, load, 0, true)};
  const auto flows = tools::flows_of(made);
  ASSERT_EQ(flows.size(), 1u);
  EXPECT_EQ(flows[0].missed, 2u);
  EXPECT_EQ(flows[0].seen, tools::store_flow::none);
}

TEST(report_times, a_step_has_the_clock_of_its_thread_and_a_clock_that_is_put_back_takes_what_was_done_since_with_it) {
  run_record made = two_actors();
  using enum sim::operation_kind;
  made.first_step = 11;
  for (const uint32_t actor : {0u, 1u, 0u, 0u, 1u, 0u}) made.steps.push_back(access(actor, load, run_record::never));
  // Thread 0 looks in vain in steps 13 and 14, and finds in step 16 what was there 1,300 ps after the beginning. Thread 1 meets it in step 14.
  const std::vector<sim::call_times::reading> clocks = {
      {.step = 2, .lane = 0, .at_ps = 100},    {.step = 11, .lane = 0, .at_ps = 1'100},
      {.step = 12, .lane = 1, .at_ps = 500},   {.step = 13, .lane = 0, .at_ps = 2'100},
      {.step = 14, .lane = 0, .at_ps = 1'100}, {.step = 14, .lane = 1, .at_ps = 1'100},
      {.step = 16, .lane = 0, .at_ps = 1'300}};
  EXPECT_EQ(tools::times_of(made, clocks), (std::vector<uint64_t>{1'100, 500, 1'100, 1'100, 1'100, 1'300}));
  EXPECT_EQ(tools::times_of(made, {}), std::vector<uint64_t>()) << "of machines without virtual time";
  // In step 12 thread 1 reads what thread 0 has stored in step 11, and its clock is put back behind that.
  made.steps[1].reads = 11;
  EXPECT_EQ(tools::times_of(made, clocks), (std::vector<uint64_t>{1'100, 1'100, 1'100, 1'100, 1'100, 1'300}));
}

TEST(place_names, words_in_a_text_have_the_names_that_the_record_has_for_them) {
  run_record made = two_actors();
  using enum sim::operation_kind;
  made.texts = {"store",    "ring+0x4",    "ring->tail", "key ring+0x4", "client locks+0x0",
                "ring+0x8", "ring->state", "ring"};
  made.enumerations = {{.enumerators = {{200, "taken"}}}};
  made.named = {{.name = "ports",
                 .each = "port",
                 .count = 1,
                 .slots_per_word = 1,
                 .locks_per_word = 1,
                 .client_outbox = 1000,
                 .server_outbox = 2000,
                 .client_locks = 3000,
                 .server_locks = 4000}};
  const auto at = [](uint32_t place, uint32_t part, uint64_t address, uint32_t size_bytes,
                     uint32_t values = run_record::none) {
    run_record::step one = access(0, load, run_record::never);
    one.place = place;
    one.part = part;
    one.address = address;
    one.size_bytes = size_bytes;
    one.values = values;
    return one;
  };
  made.steps = {at(1, 7, 68, 8), at(1, 2, 68, 4), at(3, run_record::none, 168, 4), at(4, run_record::none, 3000, 4),
                at(5, 6, 72, 1, 0)};
  const tools::place_names names(made);
  EXPECT_EQ(names.name_of("ring+0x4"), "ring->tail") << "the smallest that was accessed";
  EXPECT_EQ(names.name_of("client locks+0x0"), "the client's lock of port 0");
  EXPECT_EQ(names.name_of("key ring+0x4"), "key ring+0x4");
  EXPECT_EQ(names.name_of("end of the launch"), "end of the launch");
  const std::vector<std::pair<std::string, std::string>> told = {
      {"wave 1 -> wave 0  (ring+0x4)", "wave 1 -> wave 0  (ring->tail)"},
      {"wave 1 -> wave 0  (client locks+0x0, supposed)", "wave 1 -> wave 0  (the client's lock of port 0, supposed)"},
      {"reads ring+0x4 (4 bytes) = 0x0, which", "reads ring->tail (+0x4, 4 bytes) = 0x0, which"},
      {"reads ring+0x4 (8 bytes) = 0x0", "reads ring (+0x4, 8 bytes) = 0x0"},
      {"reads ring+0x4 (2 bytes) = 0x0", "reads ring+0x4 (2 bytes) = 0x0"},
      {"reads ring+0x8 (1 byte) = 0xc8\n", "reads ring->state (+0x8, 1 byte) = taken (0xc8)\n"},
      {"reads ring+0x8 (1 byte) = 0xc9", "reads ring->state (+0x8, 1 byte) = 0xc9"},
      {"reads client locks+0x0 (4 bytes)", "reads the client's lock of port 0 (client locks+0x0, 4 bytes)"},
      // What only looks like one of them stays.
      {"reads key ring+0x4 (4 bytes), ring+0x40, bring+0x4", "reads key ring+0x4 (4 bytes), ring+0x40, bring+0x4"},
      {"load of ring+0x4 by wave 0, and of ring+0x4", "load of ring->tail by wave 0, and of ring->tail"},
      {"label=\"ring+0x4\"", "label=\"ring->tail\""},
      {"", ""}};
  for (const auto& [text, expected] : told) EXPECT_EQ(names.in(text), expected);
  EXPECT_EQ(names.in_choice("the store of 0xc8 to ring+0x8 by wave 0 counts as older than the store of 0x1 by wave 1"),
            "the store of taken (0xc8) to ring->state by wave 0 counts as older than the store of 0x1 by wave 1");
  EXPECT_EQ(names.in_choice(
                "wave 0 loaded an older value of ring+0x8, 0xc8, at a.cpp:1: it missed the store of 0xc8 by wave 1"),
            "wave 0 loaded an older value of ring->state, taken (0xc8), at a.cpp:1: it missed the store of taken "
            "(0xc8) by wave 1");
}

TEST(report_slots, mailboxes_and_locks_of_named_ports_are_followed_by_number) {
  run_record made = two_actors();
  made.named = {{.name = "ports",
                 .each = "port",
                 .count = 2,
                 .slots_per_word = 1,
                 .locks_per_word = 8,
                 .client_outbox = 1000,
                 .server_outbox = 2000,
                 .client_locks = 3000,
                 .server_locks = 4000}};
  const auto change = [](uint64_t step, uint64_t address, uint64_t value) {
    return run_record::change{
        .step = step, .actor = 0, .place = 1, .address = address, .size_bytes = 4, .value = value};
  };
  // What an end keeps of a port is four bits (rpc/own.h), and the lowest is the lock: port 0 is never held.
  made.changes = {change(1, 3000, 0x10), change(2, 1004, 0xffffffff), change(3, 4000, 0x14),
                  change(4, 2004, 0xffffffff), change(5, 3000, 0x46)};
  const tools::slot_names names(made);
  EXPECT_EQ(names.part_at(1004), "port 1, client's outbox");
  EXPECT_EQ(names.part_at(3000), "ports 0 to 1, client's lock");
  EXPECT_EQ(names.part_at(5000), "");
  size_t left_out = 0;
  const auto strips = tools::strips_of(made, names, left_out);
  ASSERT_EQ(strips.size(), 1u);  // the other port never changes
  EXPECT_EQ(strips[0].name, "port 1");
  std::vector<uint64_t> states;
  for (const state_strip::change& each : strips[0].changes) states.push_back(each.state);
  using s = state_strip;
  EXPECT_EQ(states, (std::vector<uint64_t>{s::client_locked, s::client_locked | s::client_posted,
                                           s::client_locked | s::client_posted | s::server_locked,
                                           s::client_locked | s::client_posted | s::server_locked | s::server_posted,
                                           s::client_posted | s::server_locked | s::server_posted}));
}

// -- the real machine -----------------------------------------------------------------------------------------------------------------

/// The data of the page of the first finding of a scenario.
json real_data(std::vector<std::string> fuzz) {
  fuzz.insert(fuzz.begin(), {REAL_HEDDLE, "fuzz"});
  fuzz.insert(fuzz.end(), {"--json", "--schedules", "200"});
  const json found = json::parse(run_process(fuzz).out, nullptr, false);
  const std::string token = found["scenarios"][0]["findings"][0]["token"];
  EXPECT_EQ(run_process({REAL_HEDDLE, "report", token, "-o", page_file()}).status, 0);
  return data_in(text_of(page_file()));
}

TEST(real_report, crossed_calls_show_both_waves_waiting_and_the_cycle) {
  if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << "heddle is not built";
  const json data = real_data({"zoo.crossed-calls"});
  std::vector<std::string> waiting;
  for (const json& each : data["waits"])
    if (each[2].is_null()) waiting.push_back(data["actors"][each[0].get<size_t>()][0]);
  for (const char* const who : {"wave 0 lane 0", "wave 1 lane 0", "host server", "host main"})
    EXPECT_NE(std::find(waiting.begin(), waiting.end(), who), waiting.end()) << who;
  EXPECT_GE(data["circle"].size(), 2u);
  bool both[2] = {};
  for (const json& each : data["edges"])
    for (int wave = 0; wave < 2; ++wave)
      both[wave] = both[wave] || (each["cycle"] == true && each["from"] == "wave " + std::to_string(wave));
  EXPECT_TRUE(both[0] && both[1]) << data["edges"];
  ASSERT_FALSE(data["strips"].empty());
  EXPECT_EQ(data["strips"][0]["name"], "port 0");
  EXPECT_FALSE(data["flows"].empty());
}

/// The lines of the first screen: up to the first stack.
std::string first_screen(const std::string& scenario) {
  const std::string text = run_process({REAL_HEDDLE, "fuzz", scenario, "--schedules", "300"}).out;
  const size_t end = text.find("      at   ");
  return text.substr(0, end);
}

TEST(real_report, names_the_choice_that_decided_on_the_first_screen) {
  if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << "heddle is not built";
  const std::pair<const char*, std::vector<const char*>> findings[] = {
      {"zoo.late-reset-erases-flag", {"counts as older than the store of ", "had not acquired"}},
      {"zoo.weak-failure-taken-for-owner", {"the weak compare-exchange of ", " failed for no reason"}},
      {"zoo.doorbell-overtakes-entry",
       {" arrived over the link before step ", ", ahead of that to submission queue->submitted["}},
      {"zoo.lost-doorbell", {"the ring of wave ", " was lost"}}};
  for (const auto& [scenario, words] : findings) {
    const std::string screen = first_screen(scenario);
    for (const char* const each : words) EXPECT_NE(screen.find(each), std::string::npos) << each << '\n' << screen;
  }
}

TEST(real_report, the_story_says_what_is_missing_and_where) {
  if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << "heddle is not built";
  const std::pair<const char*, const char*> endings[] = {
      {"zoo.no-release-before-toggle", "missing: a release at scenarios/zoo/weakened.h:28, or a fence before it"},
      {"zoo.device-scope-mailbox", "missing: a wider scope at rpc/mailbox.h:90, which is store release device"},
      {"zoo.plain-completion-flag", "missing: an atomic access at scenarios/zoo/plain_completion_flag.cpp:15; or, "},
      // Of hangs, what would end them.
      {"zoo.crossed-calls",
       " gives back the client's lock of port 0 before it waits at rpc/mailbox.h:80; or host server stores "},
      {"zoo.listener-teardown",
       "host main gives back the mutex, locked at scenarios/zoo/listener_teardown.cpp:37, before it waits"},
      {"zoo.lock-held-across-callback",
       "to change: host server locks at scenarios/zoo/lock_held_across_callback.cpp:28 a mutex that it "
       "holds already, from scenarios/zoo/lock_held_across_callback.cpp:42: give it back before"},
      {"zoo.all-blocks-resident",
       "to change: wave 2 has no place on the device before another wave ends: launch no more waves than"},
      {"driver.kernel-behind-kernel",
       "to change: wave 1 comes behind wave 0 in its stream, which waits for what comes of it"},
      {"zoo.early-return-skips-notify",
       "to change: wave 0 has ended and has not stored waves done+0x0, as wave 1 has at "},
      {"zoo.lost-doorbell", "to change: a ring may be lost, as that of step "},
      {"zoo.driver-lost-signal", ", and does not look again: wake it for each command, also when it seems awake, or "},
      {"zoo.close-without-handback", ", rpc/own.h:61) each time, has to store it before that"}};
  for (const auto& [scenario, ending] : endings) {
    const json found = json::parse(run_process({REAL_HEDDLE, "fuzz", scenario, "-n", "20", "--json"}).out);
    const json& story = found["scenarios"][0]["findings"][0]["story"];
    ASSERT_GE(story.size(), 3u) << found;
    EXPECT_LE(story.size(), 10u) << story;
    EXPECT_NE(story.back().get<std::string>().find(ending), std::string::npos) << story;
  }
  // A hang has a sentence for each that waits for something else than memory, and names of elements.
  const json called =
      json::parse(run_process({REAL_HEDDLE, "fuzz", "zoo.lock-held-across-callback", "-n", "20", "--json"}).out);
  const std::string lines = called["scenarios"][0]["findings"][0]["story"].dump();
  for (const char* const each :
       {"wave 0 reads answer: 0 (step ", "host server waits for that mutex (", ": nothing can move"})
    EXPECT_NE(lines.find(each), std::string::npos) << each << " in " << lines;
  // Lanes that disagree in the end: where they parted.
  const json parted =
      json::parse(run_process({REAL_HEDDLE, "fuzz", "zoo.per-lane-steering-load", "-n", "20", "--json"}).out);
  const json& way = parted["scenarios"][0]["findings"][0]["story"];
  EXPECT_TRUE(std::any_of(way.begin(), way.end(), [](const json& each) {
    const std::string text = each;
    return text.find("the server's outbox of port ") != std::string::npos &&
           text.find("one lane looks and broadcasts what it sees") != std::string::npos;
  })) << way;
  const json ended = json::parse(run_process({REAL_HEDDLE, "fuzz", "port.echo", "-n", "20", "--json"}).out);
  EXPECT_TRUE(ended["scenarios"][0]["findings"].empty());
}

TEST(real_report, text_drawing_page_and_json_tell_the_same_of_who_waits) {
  if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << "heddle is not built";
  const json found = json::parse(
      run_process({REAL_HEDDLE, "fuzz", "zoo.crossed-calls", "--json", "--schedules", "50"}).out, nullptr, false);
  for (const json& each : found["scenarios"][0]["findings"]) {
    const std::string token = each["token"];
    const json played = json::parse(run_process({REAL_HEDDLE, "replay", token, "--json"}).out, nullptr, false);
    ASSERT_EQ(run_process({REAL_HEDDLE, "report", token, "-o", page_file()}).status, 0);
    const json page = data_in(text_of(page_file()));
    EXPECT_EQ(played["waits_for"]["edges"], page["edges"]);
    EXPECT_EQ(played["waits_for"]["circle"], page["circle"]);
    EXPECT_EQ(played["waits_for"]["unknown"], page["unknown"]);
    EXPECT_EQ(played["decided"], page["decided"]);
    std::string circle;
    for (const json& n : page["circle"]) circle += page["edges"][n.get<size_t>()]["from"].get<std::string>() + " -> ";
    EXPECT_NE(played["report"].get<std::string>().find("in a circle: " + circle), std::string::npos)
        << played["report"];
    for (const json& edge : page["edges"]) {
      const std::string drawn =
          '"' + edge["from"].get<std::string>() + "\" -> \"" + edge["to"].get<std::string>() + "\" [label=\"";
      EXPECT_NE(played["waits"].get<std::string>().find(drawn), std::string::npos) << drawn;
    }
    for (const json& one : page["unknown"])
      EXPECT_NE(played["waits"].get<std::string>().find(one["why"].get<std::string>()), std::string::npos) << one;
    // The server waits for the call of the wave that waits for the port of the other.
    const std::string first = each["where"].get<std::string>().starts_with("rpc/mailbox") ? "0" : "1";
    EXPECT_EQ(page["circle"].size(), 3u) << first << played["report"];
  }
}

TEST(real_report, the_ports_of_a_service_are_known) {
  if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << "heddle is not built";
  // A run that the budget ends is as good as a hang.
  const json data = real_data({"service.calls", "--set", "budget=300"});
  ASSERT_FALSE(data["strips"].empty());
  EXPECT_EQ(data["strips"][0]["kind"], "port");
  EXPECT_EQ(data["strips"][0]["name"], "port 0");
}

TEST(real_report, what_a_link_has_under_way_is_told_with_its_arrival) {
  if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << "heddle is not built";
  const json data = real_data({"zoo.crossed-calls", "--set", "fidelity=link"});
  ASSERT_FALSE(data["late"].empty());
  for (const json& each : data["late"]) {
    if (each[1].is_null()) continue;
    EXPECT_GE(each[1].get<uint64_t>(), each[0].get<uint64_t>() + 1);
  }
}

TEST(real_report, an_old_value_is_told_where_a_load_has_read_one) {
  if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << "heddle is not built";
  const json data = real_data({"zoo.handover-without-release"});
  EXPECT_FALSE(data["old"].empty() && data["flows"].empty());
}

}  // namespace
}  // namespace heddle::tests
