// What the two halves of `heddle progress` share.
#pragma once

#include <heddle/tools/cli/command_line.h>
#include <heddle/tools/progress/judge/program.h>

#include <string>

namespace heddle::tools {

/// The program that a word of the command line means: that of a shape by its name, or the word itself. Throws
/// std::invalid_argument with one line.
judge::program program_asked_for(const std::string& word);

/// Plays programs and tables of programs (FILE.csv) on the simulated machine; prints, and gives the exit status. Throws
/// std::invalid_argument with one line about wrong input.
int simulate_progress(const invocation& asked);

}  // namespace heddle::tools
