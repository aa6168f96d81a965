// What the lanes and host threads of a run did and found, as one number: the same in two runs that differ only in the order of what no lane can
// notice.
#pragma once

#include <heddle/scheduler/digest.h>
#include <heddle/sim/machine/lane.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

/// Takes the operations of each lane in their order, with what each found or left; of the order between lanes that in which they take a mutex, or
/// change a word by read-modify-writes. A load that finds what the lane has last found or left there is none, and neither is a
/// read-modify-write that fails as it did before: how often a lane looks before a wait ends tells nothing. Costs nothing where it is off.
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
  /// What it performed has changed memory.
  void changed(const lane& self, const void* address);
  /// Of the run so far; never 0.
  uint64_t value() const;

 private:
  struct known {
    uint64_t name = 0;
    scheduler::digest done;
    std::unordered_map<const void*, uint64_t> words;  ///< what it has last found or left
    /// What read-modify-writes have found since it has done anything else that counts, by place and address.
    std::unordered_map<uint64_t, uint64_t> tries;
  };
  known& of_lane(const lane& self);
  [[gnu::cold]] void forget();

  bool on_ = false;
  std::vector<known> of_lane_;                         ///< by id
  std::unordered_map<const void*, uint64_t> changes_;  ///< of a word, and how often a mutex has been taken
};

}  // namespace heddle::sim
