// Which accesses to scoped memory race, and what overtook what.
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/scoped/scoped_memory.h>

#include <algorithm>

namespace heddle::sim {
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

void scoped_memory::report_race(lane& self, const lane_facts& mine, const access_record& earlier, bool plain,
                                uint8_t mask) {
  const bool both_atomic = !earlier.plain && !plain && earlier.mask == mask;
  const race_finder::edge* missing = races_.would_order(earlier, mine.clock.ordered, true);
  const bool scope_race = both_atomic || missing != nullptr;
  if (missing == nullptr) missing = races_.would_order(earlier, mine.clock.ordered, false);
  // Another lane of the wave may know what this one does not.
  const lane* knows = nullptr;
  if (missing == nullptr && !both_atomic && !self.is_host())
    for (const lane* other : self.of->lanes)
      if (knows == nullptr && other != &self && other->id < lanes_.size() && lanes_[other->id] != nullptr &&
          comes_after(*other, *lanes_[other->id], earlier))
        knows = other;
  race_log_.found(self, earlier, scope_race, missing, knows);
}

// Whether this access, and the earlier one, conflict and nothing orders them, nor are they both atomic and each in the other's scope.
[[gnu::always_inline]] inline bool scoped_memory::is_race(const lane& self, const lane_facts& mine, const part& at,
                                                          const operation& how, bool plain,
                                                          const access_record& earlier) const {
  if ((earlier.mask & at.mask) == 0 || comes_after(self, mine, earlier)) return false;
  return plain || earlier.plain || earlier.mask != at.mask ||
         std::min(earlier.reach, reach_of(mine, how)) < between(*lanes_[earlier.lane], mine);
}

void scoped_memory::look_before_atomic(lane& self, lane_facts& mine, const part& at, const operation& how,
                                       bool writes) {
  access_history& known = at.in->accesses;
  const auto look = [&](const access_record& one) __attribute__((always_inline)) {
    if (is_race(self, mine, at, how, false, one)) [[unlikely]]
      report_race(self, mine, one, false, at.mask);
  };
  for (const access_record& one : known.plain_writes) look(one);
  if (writes)
    for (const access_record& one : known.plain_reads) look(one);
  known.note_shape(at.mask, reach_of(mine, how), mine.side);
  if (!known.atomics_agree) {
    note_compared(at);
    known.atomic_writes.each(look);
    if (writes) known.atomic_reads.each(look);
  }
  (writes ? known.atomic_writes : known.atomic_reads)
      .add(record_of(self, mine, core_.history.this_step(), at.mask, how, false, writes));
  checked_access& checked = at.place->checked[writes ? 1 : 0];
  checked.epoch = mine.epoch;
  checked.plain_changes = known.plain_changes;
  checked.mask = at.mask;
  checked.reach = reach_of(mine, how);
}

void scoped_memory::look_before_plain(lane& self, lane_facts& mine, const part& at, const operation& how, bool writes) {
  constexpr size_t few = 8;
  access_history& known = at.in->accesses;
  const auto look = [&](const access_record& one) __attribute__((always_inline)) {
    if (is_race(self, mine, at, how, true, one)) [[unlikely]]
      report_race(self, mine, one, true, at.mask);
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
  // Whoever races with an access that this one comes after, and covers, and conflicts with at least as much, races with this one.
  const auto is_covered = [&](const access_record& one) {
    return (one.mask & ~at.mask) == 0 && comes_after(self, mine, one);
  };
  if (!writes) {
    for (access_record& one : known.plain_reads)
      if (one.lane == self.id && one.mask == at.mask) {
        one = record_of(self, mine, core_.history.this_step(), at.mask, how, true, false);
        return;
      }
    if (known.plain_reads.size() >= few) drop_if(known.plain_reads, is_covered);
    scheduler::append(known.plain_reads, record_of(self, mine, core_.history.this_step(), at.mask, how, true, false));
    return;
  }
  drop_if(known.plain_reads, is_covered);
  drop_if(known.plain_writes, is_covered);
  scheduler::append(known.plain_writes, record_of(self, mine, core_.history.this_step(), at.mask, how, true, true));
}

std::string scoped_memory::overtakings() const {
  std::string text;
  for (const overtaking& one : overtakings_)
    text += "  " + core_.describe_step(one.data_step) + "\n    was overtaken by " + core_.describe_step(one.flag_step) +
            ": relaxed ordering is on (link.ro), and releases do not drain the link (link.drain)\n";
  return text;
}

}  // namespace heddle::sim
