// What has been done in a run so far, as numbers.
#pragma once

#include <heddle/scheduler/digest.h>

#include <cstdint>

namespace heddle::sim {

struct run_history {
  scheduler::digest digest;
  uint64_t steps = 0;
  uint64_t switches = 0;       ///< to another lane
  uint64_t library_steps = 0;  ///< of the steps: plain accesses to the C++ heap
  uint64_t uncounted = 0;      ///< operations before operations were steps
  /// How many steps an operation counts as: 0 while the main thread is the only actor, then 1.
  uint32_t counted = 0;

  /// The number of the step that is being taken; 0 before operations are steps.
  uint64_t this_step() const { return steps + counted; }

  void reset() {
    digest = {};
    steps = switches = library_steps = uncounted = 0;
    counted = 0;
  }
};

}  // namespace heddle::sim
