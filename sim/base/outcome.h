// The outcome of a run, as plain data.
#pragma once

#include <heddle/scheduler/verdict.h>

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heddle::sim {

/// One performed operation of a recorded run, for reading: its actor, operation, location, value and source line.
struct step_record {
  uint64_t step = 0;
  std::string actor;       ///< "wave 0 lane 3", "host server"
  std::string operation;   ///< "load acquire system", "plain store", "pause", ...
  std::string location;    ///< "mailboxes+0x40 (4 bytes)"; empty when it touches nothing
  std::string part;        ///< what the program calls it: "mailboxes[1].state"; empty where its type is not known
  std::string value;       ///< what was read or written
  std::string value_name;  ///< the enumerator of that value; mostly empty
  std::string where;       ///< file:line
  std::string note;        ///< what the machine chose for it: "an older value: missed step 22"; mostly empty
  bool is_event = false;   ///< no step of an actor: a store of another step arrives, or a wave leaves the device
};

/// A store that another schedule of the same program made, for the report of a hang: told as such.
struct store_elsewhere {
  std::string place;  ///< as reports name it
  std::string actor;
  std::string where;                      ///< file:line
  std::vector<std::string> read_by = {};  ///< actors that have read it there: it may have ended their wait
  friend auto operator<=>(const store_elsewhere&, const store_elsewhere&) = default;
};

/// What is known of other schedules.
struct other_schedules {
  std::vector<store_elsewhere> stores;
  uint64_t runs = 0;
};

/// How a run ended.
struct outcome {
  scheduler::verdict verdict = scheduler::verdict::ok;
  uint64_t races = 0;        ///< counted, with races=count
  uint64_t scope_races = 0;  ///< likewise; not among `races`
  /// Races that were left alone, by what excuses them: a kind, "acquire", or where an excuse stands, "excuses.txt:3".
  std::map<std::string, uint64_t> excused;
  std::string where;    ///< file:line (or a name) that the verdict is about; groups findings; empty when ok
  std::string message;  ///< one line: what happened
  std::string report;   ///< several lines: every waiting lane, what it reads, what could change that; only with explain
  std::string waits;    ///< the wait graph in the DOT language; empty when no thread waits; only with explain
  /// Places that a lane waits for, and of which the run does not say what would change them; only with explain.
  std::vector<std::string> unexplained;
  std::vector<step_record> steps_taken;  ///< only with explain
  uint64_t steps = 0;
  uint64_t library_steps = 0;        ///< of the steps, plain accesses to the C++ heap
  uint64_t switches = 0;             ///< changes from one lane or host thread to another
  std::vector<std::string> waiting;  ///< of a hang: threads that wait, lanes by wave: "host main", "wave 1 lanes 0-3"
  /// Of a hang: the roles of the threads that wait, each once, in alphabetical order: "host main, host server, wave". Equal for hangs that differ
  /// only in which waves wait, and how many.
  std::string hang;
  uint64_t digest = 0;
  uint64_t behaviour = 0;          ///< what its lanes did and found (observe/behaviour.h); 0: it was not looked at
  bool stopped_by_source = false;  ///< the choice source gave no_answer: the verdict says nothing
};

}  // namespace heddle::sim
