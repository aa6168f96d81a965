// Virtual time of the scenarios that ship: keeping it changes no run of any, and what it says of calls is plausible.
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

TEST(latency, a_call_waits_for_a_port_that_others_hold) {
  const auto alone = latency("port.echo", {"waves=1", "lanes=1", "ports=1", "calls=1"});
  const auto many = latency("port.echo", {"waves=4", "lanes=1", "ports=1", "calls=1"});
  ASSERT_TRUE(alone && many);
  EXPECT_GT(many->median_ns, alone->longest_ns);
  EXPECT_GE(many->longest_ns, 3 * alone->longest_ns);
}

}  // namespace
}  // namespace heddle::tools
