// Per-lane progress counters that a machine which records a run from within can reproduce (scheduler/follow.h).
#pragma once

#include <heddle/sim/machine/lane.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

/// A lane's counter rises when it changes memory by an atomic operation, and when it reads by one what it did not know: a word for
/// the first time, or another value than it last read or left there. Plain accesses do not count. Costs nothing where it is off.
class headway_watch {
 public:
  /// A new run.
  void reset(bool on) {
    on_ = on;
    if (!of_lane_.empty()) [[unlikely]]
      forget();
  }
  bool on() const { return on_; }

  /// The lane has performed its pending operation and found, or stored, `value`.
  void performed(const lane& who, uint64_t value);
  /// What it performed has changed memory.
  void changed(const lane& who, const void* address);

  uint64_t of(const lane& who) const;

 private:
  struct known {
    uint64_t changes = 0;
    uint64_t news = 0;
    std::unordered_map<const void*, uint64_t> values;
  };
  known& of_lane(const lane& who);
  [[gnu::cold]] void forget();

  bool on_ = false;
  std::vector<known> of_lane_;  ///< by id
};

}  // namespace heddle::sim
