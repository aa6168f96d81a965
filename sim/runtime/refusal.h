// How an entry point ends the run at a call that the simulator cannot carry out.
#pragma once

#include <heddle/scheduler/verdict.h>
#include <heddle/sim/runtime/entry.h>

#include <string>

namespace heddle::sim::runtime {

/// Ends the run where the lane has come in.
[[noreturn]] inline void refuse(lane& self, scheduler::verdict verdict, const std::string& why, const caller& from) {
  const entered inside(self);
  execution& here = *execution::instance;
  here.finish_plain_store(self);
  self.pending = make_operation(operation_kind::none, nullptr, 0, from);
  here.core().end(self, verdict, why);
}

}  // namespace heddle::sim::runtime
