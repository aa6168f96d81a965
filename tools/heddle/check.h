// A scenario as a test of any test framework.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::tools {

/// Runs a scenario under `schedules` schedules, seeds 1 and up, strategy mix. Empty when it gave its expected verdict;
/// otherwise what a failing test should print: each finding with its report and its token, or what is wrong with the
/// names. What was not expected is written too, as SCENARIO-VERDICT-SEED.heddle.json and, as a page for a browser, .html,
/// into the folder that the environment's HEDDLE_FINDINGS names; without it into Bazel's TEST_UNDECLARED_OUTPUTS_DIR, or into
/// heddle-findings in the current folder. A file that is there is not written over: a number comes before the ending.
std::string check_scenario(const std::string& name, uint64_t schedules, const std::vector<std::string>& settings);

/// The names of the scenarios that a shell pattern selects; the pattern itself when there is none, so that the test
/// which is made of it fails and says so.
std::vector<std::string> scenario_names(const std::string& pattern);

}  // namespace heddle::tools
