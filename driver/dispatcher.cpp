#include <heddle/driver/dispatcher.h>

#include <bit>

namespace heddle::driver {

uint32_t number_set::next_of_both(const number_set& a, const number_set& b, uint32_t from) {
  const auto count = static_cast<uint32_t>(a.words_.size());
  if (from >= a.size_) from = 0;
  // The word that holds `from` is looked at twice: first from there on, in the end up to there.
  for (uint32_t n = 0; n <= count; ++n) {
    const uint32_t word = (from / 64 + n) % count;
    uint64_t both = a.words_[word] & b.words_[word];
    if (n == 0) both &= ~uint64_t{0} << from % 64;
    if (both != 0) return word * 64 + static_cast<uint32_t>(std::countr_zero(both));
  }
  return a.size_;
}

dispatcher::dispatcher(uint32_t units, uint32_t groups_per_unit, dispatch_policy policy)
    : groups_per_unit_(groups_per_unit), policy_(policy), on_unit_(units), with_room_(units) {
  for (uint32_t unit = 0; unit < units; ++unit) with_room_.insert(unit);
}

void dispatcher::begin(work& what, const share& groups) const {
  const auto units = static_cast<uint32_t>(on_unit_.size());
  what.left = groups.count;
  what.next = groups.first;
  if (what.units.size() != units) what.units = number_set(units);
  what.by_unit.clear();
  for (uint32_t unit = 0; unit < units; ++unit) {
    what.units.insert(unit);
    if (policy_ != dispatch_policy::partition) continue;
    share mine = share_of(groups.count, units, unit);
    mine.first += groups.first;
    what.by_unit.push_back(mine);
    if (mine.count == 0) what.units.erase(unit);
  }
}

std::optional<dispatcher::placement> dispatcher::place(work& what) {
  if (what.left == 0) return std::nullopt;
  const uint32_t from = policy_ == dispatch_policy::greedy ? 0 : next_unit_;
  const uint32_t unit = number_set::next_of_both(with_room_, what.units, from);
  if (unit == with_room_.size()) return std::nullopt;
  next_unit_ = unit + 1;
  if (++on_unit_[unit] == groups_per_unit_) with_room_.erase(unit);
  --what.left;
  if (policy_ != dispatch_policy::partition) return placement{.unit = unit, .group = what.next++};
  share& mine = what.by_unit[unit];
  if (--mine.count == 0) what.units.erase(unit);
  return placement{.unit = unit, .group = mine.first++};
}

void dispatcher::leave(uint32_t unit) {
  --on_unit_[unit];
  with_room_.insert(unit);
}

}  // namespace heddle::driver
