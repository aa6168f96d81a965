// Whether what a host thread does may come before or behind what another one does.
#pragma once

#include <heddle/sim/runtime/entry.h>

#include <algorithm>
#include <vector>

namespace heddle::sim::runtime {

inline bool any_other_host(const lane& self) {
  const std::vector<lane*>& live = execution::instance->core().threads.live_hosts;
  return std::any_of(live.begin(), live.end(),
                     [&](const lane* each) { return each != &self && each->state != lane_state::ended; });
}

/// What work there is, other host threads may look at or change first: only then that is a step.
inline void take_turn_among_hosts(lane& self, const caller& from) {
  if (self.gives_as_one || !any_other_host(self)) return;
  execution& here = *execution::instance;
  here.step(self, make_operation(operation_kind::query, nullptr, 0, from));
  here.performed(self, 0);
}

}  // namespace heddle::sim::runtime
