// Which accesses to scoped memory race, and what overtook what.
#include <heddle/sim/memory/scoped_memory.h>
#include <heddle/sim/world.h>

#include <algorithm>

namespace heddle::sim {

void scoped_memory::report_race(lane& self, const lane_facts& mine, const access_record& earlier,
                                const access_record& now) {
  const bool both_atomic = !earlier.plain && !now.plain && earlier.mask == now.mask;
  const race_finder::edge* missing = races_.would_order(earlier, mine.clock.ordered, true);
  const bool scope_race = both_atomic || missing != nullptr;
  if (missing == nullptr) missing = races_.would_order(earlier, mine.clock.ordered, false);
  here_.found_race(self, earlier, scope_race, missing);
}

void scoped_memory::look_at_history(lane& self, lane_facts& mine, const part& at, const operation& how, bool plain,
                                    bool writes) {
  constexpr size_t few = 8;
  const uint8_t mask = at.mask;
  const auto reach = static_cast<uint8_t>(how.reach);
  const access_record now = record_of(self, mine, here_.steps() + 1, mask, how, plain, writes);
  access_history& known = at.in->accesses;
  const clock_entries& ordered = mine.clock.ordered;
  const auto comes_after = [&](const access_record& one) {
    return one.lane == self.id || entry_of(ordered, one.lane) >= one.epoch;
  };
  const auto look = [&](const access_record& one) {
    if ((one.mask & mask) == 0 || comes_after(one)) return;
    if (!plain && !one.plain && one.mask == mask && std::min(one.reach, reach) >= between(*lanes_[one.lane], mine))
      return;
    report_race(self, mine, one, now);
  };
  for (const access_record& one : known.plain_writes) look(one);
  if (writes)
    for (const access_record& one : known.plain_reads) look(one);
  if (!plain) {
    known.note_shape(mask, reach, mine.host);
    if (!known.atomics_agree) {
      known.atomic_writes.each(look);
      if (writes) known.atomic_reads.each(look);
    }
    (writes ? known.atomic_writes : known.atomic_reads).add(now);
    at.place->checked[writes ? 1 : 0] = {
        .epoch = mine.epoch, .plain_changes = known.plain_changes, .mask = mask, .reach = reach};
    return;
  }
  ++known.plain_changes;
  if (known.has_atomics) {
    known.atomic_writes.each(look);
    if (writes) known.atomic_reads.each(look);
  }
  // Whoever races with an access that this one comes after, and covers, and conflicts with at least as much, races with this one.
  const auto drop_covered = [&](std::vector<access_record>& earlier) {
    std::erase_if(earlier, [&](const access_record& one) { return (one.mask & ~mask) == 0 && comes_after(one); });
  };
  if (!writes) {
    for (access_record& one : known.plain_reads)
      if (one.lane == self.id && one.mask == mask) {
        one = now;
        return;
      }
    if (known.plain_reads.size() >= few) drop_covered(known.plain_reads);
    known.plain_reads.push_back(now);
    return;
  }
  drop_covered(known.plain_reads);
  drop_covered(known.plain_writes);
  known.plain_writes.push_back(now);
}

std::string scoped_memory::overtakings() const {
  std::string text;
  for (const overtaking& one : overtakings_)
    text += "  " + here_.describe_step(one.data_step) + "\n    was overtaken by " + here_.describe_step(one.flag_step) +
            ": relaxed ordering is on (link.ro), and releases do not drain the link (link.drain)\n";
  return text;
}

}  // namespace heddle::sim
