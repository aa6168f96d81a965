// What orders lanes of scoped memory without an access: fences, barriers, and objects that the simulator knows.
#include <heddle/sim/memory/scoped/scoped_knowledge.h>

namespace heddle::sim::scoped {

uint64_t knowledge::instance_of(const lane_facts& mine, uint8_t reach) {
  const uint64_t kind = uint64_t{reach} << 60;
  switch (reach) {
    case same_wave:
      return kind | mine.wave;
    case same_block:
      return kind | (mine.block & ~(uint64_t{15} << 60)) | (mine.host ? uint64_t{1} << 59 : 0);
    case same_device:
      return kind | mine.side;
    default:
      return kind;
  }
}

// Fences of sequential consistency that include each other are in one order, which is causality too: here, the order in which they
// are performed.
void knowledge::fence_total(lane& self, lane_facts& mine, uint8_t reach) {
  for (uint8_t wide = same_wave; wide <= reach; ++wide) {
    const causal_clock* const known = totals_.find(instance_of(mine, wide));
    if (known == nullptr) continue;
    mine.clock.join_all(*known);
    clock_changed(mine);
  }
  for (uint8_t wide = same_wave; wide <= reach; ++wide) totals_.at(instance_of(mine, wide)).join_all(mine.clock);
  if (mine.tso) return fence_host(self, mine);
  new_epoch(self, mine);
}

// On x86 every read-modify-write is a full fence, whatever its order (Intel SDM 3A, 8.2.3.9). The program did not ask for that.
void knowledge::fence_host(lane& self, lane_facts& mine) {
  if (fenced_last_ == &mine) {
    // What its last fence has left, but for its own entry.
    raise(host_fences_, self.id, mine.epoch);
    return new_epoch(self, mine);
  }
  // The two notions of what is known part only where they differ: mostly one thread of the host does all of this.
  if (!includes(mine.clock.what_is_seen(), host_fences_)) {
    mine.clock.separate();
    join(mine.clock.seen, host_fences_);
    clock_changed(mine);
  }
  join(host_fences_, mine.clock.what_is_seen());
  fenced_last_ = &mine;
  new_epoch(self, mine);
}

void knowledge::release_fence(lane& self, lane_facts& mine, uint8_t reach) {
  std::erase_if(mine.fences, [&](const lane_facts::fence_release& old) { return old.reach <= reach; });
  scheduler::append(mine.fences, {released_view(mine), mine.epoch, reach, core_.history.this_step()});
  for (uint8_t wide = same_wave; wide <= reach; ++wide)
    if (mine.first_fence[wide] == 0) mine.first_fence[wide] = core_.history.this_step();
  mine.arm_view = snapshot();
  new_epoch(self, mine);
}

// Into meeting_: what one of the lanes knows. Those that have met, and have learnt nothing since, differ in their own entries alone.
void knowledge::join_clocks(lane* const* lanes, size_t count) {
  const lane_facts* alike = nullptr;
  meeting_.clear();
  for (size_t n = 0; n < count; ++n) {
    const lane_facts& known = facts(*lanes[n]);
    if (known.met == 0 || alike == nullptr || alike->met != known.met) {
      meeting_.join_all(known.clock);
      if (known.met != 0 && alike == nullptr) alike = &known;
      continue;
    }
    raise(meeting_.ordered, lanes[n]->id, known.epoch);
    if (meeting_.split) raise(meeting_.seen, lanes[n]->id, known.epoch);
  }
}

void knowledge::meet(lane* const* lanes, size_t count) {
  if (count == 0) return;
  join_clocks(lanes, count);
  ++meetings_;
  for (size_t n = 0; n < count; ++n) {
    lane_facts& mine = facts(*lanes[n]);
    mine.clock.ordered.assign(meeting_.ordered.begin(), meeting_.ordered.end());
    if (meeting_.split) {
      mine.clock.split = true;
      mine.clock.seen.assign(meeting_.seen.begin(), meeting_.seen.end());
    }
    clock_changed(mine);
    mine.met = meetings_;
    new_epoch(*lanes[n], mine);
  }
}

void knowledge::order(const lane& first, lane& then) {
  lane_facts& mine = facts(then);
  mine.clock.join_all(facts(first).clock);
  clock_changed(mine);
  new_epoch(first, facts(first));
}

void knowledge::release_object(lane& self, const void* object) {
  objects_.at(reinterpret_cast<uintptr_t>(object)).join_all(facts(self).clock);
  new_epoch(self, facts(self));
}

void knowledge::acquire_object(lane& self, const void* object) {
  const causal_clock* const known = objects_.find(reinterpret_cast<uintptr_t>(object));
  if (known == nullptr) return;
  lane_facts& mine = facts(self);
  mine.clock.join_all(*known);
  clock_changed(mine);
}

}  // namespace heddle::sim::scoped
