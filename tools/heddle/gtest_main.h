// The main of a test program with HEDDLE_TEST: include it in one file. `./tests` runs the tests, and the commands of
// heddle work too, so that `./tests replay TOKEN` repeats what a failing test found.
#pragma once

#include <gtest/gtest.h>
#include <heddle/tools/cli/command_line.h>
#include <heddle/tools/main.h>

#include <algorithm>
#include <string>

int main(int argument_count, char** arguments) {
  const auto& commands = heddle::tools::command_names();
  const std::string first = argument_count > 1 ? arguments[1] : "";
  if (std::find(commands.begin(), commands.end(), first) != commands.end())
    return heddle::main(argument_count, arguments);
  testing::InitGoogleTest(&argument_count, arguments);
  return RUN_ALL_TESTS();
}
