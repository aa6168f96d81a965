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

}  // namespace
}  // namespace heddle::tests
