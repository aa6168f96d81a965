// What the lanes and host threads of a run did and found, as one number: the same in two runs that differ only in the order of what no lane can
// notice.
#pragma once

#include <heddle/scheduler/digest.h>
#include <heddle/sim/machine/lane.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

/// Takes the operations of each lane in their order, with what each found or left; between lanes there is no order but that in which they take
/// mutexes. A look that finds what it found before, in a loop that does nothing but look, is none: how often a lane went round tells nothing.
/// Costs nothing where it is off.
class behaviour_watch {
 public:
  /// A new run.
  void reset(bool on) {
    on_ = on;
    if (!of_lane_.empty()) [[unlikely]]
      forget();
  }
  bool on() const { return on_; }

  /// The lane has performed its pending operation. `where` and `value`: its location and what it found or stored, as every process would say it.
  void performed(const lane& self, uint64_t where, uint64_t value);
  /// Of the run so far; never 0.
  uint64_t value() const;

 private:
  struct look {
    uint64_t value = 0;
    uint64_t stretch = 0;
  };
  struct known {
    uint64_t name = 0;
    scheduler::digest done;
    uint64_t stretch = 1;  ///< of nothing but looks
    std::unordered_map<uint64_t, look> looks;
  };
  static bool looks_only(operation_kind kind);
  known& of_lane(const lane& self);
  [[gnu::cold]] void forget();

  bool on_ = false;
  std::vector<known> of_lane_;                       ///< by id
  std::unordered_map<const void*, uint64_t> taken_;  ///< how often a mutex has been taken
};

}  // namespace heddle::sim
