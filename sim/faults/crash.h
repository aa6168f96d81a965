// What ends a process ends a run: faults and signals of the code under test, stacks that overflow, and runs that stand still.
#pragma once

#include <heddle/scheduler/verdict.h>
#include <heddle/sim/base/outcome.h>
#include <heddle/sim/base/sanitizers.h>
#include <heddle/sim/code/source_line.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heddle::sim {

/// How a run came to a sudden end. Nothing but numbers and letters, so that a signal handler can write it, and another process that has the same
/// program at the same addresses can read it.
struct fault_note {
  enum class what : uint32_t { nothing, signal, overflow, stuck, abandoned };
  what kind = what::nothing;
  int signal = 0;  ///< its number
  int code = 0;    ///< why, as siginfo_t::si_code
  uint64_t address = 0;
  bool by_store = false;      ///< of a fault: it was a store
  bool by_jump = false;       ///< of a fault: there is no code at the address
  bool in_simulator = false;  ///< the simulator itself has come upon it
  bool is_doubtful = false;   ///< what came upon it is not what caused it: the memory of the process may be damaged
  bool on_host = false;       ///< of an overflow: of a host thread's stack
  uint32_t stack_kib = 0;     ///< of an overflow: how large that was
  char actor[80] = {};        ///< "wave 0 lane 1", "host main"; empty when no lane was running
  call_chain calls = {};
  uint64_t steps = 0;
  uint64_t choices = 0;  ///< that had been made
  uint64_t digest = 0;

  bool is_there() const { return kind != what::nothing; }
};

/// What a process that runs schedules and the one that watches it share. Each member is written by one of them.
struct watched_run {
  /// What the watcher asks for, with a signal.
  enum class asks : uint32_t { nothing, steps, end_as_stuck, abandon };

  std::atomic<uint64_t> runs = 0;  ///< begun and ended: odd while one is under way
  std::atomic<asks> asked = asks::nothing;
  std::atomic<bool> insists = false;  ///< wherever it stands, also where that cannot be trusted
  std::atomic<bool> survives =
      false;  ///< a run that may have damaged the process is told all the same, as far as that goes
  std::atomic<uint64_t> stuck_runs = 0;     ///< that were ended for the watcher
  std::atomic<uint64_t> answers = 0;        ///< given to the watcher
  std::atomic<uint64_t> steps = 0;          ///< of the run that is under way, as of the last answer
  std::atomic<bool> is_damaged = false;     ///< a run came to its end in this process, which is not to make another one
  std::atomic<bool> note_is_there = false;  ///< release: `note` has been written
  fault_note note = {};
};

/// The signal by which a watcher asks.
int watch_signal();

/// From now on this process is watched: what ends a run is noted there. To be called in a process that has been forked for that. Null: no longer.
void be_watched(watched_run* by);

/// To be called on each OS thread that runs simulations. From then on a fault of a lane of this thread ends its run with the verdict `crash`:
/// a signal that the code under test raises, or a stack that overflows. Other faults, and those after which the process cannot be trusted
/// unless it is watched, end the process as they would have without this.
void catch_crashes();

/// In words, as the outcome of a run that was seen from outside: verdict, where, message, report, steps and digest.
outcome outcome_of(const fault_note& note);
/// One line.
std::string message_of(const fault_note& note);

// Exceptions that leave a lane, and std::terminate: the run ends where they were thrown.

/// From then on an exception that no function of a lane catches ends the run with verdict `assertion` at the place of the throw; and whatever
/// else calls std::terminate in a lane, be it an exception that leaves what is noexcept, with verdict `crash`. Outside of lanes std::terminate
/// does what it did before.
void end_runs_at_terminate();

}  // namespace heddle::sim
