// Options that are settings by another name, so that recorded runs have them too.
#pragma once

#include <heddle/tools/cli/command_line.h>
#include <heddle/tools/cli/common.h>

#include <string>
#include <vector>

namespace heddle::tools {

/// Files of excuses become a setting, too.
inline void take_excuses(invocation& into) {
  std::string all;
  for (const std::string& file : into.change.excuses) all += (all.empty() ? "" : ",") + file;
  if (!all.empty()) into.settings.push_back("races.known=" + all);
}

/// Arguments for the program's own main() become a setting, so that recorded runs have them too. One line when the command has no use for them.
inline std::string take_arguments_of_main(const std::vector<std::string>& words, invocation& into) {
  if (into.command != "fuzz" && into.command != "run" && into.command != "verify" && into.command != "import")
    return into.command + ": nothing can stand behind --; a recorded run has the arguments that it was made with";
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + shell_word(word);
  into.settings.push_back("args=" + all);
  return {};
}

/// What is assumed becomes a setting, so that recorded runs have it too.
inline void take_assumptions(invocation& into) {
  std::string all;
  for (const std::string& each : into.change.assumed) all += (all.empty() ? "" : ",") + each;
  if (!all.empty()) into.settings.push_back("assume=" + all);
}

}  // namespace heddle::tools
