// The barrier of a cluster, to which lanes come in two steps.
#include <heddle/sim/sync/collectives.h>

namespace heddle::sim {

using scheduler::verdict;

collectives::cluster_place collectives::cluster_of(const wave& of) const {
  launched_kernel& runs = *of.runs;
  const place_in_cluster place = runs.place_of(of.block);
  cluster_state& state = runs.state_of_cluster(place.cluster);
  if (state.waves.empty()) {
    state.waves.resize(runs.waves_of_cluster());
    for_each_wave_of_cluster(of, state,
                             [&](const wave& each, cluster_state::lanes&) { state.live += each.live_lanes; });
  }
  const uint32_t wave = place.rank * runs.waves_per_block + of.in_kernel % runs.waves_per_block;
  return {.state = state, .wave = state.waves[wave], .number = place.cluster};
}

void collectives::arrive_at_cluster(lane& self) {
  const cluster_place at = cluster_of(*self.of);
  if ((at.wave.came & lane_bit(self)) != 0)
    core_.end(
        self, verdict::mask,
        name_of(self) + " arrives at the barrier of its cluster again, and has not waited there since the last time");
  at.wave.came |= lane_bit(self);
  at.wave.pending |= lane_bit(self);
  ++at.state.arrived;
  // Those of the next phase are another object: what they have done is not known to all that come out of this one.
  if (core_.late != nullptr && releases(self.pending.order))
    core_.late->release_object(self, object_of_cluster(self.of->kernel, at.number, at.state.phases));
  if (at.state.arrived == at.state.live) complete_cluster(*self.of, at.state);
}

collectives::arrival collectives::wait_at_cluster(lane& self) {
  const cluster_place at = cluster_of(*self.of);
  if ((at.wave.came & lane_bit(self)) == 0)
    core_.end(self, verdict::mask, name_of(self) + " waits at the barrier of its cluster, and has not arrived there");
  if ((at.wave.pending & lane_bit(self)) == 0) {
    at.wave.came &= ~lane_bit(self);
    return arrival::complete;
  }
  core_.disable(self);
  self.state = lane_state::at_collective;
  if (core_.observers.records) core_.observers.recorder->waits(self, core_.history.steps);
  return arrival::blocks;
}

// The next phase cannot be over before this lane has arrived in it.
void collectives::acquire_cluster(lane& self, memory_order order) {
  if (core_.late == nullptr || !acquires(order)) return;
  const cluster_place at = cluster_of(*self.of);
  core_.late->acquire_object(self, object_of_cluster(self.of->kernel, at.number, at.state.phases - 1));
}

void collectives::complete_cluster(const wave& of, cluster_state& state) {
  ++state.phases;
  state.arrived = 0;
  for_each_wave_of_cluster(of, state, [&](const wave& each, cluster_state::lanes& lanes) {
    lanes.pending = 0;
    for (lane* waits : each.lanes) {
      if (waits->state != lane_state::at_collective || waits->pending.kind != operation_kind::cluster_wait) continue;
      lanes.came &= ~lane_bit(*waits);
      core_.run_on(*waits);
    }
  });
}

void collectives::leave_used_cluster(const lane& ended) {
  launched_kernel& runs = *ended.of->runs;
  if (runs.state_of_cluster(runs.place_of(ended.of->block).cluster).waves.empty()) return;
  const cluster_place at = cluster_of(*ended.of);
  --at.state.live;
  if ((at.wave.pending & lane_bit(ended)) != 0) {
    at.wave.pending &= ~lane_bit(ended);
    --at.state.arrived;
  }
  if (at.state.arrived != 0 && at.state.arrived == at.state.live) complete_cluster(*ended.of, at.state);
}

}  // namespace heddle::sim
