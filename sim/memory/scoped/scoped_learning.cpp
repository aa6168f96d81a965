// What a lane of scoped memory learns from the stores that it reads (PTX ISA, "Release and acquire patterns"): what they release it
// acquires at once, or keeps for a fence behind the load.
#include <heddle/sim/memory/scoped/scoped_learning.h>

#include <algorithm>
#include <span>

namespace heddle::sim::scoped {

void learning::has_read_to_know(lane& self, lane_facts& mine, message& it, const part& at, const operation& how,
                                bool plain) {
  settled_store& settled = at.place->settled;
  learn({self, mine, at, how, plain}, it, settled);
  if (!plain) settled.note(at.mask, reach_of(mine, how), acquires(how.order));
}

[[gnu::always_inline]] inline void learning::learn(const access& made, message& it, settled_store& settled) {
  const auto& [self, mine, at, how, plain] = made;
  const uint8_t mask = at.mask;
  const auto reach = reach_of(mine, how);
  const bool acquires_as_written = !plain && acquires(how.order);
  if (mine.tso && !mine.has_done(it.writer, it.epoch)) it.host_saw = true;
  known_.reads(mine, it);
  const std::span<const release_entry> releases =
      it.releases ? std::span(it.releases->entries) : std::span<const release_entry>();
  const bool was_known = known_.knows_by_causality(mine, it);
  if (was_known) {
    // A loop as it stands: the library's is written out four times.
    bool teaches_something = false;
    for (const release_entry& given : releases) teaches_something = teaches_something || teaches(mine, given);
    if (!teaches_something) {
      settled.known = settled.nothing_more = true;
      return;
    }
  }
  const lane_facts& writer = known_.of(it.writer, it.epoch);
  const uint8_t apart_from_writer = between(writer, mine);
  const bool strong_as_written = known_.is_strong_as_written(apart_from_writer, plain, reach, mask, it);
  const bool strong = known_.is_strong_as_performed(mine, apart_from_writer, plain, reach, mask, it);
  const uint64_t step = core_.history.this_step();
  for (const release_entry& given : releases) {
    if (!teaches(mine, given)) continue;
    const lane_facts& releaser = known_.of(given.releaser, given.epoch);
    const uint8_t apart = &releaser == &writer ? apart_from_writer : between(releaser, mine);
    const bool usable = given.is_release && !given.narrow;
    const bool written = usable && strong_as_written && given.as_written && given.reach >= apart;
    bool performed = usable && strong && given.machine_reach >= apart;
    if (performed && is_overtaken(releaser, mine)) {
      performed = false;
      mine.flag_step = it.step;
    }
    const bool ordered_now = written && acquires_as_written && reach >= apart;
    const bool seen_now = performed && (mine.tso || (acquires_as_written && reach >= apart));
    if (ordered_now || seen_now) known_.acquire(mine, given, ordered_now, seen_now);
    // A fence behind a load that does not acquire does; and where no fence could, it misses a scope.
    const bool too_narrow = !written && !plain && !acquires_as_written && given.is_release && given.as_written &&
                            it.strong && it.is_of(mask);
    const bool flag = given.plain_flag && !plain && it.is_of(mask) && given.reach >= apart;
    if ((written && !ordered_now) || (performed && !seen_now) || too_narrow || (flag && !acquires_as_written))
      add_pending(mine, {at.in, mask, apart, written, performed && !seen_now, too_narrow, given});
    if (ordered_now) continue;
    // What a later report must know: why this did not order anything.
    if (given.is_release && given.as_written && acquires_as_written && it.strong && it.is_of(mask))
      races_.note_missing(mine, given, missing_order::scope, step);
    else if (flag && acquires_as_written && reach >= apart)
      races_.note_missing(mine, given, missing_order::flag, step);
    else if (core_.asks_what_would_order() && !given.plain_flag)
      races_.note_missing(mine, given,
                          !given.is_release || !given.as_written ? missing_order::release
                          : given.narrow || given.reach < apart  ? missing_order::reach
                                                                 : missing_order::acquire,
                          step);
  }
  if (strong && !was_known && !known_.knows_by_causality(mine, it)) it.add_observer({mine.slot, mine.epoch});
  settled.known = settled.known || was_known || strong;
}

// A device's lane learns nothing from a relaxed load before it comes to a fence.
void learning::has_read_relaxed(lane_facts& mine, message& it, const part& at, uint8_t reach, bool known) {
  settled_store& settled = at.place->settled;
  if (known && !it.releases) {
    settled.known = settled.nothing_more = true;
  } else {
    const uint8_t apart = between(known_.of(it.writer, it.epoch), mine);
    const bool strong = known_.is_strong_as_performed(mine, apart, false, reach, at.mask, it);
    if (it.releases) defer(mine, it, at, known_.is_strong_as_written(apart, false, reach, at.mask, it), strong);
    if (strong && !known) it.add_observer({mine.slot, mine.epoch});
    settled.known = settled.known || known || strong;
  }
  settled.note(at.mask, reach, false);
}

[[gnu::always_inline]] inline void learning::defer(lane_facts& mine, const message& it, const part& at, bool as_written,
                                                   bool seen) {
  const bool comparable = it.strong && it.is_of(at.mask);
  // Of one chain, a later store gives all that an earlier one gives.
  for (deferred_read& one : mine.deferred) {
    if (one.in != at.in || one.mask != at.mask || one.chain != it.chain) continue;
    if (one.serial >= it.serial && one.as_written >= as_written && one.seen >= seen && one.comparable >= comparable)
      return;
    if (one.serial > it.serial || one.as_written > as_written || one.seen > seen || one.comparable > comparable)
      continue;
    one.serial = it.serial;
    one.as_written = as_written;
    one.seen = seen;
    one.comparable = comparable;
    one.given = it.releases;
    return;
  }
  if (mine.deferred.size() == lane_facts::most_deferred) look_at_deferred(mine, nullptr);
  scheduler::append(mine.deferred, {.in = at.in,
                                    .serial = it.serial,
                                    .chain = it.chain,
                                    .mask = at.mask,
                                    .as_written = as_written,
                                    .seen = seen,
                                    .comparable = comparable,
                                    .given = it.releases});
}

void learning::look_at_deferred(lane_facts& mine, const part* at) {
  size_t kept = 0;
  for (deferred_read& read : mine.deferred) {
    if (at != nullptr && (read.in != at->in || read.mask != at->mask)) {
      deferred_read& place = mine.deferred[kept++];
      if (&place != &read) place = std::move(read);
      continue;
    }
    for (const release_entry& given : read.given->entries) {
      if (!given.is_release || !teaches(mine, given)) continue;
      const uint8_t apart = between(known_.of(given.releaser, given.epoch), mine);
      const bool written = !given.narrow && read.as_written && given.as_written && given.reach >= apart;
      const bool performed = !given.narrow && read.seen && given.machine_reach >= apart;
      const bool too_narrow = !written && given.as_written && read.comparable;
      if (written || performed || too_narrow)
        add_pending(mine, {read.in, read.mask, apart, written, performed, too_narrow, given});
    }
  }
  if (kept != mine.deferred.size()) mine.deferred.resize(kept);
}

void learning::acquire_what_is_pending(lane_facts& mine, uint8_t reach, const part* at) {
  look_at_deferred(mine, at);
  std::erase_if(mine.pending, [&](pending_acquire& one) {
    if (at != nullptr && (one.in != at->in || one.mask != at->mask)) return false;
    const bool written = one.as_written && reach >= one.apart;
    const bool performed = one.seen && machine_reach(mine, reach) >= one.apart;
    if (written || performed) known_.acquire(mine, one.given, written, performed);
    if (one.given.plain_flag && reach >= one.apart)
      races_.note_missing(mine, one.given, missing_order::flag, core_.history.this_step());
    if ((one.as_written && !written) || one.too_narrow) {
      races_.note_missing(mine, one.given, missing_order::scope, core_.history.this_step());
      if (!one.too_narrow) return false;
    }
    return performed || !one.seen;
  });
}

void learning::add_pending(lane_facts& mine, const pending_acquire& fresh) {
  if (std::any_of(mine.pending.begin(), mine.pending.end(),
                  [&](const pending_acquire& one) { return one.includes(fresh); }))
    return;
  std::erase_if(mine.pending, [&](const pending_acquire& one) { return fresh.includes(one); });
  if (mine.pending.size() >= mine.many_pending) forget_pending(mine);
  scheduler::append(mine.pending, fresh);
}

// What the lane has learnt in another way meanwhile, it need not acquire.
void learning::forget_pending(lane_facts& mine) {
  std::erase_if(mine.pending, [&](const pending_acquire& one) {
    const release_entry& given = one.given;
    return (!(one.as_written || one.too_narrow || given.plain_flag) ||
            mine.ordered_to(given.releaser) >= given.epoch) &&
           (!one.seen || mine.sees_to(given.releaser) >= given.epoch);
  });
  mine.many_pending = std::max(lane_facts::few_pending, 2 * mine.pending.size());
}

bool learning::is_overtaken(const lane_facts& releaser, const lane_facts& mine) const {
  return link_.relaxed_ordering && !link_.drain && !link_.shared_on_device && !releaser.host && mine.host;
}

}  // namespace heddle::sim::scoped
