// Whether what a host thread does may come before or behind what another one does.
#pragma once

#include <heddle/sim/runtime/entry.h>

namespace heddle::sim::runtime {

inline bool any_other_host(const lane& self) {
  const run_core& core = execution::instance->core();
  for (size_t n = 0; n < core.threads.lanes_used; ++n) {
    const lane& each = core.threads.lanes[n];
    if (&each != &self && each.of->host && !each.of->copies && each.state != lane_state::ended) return true;
  }
  return false;
}

/// What work there is, other host threads may look at or change first: only then that is a step.
inline void take_turn_among_hosts(lane& self, const caller& from) {
  if (self.gives_as_one || !any_other_host(self)) return;
  execution& here = *execution::instance;
  here.step(self, make_operation(operation_kind::query, nullptr, 0, from));
  here.performed(self, 0);
}

}  // namespace heddle::sim::runtime
