// One simulated machine: runs a program under one schedule at a time and says what came of it.
#pragma once

#include <heddle/scheduler/choice.h>
#include <heddle/scheduler/parameters.h>
#include <heddle/sim/base/compiled_program.h>
#include <heddle/sim/base/outcome.h>
#include <heddle/sim/settings.h>
#include <heddle/sim/verify/search.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace heddle::sim {

struct call_times;
struct run_record;
struct search_notes;

/// One line when a run could not assume what `text` says (setting `assume`): it cannot be read, or there is no code of one of its lines.
std::optional<std::string> wrong_assumption(const std::string& text);

/// A machine that is reused from run to run. It belongs to the OS thread that made it; others may each have their own.
class simulation {
 public:
  simulation();
  ~simulation();
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;

  /// Runs `body` as the host's main thread on a fresh machine with these settings (the keys of machine_parameters() are
  /// read, others ignored). All that is left open is asked of `choices`, which has begun. With `explain` the steps are
  /// recorded and the report is written; the digest does not depend on it. With a `record` beside that, the run is told there too
  /// (run_record.h). The outcome is the machine's, which has one for all runs: it holds until the next run.
  const outcome& run(const parameters& settings, const std::function<void()>& body, scheduler::choice_source& choices,
                     bool explain, run_record* record = nullptr);

  /// What reports of the next runs may say of other schedules; null: nothing. It must outlive the runs.
  void tell_of_others(const other_schedules* known);

  /// What explained runs call when a hang is certain under their progress model and they go on, to show whether other lanes could end it; empty:
  /// nothing.
  void when_hang_is_certain(std::function<void()> told);

  /// From the next run on, virtual time is kept, and what calls take in it is added to `into` (time/call_times.h); null: no longer. The runs are
  /// the same, to the bit; they take longer.
  void time_calls(call_times* into);

  /// Goes through all runs of a program (verify/search.h); `run` makes one on this machine.
  search_result search(const explored_run& run, const search_options& options);
  /// Every run from the next one on is part of a search (verify/search.h), which is told what it must know; null: none is.
  void explore(search_notes* notes);

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace heddle::sim
