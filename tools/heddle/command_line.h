// The arguments of the command, read and checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::tools {

/// One call of the command. Each subcommand uses its own fields.
struct invocation {
  std::string program;  ///< as it was typed
  std::string command;  ///< list, fuzz, replay, help or version
  bool json = false;

  std::vector<std::string> scenarios;  ///< fuzz: names and patterns; all when empty
  uint64_t schedules = 0;              ///< fuzz: per scenario; 0: as many as the time allows
  double seconds_max = 0;              ///< fuzz: for all scenarios together; 0: no limit
  uint64_t seed = 1;
  std::string strategy = "mix";
  std::vector<std::string> settings;  ///< fuzz: "key=value"
  std::string out_folder;             ///< fuzz: where findings are written; empty: nowhere

  std::string file_or_token;  ///< replay
  bool show_steps = false;
  uint64_t repeat = 1;

  std::string topic;  ///< help: a command, or empty
};

/// The invocation, or one line that says what is wrong with the arguments.
struct invocation_or_error {
  invocation value;
  std::string error;
};
invocation_or_error parse_command_line(int argument_count, const char* const* arguments);

/// The subcommands, in the order in which help lists them.
const std::vector<std::string>& command_names();

}  // namespace heddle::tools
