// The steps of a run in words, as a story tells them.
#pragma once

#include <heddle/sim/observe/run_record.h>
#include <heddle/tools/trial/slot_names.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace heddle::tools {

/// Whether the operation is a read-modify-write, be it one that fails.
inline bool modifies(sim::operation_kind kind) {
  return kind == sim::operation_kind::read_modify_write || kind == sim::operation_kind::compare_exchange;
}

inline bool is_plain_access(sim::operation_kind kind) {
  return kind == sim::operation_kind::plain_load || kind == sim::operation_kind::plain_store;
}

/// " waits" behind the name of a wave, a lane or a host; " wait" behind one of several lanes, "wave 0 lanes 1-2".
inline const char* waits_behind(const std::string& name) {
  return name.find(" lanes ") == std::string::npos ? " waits" : " wait";
}

/// " where it fails" behind a compare-exchange that acquires, which this one has not: it has failed with another order.
inline std::string where_it_fails(const std::string& operation) {
  const bool acquires = operation.find(" ac") != std::string::npos || operation.find(" seq_cst") != std::string::npos;
  return operation.starts_with("compare-exchange") && acquires ? " where it fails" : "";
}

/// Whether it has read what memory of a device holds in the beginning, by the default of the setting `fill`.
bool is_never_stored(const sim::run_record::step& one);

class step_words {
 public:
  explicit step_words(const sim::run_record& of) : of_(of), names_(of) {
    for (const sim::run_record::step& each : of.steps) lanes_[of.actors[each.actor].wave].insert(each.actor);
  }

  /// Null where the record has no such step.
  const sim::run_record::step* step_at(uint64_t number) const;
  /// "wave 1" where one lane of it has moved, else "wave 1 lane 0".
  std::string name_of(uint32_t actor) const;
  /// "rpc/port/process.h:49"; empty where it is not known. "wrap.h:12 from ring.cu:40" where steps that are told apart are at that line.
  std::string where(const sim::run_record::step& one) const;
  /// These steps are told together: those at one line, to which several calls have led, have from now on the line of the call.
  void tell_apart(const std::set<uint64_t>& numbers);
  /// " (step 7, rpc/port/process.h:49)"
  std::string at(uint64_t number) const;
  /// "the client's outbox of port 0", "ring->tail", "ready+0x0"
  std::string place_of(const sim::run_record::step& one) const;
  /// "stores ring->tail = 2", "takes the client's lock of port 0", "reads ready+0x0: 1"
  std::string deed_of(const sim::run_record::step& one) const;

  /// Whether it waits for notice at an object that deed_of() names.
  bool is_wait_for_notice(const sim::run_record::step& one) const;

  /// How far the step is atomic: its scope, and of volatile accesses and of host threads the system.
  scope reach_of(const sim::run_record::step& one) const;

  /// Whether it is at the locks of named slots.
  bool is_lock_of_slot(const sim::run_record::step& one) const;
  /// Whether it is at outboxes or locks of named slots.
  bool is_of_slot(const sim::run_record::step& one) const;

  /// Whether the step, which has a place, is at this one of the wait graph: "ring+0x4".
  bool is_at(const sim::run_record::step& one, const std::string& place) const;
  /// "ring->tail" of "ring+0x4", "the client's outbox of port 0" of "ports+0x0".
  std::string part_at(const std::string& place) const;

 private:
  std::string text_of(uint64_t value, const sim::run_record::step& one) const;
  std::string value_of(uint64_t value, const sim::run_record::step& one, const char* between) const;

  const sim::run_record& of_;
  slot_names names_;
  std::map<uint32_t, std::set<uint32_t>> lanes_;  ///< by wave: actors that have moved
  std::map<uint32_t, std::string> from_;          ///< by call chain: the line that tells it from others to the same one
};

}  // namespace heddle::tools
