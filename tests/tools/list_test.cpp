#include "command.h"

namespace heddle::tests {
namespace {

TEST(list, names_scenarios_with_defaults_and_expected_verdicts) {
  const ended_process ended = heddle({"list"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.out.find("port.echo\n    Calls come back.\n    calls=3\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("zoo.crossed-calls  (expected: deadlock)\n"), std::string::npos);
  EXPECT_LT(ended.out.find("fake.racy"), ended.out.find("port.echo")) << "sorted by name";
}

TEST(list, json_has_the_documented_keys_and_the_machines_settings) {
  const nlohmann::json all = heddle_json({"list"});
  ASSERT_TRUE(all.contains("scenarios"));
  for (const nlohmann::json& each : all["scenarios"]) {
    ASSERT_TRUE(has_keys(each, {"name", "summary", "expected", "parameters"})) << each;
    for (const nlohmann::json& key : each["parameters"])
      EXPECT_TRUE(has_keys(key, {"key", "type", "default", "min", "max", "unit", "help"})) << key;
  }
}

TEST(list, a_scenarios_own_default_wins_over_the_machines) {
  const nlohmann::json all = heddle_json({"list"});
  for (const nlohmann::json& each : all["scenarios"]) {
    const bool own = each["name"].get<std::string>().starts_with("fake.a-name");
    for (const nlohmann::json& key : each["parameters"]) {
      if (key["key"] == "budget") {
        EXPECT_EQ(key["default"], own ? 500 : 1'000);
      }
    }
  }
}

}  // namespace
}  // namespace heddle::tests
