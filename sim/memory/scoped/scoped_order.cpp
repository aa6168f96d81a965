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
    case same_cluster:
      return kind | (mine.cluster & ~(uint64_t{15} << 60));
    case same_device:
      return kind | mine.side;
    default:
      return kind;
  }
}

// Fences of sequential consistency that include each other are in one order, which is causality too: here, the order in which they
// are performed.
void knowledge::fence_total(lane_facts& mine, uint8_t reach) {
  for (uint8_t wide = same_wave; wide <= reach; ++wide) {
    if (!has_instance(mine, wide)) continue;
    const causal_clock* const known = totals_.find(instance_of(mine, wide));
    if (known == nullptr) continue;
    mine.clock.edit(snapshots_).join_all(*known);
    clock_changed(mine);
  }
  for (uint8_t wide = same_wave; wide <= reach; ++wide)
    if (has_instance(mine, wide)) mine.join_to(totals_.at(instance_of(mine, wide)));
  if (mine.tso) return fence_host(mine);
  new_epoch(mine);
}

// Between two sequentially consistent accesses of a thread stands what all threads see in one order (C++20, [atomics.order], paragraph 4). A compiler for
// an x86 makes such a store an `xchg`, which is a full fence, and such a load a `mov`, which the thread's own stores may still be behind. It orders
// nothing but what is read: for races, loads and stores order what they order as acquires and releases.
void knowledge::order_host_access(lane_facts& mine, uint8_t reach, bool flushes) {
  for (uint8_t wide = same_wave; wide <= reach; ++wide) {
    if (!has_instance(mine, wide)) continue;
    const clock_entries& total = totals_.at(instance_of(mine, wide)).what_is_seen();
    if (includes(mine.clock->what_is_seen(), total, mine.slot)) continue;
    causal_clock& known = mine.clock.edit(snapshots_);
    known.separate();
    join(known.seen, total);
    clock_changed(mine);
  }
  const clock_entries& seen = mine.clock->what_is_seen();
  for (uint8_t wide = same_wave; wide <= reach; ++wide) {
    if (!has_instance(mine, wide)) continue;
    causal_clock& total = totals_.at(instance_of(mine, wide));
    total.separate();
    if (flushes) {
      join(total.seen, seen);
      raise(total.seen, mine.slot, mine.epoch);
    } else {
      // Its own stores may still be on their way.
      for (uint32_t lane = 0; lane < seen.size(); ++lane)
        if (lane != mine.slot && seen[lane] != 0) raise(total.seen, lane, seen[lane]);
      if (mine.first_epoch != 0) raise(total.seen, mine.slot, mine.first_epoch - 1);
    }
  }
  if (!flushes) return;
  if (mine.tso) return fence_host(mine);
  new_epoch(mine);
}

// On x86 every read-modify-write is a full fence, whatever its order (Intel SDM 3A, 8.2.3.9). The program did not ask for that.
void knowledge::fence_host(lane_facts& mine) {
  if (fenced_last_ == &mine) {
    // What its last fence has left, but for its own entry.
    raise(host_fences_, mine.slot, mine.epoch);
    return new_epoch(mine);
  }
  // The two notions of what is known part only where they differ: mostly one thread of the host does all of this.
  if (!includes(mine.clock->what_is_seen(), host_fences_, mine.slot)) {
    causal_clock& known = mine.clock.edit(snapshots_);
    known.separate();
    join(known.seen, host_fences_);
    clock_changed(mine);
  }
  join(host_fences_, mine.clock->what_is_seen());
  raise(host_fences_, mine.slot, mine.epoch);
  fenced_last_ = &mine;
  new_epoch(mine);
}

void knowledge::release_fence(lane_facts& mine, uint8_t reach) {
  std::erase_if(mine.fences, [&](const lane_facts::fence_release& old) { return old.reach <= reach; });
  scheduler::append(mine.fences, {released_view(mine), mine.epoch, reach, core_.history.this_step()});
  for (uint8_t wide = same_wave; wide <= reach; ++wide)
    if (mine.first_fence[wide] == 0) mine.first_fence[wide] = core_.history.this_step();
  mine.arm_view = snapshot();
  new_epoch(mine);
}

// What one of the lanes knows.
snapshot knowledge::join_clocks(lane* const* lanes, size_t count) {
  snapshot made = snapshots_.take();
  causal_clock& all = made.edit();
  const lane_facts* before = nullptr;
  for (size_t n = 0; n < count; ++n) {
    const lane_facts& known = facts(*lanes[n]);
    if (before == nullptr || !known.clock.is_same(before->clock)) all.join_all(*known.clock);
    known.raise_own_in(all);
    before = &known;
  }
  return made;
}

void knowledge::meet(lane* const* lanes, size_t count) {
  if (count == 0) return;
  const snapshot all = join_clocks(lanes, count);
  for (size_t n = 0; n < count; ++n) {
    lane_facts& mine = facts(*lanes[n]);
    mine.clock.share(all);
    clock_changed(mine);
    new_epoch(mine);
  }
}

void knowledge::order(const lane& first, lane& then) {
  lane_facts& mine = facts(then);
  facts(first).join_to(mine.clock.edit(snapshots_));
  clock_changed(mine);
  new_epoch(facts(first));
}

void knowledge::release_object(lane& self, const void* object) {
  ++object_releases_;
  facts(self).join_to(objects_.at(reinterpret_cast<uintptr_t>(object)));
  new_epoch(facts(self));
}

const begun_alike* knowledge::find_begun(const shared_clock& before, const causal_clock* behind) const {
  for (const begun_alike& each : begun_)
    if (each.after && each.behind == behind && each.at == object_releases_ && each.before.is_same(before)) return &each;
  return nullptr;
}

void knowledge::acquire_object(lane& self, const void* object) {
  const causal_clock* const known = objects_.find(reinterpret_cast<uintptr_t>(object));
  if (known == nullptr) return;
  lane_facts& mine = facts(self);
  // The lanes of a kernel begin with what one of them knows then, behind the same work.
  const bool begins = mine.has_siblings && mine.epoch == 1;
  if (!begins) {
    mine.clock.edit(snapshots_).join_all(*known);
  } else if (const begun_alike* const like = find_begun(mine.clock, known); like != nullptr) {
    mine.clock.share(like->after);
  } else {
    begun_alike& made = begun_[begun_next_++ % begun_.size()];
    made.before = mine.clock;
    mine.clock.edit(snapshots_).join_all(*known);
    made.behind = known;
    made.at = object_releases_;
    made.after = mine.clock.as_snapshot();
  }
  clock_changed(mine);
}

}  // namespace heddle::sim::scoped
