// What is told of a run beside its verdict and its numbers: the report, the steps, which waits for which, the record.
#pragma once

#include <heddle/sim/base/outcome.h>
#include <heddle/sim/observe/run_record.h>
#include <heddle/sim/run/execution.h>

#include <string>
#include <vector>

namespace heddle::sim {

class run_report {
 public:
  explicit run_report(execution& run) : run_(run), core_(run.core()) {}

  /// What reports may say of other schedules; null: nothing.
  void tell_of_others(const other_schedules* known) { others_ = known; }

  /// Of what was written for the run before.
  void forget();
  /// Writes the report of a hang, as things stand now. On the OS thread's own stack.
  void write();
  /// Tells all but numbers and the verdict, of a run that has ended and was not plainly ok, or was recorded. `record`: null where it is not
  /// asked for.
  void tell(outcome& told, run_record* record);

 private:
  void explain(outcome& told, run_record* record);
  run_record record_of(size_t most_steps) const;
  std::string cycle_text() const;
  static std::string roles_of(const std::vector<std::string>& waiting);

  execution& run_;
  run_core& core_;
  const other_schedules* others_ = nullptr;
  std::string waits_;  ///< the graph of the report, in the DOT language
  std::vector<wait_edge> edges_;
  std::vector<unknown_wait> unknown_;
  std::vector<size_t> circle_;
  std::vector<std::string> unexplained_;
};

// What you need to see of steps that are repeated for ever: which lane does what, where, on what, with which values.

/// Several lines: for each lane its steps in the order of their first time, equal ones counted.
std::string cycle_report(const std::vector<step_record>& steps);

}  // namespace heddle::sim
