// One simulated machine: runs a program under one schedule at a time and says what came of it.
#pragma once

#include <heddle/scheduler/choice.h>
#include <heddle/scheduler/parameters.h>
#include <heddle/scheduler/verdict.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace heddle::sim {

/// The machine's own settings, to be listed beside a scenario's parameters: progress, convergence, fidelity, resident,
/// budget, ... (docs/settings.md).
std::vector<parameter> machine_parameters();

/// One performed operation of a recorded run, for reading: who, what, where in the source, on what, with which value.
struct step_record {
  uint64_t step = 0;
  std::string actor;      ///< "wave 0 lane 3", "host server"
  std::string operation;  ///< "load acquire system", "plain store", "pause", ...
  std::string location;   ///< "mailboxes+0x40 (4 bytes)"; empty when it touches nothing
  std::string value;      ///< what was read or written
  std::string where;      ///< file:line
  std::string note;       ///< what the machine chose in it: "an older value: missed step 22"; mostly empty
  bool is_event = false;  ///< no step of an actor: a store of another step arrives
};

/// A store that another schedule of the same program made, for the report of a hang: told as such.
struct store_elsewhere {
  std::string place;  ///< as reports name it
  std::string actor;
  std::string where;                      ///< file:line
  std::vector<std::string> read_by = {};  ///< others who have found it there: it may have ended their wait
  friend auto operator<=>(const store_elsewhere&, const store_elsewhere&) = default;
};

/// What is known of other schedules.
struct other_schedules {
  std::vector<store_elsewhere> stores;
  uint64_t runs = 0;
};

/// What came of a run.
struct outcome {
  scheduler::verdict verdict = scheduler::verdict::ok;
  uint64_t races = 0;        ///< counted, with races=count
  uint64_t scope_races = 0;  ///< likewise; not among `races`
  std::string where;         ///< file:line (or a name) that the verdict is about; groups findings; empty when ok
  std::string message;       ///< one line: what happened
  std::string report;  ///< several lines: every waiting lane, what it reads, who could change it; only with explain
  std::string waits;   ///< who waits for whom, in the DOT language; empty when nobody does; only with explain
  /// Places that something waits for, and of which the run does not say what would change them; only with explain.
  std::vector<std::string> unexplained;
  std::vector<step_record> steps_taken;  ///< only with explain
  uint64_t steps = 0;
  uint64_t library_steps = 0;        ///< of the steps, plain accesses to the C++ heap
  uint64_t switches = 0;             ///< how often another lane or host thread went on than the one before
  std::vector<std::string> waiting;  ///< of a hang: who waits, a wave's lanes together: "host main", "wave 1 lanes 0-3"
  /// Of a hang: in which roles they wait, each once, in alphabetical order: "host main, host server, wave". The same whichever of them it is,
  /// and however many.
  std::string hang;
  uint64_t digest = 0;
  bool stopped_by_source = false;  ///< the choice source gave no_answer: the verdict says nothing
};

struct call_times;
struct run_record;
struct search_notes;
struct search_options;
struct search_result;
/// Makes one run of a machine.
using explored_run = std::function<outcome(scheduler::choice_source&)>;

/// Whether any file of the program was compiled with the flags of heddle::under_test.
extern bool is_any_code_instrumented;
/// Whether host threads begin on stacks whose first frames are zero, as the compiler leaves padding of what they are given unwritten.
extern bool begins_on_clear_stacks;

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

  /// From the next run on, virtual time is kept, and what calls take in it is added to `into` (time/call_times.h); null: no longer. The runs are
  /// the same, to the bit; they take longer.
  void time_calls(call_times* into);

  /// Goes through all runs of a program (verify/search.h); `run` makes one on this machine.
  search_result search(const explored_run& run, const search_options& options);
  /// Every run from the next one on is part of a search (verify/search.h), which is told what it must know; null: none is.
  void explore(search_notes* notes);

 private:
  std::unique_ptr<class world> world_;
};

}  // namespace heddle::sim
