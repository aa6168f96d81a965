// The clock that programs read, in cycles.
#pragma once

#include <heddle/sim/machine/lane.h>

#include <algorithm>
#include <cstdint>

namespace heddle::sim {

class program_clock {
 public:
  void reset() { cycle_ = 0; }
  uint64_t cycle() const { return cycle_; }

  /// The cycle at this step, as the lane reads it. Until the lane makes progress, each of its reads advances the clock twice as far as the one
  /// before: loops that wait for a time terminate.
  uint64_t read(lane& self, uint64_t step) {
    constexpr uint64_t cycles_per_step = 100;
    constexpr uint32_t most_doublings = 40;
    if (self.clock_reads < most_doublings) ++self.clock_reads;
    cycle_ = std::max(cycle_, step * cycles_per_step) + (uint64_t{1} << self.clock_reads);
    return cycle_;
  }
  // A thread sleeps for so many cycles, or until that one. Without effect where the run has not read the clock yet.
  void pass(uint64_t cycles) {
    if (cycle_ != 0) cycle_ += cycles;
  }
  void pass_until(uint64_t cycle) {
    if (cycle_ != 0 && cycle_ < cycle) cycle_ = cycle;
  }

 private:
  uint64_t cycle_ = 0;
};

}  // namespace heddle::sim
