#include <heddle/sim/memory/scoped/scoped_knowledge.h>

#include <algorithm>
#include <memory>

namespace heddle::sim::scoped {

knowledge::knowledge(run_core& core) : core_(core), machine_(core.machine), link_(core.machine.link) {}

void knowledge::reset() {
  for (size_t n = 0; n < lanes_used_; ++n) {
    lane_facts& used = *lanes_[n];
    used.clock.clear();
    used.now = snapshot();
    used.fences.clear();
    used.first_fence = {};
    used.deferred.clear();
    used.pending.clear();
    if (used.shares_counter) {
      used.acquired.clear();
      used.parted.clear();
      used.arm_view = snapshot();
    }
    used.epoch = 0;
    used.learnt_at = 0;
    used.met = 0;
  }
  lanes_used_ = 0;
  totals_.clear();
  host_fences_.clear();
  fenced_last_ = nullptr;
  objects_.clear();
  arrives_in_order_ = !link_.pool && !link_.relaxed_ordering && !link_.shared_on_device;
  arrived_in_order_ = 0;
}

void knowledge::begins(lane& fresh, const lane* by) {
  while (lanes_.size() <= fresh.id) lanes_.push_back(std::make_unique<lane_facts>());
  lanes_used_ = std::max<size_t>(lanes_used_, fresh.id + size_t{1});
  lane_facts& mine = *lanes_[fresh.id];
  fresh.memory = &mine;
  mine.wave = fresh.of->id;
  mine.host = fresh.is_host();
  mine.side = mine.host ? 0 : fresh.of->gpu + 1;
  mine.tso = mine.host && !machine_.weak_host;
  mine.least_reach = mine.host ? uint8_t{same_system} : uint8_t{same_wave};
  mine.shares_counter = !mine.host && machine_.convergence == convergence::lockstep;
  // A host thread is a block of its own: what a block shares does not exist there.
  mine.block = mine.host ? uint64_t{1} << 63 | fresh.of->id : uint64_t{fresh.of->kernel} << 32 | fresh.of->block;
  mine.many_pending = lane_facts::few_pending;
  mine.store_bytes = 0;
  mine.window_address = nullptr;
  mine.seen_address = nullptr;
  mine.flag_step = 0;
  if (by != nullptr) {
    mine.clock.join_all(facts(*by).clock);
    clock_changed(mine);
    new_epoch(*by, facts(*by));
  }
  new_epoch(fresh, mine);
}

void knowledge::take_snapshot(lane_facts& mine) {
  mine.now = snapshots_.take();
  mine.now.edit().assign(mine.clock);
}

void knowledge::acquire(lane_facts& mine, const release_entry& given, bool as_written, bool seen) {
  const bool need_ordered = as_written && entry_of(mine.clock.ordered, given.releaser) < given.epoch;
  const bool need_seen = seen && entry_of(mine.clock.what_is_seen(), given.releaser) < given.epoch;
  if (!need_ordered && !need_seen) return;
  if (mine.shares_counter) [[unlikely]]
    note_acquired(mine, given, need_ordered, need_seen);
  clock_changed(mine);
  if (need_ordered != need_seen || given.view->split) mine.clock.separate();
  if (need_ordered) {
    join(mine.clock.ordered, given.view->ordered);
    raise(mine.clock.ordered, given.releaser, given.epoch);
  }
  if (need_seen && mine.clock.split) {
    join(mine.clock.seen, given.view->what_is_seen());
    raise(mine.clock.seen, given.releaser, given.epoch);
  }
}

}  // namespace heddle::sim::scoped
