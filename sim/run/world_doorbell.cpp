// Rings that do not count at once.
#include <heddle/sim/run/world.h>

namespace heddle::sim {
namespace {

/// What a ring's sender releases, and who makes it count acquires. No address has the highest bit.
const void* given_by(uint64_t number) { return reinterpret_cast<const void*>(uintptr_t{1} << 63 | number); }

uint64_t add_one(const void*, uint64_t old) { return old + 1; }

}  // namespace

doorbell_line::fate world::fate_of_ring(lane& self, const void* bell) {
  // A ring under way may outlive a bell on the C++ heap, and nobody would say so. Where the run is to come to its end, or waits are
  // put to the proof, every ring counts: one that is rung again and again gets through.
  if (may_vanish(bell) || proving_ != proof::none || tail_.begun) return {};
  const doorbell_line::fate met = rings_.fate_of(pick(self, rings_.fates(), scheduler::choice_kind::arrive));
  if (recorder_ && met.counts_now == 0 && !met.under_way) recorder_->ring_is_lost(self);
  return met;
}

void world::send_ring(lane& self, void* bell, uint64_t steps) {
  const uint64_t number = rings_.send(bell, self.pending.place, self.id, steps_ + steps);
  look_how_to_choose();
  if (recorder_) recorder_->ring_sent(number, this_step());
  if (late_ != nullptr) late_->release_object(self, given_by(number));
  // Something of the lane's has come of this turn, though nobody can see it yet.
  got_somewhere(self);
}

void world::let_rings_arrive(uint64_t step) {
  for (;;) {
    const std::vector<doorbell_line::ring>& arriving = rings_.take(step);
    if (arriving.empty()) return;
    const doorbell_line::ring& first = arriving.front();
    // The bell has been given back meanwhile: there is no word to count in.
    const char* const wrong = heap_.contains(first.bell) ? heap_.check(first.bell, sizeof(doorbell)) : nullptr;
    if (wrong != nullptr && wrong != heap::is_watched) continue;
    count_rings(arriving);
    if (recorder_)
      for (const doorbell_line::ring& each : arriving) recorder_->ring_arrived(each.number, steps_);
    arrived(lanes_[first.sender], first.bell, sizeof(doorbell), recorder_ ? recorder_->step_of_ring(first.number) : 0);
  }
}

// By a lane of its own, which never runs: it knows what the senders did before they rang, and not what they have done since.
void world::count_rings(const std::vector<doorbell_line::ring>& arriving) {
  auto* const bell = static_cast<doorbell*>(arriving.front().bell);
  if (machine_.fidelity == fidelity::interleaving) {
    *bell += 1;
    return;
  }
  if (ringer_ == nullptr) {
    wave& line = new_wave();
    line.host = true;
    line.name = "doorbells";
    ringer_ = &new_lane(line, 0);
    ringer_->state = lane_state::ended;
    --live_lanes_;
    late_->begins(*ringer_, nullptr);
  }
  for (const doorbell_line::ring& each : arriving) late_->acquire_object(*ringer_, given_by(each.number));
  operation how;
  how.kind = operation_kind::notify;
  how.order = memory_order::release;
  how.address = bell;
  how.size_bytes = sizeof(doorbell);
  how.place = arriving.front().place;
  ringer_->pending = how;
  late_->read_modify_write(*ringer_, how, {.apply = &add_one});
}

}  // namespace heddle::sim
