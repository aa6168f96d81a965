// The OS thread's own stack: where a run begins and ends, and where work is done that may need more stack than a lane has.
#pragma once

#include <heddle/sim/machine/lane.h>

#include <cstdlib>
#include <functional>

namespace heddle::sim {

struct root_stack {
  fiber root;
  exceptions_in_flight* exceptions = nullptr;   ///< of the OS thread
  const std::function<void()>* task = nullptr;  ///< to be run on the root stack
  lane* task_of = nullptr;                      ///< the lane that asked for it, which is entered again afterwards

  /// Leaves the lane, which is never entered again.
  [[noreturn]] void leave(lane& self) {
    fiber::switch_to(self.runs, root, *exceptions);
    std::abort();
  }
  /// Runs the work on the root stack, while no lane runs.
  void run(lane& self, const std::function<void()>& work) {
    task = &work;
    task_of = &self;
    fiber::switch_to(self.runs, root, *exceptions);
  }
};

}  // namespace heddle::sim
