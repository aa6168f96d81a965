// `replay --break` and `replay --gdb`: a recorded run under a debugger.
#pragma once

#include <heddle/sim/observe/debugger.h>
#include <heddle/tools/cli/command_line.h>

#include <string>

namespace heddle::tools {

/// While it lives, explained runs stop where `--break` says.
class stops_of_command {
 public:
  explicit stops_of_command(const invocation& asked);
  ~stops_of_command();
  stops_of_command(const stops_of_command&) = delete;
  stops_of_command& operator=(const stops_of_command&) = delete;

  /// One line when the runs cannot stop there: a place is none, or no debugger is attached, without which a stop ends the process.
  const std::string& error() const { return error_; }
  bool any() const { return !stops_.empty(); }

 private:
  sim::debugger_stops stops_;
  std::string error_;
};

/// Becomes gdb, which starts the same command with `--break`, and has the commands `heddle lanes` and `heddle lane` (lanes.py). Returns only when there
/// is no gdb: the exit status, behind a line.
int become_gdb(const invocation& asked);

}  // namespace heddle::tools
