// The settings of the simulated machine.
#pragma once

#include <heddle/scheduler/parameters.h>
#include <heddle/sim/progress.h>

namespace heddle::sim {

struct settings {
  progress_model progress = progress_model::fair;
  uint32_t resident = 0;        ///< waves that the device holds at a time
  uint64_t budget = 0;          ///< steps before the fair tail begins, and again before the run is given up
  uint32_t wakes = 0;           ///< times that a wait may end although nothing changed
  bool plain_points = true;     ///< plain accesses are scheduling points too
  size_t stack_bytes = 0;       ///< of a lane
  size_t host_stack_bytes = 0;  ///< of a host thread

  /// Reads the keys of machine_parameters().
  static settings from(const parameters& values);
};

}  // namespace heddle::sim
