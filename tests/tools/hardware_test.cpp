#include <gtest/gtest.h>

#include "process.h"

namespace heddle::tests {
namespace {

ended_process hardware(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), FAKE_HARDWARE);
  return run_process(arguments);
}

void expect_refused(const std::vector<std::string>& arguments, const std::string& message) {
  const ended_process ended = hardware(arguments);
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.err, "heddle: " + message + "\n");
  EXPECT_EQ(ended.out, "");
}

TEST(hardware, a_body_is_repeated_with_its_settings) {
  const ended_process ended = hardware({"real.good", "--repeat", "2", "--set", "calls=7"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.out.find("good 7\ngood 7\n"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("good 7\ngood 7\ngood"), std::string::npos) << "no output is printed twice";
  EXPECT_EQ(hardware({"real.good", "--in-process"}).status, 0);
}

TEST(hardware, one_scenario_that_fails_does_not_take_the_others_along) {
  const ended_process ended = hardware({});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("real.leaving: ended the program with status 9"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("real.trapping: killed by signal 6"), std::string::npos);
  EXPECT_EQ(ended.out.find("zoo.hanging"), std::string::npos) << "a planted bug runs only when it is named";
}

TEST(hardware, a_hang_is_killed_after_the_time_out) {
  const ended_process ended = hardware({"zoo.*", "--timeout", "0.2"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("zoo.hanging: no end after 0.2 s"), std::string::npos) << ended.out;
}

TEST(hardware, wrong_input_is_one_line) {
  expect_refused({"real.god"}, "unknown scenario \"real.god\"; did you mean \"real.good\"?");
  const std::string program = FAKE_HARDWARE;
  expect_refused({"list"}, "unknown scenario \"list\"; see " + program + " --list");
  expect_refused({"xyzzy.*"}, "no scenario matches \"xyzzy.*\"; see " + program + " --list");
  expect_refused({"real.good", "--set", "progress=hsa"},
                 "scenario real.good: unknown key \"progress\"; the keys are calls (settings of the machine, such as "
                 "progress, belong to the simulator)");
  expect_refused({"--repeat", "0"}, "--repeat cannot be \"0\"; it must be a whole number from 1 to 1000000000");
  expect_refused({"--timeout", "soon"}, "--timeout cannot be \"soon\"; it must be a time such as 30, 45s or 5m");
}

TEST(hardware, what_only_a_watched_program_can_do_is_refused_elsewhere) {
  expect_refused({"real.good", "--seed", "3"},
                 "--seed is for programs that are built to be watched: link heddle::observed");
  expect_refused({"real.good", "--record"},
                 "--record is for programs that are built to be watched: link heddle::observed");
}

TEST(hardware, list_and_help_print_to_stdout) {
  EXPECT_NE(hardware({"--list"}).out.find("real.good\n    Works.\n    calls=3"), std::string::npos);
  EXPECT_NE(hardware({"--help"}).out.find("--timeout"), std::string::npos);
}

}  // namespace
}  // namespace heddle::tests
