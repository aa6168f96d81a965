// Scenarios as GoogleTest tests. Link heddle::main and GTest::gtest.
//
//   #include <heddle/tools/gtest_main.h>                  // in one file of the program
//   HEDDLE_TEST(ports, "port.*", 1000);                   // a test for every such scenario: heddle/ports.run/port_echo
//   HEDDLE_TEST(wide_ports, "port.echo", 1000, "waves=8", "ports=2");
//
// With a main() of your own, testing::InitGoogleTest makes the tests.
//
// A failing test prints what was found, its report and its token, and the command that runs it again; it writes the
// trace and a page for a browser, and says where (check.h).
#pragma once

#include <gtest/gtest.h>
#include <heddle/tools/check.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tools {

/// One use of HEDDLE_TEST.
struct announced_tests {
  std::string suite;
  std::string pattern;
  uint64_t schedules = 0;
  std::vector<std::string> settings;  ///< "key=value"
  const char* file = nullptr;
  int line = 0;
};

/// The uses that are not tests yet.
inline std::vector<announced_tests>& all_announced_tests() {
  static std::vector<announced_tests> all;
  return all;
}

/// What HEDDLE_TEST does while the program starts. Which scenarios there are is not known before all of it has started.
inline bool announce_tests(const char* suite, const char* pattern, uint64_t schedules,
                           std::initializer_list<const char*> settings, const char* file, int line) {
  all_announced_tests().push_back({suite, pattern, schedules, {settings.begin(), settings.end()}, file, line});
  return true;
}

/// A test of one scenario.
class scenario_test : public testing::Test {
 public:
  scenario_test(std::shared_ptr<const announced_tests> use, std::string scenario)
      : use_(std::move(use)), scenario_(std::move(scenario)) {}

 private:
  // GoogleTest's name.
  void TestBody() override {  // NOLINT(readability-identifier-naming)
    const std::string failure = check_scenario(scenario_, use_->schedules, use_->settings);
    if (!failure.empty()) ADD_FAILURE_AT(use_->file, use_->line) << failure;
  }

  std::shared_ptr<const announced_tests> use_;
  std::string scenario_;
};

/// A scenario's name in letters that GoogleTest takes.
inline std::string plain_letters(std::string name) {
  for (char& letter : name) {
    const bool plain =
        (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9');
    if (!plain) letter = '_';
  }
  return name;
}

/// The same of a scenario that is a parameter of tests.
inline std::string test_name(const testing::TestParamInfo<std::string>& tested) { return plain_letters(tested.param); }

/// Makes tests of all that is announced. Returns nothing: it is the values of a test with parameters, whose values
/// GoogleTest asks for in InitGoogleTest, before it selects tests.
inline std::vector<int> make_announced_tests() {
  for (announced_tests& each : std::exchange(all_announced_tests(), {})) {
    const auto use = std::make_shared<const announced_tests>(std::move(each));
    for (const std::string& scenario : scenario_names(use->pattern))
      testing::RegisterTest(("heddle/" + use->suite).c_str(), ("run/" + plain_letters(scenario)).c_str(), nullptr,
                            testing::PrintToString(scenario).c_str(), use->file, use->line,
                            [use, scenario]() -> testing::Test* { return new scenario_test(use, scenario); });
  }
  return {};
}

class makes_announced_tests : public testing::TestWithParam<int> {};

// Each file that has HEDDLE_TEST asks; the first makes the tests of all.
namespace {
TEST_P(makes_announced_tests, never) {}
INSTANTIATE_TEST_SUITE_P(heddle, makes_announced_tests, testing::ValuesIn(make_announced_tests()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(makes_announced_tests);
}  // namespace

}  // namespace heddle::tools

/// Makes each scenario that `pattern` selects a test of the suite, over so many schedules each; what follows are
/// settings, "key=value".
#define HEDDLE_TEST(suite, pattern, schedules, ...)         \
  [[maybe_unused]] static const bool heddle_tests_##suite = \
      ::heddle::tools::announce_tests(#suite, pattern, schedules, {__VA_ARGS__}, __FILE__, __LINE__)
