// The command `verify` on the real simulator: its three ends, what it writes, and what it says of the zoo and of the protocols.
#include <heddle/scheduler/trace.h>
#include <heddle/sim/base/sanitizers.h>
#include <heddle/tools/replay/shrink.h>
#include <heddle/tools/trial/trial.h>

#include "command.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

namespace heddle::tests {
namespace {

using nlohmann::json;

// The address sanitizer leaves its marks on the lanes' stacks: states that are equal look different, and a proof does not end.
#ifdef HEDDLE_ADDRESS_SANITIZER
#define NEEDS_EQUAL_STATES GTEST_SKIP() << "under the address sanitizer states that are equal look different"
#else
#define NEEDS_EQUAL_STATES static_cast<void>(0)
#endif

class verify_command : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << REAL_HEDDLE << " is not built";
  }

  static ended_process verify(std::vector<std::string> arguments, const process_options& options = {}) {
    arguments.insert(arguments.begin(), {REAL_HEDDLE, "verify"});
    return run_process(arguments, options);
  }
  static json verify_json(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    return json::parse(verify(std::move(arguments)).out, nullptr, false);
  }
  static void expect_refused(const std::vector<std::string>& arguments, const std::string& part) {
    const ended_process refused = verify(arguments);
    EXPECT_EQ(refused.status, 2);
    EXPECT_EQ(refused.out, "");
    EXPECT_NE(refused.err.find(part), std::string::npos) << refused.err;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
  }
};

const std::vector<std::string> small_echo = {"port.echo", "--set",   "waves=2", "--set",  "lanes=1",
                                             "--set",     "ports=1", "--set",   "calls=1"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(verify_command, proves_a_small_protocol) {
  NEEDS_EQUAL_STATES;
  const ended_process ended = verify(small_echo);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(ended.out.starts_with(
      "port.echo: proved under progress=fair, fidelity=scoped, host=x86, convergence=independent, "
      "waves=2, lanes=1, ports=1, calls=1: no run ends badly\n"))
      << ended.out;
  EXPECT_TRUE(
      verify(with(small_echo, {"--set", "progress=lobe"})).out.starts_with("port.echo: proved under progress=lobe, "));
  const json made = verify_json(small_echo);
  EXPECT_EQ(made["result"], "proved");
  EXPECT_EQ(made["ok"], true);
  EXPECT_EQ(made["incomplete_because"], "");
  EXPECT_TRUE(made["token"].is_null());
  EXPECT_GT(made["states"], 100);
  EXPECT_GT(made["transitions"], made["states"]);
  EXPECT_GT(made["depth_max"], 0);
  EXPECT_GT(made["peak_bytes"], 0);
}

TEST_F(verify_command, shows_a_violation_that_is_replayed_shrunk_and_written) {
  const temporary_folder folder;
  const std::string file = (folder.path() / "crossed.heddle.json").string();
  const json made = verify_json({"zoo.crossed-calls", "--out", file});
  EXPECT_EQ(made["result"], "violated");
  EXPECT_EQ(made["verdict"], "deadlock");
  EXPECT_EQ(made["ok"], true) << "that is what was planted";
  EXPECT_EQ(made["reproducible"], true);
  EXPECT_EQ(made["file"], file);
  EXPECT_EQ(scheduler::read_trace(file).error, "");
  const ended_process again = run_process({REAL_HEDDLE, "replay", file, "--repeat", "3"});
  EXPECT_EQ(again.status, 1) << again.err;
  EXPECT_NE(again.out.find("3 of 3 equal digests"), std::string::npos) << again.out;
  const std::string small = (folder.path() / "small.heddle.json").string();
  EXPECT_EQ(run_process({REAL_HEDDLE, "shrink", file, "--runs", "300", "--out", small}).status, 0);
  EXPECT_EQ(run_process({REAL_HEDDLE, "replay", small}).status, 1);
  const std::string token = made["token"];
  EXPECT_EQ(run_process({REAL_HEDDLE, "replay", token}).status, 1);
}

TEST_F(verify_command, what_is_too_weak_is_told_with_the_wave_that_waits) {
  NEEDS_EQUAL_STATES;
  const ended_process ended = verify(with(small_echo, {"--set", "progress=hsa"}));
  EXPECT_EQ(ended.status, 0) << ended.out;
  EXPECT_NE(ended.out.find("port.echo: progress at "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("is not guaranteed a turn"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("not reproducible"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\n  as a page: " REAL_HEDDLE " report heddle-findings/port.echo-progress-"),
            std::string::npos)
      << ended.out;
}

TEST_F(verify_command, several_processes_come_to_the_same_result) {
  NEEDS_EQUAL_STATES;
  const json proved = verify_json(with(small_echo, {"--jobs", "2"}));
  EXPECT_EQ(proved["result"], "proved");
  EXPECT_EQ(proved["ok"], true);
  const json hangs = verify_json(with(small_echo, {"--jobs", "2", "--set", "progress=hsa"}));
  EXPECT_EQ(hangs["result"], "violated");
  EXPECT_EQ(hangs["verdict"], "progress");
  EXPECT_EQ(hangs["reproducible"], true);
  const json timed = verify_json({"port.echo", "--time", "0.2", "--jobs", "3"});
  EXPECT_EQ(timed["result"], "incomplete");
  EXPECT_EQ(timed["incomplete_because"], "the time is over");
}

TEST_F(verify_command, a_bound_that_is_hit_is_no_proof) {
  const ended_process ended = verify(with(small_echo, {"--states", "10"}));
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("port.echo: incomplete: 10 states\n"), std::string::npos) << ended.out;
  const json timed = verify_json({"port.echo", "--time", "0.05"});
  EXPECT_EQ(timed["result"], "incomplete");
  EXPECT_EQ(timed["ok"], false);
  EXPECT_EQ(timed["incomplete_because"], "the time is over");
}

/// Whether this machine lets a process be without randomised addresses: containers may not.
bool can_save(const ended_process& saved) {
  if (saved.err.find("personality(2) refuses") == std::string::npos) return true;
  EXPECT_EQ(saved.status, 3);
  return false;
}

const std::vector<std::string> two_calls = {"port.echo", "--set",   "waves=2", "--set",  "lanes=1",
                                            "--set",     "ports=1", "--set",   "calls=2"};

// Half of the states are known: those that random runs come to tell how many there are. One in twenty is known: it is said that there are more.
TEST_F(verify_command, a_search_that_is_cut_says_how_many_states_there_are) {
  NEEDS_EQUAL_STATES;
  const json whole = verify_json(with(two_calls, {"--jobs", "1"}));
  EXPECT_TRUE(whole["forecast"].is_null());
  const int states = whole["states"];
  const auto cut_after = [&](int part) { return with(two_calls, {"--jobs", "1", "--states", std::to_string(part)}); };
  const json half = verify_json(cut_after(states / 2))["forecast"];
  EXPECT_GT(half["runs"], 0);
  EXPECT_GT(half["known_share"], 1. / 3);
  EXPECT_GT(half["states"], states / 2);
  EXPECT_LT(half["states"], 2 * states);
  EXPECT_NE(verify(cut_after(states / 2)).out.find("  forecast: some "), std::string::npos);
  const json few = verify_json(cut_after(states / 30))["forecast"];
  EXPECT_LT(few["known_share"], 1. / 3);
  EXPECT_GT(few["states"], states / 20);
  const std::string told = verify(cut_after(states / 30)).out;
  EXPECT_TRUE(told.find("several times as many") != std::string::npos || told.find("more than") != std::string::npos)
      << told;
  EXPECT_TRUE(verify_json(with(two_calls, {"--stateless", "--time", "0.1"}))["forecast"].is_null());
  // What was looked at ahead is not taken for searched.
  const temporary_folder folder;
  const std::string file = (folder.path() / "search").string();
  const ended_process cut = verify(with(cut_after(states / 2), {"--save", file, "--json"}));
  if (!can_save(cut)) return;
  const json resumed = verify_json({"--resume", file, "--jobs", "1"});
  EXPECT_EQ(resumed["result"], "proved");
  EXPECT_GE(resumed["states"], states);
}

TEST_F(verify_command, a_search_that_is_cut_goes_on_to_the_same_proof) {
  NEEDS_EQUAL_STATES;
  const json whole = verify_json(two_calls);
  for (const std::string jobs : {"1", "2"}) {
    const temporary_folder folder;
    const std::string file = (folder.path() / "search").string();
    const ended_process begun = verify(with(two_calls, {"--save", file, "--states", "30", "--json", "--jobs", jobs}));
    if (!can_save(begun)) return;
    json made = json::parse(begun.out);
    int parts = 1;
    for (int states = 100; made["result"] == "incomplete" && parts < 20; states *= 3, ++parts) {
      ASSERT_EQ(made["saved"], file);
      setenv("HEDDLE_TEST_SIZE", std::string(static_cast<size_t>(states % 1000), 'x').c_str(), 1);
      made = verify_json({"--resume", file, "--states", std::to_string(states), "--jobs", jobs});
      ASSERT_TRUE(made.is_object());
      EXPECT_GT(made["runs"], made["resumed"]["runs"]);
    }
    unsetenv("HEDDLE_TEST_SIZE");
    EXPECT_EQ(made["result"], "proved") << made;
    EXPECT_EQ(made["ok"], true);
    EXPECT_TRUE(made["saved"].is_null());
    EXPECT_GE(parts, 4);
    // The last part made fewer runs than there are.
    EXPECT_LT(made["runs"].get<int>() - made["resumed"]["runs"].get<int>(), whole["runs"].get<int>());
    // What follows without a run is learned again in each part.
    EXPECT_LT(made["runs"].get<int>(), whole["runs"].get<int>() * 2);
  }
}

// Told when a run shows it, and not when the search is cut after an hour: here it never is.
TEST_F(verify_command, what_cannot_be_saved_is_told_before_the_cut) {
  NEEDS_EQUAL_STATES;
  const std::string why = ": this search cannot be saved: its states have memory from malloc() in them";
  for (const std::string jobs : {"1", "2"}) {
    const temporary_folder folder;
    const std::string file = (folder.path() / "search").string();
    const auto search = [&](const std::vector<std::string>& more) {
      return run_process(with({WITH_MALLOC, "verify", "keeps.malloc", "--save", file, "--jobs", jobs}, more));
    };
    const ended_process whole = search({});
    if (!can_save(whole)) return;
    EXPECT_EQ(whole.status, 0) << whole.err;
    EXPECT_NE(whole.out.find(": proved under "), std::string::npos) << whole.out;
    EXPECT_NE(whole.err.find("heddle: --save " + file + why), std::string::npos) << whole.err;
    EXPECT_EQ(line_count(whole.err), 1u) << whole.err;
    const ended_process cut = search({"--states", "20"});
    EXPECT_EQ(cut.status, 3) << cut.err;
    EXPECT_NE(cut.err.find(why), std::string::npos) << cut.err;
    EXPECT_NE(cut.err.find("the search is not saved: its states have memory from malloc()"), std::string::npos)
        << cut.err;
  }
  const temporary_folder folder;
  const ended_process saved = verify(with(two_calls, {"--save", (folder.path() / "search").string()}));
  EXPECT_EQ(saved.status, 0);
  EXPECT_EQ(saved.err, "");
}

// An exception lies where it does in every run, so that states behind a throw are found again, in this process and in others.
TEST_F(verify_command, exceptions_make_no_states) {
  NEEDS_EQUAL_STATES;
  const std::vector<std::string> throws = {
      "service.throwing-handler", "--set", "waves=1", "--set", "lanes=1", "--set", "ports=1", "--set", "polls=0"};
  const json made = verify_json(throws);
  EXPECT_EQ(made["result"], "proved");
  const json by_two = verify_json(with(throws, {"--jobs", "2"}));
  EXPECT_EQ(by_two["result"], "proved");
  // Two processes may both be in a state before either has told of it.
  EXPECT_LT(by_two["states"].get<int>(), made["states"].get<int>() * 3 / 2);
  const temporary_folder folder;
  const std::string file = (folder.path() / "search").string();
  const ended_process cut = verify(with(throws, {"--save", file, "--states", "50"}));
  if (!can_save(cut)) return;
  EXPECT_EQ(cut.err, "");
  const json resumed = verify_json({"--resume", file});
  EXPECT_EQ(resumed["result"], "proved") << resumed;
  EXPECT_EQ(resumed["states"], made["states"]);
}

TEST_F(verify_command, a_violation_behind_the_cut_is_found) {
  NEEDS_EQUAL_STATES;
  const std::vector<std::string> weak = with(small_echo, {"--set", "progress=hsa"});
  for (const std::string states : {"2", "5", "10", "15"}) {
    const temporary_folder folder;
    const std::string file = (folder.path() / "search").string();
    const ended_process begun = verify(with(weak, {"--save", file, "--states", states, "--json"}));
    if (!can_save(begun)) return;
    json made = json::parse(begun.out);
    if (made["result"] == "incomplete") made = verify_json({"--resume", file});
    EXPECT_EQ(made["result"], "violated") << states;
    EXPECT_EQ(made["verdict"], "progress") << states;
    EXPECT_EQ(made["reproducible"], true) << states;
  }
}

// Threads, mutexes, strings and vectors of a main(): no other process has other states of them.
TEST_F(verify_command, a_search_of_a_program_goes_on) {
  NEEDS_EQUAL_STATES;
  if (!std::filesystem::exists(HOST_THREADS)) GTEST_SKIP() << HOST_THREADS << " is not built";
  const auto told = [](const std::vector<std::string>& words) {
    return json::parse(run_process(with({HOST_THREADS, "verify", "--json", "--jobs", "1"}, words)).out, nullptr, false);
  };
  const json whole = told({"--", "passes_texts"});
  ASSERT_EQ(whole["result"], "proved") << whole;
  for (const std::string program : {"passes_texts", "locks_crosswise"}) {
    const bool is_right = program == "passes_texts";
    int cuts = 0;
    for (const std::string states : {"3", "10", "20"}) {
      const temporary_folder folder;
      const std::string file = (folder.path() / "search").string();
      const ended_process begun =
          run_process({HOST_THREADS, "verify", "--save", file, "--states", states, "--json", "--", program});
      if (!can_save(begun)) return;
      json made = json::parse(begun.out);
      for (const bool to_the_end : {false, true}) {
        if (made["result"] != "incomplete") break;
        ASSERT_EQ(made["saved"], file) << program << " behind " << states;
        ++cuts;
        made = to_the_end ? told({"--resume", file})
                          : told({"--resume", file, "--states", std::to_string(std::stoi(states) + 5)});
      }
      EXPECT_EQ(made["result"], is_right ? "proved" : "violated") << program << " behind " << states << ": " << made;
      if (is_right) {
        EXPECT_EQ(made["states"], whole["states"]) << states;
        EXPECT_EQ(made["transitions"], whole["transitions"]) << states;
      } else {
        EXPECT_EQ(made["verdict"], "deadlock");
        EXPECT_EQ(made["reproducible"], true);
      }
    }
    // What hangs may be found before it is cut a second time.
    EXPECT_GE(cuts, is_right ? 6 : 2) << program;
  }
}

TEST_F(verify_command, only_the_very_search_is_gone_on_with) {
  NEEDS_EQUAL_STATES;
  const temporary_folder folder;
  const std::string file = (folder.path() / "search").string();
  const ended_process begun = verify(with(two_calls, {"--save", file, "--states", "100"}));
  if (!can_save(begun)) return;
  EXPECT_NE(begun.out.find("  saved; go on: " REAL_HEDDLE " verify --resume " + file + "\n"), std::string::npos)
      << begun.out;
  expect_refused(with(two_calls, {"--save", file}), "it is there already");
  expect_refused({"--resume", file, "--set", "waves=1"}, "excludes");
  expect_refused({"port.echo", "--resume", file}, "excludes");
  expect_refused({"--all", "--save", file}, "excludes");
  expect_refused(with(two_calls, {"--save", file, "--stateless"}), "excludes");
  expect_refused({"port.echo", "port.stream", "--save", file}, "--save takes one scenario");
  expect_refused({"--resume", (folder.path() / "none").string()}, "it cannot be read");
  std::ifstream from(file, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(from), {}};
  const std::string broken_file = (folder.path() / "broken").string();
  const auto expect_broken = [&](const std::string& bytes, const std::string& part) {
    std::ofstream(broken_file, std::ios::binary) << bytes;
    expect_refused({"--resume", broken_file}, part);
  };
  expect_broken(whole.substr(0, whole.size() / 2), "damaged or cut short");
  expect_broken("{}", "is no search");
  for (const size_t at : {whole.size() / 3, whole.size() - 1}) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    expect_broken(bytes, "damaged or cut short");
  }
  // The file is as it was.
  EXPECT_EQ(verify_json({"--resume", file})["result"], "proved");
}

TEST_F(verify_command, stopped_at_any_time_it_has_proved_nothing) {
  for (const int after_ms : {50, 200}) {
    const ended_process ended = verify({"port.echo", "--json"}, {.interrupt_after_ms = after_ms});
    EXPECT_EQ(ended.status, 130) << ended.err;
    if (ended.out.empty()) continue;  // before it began
    const json made = json::parse(ended.out);
    EXPECT_EQ(made["result"], "incomplete");
    EXPECT_EQ(made["incomplete_because"], "stopped");
  }
}

TEST_F(verify_command, a_service_that_ends_a_job_gets_the_figures) {
  for (const int signal : {SIGTERM, SIGXCPU}) {
    const ended_process ended = verify({"port.echo", "--json"}, {.interrupt_after_ms = 500, .interrupt_by = signal});
    ASSERT_EQ(ended.status, signal == SIGTERM ? 143 : 130) << strsignal(signal) << ": " << ended.err;
    const json made = json::parse(ended.out);
    EXPECT_EQ(made["incomplete_because"], "stopped") << strsignal(signal);
    EXPECT_GT(made["states"], 0u) << strsignal(signal);
  }
}

TEST_F(verify_command, claims_that_an_interrupt_left_out_are_not_run) {
  const ended_process ended = verify({"--all", "--json"}, {.interrupt_after_ms = 500});
  ASSERT_EQ(ended.status, 130) << ended.err;
  const json made = json::parse(ended.out);
  EXPECT_EQ(made["interrupted"], true);
  EXPECT_EQ(made["ok"], false);
  size_t not_run = 0;
  for (const json& each : made["proofs"]) not_run += each["result"] == "not run" ? 1 : 0;
  EXPECT_GT(not_run, 0u);
  EXPECT_EQ(made["not_run"], not_run);
  const ended_process told = verify({"--all"}, {.interrupt_after_ms = 500});
  EXPECT_EQ(told.out.find("not as claimed"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find(": not run\n"), std::string::npos) << told.out;
}

TEST_F(verify_command, wrong_input_is_one_line) {
  expect_refused({}, "verify takes a scenario, or --all");
  expect_refused({"port.eco"}, "port.echo");
  expect_refused({"port.echo", "--set", "starvation=8"}, "cannot tell how often an actor was passed over");
  expect_refused({"port.echo", "--set", "step=wave"}, "leave out --set step=wave");
  expect_refused({"port.echo", "--set", "partings=3"}, "leave out --set partings=3");
  expect_refused({"port.echo", "port.stream", "--out", "x"}, "--out takes the trace of one scenario");
  expect_refused({"--all", "zoo.crossed-calls"}, "claims anything");
  expect_refused({"--all", "--out", "x"}, "excludes");
  expect_refused({"port.echo", "--states", "none"}, "--states cannot be \"none\"");
}

// Each of these ends in well below a second.
const std::vector<std::string> small_entries = {"zoo.all-blocks-resident",
                                                "zoo.array-changed-under-scan",
                                                "zoo.bulk-path-overtaken",
                                                "zoo.cached-token",
                                                "zoo.close-without-handback",
                                                "zoo.commit-bit-moved",
                                                "zoo.doorbell-counted-by-client",
                                                "zoo.driver-engine-end",
                                                "zoo.driver-engine-start",
                                                "zoo.early-return-skips-notify",
                                                "zoo.every-wave-posts",
                                                "zoo.exhausted-after-n-calls",

                                                "zoo.fill-without-acquire",
                                                "zoo.flag-then-payload-loads",
                                                "zoo.freed-before-read",
                                                "zoo.handler-waits-for-device",
                                                "zoo.handler-waits-for-device-context",
                                                "zoo.handover-without-release",
                                                "zoo.header-before-acquire",
                                                "zoo.leader-is-a-bool",
                                                "zoo.listener-teardown-window",
                                                "zoo.lock-held-across-callback",
                                                "zoo.lock-released-by-one-lane",
                                                "zoo.mask-reread-after-handover",
                                                "zoo.mirror-desync",
                                                "zoo.no-pcie-atomics",
                                                "zoo.no-pcie-atomics-split",
                                                "zoo.null-mailbox",
                                                "zoo.op-pool-exhausted",
                                                "zoo.opcode-under-peek",
                                                "zoo.opcode-under-peek-on-device",
                                                "zoo.plain-completion-flag",
                                                "zoo.poll-before-first-post",
                                                "zoo.reader-scope-too-narrow",
                                                "zoo.server-is-the-waiter",
                                                "zoo.speculated-flush-read",
                                                "zoo.stale-leader",
                                                "zoo.swapped-compare",
                                                "zoo.vacuous-stress",
                                                "zoo.weak-failure-taken-for-owner"};

TEST_F(verify_command, finds_planted_bugs) {
  const json made = verify_json(small_entries);
  ASSERT_EQ(made["proofs"].size(), small_entries.size());
  for (const json& each : made["proofs"]) {
    EXPECT_EQ(each["result"], "violated") << each;
    EXPECT_EQ(each["verdict"], each["expected"]) << each["scenario"];
    EXPECT_EQ(each["reproducible"], true) << each["scenario"];
  }
  EXPECT_EQ(made["ok"], true);
}

TEST_F(verify_command, proves_that_their_twins_have_none) {
  NEEDS_EQUAL_STATES;
  const json made = verify_json(with(small_entries, {"--set", "fixed=yes"}));
  ASSERT_EQ(made["proofs"].size(), small_entries.size());
  for (const json& each : made["proofs"]) EXPECT_EQ(each["result"], "proved") << each;
  EXPECT_EQ(made["ok"], true);
}

TEST_F(verify_command, proves_what_protocols_claim) {
  NEEDS_EQUAL_STATES;
  const json made = verify_json({"--all", "port.*", "offload.*", "ring.*", "service.*", "hostcall.stop", "slot.stop"});
  EXPECT_EQ(made["ok"], true);
  ASSERT_GE(made["proofs"].size(), 40u);
  std::map<std::string, std::string> one_port;
  for (const json& each : made["proofs"]) {
    EXPECT_EQ(each["ok"], true) << each;
    EXPECT_NE(each["result"], "incomplete") << each;
    if (each["scenario"] == "port.echo" && each["configuration"] == "waves=2 lanes=1 ports=1 calls=1")
      one_port[each["progress"]] = each["result"];
  }
  EXPECT_EQ(one_port["hsa"], "violated");
  EXPECT_EQ(one_port["obe"], "proved");
  const ended_process text = verify({"--all", "offload.single"});
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("offload.single waves=2 lanes=1 calls=1\n  proved     fair obe"), std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("all as claimed"), std::string::npos) << text.out;
}

TEST_F(verify_command, what_follows_from_a_proof_is_what_a_search_says) {
  NEEDS_EQUAL_STATES;
  std::map<std::string, std::string> follows;
  std::string hangs;
  const json made = verify_json({"--all", "port.echo", "offload.single"});
  for (const json& each : made["proofs"]) {
    const std::string model = each["progress"];
    if (each["result"] == "violated") hangs += model + ' ';
    if (each["follows_from"].is_null()) {
      EXPECT_NE(each["states"], 0) << each;
      continue;
    }
    follows[model] += each["follows_from"].get<std::string>() + ' ';
    std::vector<std::string> arguments = {each["scenario"], "--set", "progress=" + model};
    std::istringstream configuration(each["configuration"].get<std::string>());
    for (std::string setting; configuration >> setting;) arguments.insert(arguments.end(), {"--set", setting});
    EXPECT_EQ(verify_json(arguments)["result"], each["result"]) << each;
  }
  // With a port for both waves, and over one mailbox, the wave of lowest number is not enough; with two ports it is.
  EXPECT_EQ(hangs, "unfair hsa unfair hsa unfair ");
  EXPECT_EQ(
      follows,
      (std::map<std::string, std::string>{
          {"fair", "obe obe hsa "}, {"hsa_obe", "obe obe hsa "}, {"lobe", "obe obe hsa "}, {"slots", "obe obe obe "}}));
}

TEST_F(verify_command, a_claim_that_does_not_hold_is_told) {
  const ended_process ended = verify({"--all", "offload.single", "--states", "5"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("  not as claimed: fair is incomplete, 5 states\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find(" not as claimed\n"), std::string::npos) << ended.out;
}

class prove_if_small : public verify_command {
 protected:
  static json fuzzed(std::vector<std::string> arguments, int status = 0) {
    arguments.insert(arguments.begin(),
                     {REAL_HEDDLE, "fuzz", "--json", "--strategy", "round-robin", "--schedules", "1"});
    const ended_process ended = run_process(arguments);
    EXPECT_EQ(ended.status, status) << ended.out << ended.err;
    return json::parse(ended.out, nullptr, false)["scenarios"][0];
  }
};

TEST_F(prove_if_small, a_campaign_without_findings_ends_with_the_proof_that_verify_gives) {
  NEEDS_EQUAL_STATES;
  std::vector<std::string> arguments = small_echo;
  arguments.emplace_back("--prove-if-small");
  const json made = fuzzed(arguments);
  EXPECT_EQ(made["verdict"], "ok") << made;
  EXPECT_EQ(made["proof"]["result"], "proved") << made;
  EXPECT_EQ(made["proof"]["finding"], nullptr) << made;
  EXPECT_EQ(made["proof"]["states"], verify_json(small_echo)["states"]) << made;
  EXPECT_EQ(fuzzed(small_echo)["proof"], nullptr) << "none was asked for";
  arguments.insert(arguments.begin(), {REAL_HEDDLE, "fuzz", "--schedules", "20"});
  const std::string told = run_process(arguments).out;
  EXPECT_NE(
      told.find("port.echo: proved under progress=fair, fidelity=scoped, host=x86, convergence=independent, waves=2"),
      std::string::npos)
      << told;
}

TEST_F(prove_if_small, shows_what_the_schedules_have_missed) {
  const temporary_folder folder;
  const std::string out = folder.path().string();
  EXPECT_TRUE(fuzzed({"zoo.single-port-wait"}, 1)["findings"].empty()) << "the schedule shows it already";
  const json made = fuzzed({"zoo.single-port-wait", "--prove-if-small", "--out", out});
  EXPECT_EQ(made["verdict"], "progress") << made;
  EXPECT_TRUE(made["findings"].empty()) << made;
  EXPECT_EQ(made["proof"]["result"], "violated") << made;
  EXPECT_EQ(made["proof"]["finding"]["verdict"], "progress") << made;
  const std::string file = made["proof"]["finding"]["file"];
  EXPECT_TRUE(std::filesystem::exists(file)) << file;
  for (const std::string& recorded : {file, made["proof"]["finding"]["token"].get<std::string>()})
    EXPECT_EQ(run_process({REAL_HEDDLE, "replay", recorded}).status, 1) << recorded;
}

TEST_F(prove_if_small, what_no_search_tells_is_no_proof_and_no_finding) {
  const json made = fuzzed({"zoo.unfair-lock.fixed", "--prove-if-small"});
  EXPECT_EQ(made["verdict"], "ok") << made;
  EXPECT_EQ(made["proof"]["result"], "incomplete") << made;
  EXPECT_NE(made["proof"]["incomplete_because"].get<std::string>().find("starvation"), std::string::npos) << made;
}

TEST(trials, what_only_the_proof_has_found_counts) {
  tools::trial made;
  EXPECT_FALSE(made.as_expected()) << "no schedule has come to its end";
  made.runs.schedules = 1;
  EXPECT_TRUE(made.as_expected());
  made.proof = tools::proof_attempt{};
  EXPECT_TRUE(made.as_expected()) << "an attempt that came to nothing says nothing";
  made.proof->found = scheduler::finding{};
  made.proof->found->first.outcome = scheduler::verdict::deadlock;
  EXPECT_EQ(made.seen(), scheduler::verdict::deadlock);
  EXPECT_FALSE(made.as_expected());
  made.expected = scheduler::verdict::deadlock;
  EXPECT_TRUE(made.as_expected());
  made.proof->found->not_reproducible = "other steps";
  EXPECT_FALSE(made.as_expected());
}

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
