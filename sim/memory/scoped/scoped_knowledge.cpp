#include <heddle/sim/machine/kernel.h>
#include <heddle/sim/memory/scoped/scoped_knowledge.h>

#include <algorithm>
#include <memory>

namespace heddle::sim::scoped {

knowledge::knowledge(run_core& core) : core_(core), machine_(core.machine), link_(core.machine.link) {}

void knowledge::reset() {
  for (size_t n = 0; n < lanes_used_; ++n) {
    lane_facts& used = *lanes_[n];
    used.clock.clear();
    used.fences.clear();
    used.first_fence = {};
    used.deferred.clear();
    used.pending.clear();
    if (used.shares_counter) {
      used.acquired.clear();
      used.parted.clear();
      used.arm_view = snapshot();
    }
    used.stored_last = {};
    used.epoch = used.first_epoch = 0;
    used.learnt_at = 0;
    used.told = false;
  }
  if (learnt_.after) learnt_.clear();
  if (acquired_.after) acquired_.clear();
  if (begun_next_ != 0)
    for (begun_alike& each : begun_) each.clear();
  begun_next_ = 0;
  lanes_used_ = 0;
  by_slot_.clear();
  free_.clear();
  unused_.clear();
  shares_slots_ = false;
  all_tso_ = true;
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
  mine.id = fresh.id;
  mine.before = nullptr;
  if (unused_.empty()) {
    mine.slot = static_cast<uint32_t>(by_slot_.size());
    scheduler::append(by_slot_, &mine);
  } else {
    mine.slot = unused_.back();
    unused_.pop_back();
    by_slot_[mine.slot] = &mine;
  }
  mine.wave = fresh.of->id;
  mine.host = fresh.is_on_host();
  mine.has_siblings = !fresh.is_host() && fresh.of->runs->shape.wave_lanes > 1;
  mine.side = mine.host ? 0 : fresh.of->gpu + 1;
  mine.tso = mine.host && !machine_.host.is_weak;
  all_tso_ = all_tso_ && mine.tso;
  mine.least_reach = mine.host ? uint8_t{same_system} : uint8_t{same_wave};
  mine.shares_counter = !fresh.is_host() && machine_.convergence == convergence::lockstep;
  // A host thread is a block of its own: what a block shares does not exist there.
  mine.block = mine.host ? uint64_t{1} << 63 | fresh.of->id : uint64_t{fresh.of->kernel} << 32 | fresh.of->block;
  mine.cluster = mine.block;
  if (!mine.host && fresh.of->runs != nullptr && fresh.of->runs->cluster_blocks > 1)
    mine.cluster =
        uint64_t{1} << 62 | uint64_t{fresh.of->kernel} << 32 | fresh.of->runs->place_of(fresh.of->block).cluster;
  mine.many_pending = lane_facts::few_pending;
  mine.store_bytes = 0;
  mine.window_address = nullptr;
  mine.seen_address = nullptr;
  mine.flag_step = 0;
  if (by != nullptr) {
    snapshot known = snapshots_.take();
    known.edit().assign(*facts(*by).clock);
    facts(*by).raise_own_in(known.edit());
    mine.clock.share(known);
    clock_changed(mine);
    new_epoch(facts(*by));
  }
  new_epoch(mine);
  if (by != nullptr) takes_place(fresh);
}

// A search tells states by the lanes that know of each other: there each keeps its own. Of those that have ended the last are those whose end a lane mostly
// comes after: of the launch before, in the same stream.
void knowledge::takes_place(const lane& fresh) {
  if (by_slot_.size() <= least_slots || core_.notes != nullptr) return;
  lane_facts& mine = facts(fresh);
  constexpr size_t most_looked_at = 64;
  const size_t last = free_.size();
  for (size_t n = last; n-- > last - std::min(last, most_looked_at);) {
    lane_facts& other = *free_[n];
    // With its end a lane releases, which begins a last epoch.
    const bool comes_after =
        mine.ordered_to(other.slot) + 1 >= other.epoch && mine.sees_to(other.slot) + 1 >= other.epoch;
    if (other.side != mine.side || other.tso != mine.tso || !comes_after) continue;
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(n));
    scheduler::append(unused_, mine.slot);
    mine.slot = other.slot;
    mine.epoch = mine.first_epoch = other.epoch;
    mine.before = &other;
    by_slot_[mine.slot] = &mine;
    shares_slots_ = true;
    return;
  }
}

void knowledge::ended(const lane& last) {
  if (core_.notes == nullptr && by_slot_.size() > least_slots) scheduler::append(free_, &facts(last));
}

bool knowledge::knows_end_of(const lane_facts& mine, size_t n) const {
  // With its end a lane releases, which begins a last epoch.
  return core_.threads.lanes[n].state == lane_state::ended && mine.ordered_to(lanes_[n]->slot) + 1 >= lanes_[n]->epoch;
}

uint64_t knowledge::lanes_beside(const lane& self) const {
  const lane_facts& mine = facts(self);
  uint64_t beside = 0;
  for (size_t n = 0; n < std::min<size_t>(lanes_used_, quiet_words::most_lanes); ++n)
    if (n != self.id && !knows_end_of(mine, n)) beside |= uint64_t{1} << n;
  return beside;
}

// Without the lane itself: a release says whose it is, and of which epoch. So lanes that know the same give one clock, however many they are.
void knowledge::take_snapshot(lane_facts& mine) {
  if (!mine.clock.as_snapshot()) mine.clock.edit(snapshots_);
  mine.told = true;
}

[[gnu::always_inline]] inline void knowledge::join_given(causal_clock& known, const release_entry& given, bool ordered,
                                                         bool seen) {
  if (ordered != seen || given.view->split) known.separate();
  if (ordered) {
    join(known.ordered, given.view->ordered);
    raise(known.ordered, given.releaser, given.epoch);
  }
  if (seen && known.split) {
    join(known.seen, given.view->what_is_seen());
    raise(known.seen, given.releaser, given.epoch);
  }
}

void knowledge::acquire(lane_facts& mine, const release_entry& given, bool as_written, bool seen) {
  const bool need_ordered = as_written && mine.ordered_to(given.releaser) < given.epoch;
  const bool need_seen = seen && mine.sees_to(given.releaser) < given.epoch;
  if (!need_ordered && !need_seen) return;
  if (mine.shares_counter) [[unlikely]]
    learn(mine.acquired, acquired_, given, need_ordered, need_seen);
  clock_changed(mine);
  if (mine.has_siblings) return learn(mine.clock, learnt_, given, need_ordered, need_seen);
  join_given(mine.clock.edit(snapshots_), given, need_ordered, need_seen);
}

// Lanes of a wave mostly acquire the same one after another.
void knowledge::learn(shared_clock& to, learnt_alike& last, const release_entry& given, bool ordered, bool seen) {
  if (last.after && to.is_same(last.before) && last.given.is_same(given.view) && last.releaser == given.releaser &&
      last.epoch == given.epoch && last.ordered == ordered && last.seen == seen)
    return to.share(last.after);
  last.before = to;
  join_given(to.edit(snapshots_), given, ordered, seen);
  last.given = given.view;
  last.releaser = given.releaser;
  last.epoch = given.epoch;
  last.ordered = ordered;
  last.seen = seen;
  last.after = to.as_snapshot();
}

// Whether a read-modify-write that leaves the value as it was need not be kept as a store of its own: a lane that would read it may as well read
// the one that it has read, and learns the same. Locks are tried again and again in this way.
bool knowledge::adds_nothing(const lane_facts& mine, const operation& how, const part& at, const message* read) const {
  return !mine.tso && gives_nothing(mine, how, at, read);
}

bool knowledge::gives_nothing(const lane_facts& mine, const operation& how, const part& at, const message* read) const {
  // What an x86 has done before, a device that modifies this store sees. Threads of that host see it by the fence that such an access is.
  if ((mine.tso && !all_tso_) || releases(how.order) || !mine.fences.empty()) return false;
  const auto reach = reach_of(mine, how);
  return read == nullptr || (morally_strong(mine, false, reach, at.mask, *read, true) &&
                             morally_strong(mine, false, reach, at.mask, *read, false));
}

// A thread that tries a lock by exchanges, or says again and again that it waits (std::promise does), would fill the list of stores. Since its last one the
// lane has learnt nothing and has accessed nothing else, so that this one would give what that one gives. Where a lane must read this one, because it
// modifies it, it could have come in between just as well.
bool knowledge::repeats_its_own(const lane& self, const lane_facts& mine, const operation& how, const part& at,
                                const message* read) const {
  if (read == nullptr || mine.stored_last.in != at.in || mine.stored_last.serial != read->serial) return false;
  const granule& in = *at.in;
  if (in.order[in.count - size_t{1}] != read || in.races(*read) || read->mask != at.mask || !read->strong ||
      read->reach != reach_of(mine, how) || read->vector_of != self.vector_of || mine.shares_counter ||
      !mine.fences.empty())
    return false;
  if (!releases(how.order)) return true;
  if (!read->releases) return false;
  const std::vector<release_entry>& given = read->releases->entries;
  return std::any_of(given.begin(), given.end(), [&](const release_entry& one) {
    return one.releaser == mine.slot && one.epoch == read->epoch && one.is_release && one.as_written && !one.narrow &&
           one.reach == read->reach;
  });
}

}  // namespace heddle::sim::scoped
