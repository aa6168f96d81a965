// Accesses of 16 bytes to scoped memory, each as one.
#include <heddle/sim/memory/scoped/scoped_memory.h>
#include <heddle/sim/memory/scoped/scoped_parts.h>

#include <cstring>

namespace heddle::sim {

// The two halves have stores in pairs, one behind the other. What a load may find of the first half is chosen as ever; of the second it is
// the other half of that, where the lane may still miss what is newer there. Where it may not, or the halves were stored one by one, it is
// the newest.
wide_value scoped_memory::load_wide(lane& self, const operation& how) {
  note_access(self, how, false);
  copies_.look_before(self, how, sizeof(wide_value), false);
  const total_order ordered(*this, self, how, false);
  wide_value value;
  std::memcpy(&value, how.address, sizeof value);
  if (!locations_.covers(how.address)) return value;
  lane_facts& mine = scoped::facts(self);
  const auto reach = static_cast<uint8_t>(how.reach);
  // Both granules are there before either is used: making one may move the other's place.
  locations_.at(how.address);
  granule& second = locations_.at(static_cast<const std::byte*>(how.address) + granule_bytes);
  const part low = part_of(mine, how.address, granule_bytes);
  const access low_half{self, mine, low, how};
  races_.look(low_half, false);
  visible found = choice_.choose(low_half, false);
  message* first = latest(*low.in, found.cut, low.mask);
  int cut = second.count - 1;
  bool is_newest = found.newest();
  if (!is_newest) {
    const auto is_other_half = [&](const message& one) { return first != nullptr && one.serial == first->serial + 1; };
    while (cut >= 0 && !is_other_half(*second.order[static_cast<size_t>(cut)]) &&
           !known_.knows(mine, *second.order[static_cast<size_t>(cut)]))
      --cut;
    const bool fits = cut >= 0 ? is_other_half(*second.order[static_cast<size_t>(cut)])
                               : first == nullptr && second.base_readable == 0xff;
    if (!fits) {
      is_newest = true;
      found = visible::newest_at(low.in->count - 1, false);
      first = latest(*low.in, found.cut, low.mask);
      cut = second.count - 1;
    }
  }
  if (first != nullptr) learning_.has_read(low_half, *first, found.known());
  const part high = part_of(mine, second.address, granule_bytes);
  const access high_half{self, mine, high, how};
  races_.look(high_half, false);
  message* const other = latest(second, cut, high.mask);
  if (other != nullptr) learning_.has_read(high_half, *other, false);
  if (core_.explains()) tell_found(self, low, first, is_newest);
  if (acquires(how.order)) {
    learning_.acquire_pending(mine, reach, &low);
    learning_.acquire_pending(mine, reach, &high);
  }
  if (is_newest) return value;
  value.low = value_at(*low.in, found.cut);
  value.high = value_at(second, cut);
  return value;
}

void scoped_memory::store_wide(lane& self, const operation& how, wide_value value) {
  note_access(self, how, true);
  copies_.look_before(self, how, sizeof(wide_value), true);
  const total_order ordered(*this, self, how, true);
  if (!locations_.covers(how.address)) {
    std::memcpy(const_cast<void*>(how.address), &value, sizeof value);
    return;
  }
  lane_facts& mine = scoped::facts(self);
  for_each_part(mine, how.address, sizeof value, [&](const part& at) { races_.look({self, mine, at, how}, true); });
  for_each_part(mine, how.address, sizeof value, [&](const part& at) {
    stores_.put(self, mine, at, how, {.value = at.in->address == how.address ? value.low : value.high});
  });
}

wide_value scoped_memory::modify_wide(lane& self, const operation& how, const wide_modification& next) {
  note_access(self, how, true);
  copies_.look_before(self, how, sizeof(wide_value), true);
  const total_order ordered(*this, self, how, true);
  wide_value old;
  std::memcpy(&old, how.address, sizeof old);
  const bool writes = next.writes == nullptr || next.writes(next.context, old);
  const wide_value fresh = writes ? next.apply(next.context, old) : old;
  if (!locations_.covers(how.address)) {
    std::memcpy(const_cast<void*>(how.address), &fresh, sizeof fresh);
    return old;
  }
  lane_facts& mine = scoped::facts(self);
  const auto reach = static_cast<uint8_t>(how.reach);
  operation read_as = how;
  if (!writes && next.unless_written) read_as.order = *next.unless_written;
  for_each_part(mine, how.address, sizeof old, [&](const part& at) {
    const access made{self, mine, at, read_as};
    races_.look(made, writes);
    message* const read = latest(*at.in, at.in->count - 1, at.mask);
    if (read != nullptr) learning_.has_read(made, *read, false);
    if (core_.explains()) tell_found(self, at, read, true);
    if (acquires(read_as.order)) learning_.acquire_pending(mine, reach, &at);
  });
  if (writes)
    for_each_part(mine, how.address, sizeof old, [&](const part& at) {
      message* const read = latest(*at.in, at.in->count - 1, at.mask);
      stores_.put(
          self, mine, at, how,
          {.value = at.in->address == how.address ? fresh.low : fresh.high, .modifies = true, .modified = read});
    });
  if (mine.tso) known_.fence_host(mine);
  return old;
}

}  // namespace heddle::sim
