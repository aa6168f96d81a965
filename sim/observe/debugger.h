// Where explained runs stop for a debugger: in a step, at a line, at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim {

class heap;
class recorder;

class debugger_stops {
 public:
  /// Adds "STEP", the number of a step; "FILE:LINE", each step that a line of the code under test, or one that it was called from, takes, where of FILE
  /// the end of the path is enough; or "end", where the run has come to its verdict. One line when the text is none of these, or when
  /// the program has no code of the line.
  std::string add(const std::string& text);
  bool empty() const { return steps_.empty() && lines_.empty() && !at_end_; }

  /// Whether the run stops in the step that was recorded last; says so on stderr, in a line. To be called where there is much stack.
  bool tell_step(const recorder& of, const heap& memory, uint64_t step) const;
  /// The same, of the end.
  bool tell_end(const std::string& how) const;

 private:
  struct line {
    std::string file;
    int number = 0;
  };
  std::vector<uint64_t> steps_;
  std::vector<line> lines_;
  bool at_end_ = false;
};

/// From now on explained runs of this process stop there, by SIGTRAP: in a step on the stack of the lane that takes it, at the end on
/// that of the OS thread. A debugger shows that as a breakpoint; without one it ends the process. Null: they stop nowhere. It must outlive the runs.
void stop_runs_at(const debugger_stops* where);
/// What stop_runs_at() was given last.
const debugger_stops* stops_of_runs();
/// Stops here.
void stop_for_debugger();

}  // namespace heddle::sim
