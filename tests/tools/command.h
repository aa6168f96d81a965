// The command on the fake machine, for tests.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "process.h"

namespace heddle::tests {

inline ended_process heddle(std::vector<std::string> arguments, const process_options& options = {}) {
  arguments.insert(arguments.begin(), FAKE_HEDDLE);
  return run_process(arguments, options);
}

inline nlohmann::json heddle_json(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const ended_process ended = heddle(arguments);
  return nlohmann::json::parse(ended.out, nullptr, false);
}

inline std::vector<std::string> keys_of(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

inline bool has_keys(const nlohmann::json& object, const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    if (!object.contains(key)) return false;
  return true;
}

/// The token of the first finding of a scenario.
inline std::string token_of(const std::string& scenario) {
  return heddle_json({"fuzz", scenario, "--schedules", "100"})["scenarios"][0]["findings"][0]["token"];
}

}  // namespace heddle::tests
