// The command on the real simulator: enough to see that the two fit.
#include <filesystem>

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

TEST_F(real_command, a_trace_of_another_fidelity_is_taken_with_all_the_settings_that_it_names) {
  const nlohmann::json found =
      nlohmann::json::parse(run_process({REAL_HEDDLE, "fuzz", "zoo.crossed-calls", "--schedules", "50", "--set",
                                         "fidelity=interleaving", "--json"})
                                .out)["scenarios"][0]["findings"];
  ASSERT_FALSE(found.empty());
  const std::string token = found[0]["token"];
  EXPECT_EQ(run_process({REAL_HEDDLE, "replay", token}).status, 1);
}

}  // namespace
}  // namespace heddle::tests
