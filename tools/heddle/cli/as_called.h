// A program with a main() that is called as its build or its tests call it, with no command of heddle's.
#pragma once

#include <heddle/tools/cli/command_line.h>

#include <string>
#include <vector>

namespace heddle::tools {

/// Whether the program has one scenario, which is its main().
bool is_one_main();

/// Puts the command of the environment's HEDDLE_AS in front of the words, which are then the arguments of main(). Words that begin with a command
/// stay, and so do those of a program that is several scenarios.
void take_call(std::vector<std::string>& words, invocation& into);

}  // namespace heddle::tools
