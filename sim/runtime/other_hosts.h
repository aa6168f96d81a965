// Whether what a host thread does may come before or behind what another one does.
#pragma once

#include <heddle/sim/run/execution.h>

namespace heddle::sim::runtime {

inline bool any_other_host(const lane& self) {
  const run_core& core = execution::instance->core();
  for (size_t n = 0; n < core.threads.lanes_used; ++n) {
    const lane& each = core.threads.lanes[n];
    if (&each != &self && each.of->host && !each.of->copies && each.state != lane_state::ended) return true;
  }
  return false;
}

}  // namespace heddle::sim::runtime
