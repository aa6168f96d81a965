#include <heddle/tools/command_line.h>

#include <algorithm>

#include "command.h"

namespace heddle::tests {
namespace {

ended_process run_test(const std::string& filter) { return run_process({FAKE_GTEST, "--gtest_filter=" + filter}); }

TEST(gtest_macro, scenarios_that_give_their_expected_verdict_pass) {
  const ended_process ended = run_test("heddle/ports.*:heddle/wide_ports.*:heddle/planted.*");
  EXPECT_EQ(ended.status, 0) << ended.out;
  EXPECT_NE(ended.out.find("heddle/ports.run/port_echo"), std::string::npos) << ended.out;
}

TEST(gtest_macro, a_failure_prints_token_report_and_a_command_that_works) {
  const ended_process ended = run_test("heddle/failing.*");
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("fake.racy: expected ok, found race in 50 schedules"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("lane 0 waits for lane 1"), std::string::npos);
  const size_t token = ended.out.find("heddle1.");
  ASSERT_NE(token, std::string::npos);
  const std::string text = ended.out.substr(token, ended.out.find('\n', token) - token);
  EXPECT_EQ(run_process({FAKE_GTEST, "replay", text}).status, 1);
  // The page of it, where the program can make one.
  const auto& commands = tools::command_names();
  const bool makes_pages = std::find(commands.begin(), commands.end(), "report") != commands.end();
  EXPECT_EQ(ended.out.find(" report " + text + " -o fake.racy-race.html\n") != std::string::npos, makes_pages)
      << ended.out;
}

TEST(gtest_macro, mistakes_fail_with_their_line) {
  EXPECT_NE(run_test("heddle/misspelt.*").out.find("did you mean \"port.echo\"?"), std::string::npos);
  EXPECT_NE(run_test("heddle/unknown_key.*").out.find("unknown key \"waves\""), std::string::npos);
  EXPECT_NE(run_test("heddle/uninstrumented.*").out.find("nothing was scheduled"), std::string::npos);
}

}  // namespace
}  // namespace heddle::tests
