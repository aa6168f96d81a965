// The OS thread's own stack: where a run begins and ends, and where work is done that may need more stack than a lane has.
#pragma once

#include <heddle/sim/machine/lane.h>

#include <cstdlib>
#include <functional>

namespace heddle::sim {

struct root_stack {
  fiber root;
  exceptions_in_flight* exceptions = nullptr;   ///< of the OS thread
  const std::function<void()>* task = nullptr;  ///< what is to be done on the root stack
  lane* task_of = nullptr;                      ///< for which lane, which goes on behind it

  /// Leaves the lane, which is never entered again.
  [[noreturn]] void leave(lane& self) {
    fiber::switch_to(self.runs, root, *exceptions);
    std::abort();
  }
  /// Does the work on the root stack. Every lane has been left meanwhile.
  void run(lane& self, const std::function<void()>& work) {
    task = &work;
    task_of = &self;
    fiber::switch_to(self.runs, root, *exceptions);
  }
};

}  // namespace heddle::sim
