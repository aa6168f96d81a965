#include <heddle/sim/memory/scoped/scoped_races.h>

#include <algorithm>

namespace heddle::sim::scoped {
namespace {

/// As std::erase_if, for the one or two that there mostly are.
template <typename Covered>
[[gnu::always_inline]] inline void drop_if(std::vector<access_record>& from, const Covered& covered) {
  size_t kept = 0;
  for (const access_record& one : from)
    if (!covered(one)) from[kept++] = one;
  from.erase(from.begin() + static_cast<std::ptrdiff_t>(kept), from.end());
}

}  // namespace

// A word that one lane stores plainly, behind a fence that reaches the other, which loads it as an atomic or volatile one: with a store of that
// kind it would be a flag. A store of so few bytes is one on today's machines, and comes behind the fence.
bool race_check::is_plain_flag(const access& made, const access_record& earlier, bool writes) const {
  const auto& [self, mine, at, how, plain] = made;
  if (earlier.plain == plain || earlier.mask != at.mask || how.size_bytes > granule_bytes) return false;
  if (!(plain ? writes : earlier.writes)) return false;
  const lane_facts& by = known_.of(earlier.lane, earlier.epoch);
  const lane_facts& stores = plain ? mine : by;
  const uint64_t step = plain ? core_.history.this_step() : earlier.step;
  const uint64_t fenced = stores.first_fence[between(by, mine)];
  return fenced != 0 && fenced < step;
}

// Whether the lane has loaded the bytes itself since the earlier access: its store comes behind that load whatever a machine does, so that it is
// the load that comes too early.
bool race_check::has_loaded_since(const access& made, const access_record& earlier) {
  const std::vector<access_record>& loads = made.at.in->accesses.plain_reads;
  return std::any_of(loads.begin(), loads.end(), [&](const access_record& one) {
    return made.mine.has_done(one.lane, one.epoch) && (made.at.mask & ~one.mask) == 0 && one.step > earlier.step;
  });
}

race_log::reason race_check::reason_of(const access& made, const access_record& earlier, bool writes) const {
  const auto& [self, mine, at, how, plain] = made;
  const clock_entries known = mine.whole_clock().ordered;
  const auto would_order = [&](missing_orders these) { return edges_.would_order(earlier, known, these); };
  const bool both_copied = earlier.copied && self.copies_block;
  const bool both_atomic = !earlier.plain && !plain && earlier.mask == at.mask && !both_copied;
  if (const auto* const missing = would_order(only(missing_order::scope)); both_atomic || missing != nullptr)
    return {race_weight::scope, missing};
  if (is_plain_flag(made, earlier, writes)) return {race_weight::plain_flag, would_order(any_missing_order)};
  if (const auto* const missing = would_order(only(missing_order::acquire)))
    return {writes && !has_loaded_since(made, earlier) ? race_weight::acquire_store : race_weight::acquire, missing};
  if (const auto* const missing = would_order(only(missing_order::flag))) return {race_weight::plain_flag, missing};
  // The later store changes nothing for a load, unless a machine makes it first.
  const bool after_read = earlier.plain && !earlier.writes;
  // Rather what is there, and lacks something, than what is not there.
  for (const missing_orders these : {any_missing_order & ~only(missing_order::release), any_missing_order})
    if (const auto* const missing = would_order(these))
      return {after_read ? race_weight::after_read : race_weight::release, missing};
  return {after_read ? race_weight::after_read : race_weight::nothing, nullptr};
}

void race_check::report(const access& made, const access_record& earlier, bool writes) {
  const auto& [self, mine, at, how, plain] = made;
  // Whether there was such a store, a search finds out.
  if (earlier.given && notes_ != nullptr)
    return core_.frames.want_seen(core_.threads.lanes[known_.of(earlier.lane, earlier.epoch).id], at.in->address);
  race_log::reason why = reason_of(made, earlier, writes);
  // Another lane of the wave may know what this one does not.
  if (why.missing == nullptr && why.weight != race_weight::scope && !self.is_host())
    for (const lane* other : self.of->lanes)
      if (why.knows == nullptr && other != &self && known_.find(other->id) != nullptr &&
          comes_after(known_[other->id], earlier))
        why.knows = other;
  if (!plain || writes)
    why.stored_to = {at.in->address, at.mask, earlier.writes && writes && plain && how.kind != operation_kind::copy};
  race_finder::edge missing;
  if (why.missing != nullptr) {
    missing = known_.named(*why.missing);
    why.missing = &missing;
  }
  log_.found(self, known_.named(earlier), why);
}

// Whether this access, and the earlier one, conflict and nothing orders them, nor are they both atomic and each in the other's scope.
[[gnu::always_inline]] inline bool race_check::is_race(const access& made, const access_record& earlier) const {
  const auto& [self, mine, at, how, plain] = made;
  if ((earlier.mask & at.mask) == 0 || comes_after(mine, earlier)) return false;
  // (PTX ISA, "Vector Data-types": a vector is as many accesses as it has values.)
  const bool are_same = earlier.mask == at.mask || is_value_of(earlier.mask, earlier.vector_of, at.mask) ||
                        is_value_of(at.mask, self.vector_of, earlier.mask);
  return plain || earlier.plain || !are_same || (earlier.copied && self.copies_block) ||
         std::min(earlier.reach, reach_of(mine, how)) < between(known_.of(earlier.lane, earlier.epoch), mine);
}

// Whether the lane has read what the earlier atomic access has stored, be it through a row of read-modify-writes of which each has read the one
// before, or comes after a lane that has. Then that store comes before this access, although nothing else of its lane does: of the accesses of a
// counter by which the last lane is found, and sets it back. (PTX ISA, "Causality Order": an observation may stand in front.) Where a scope was too
// narrow for that, the two that are atomic were a race.
bool race_check::has_observed(const access& made, const access_record& earlier) const {
  for (size_t n = 0; n < made.at.in->count; ++n) {
    const message& one = *made.at.in->order[n];
    if (!one.strong || (one.mask & earlier.mask) != earlier.mask) continue;
    const bool is_it = one.writer == earlier.lane && one.step == earlier.step;
    // Of a row that reaches back to what is not kept any more, all read-modify-writes made meanwhile are part.
    const bool has_it = one.modifies && earlier.modifies && one.chain_step <= earlier.step && earlier.step < one.step;
    if (!is_it && !has_it) continue;
    if (!is_it && made.mine.ordered_to(one.writer) >= one.epoch) return true;
    for (const observer& reader : one.observers)
      if (made.mine.ordered_to(reader.lane) >= reader.epoch) return true;
  }
  return false;
}

void race_check::look_before_atomic(lane& self, lane_facts& mine, const part& at, const operation& how, bool writes) {
  const access made{self, mine, at, how, false};
  access_history& known = at.in->accesses;
  const auto look = [&](const access_record& one) __attribute__((always_inline)) {
    if (is_race(made, one)) [[unlikely]]
      report(made, one, writes);
  };
  for (const access_record& one : known.plain_writes) look(one);
  if (writes)
    for (const access_record& one : known.plain_reads) look(one);
  known.note_shape(at.mask, reach_of(mine, how), mine.side);
  if (self.copies_block) [[unlikely]]
    known.atomics_agree = false;
  if (!known.atomics_agree) {
    note_compared(at);
    known.atomic_writes.each(look);
    if (writes) known.atomic_reads.each(look);
  }
  (writes ? known.atomic_writes : known.atomic_reads).add(record_of(made, writes), mine.first_epoch);
  checked_access& checked = at.place->checked[writes ? 1 : 0];
  checked.epoch = mine.epoch;
  checked.plain_changes = known.plain_changes;
  checked.mask = at.mask;
  checked.reach = reach_of(mine, how);
}

void race_check::look_before_plain(lane& self, lane_facts& mine, const part& at, const operation& how, bool writes) {
  mine.accesses(at.in, at.mask);
  const access made{self, mine, at, how, true};
  access_history& known = at.in->accesses;
  // An access that races with one that this one comes after, covers, and conflicts with at least as much, races with this one.
  const auto is_covered = [&](const access_record& one) {
    return (one.mask & ~at.mask) == 0 && comes_after(mine, one);
  };
  // Memory that goes from lane to lane mostly holds one write, and the read of the lane that now writes.
  if (writes && !known.has_atomics && known.plain_writes.size() == 1 && known.plain_reads.size() <= 1 &&
      is_covered(known.plain_writes[0]) && (known.plain_reads.empty() || is_covered(known.plain_reads[0]))) {
    ++known.plain_changes;
    known.plain_reads.clear();
    known.may_have_read = 0;
    known.plain_writes[0] = record_of(made, true);
    return;
  }
  const auto look = [&](const access_record& one) __attribute__((always_inline)) {
    if (is_race(made, one) && (one.plain || !has_observed(made, one))) [[unlikely]]
      report(made, one, writes);
  };
  for (const access_record& one : known.plain_writes) look(one);
  if (writes)
    for (const access_record& one : known.plain_reads) look(one);
  ++known.plain_changes;
  if (known.has_atomics) {
    note_compared(at);
    known.atomic_writes.each(look);
    if (writes) known.atomic_reads.each(look);
  }
  if (!writes) {
    if ((known.may_have_read & access_history::bit_of(mine.slot)) != 0)
      for (access_record& one : known.plain_reads)
        if (one.lane == mine.slot && one.mask == at.mask) {
          one = record_of(made, false);
          return;
        }
    if (known.plain_reads.size() >= known.reads_looked_through) {
      drop_if(known.plain_reads, is_covered);
      known.reads_looked_through = std::max(access_history::few, 2 * static_cast<uint32_t>(known.plain_reads.size()));
    }
    known.may_have_read |= access_history::bit_of(mine.slot);
    scheduler::append(known.plain_reads, record_of(made, false));
    return;
  }
  if (!known.plain_reads.empty()) {
    drop_if(known.plain_reads, is_covered);
    if (known.plain_reads.empty()) known.may_have_read = 0;
  }
  if (known.plain_writes.size() == 1 && is_covered(known.plain_writes[0])) {
    known.plain_writes[0] = record_of(made, true);
    return;
  }
  drop_if(known.plain_writes, is_covered);
  scheduler::append(known.plain_writes, record_of(made, true));
}

void race_check::note_missing(lane_facts& mine, const release_entry& given, missing_order why, uint64_t load_step) {
  if (edges_.full() || mine.ordered_to(given.releaser) >= given.epoch) return;
  new_epoch(mine);
  edges_.add({.from = given.view,
              .releaser = given.releaser,
              .releaser_epoch = given.epoch,
              .lane = mine.slot,
              .epoch = mine.epoch,
              .lacks = why,
              .store_step = given.step,
              .load_step = load_step});
}

}  // namespace heddle::sim::scoped
