// Rings that do not count at once.
#include <heddle/sim/base/invariant.h>
#include <heddle/sim/wait/doorbells.h>

namespace heddle::sim {
namespace {

/// The object that a ring's sender releases, and that the ringer acquires when the ring counts. No address has the highest bit.
const void* given_by(uint64_t number) { return reinterpret_cast<const void*>(uintptr_t{1} << 63 | number); }

uint64_t add_one(const void*, uint64_t old) { return old + 1; }

}  // namespace

doorbell_line::fate doorbells::fate_of(lane& self, const void* bell) {
  // A ring in flight could outlive a bell on the C++ heap, unnoticed. In the fair tail and under the quiescence check, every ring counts: a bell
  // that is rung again and again gets through.
  if (core_.map.may_vanish(bell) || !core_.phase.is_open()) return {};
  const doorbell_line::fate met = rings_.fate_of(core_.pick(self, rings_.fates(), scheduler::choice_kind::arrive));
  if (core_.observers.recorder && met.counts_now == 0 && !met.under_way) core_.observers.recorder->ring_is_lost(self);
  return met;
}

void doorbells::send(lane& self, void* bell, uint64_t steps) {
  const uint64_t number = rings_.send(bell, self.pending.place, self.id, core_.history.steps + steps);
  if (core_.observers.recorder) core_.observers.recorder->ring_sent(number, core_.history.this_step());
  if (core_.late != nullptr) core_.late->release_object(self, given_by(number));
  // Sending is progress of the lane, though no lane can see the ring yet.
  core_.note_progress(self);
}

void doorbells::take_arriving(uint64_t step) {
  for (;;) {
    const std::vector<doorbell_line::ring>& arriving = rings_.take(step);
    if (arriving.empty()) return;
    const doorbell_line::ring& first = arriving.front();
    // The bell has been released meanwhile: there is no word to count in.
    const char* const wrong =
        core_.map.heap.contains(first.bell) ? core_.map.heap.check(first.bell, sizeof(doorbell)) : nullptr;
    if (wrong != nullptr && wrong != heap::is_watched) continue;
    count(arriving);
    if (core_.observers.recorder)
      for (const doorbell_line::ring& each : arriving)
        core_.observers.recorder->ring_arrived(each.number, core_.history.steps);
    waits_.arrived(core_.threads.lanes[first.sender], first.bell, sizeof(doorbell),
                   core_.observers.recorder ? core_.observers.recorder->step_of_ring(first.number) : 0);
  }
}

// Rings count by a lane of their own, which never runs: it has acquired what the senders did before they rang, and nothing later.
void doorbells::count(const std::vector<doorbell_line::ring>& arriving) {
  auto* const bell = static_cast<doorbell*>(arriving.front().bell);
  if (core_.machine.fidelity == fidelity::interleaving) {
    *bell += 1;
    return;
  }
  if (ringer_ == nullptr) {
    wave& line = core_.new_wave();
    line.host = true;
    line.name = "doorbells";
    ringer_ = &core_.new_lane(line, 0);
    ringer_->state = lane_state::ended;
    --core_.threads.live_lanes;
    core_.late->begins(*ringer_, nullptr);
  }
  for (const doorbell_line::ring& each : arriving) core_.late->acquire_object(*ringer_, given_by(each.number));
  operation how;
  how.kind = operation_kind::notify;
  how.order = memory_order::release;
  how.address = bell;
  how.size_bytes = sizeof(doorbell);
  how.place = arriving.front().place;
  ringer_->pending = how;
  core_.late->read_modify_write(*ringer_, how, {.apply = &add_one});
}

void doorbells::check_invariants() const {
  must_hold(ringer_ == nullptr || ringer_->state == lane_state::ended,
            "doorbells: the lane that counts rings never runs");
  must_hold(ringer_ == nullptr || core_.late != nullptr, "doorbells: rings are counted by a lane where memory is weak");
}

}  // namespace heddle::sim
