// Scenarios as GoogleTest tests. Link heddle::main and GTest::gtest.
//
//   #include <heddle/tools/gtest_main.h>                  // in one file of the program
//   HEDDLE_TEST(ports, "port.*", 1000);                   // a test for every such scenario: heddle/ports.run/port_echo
//   HEDDLE_TEST(wide_ports, "port.echo", 1000, "waves=8", "ports=2");
//
// A failing test prints what was found, its report and its token, and the command that runs it again; it writes the
// trace and a page for a browser, and says where (check.h).
#pragma once

#include <gtest/gtest.h>
#include <heddle/tools/check.h>

#include <string>

namespace heddle::tools {

/// A scenario's name in letters that GoogleTest takes.
inline std::string test_name(const testing::TestParamInfo<std::string>& tested) {
  std::string name = tested.param;
  for (char& letter : name) {
    const bool plain =
        (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9');
    if (!plain) letter = '_';
  }
  return name;
}

}  // namespace heddle::tools

/// Makes each scenario that `pattern` selects a test of the suite, over so many schedules each; what follows are
/// settings, "key=value".
#define HEDDLE_TEST(suite, pattern, schedules, ...)                                                      \
  class suite : public testing::TestWithParam<std::string> {};                                           \
  TEST_P(suite, run) {                                                                                   \
    const std::string failure = ::heddle::tools::check_scenario(GetParam(), (schedules), {__VA_ARGS__}); \
    EXPECT_TRUE(failure.empty()) << failure;                                                             \
  }                                                                                                      \
  INSTANTIATE_TEST_SUITE_P(heddle, suite, testing::ValuesIn(::heddle::tools::scenario_names(pattern)),   \
                           ::heddle::tools::test_name)
