// The command `verify` on the real simulator: its three ends, what it writes, and what it says of the zoo and of the protocols.
#include <heddle/scheduler/trace.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "command.h"

namespace heddle::tests {
namespace {

using nlohmann::json;

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
  const ended_process ended = verify(small_echo);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(ended.out.find("port.echo: proved: no run ends badly"), std::string::npos) << ended.out;
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
  const ended_process ended = verify(with(small_echo, {"--set", "progress=hsa"}));
  EXPECT_EQ(ended.status, 0) << ended.out;
  EXPECT_NE(ended.out.find("port.echo: progress at "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("is not guaranteed a turn"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("not reproducible"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\n  as a page: " REAL_HEDDLE " report TOKEN\n"), std::string::npos) << ended.out;
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
  expect_refused({"port.echo", "--set", "starvation=8"}, "cannot tell how often somebody was passed over");
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
  const json made = verify_json(with(small_entries, {"--set", "fixed=yes"}));
  ASSERT_EQ(made["proofs"].size(), small_entries.size());
  for (const json& each : made["proofs"]) EXPECT_EQ(each["result"], "proved") << each;
  EXPECT_EQ(made["ok"], true);
}

TEST_F(verify_command, proves_what_protocols_claim) {
  const json made = verify_json({"--all", "port.*", "offload.*", "ring.*"});
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

TEST_F(verify_command, a_claim_that_does_not_hold_is_told) {
  const ended_process ended = verify({"--all", "offload.single", "--states", "5"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("  not as claimed: fair is incomplete, 5 states\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find(" not as claimed\n"), std::string::npos) << ended.out;
}

}  // namespace
}  // namespace heddle::tests
