// Virtual time of the scenarios that ship: keeping it changes no run of any, and what it says of calls is plausible.
#include "../../scenarios/ports.h"

#include <gtest/gtest.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/sim/call_times.h>
#include <heddle/tools/gtest_main.h>
#include <heddle/tools/trial/trial.h>

#include <algorithm>
#include <string>
#include <vector>

namespace heddle::tools {
namespace {

const scenario& named(const std::string& name) {
  const auto& all = scenarios();
  return *std::find_if(all.begin(), all.end(), [&](const scenario& each) { return each.name == name; });
}

std::optional<call_latency> latency(const std::string& name, const std::vector<std::string>& assignments) {
  const settings_or_error set = simulator_settings(named(name), assignments);
  EXPECT_TRUE(set.value) << set.error;
  return latency_of(named(name), *set.value, "random", 1, 100);
}

TEST(latency, no_run_of_any_scenario_is_another_where_time_is_kept) {
  scheduler::choice_source choices;
  sim::simulation plain;
  sim::simulation timed;
  sim::call_times times;
  timed.time_calls(&times);
  for (const char* fidelity : {"", "fidelity=link", "fidelity=interleaving"})
    for (const scenario& each : scenarios()) {
      std::vector<std::string> assignments = {"budget=3000"};
      if (*fidelity != 0) assignments.emplace_back(fidelity);
      const settings_or_error set = simulator_settings(each, assignments);
      if (!set.value) continue;  // its own settings need another memory
      std::string wrong;
      const auto deciding = scheduler::make_strategy("random", wrong);
      for (uint64_t seed = 1; seed <= 4; ++seed) {
        choices.begin(*deciding, seed);
        const scheduler::run_result without = run_scenario(plain, each, *set.value, choices, false);
        const auto answers = choices.recorded().size();
        choices.begin(*deciding, seed);
        const scheduler::run_result with = run_scenario(timed, each, *set.value, choices, false);
        const std::string about = each.name + ' ' + fidelity + ", seed " + std::to_string(seed);
        ASSERT_EQ(with.digest, without.digest) << about;
        ASSERT_EQ(with.outcome, without.outcome) << about;
        ASSERT_EQ(with.steps, without.steps) << about;
        ASSERT_EQ(choices.recorded().size(), answers) << about;
      }
    }
  EXPECT_GT(times.took_ps.size(), 1000U);
}

TEST(latency, calls_of_all_protocols_have_one_and_other_scenarios_have_none) {
  for (const char* name : {"port.echo", "port.stream", "slot.echo", "slot.device-server", "offload.ring",
                           "hostcall.echo", "service.calls", "zoo.crossed-calls.fixed"})
    EXPECT_TRUE(latency(name, {})) << name;
  for (const char* name : {"driver.two-streams", "sctbench.account", "lanes.flag-then"})
    EXPECT_FALSE(latency(name, {})) << name;
}

TEST(latency, a_call_through_a_port_takes_longer_over_a_longer_link) {
  const auto one = latency("port.echo", {"waves=1", "lanes=1", "ports=1", "calls=1"});
  const auto two = latency("port.echo", {"waves=1", "lanes=1", "ports=1", "calls=1", "link.read_ns=2200",
                                         "link.posted_ns=900", "link.fence_ns=1000", "memory.device_ns=640"});
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->calls, 100U);
  EXPECT_EQ(one->median_ns, one->longest_ns) << "one call at a time, whatever the schedule";
  EXPECT_DOUBLE_EQ(two->median_ns, 2 * one->median_ns);
}

/// Calls through ports without checks, which read over the link themselves.
struct unchecked_kernel {
  rpc::basic_client<target, rpc::unchecked> client;
  tests::callers who;

  void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      auto port = client.open<rpc::user_opcode(1)>();
      uint64_t answer = 0;
      port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = who.request(call); },
                         [&](rpc::packet& from, uint32_t) { answer = from.words[0]; });
      HEDDLE_CHECK(answer == who.request(call), "the answer is not the one to this lane's request");
    }
  }
};

void run_unchecked(const parameters& set) {
  device on;
  tests::port_test test(on, set);
  test.run<target, rpc::unchecked>(
      unchecked_kernel{test.client<target, rpc::unchecked>(), test.who()},
      [](auto& port, const auto& account) {
        port.recv_and_send([&](rpc::packet& both, uint32_t) { account(both.words[0]); });
      },
      tests::all_calls(set));
}

[[maybe_unused]] const bool unchecked_echo = register_scenario(
    run_unchecked,
    {.name = "test.unchecked-echo", .summary = "calls", .parameters = tests::port_parameters(1, 1, 1, 4)});

/// How many of what takes a microsecond, where nothing else takes time, a call waits for one behind the other.
double count_in_a_call(const char* setting) {
  std::vector<std::string> assignments;
  for (const char* each : {"link.read_ns", "link.posted_ns", "link.fence_ns", "link.launch_ns", "memory.device_ns"})
    assignments.push_back(std::string(each) + (std::string(each) == setting ? "=1000" : "=0"));
  const auto found = latency("test.unchecked-echo", assignments);
  EXPECT_TRUE(found && found->calls == 400 && found->median_ns == found->longest_ns);
  return found ? found->median_ns / 1000 : 0;
}

TEST(latency, a_call_through_a_port_polls_and_reads_its_answer_and_nothing_else_over_the_link) {
  EXPECT_EQ(count_in_a_call("link.read_ns"), 2) << "the look that finds the answer, and the answer";
  EXPECT_EQ(count_in_a_call("link.fence_ns"), 1) << "the hand-over";
  EXPECT_EQ(count_in_a_call("memory.device_ns"), 2) << "the lock, with the state of the port, and the unlock";
}

TEST(latency, a_call_waits_for_a_port_that_others_hold) {
  const auto alone = latency("port.echo", {"waves=1", "lanes=1", "ports=1", "calls=1"});
  const auto many = latency("port.echo", {"waves=4", "lanes=1", "ports=1", "calls=1"});
  ASSERT_TRUE(alone && many);
  EXPECT_GT(many->median_ns, alone->longest_ns);
  EXPECT_GE(many->longest_ns, 3 * alone->longest_ns);
}

TEST(latency, a_server_that_sleeps_costs_a_call_its_wake_up_or_the_rest_of_its_sleep) {
  const auto with = [](const char* rings, const char* wakes) {
    return latency("port.rings", {"waves=1", "lanes=1", "ports=1", "calls=1", rings, wakes});
  };
  const auto rung = with("rings=1", "doorbells.wake_ns=0");
  const auto rung_late = with("rings=1", "doorbells.wake_ns=10000");
  const auto not_rung = with("rings=0", "doorbells.wake_ns=0");
  const auto not_rung_late = with("rings=0", "doorbells.wake_ns=10000");
  ASSERT_TRUE(rung && rung_late && not_rung && not_rung_late);
  EXPECT_NEAR(rung_late->median_ns, rung->median_ns + 10'000, 500);
  // The scenario's servers sleep for 1 ms.
  EXPECT_GT(not_rung->median_ns, 900'000);
  EXPECT_LE(not_rung->longest_ns, 1'010'000);
  EXPECT_GT(not_rung_late->median_ns, not_rung->median_ns);
}

}  // namespace
}  // namespace heddle::tools
