// The accesses of lanes to scoped memory, one after another: what each compares, chooses, learns and stores.
#include <heddle/sim/memory/scoped/scoped_inline.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::sim {
namespace {

/// An atomic value as it lies in memory. Sizes are known, so that no call is made.
uint64_t read_atomic(const void* address, size_t size_bytes) {
  const auto read = [address](auto word) {
    std::memcpy(&word, address, sizeof word);
    return uint64_t{word};
  };
  switch (size_bytes) {
    case 8:
      return read(uint64_t{});
    case 4:
      return read(uint32_t{});
    case 2:
      return read(uint16_t{});
    default:
      return read(uint8_t{});
  }
}

}  // namespace

// -- which location --------------------------------------------------------------------------------------------------------------

inline bool scoped_memory::covers(const void* address) const {
  return core_.map.heap.contains(address) || !core_.map.may_vanish(address);
}

[[gnu::always_inline]] inline scoped_memory::granule* scoped_memory::known_granule(const void* address) const {
  // An address below the heap has the number of a granule beyond all.
  const size_t slot = core_.map.heap.offset_of(address) / granule_bytes;
  return slot < of_heap_.size() ? of_heap_[slot] : nullptr;
}

[[gnu::always_inline]] inline scoped_memory::granule& scoped_memory::granule_at(const void* address) {
  granule* const known = known_granule(address);
  return known != nullptr ? *known : add_granule(address);
}

[[gnu::always_inline]] inline scoped_memory::part scoped_memory::part_in(lane_facts& mine, granule& in,
                                                                         const void* address, size_t size_bytes) {
  const auto offset = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(address) % granule_bytes);
  const auto mask = static_cast<uint8_t>(((uint32_t{1} << size_bytes) - 1) << offset);
  return {.in = &in, .mask = mask, .shift = 8 * offset, .place = &remembered(mine, in, mask)};
}

[[gnu::always_inline]] inline scoped_memory::part scoped_memory::part_of(lane_facts& mine, const void* address,
                                                                         size_t size_bytes) {
  return part_in(mine, granule_at(address), address, size_bytes);
}

template <typename Each>
void scoped_memory::for_each_part(lane_facts& mine, const void* address, size_t size_bytes, Each&& each) {
  const auto* at = static_cast<const std::byte*>(address);
  while (size_bytes != 0) {
    const size_t room = granule_bytes - reinterpret_cast<uintptr_t>(at) % granule_bytes;
    const size_t bytes = std::min(room, size_bytes);
    each(part_of(mine, at, bytes));
    at += bytes;
    size_bytes -= bytes;
  }
}

// -- what every access does ------------------------------------------------------------------------------------------------------

[[gnu::always_inline]] inline void scoped_memory::look_for_race(lane& self, lane_facts& mine, const part& at,
                                                                const operation& how, bool plain, bool writes) {
  if (!plain) {
    // What the lane came after it still comes after; only the time of its access changes.
    access_history& known = at.in->accesses;
    checked_access& checked = at.place->checked[writes ? 1 : 0];
    if (checked.still_holds(known, at.mask, reach_of(mine, how))) {
      if (checked.epoch == mine.epoch) return;
      atomic_accesses& same = writes ? known.atomic_writes : known.atomic_reads;
      if (same.repeat(record_of(self, mine, core_.history.this_step(), at.mask, how, false, writes))) {
        checked.epoch = mine.epoch;
        return;
      }
    }
  }
  if (plain)
    look_before_plain(self, mine, at, how, writes);
  else
    look_before_atomic(self, mine, at, how, writes);
}

[[gnu::always_inline]] inline scoped_memory::visible scoped_memory::choose_visible(lane& self, lane_facts& mine,
                                                                                   const part& at, bool modifies,
                                                                                   bool plain, uint8_t reach) {
  const granule& in = *at.in;
  const uint8_t mask = at.mask;
  // Nearly always the lane knows the newest.
  for (int n = in.count - 1; n >= 0; --n) {
    const message& one = *in.order[static_cast<size_t>(n)];
    if ((one.mask & mask) == 0) continue;
    settled_store& settled = at.place->settled;
    const bool settled_now = settled.serial == one.serial && settled.known;
    const bool known = settled_now || knows(self, mine, one);
    if (known && !in.races(one)) {
      if (!settled_now) {
        if (settled.serial != one.serial) settled.begin(one.serial);
        settled.known = true;
      }
      return visible::newest_at(n, true);
    }
    if (modifies && morally_strong(mine, plain, reach, mask, one, false)) return visible::newest_at(n, false);
    if (!core_.may_be_late(self)) return visible::newest_at(n, false);
    if (!modifies && !in.has_unordered) return choose_among(self, mine, at, n);
    return choose_among_racing(self, mine, at, n, known, modifies, plain, reach);
  }
  return {};
}

[[gnu::always_inline]] inline void scoped_memory::has_read(lane& self, lane_facts& mine, message& it, const part& at,
                                                           const operation& how, bool plain, bool known) {
  settled_store& settled = at.place->settled;
  if (settled.serial != it.serial) {
    settled.begin(it.serial);
  } else {
    if (settled.nothing_more) return;
    if (settled.noted && !plain && settled.is_read_again(at.mask, reach_of(mine, how), acquires(how.order))) return;
  }
  if (plain || mine.tso || acquires(how.order) || wants_reasons())
    has_read_to_know(self, mine, it, at, how, plain);
  else
    has_read_relaxed(self, mine, it, at, reach_of(mine, how), known);
}

// -- atomic accesses -------------------------------------------------------------------------------------------------------------

void scoped_memory::tell_found(const lane& self, const part& at, const message* read, bool is_newest) {
  const message* const newest = is_newest ? read : latest(*at.in, at.in->count - 1, at.mask);
  core_.found(self, read == nullptr ? 0 : read->step, is_newest, newest == nullptr ? 0 : newest->step);
}

// Most loads are those of a lane that waits, and find what the one before has found.
uint64_t scoped_memory::load(lane& self, const operation& how) {
  if (how.order == memory_order::seq_cst) [[unlikely]]
    fence(self, how);
  const size_t size_bytes = how.size_bytes;
  const uint64_t newest = read_atomic(how.address, size_bytes);
  if (reinterpret_cast<uintptr_t>(how.address) % granule_bytes + size_bytes > granule_bytes) return newest;
  granule* in = known_granule(how.address);
  if (in == nullptr) [[unlikely]] {
    if (!covers(how.address)) return newest;
    in = &add_granule(how.address);
  }
  lane_facts& mine = facts(self);
  const part at = part_in(mine, *in, how.address, size_bytes);
  look_for_race(self, mine, at, how, false, false);
  return repeats(mine, at, how) ? newest : load_anew(self, mine, at, how, newest);
}

// Whether it is the load that has read the store there last, and would find the same.
[[gnu::always_inline]] inline bool scoped_memory::repeats(const lane_facts& mine, const part& at,
                                                          const operation& how) {
  const settled_store& settled = at.place->settled;
  return settled.repeats && settled.newest == at.in->newest &&
         settled.is_read_again(at.mask, reach_of(mine, how), acquires(how.order));
}

[[gnu::always_inline]] inline uint64_t scoped_memory::load_anew(lane& self, lane_facts& mine, const part& at,
                                                                const operation& how, uint64_t newest) {
  const bool is_acquire = acquires(how.order);
  settled_store& settled = at.place->settled;
  const visible found = choose_visible(self, mine, at, false, false, reach_of(mine, how));
  const int cut = found.cut;
  const bool is_newest = found.newest();
  const bool known = found.known();
  message* const read = latest(*at.in, cut, at.mask);
  if (read != nullptr) has_read(self, mine, *read, at, how, false, known);
  if (wants_reasons()) tell_found(self, at, read, is_newest);
  // An earlier load of the same location, be it relaxed, begins the acquire pattern that this one ends.
  if (is_acquire) acquire_pending(self, mine, reach_of(mine, how), &at);
  if (is_newest) {
    if (read == nullptr) {
      settled.begin(at.in->serial);
      settled.known = settled.nothing_more = true;
    }
    settled.repeats = settled.known && (settled.nothing_more || settled.noted) &&
                      (read == nullptr || (settled.serial == read->serial && !at.in->races(*read)));
    settled.newest = at.in->newest;
    settled.mask = at.mask;
    settled.reach = reach_of(mine, how);
    settled.acquires = is_acquire;
    return newest;
  }
  const bool reads_one = read != nullptr && (read->mask & at.mask) == at.mask;
  return ((reads_one ? read->value : value_at(*at.in, cut)) & scoped::bytes_of_mask[at.mask]) >> at.shift;
}

void scoped_memory::store(lane& self, const operation& how, uint64_t value) {
  if (how.order == memory_order::seq_cst) fence(self, how);
  const size_t size_bytes = how.size_bytes;
  auto* const address = static_cast<std::byte*>(const_cast<void*>(how.address));
  if (!covers(address) || reinterpret_cast<uintptr_t>(address) % granule_bytes + size_bytes > granule_bytes) {
    std::memcpy(address, &value, size_bytes);
    return;
  }
  lane_facts& mine = facts(self);
  const part at = part_of(mine, address, size_bytes);
  look_for_race(self, mine, at, how, false, true);
  put(self, mine, at, value << at.shift, how, false, nullptr, false, true);
}

uint64_t scoped_memory::read_modify_write(lane& self, const operation& how, const modification& next) {
  if (how.order == memory_order::seq_cst) fence(self, how);
  const size_t size_bytes = how.size_bytes;
  auto* const address = static_cast<std::byte*>(const_cast<void*>(how.address));
  uint64_t old = read_atomic(address, size_bytes);
  const auto writes = [&] { return next.writes == nullptr || next.writes(next.context, old); };
  if (!covers(address) || reinterpret_cast<uintptr_t>(address) % granule_bytes + size_bytes > granule_bytes) {
    if (!writes()) return old;
    const uint64_t value = next.apply(next.context, old);
    std::memcpy(address, &value, size_bytes);
    return old;
  }
  lane_facts& mine = facts(self);
  const part at = part_of(mine, address, size_bytes);
  const visible found = choose_visible(self, mine, at, true, false, reach_of(mine, how));
  const int cut = found.cut;
  const bool is_newest = found.newest();
  const bool known = found.known();
  if (!is_newest) old = (value_at(*at.in, cut) & scoped::bytes_of_mask[at.mask]) >> at.shift;
  look_for_race(self, mine, at, how, false, writes());
  message* const read = latest(*at.in, cut, at.mask);
  if (read != nullptr) has_read(self, mine, *read, at, how, false, known);
  if (wants_reasons()) tell_found(self, at, read, is_newest);
  if (acquires(how.order)) acquire_pending(self, mine, reach_of(mine, how), &at);
  if (!writes()) {
    if (mine.tso) fence_host(self, mine);
    return old;
  }
  const uint64_t value = next.apply(next.context, old);
  if (value != old || !adds_nothing(mine, how, at, read))
    put(self, mine, at, value << at.shift, how, false, read, true, false);
  if (mine.tso) fence_host(self, mine);
  return old;
}

// -- 16 bytes ----------------------------------------------------------------------------------------------------------------------

// The two halves have stores in pairs, one behind the other. What a load may find of the first half is chosen as ever; of the second it is
// the other half of that, where the lane may still miss what is newer there. Where it may not, or the halves were stored one by one, it is
// the newest.
wide_value scoped_memory::load_wide(lane& self, const operation& how) {
  if (how.order == memory_order::seq_cst) fence(self, how);
  wide_value value;
  std::memcpy(&value, how.address, sizeof value);
  if (!covers(how.address)) return value;
  lane_facts& mine = facts(self);
  const auto reach = static_cast<uint8_t>(how.reach);
  // Both granules are there before either is used: making one may move the other's place.
  granule_at(how.address);
  granule& second = granule_at(static_cast<const std::byte*>(how.address) + granule_bytes);
  const part low = part_of(mine, how.address, granule_bytes);
  look_for_race(self, mine, low, how, false, false);
  visible found = choose_visible(self, mine, low, false, false, reach);
  message* first = latest(*low.in, found.cut, low.mask);
  int cut = second.count - 1;
  bool is_newest = found.newest();
  if (!is_newest) {
    const auto is_other_half = [&](const message& one) { return first != nullptr && one.serial == first->serial + 1; };
    while (cut >= 0 && !is_other_half(*second.order[static_cast<size_t>(cut)]) &&
           !knows(self, mine, *second.order[static_cast<size_t>(cut)]))
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
  if (first != nullptr) has_read(self, mine, *first, low, how, false, found.known());
  const part high = part_of(mine, second.address, granule_bytes);
  look_for_race(self, mine, high, how, false, false);
  message* const other = latest(second, cut, high.mask);
  if (other != nullptr) has_read(self, mine, *other, high, how, false, false);
  if (wants_reasons()) tell_found(self, low, first, is_newest);
  if (acquires(how.order)) {
    acquire_pending(self, mine, reach, &low);
    acquire_pending(self, mine, reach, &high);
  }
  if (is_newest) return value;
  value.low = value_at(*low.in, found.cut);
  value.high = value_at(second, cut);
  return value;
}

void scoped_memory::store_wide(lane& self, const operation& how, wide_value value) {
  if (how.order == memory_order::seq_cst) fence(self, how);
  if (!covers(how.address)) {
    std::memcpy(const_cast<void*>(how.address), &value, sizeof value);
    return;
  }
  lane_facts& mine = facts(self);
  for_each_part(mine, how.address, sizeof value,
                [&](const part& at) { look_for_race(self, mine, at, how, false, true); });
  for_each_part(mine, how.address, sizeof value, [&](const part& at) {
    put(self, mine, at, at.in->address == how.address ? value.low : value.high, how, false, nullptr, false, false);
  });
}

wide_value scoped_memory::modify_wide(lane& self, const operation& how, const wide_modification& next) {
  if (how.order == memory_order::seq_cst) fence(self, how);
  wide_value old;
  std::memcpy(&old, how.address, sizeof old);
  const bool writes = next.writes == nullptr || next.writes(next.context, old);
  const wide_value fresh = writes ? next.apply(next.context, old) : old;
  if (!covers(how.address)) {
    std::memcpy(const_cast<void*>(how.address), &fresh, sizeof fresh);
    return old;
  }
  lane_facts& mine = facts(self);
  const auto reach = static_cast<uint8_t>(how.reach);
  for_each_part(mine, how.address, sizeof old, [&](const part& at) {
    look_for_race(self, mine, at, how, false, writes);
    message* const read = latest(*at.in, at.in->count - 1, at.mask);
    if (read != nullptr) has_read(self, mine, *read, at, how, false, false);
    if (wants_reasons()) tell_found(self, at, read, true);
    if (acquires(how.order)) acquire_pending(self, mine, reach, &at);
  });
  if (writes)
    for_each_part(mine, how.address, sizeof old, [&](const part& at) {
      message* const read = latest(*at.in, at.in->count - 1, at.mask);
      put(self, mine, at, at.in->address == how.address ? fresh.low : fresh.high, how, false, read, true, false);
    });
  if (mine.tso) fence_host(self, mine);
  return old;
}

// Whether a read-modify-write that leaves the value as it was need not be kept as a store of its own: whoever would read it may as well read
// the one that it has read, and learns the same. Locks are tried again and again in this way.
bool scoped_memory::adds_nothing(const lane_facts& mine, const operation& how, const part& at,
                                 const message* read) const {
  if (mine.tso || releases(how.order) || !mine.fences.empty()) return false;
  const auto reach = reach_of(mine, how);
  return read == nullptr || (morally_strong(mine, false, reach, at.mask, *read, true) &&
                             morally_strong(mine, false, reach, at.mask, *read, false));
}

bool scoped_memory::finds_nothing_new(const lane& who) {
  const operation& how = who.pending;
  if (!covers(how.address) || how.order == memory_order::seq_cst ||
      reinterpret_cast<uintptr_t>(how.address) % granule_bytes + how.size_bytes > granule_bytes)
    return false;
  lane_facts& mine = *lanes_[who.id];
  const part at = part_of(mine, how.address, how.size_bytes);
  const message* const newest = latest(*at.in, at.in->count - 1, at.mask);
  if (how.kind != operation_kind::load && !adds_nothing(mine, how, at, newest)) return false;
  if (newest == nullptr) return true;
  const settled_store& settled = at.place->settled;
  if (settled.serial == newest->serial && settled.known && newest->unordered.empty() &&
      (settled.nothing_more || (settled.noted && settled.mask == at.mask && settled.reach == reach_of(mine, how) &&
                                settled.acquires == acquires(how.order))))
    return true;
  if (!knows(who, mine, *newest) || !newest->unordered.empty()) return false;
  return !newest->releases || std::none_of(newest->releases->entries.begin(), newest->releases->entries.end(),
                                           [&](const release_entry& given) { return teaches(who, mine, given); });
}

// -- plain accesses --------------------------------------------------------------------------------------------------------------

void scoped_memory::before_plain_load(lane& self, const operation& how) {
  if (!covers(how.address)) return;
  lane_facts& mine = facts(self);
  auto* const address = static_cast<std::byte*>(const_cast<void*>(how.address));
  mine.seen_address = nullptr;
  const bool plain = how.kind != operation_kind::volatile_load;
  for_each_part(mine, address, how.size_bytes, [&](const part& at) {
    look_for_race(self, mine, at, how, plain, false);
    const visible found = choose_visible(self, mine, at, false, plain, reach_of(mine, how));
    const int cut = found.cut;
    const bool is_newest = found.newest();
    const bool known = found.known();
    if (!plain || mine.tso || wants_reasons() || !link_.pool) {
      message* const read = latest(*at.in, cut, at.mask);
      if (wants_reasons()) tell_found(self, at, read, is_newest);
      if (read != nullptr) has_read(self, mine, *read, at, how, plain, known);
    }
    if (is_newest) return;
    if (mine.window_address == nullptr) {
      mine.window_address = address;
      mine.window_newest.assign(address, address + how.size_bytes);
      self.unsettled = true;
    }
    scoped::write_bytes(at.in->address, at.mask, value_at(*at.in, cut));
  });
  if (mine.window_address != nullptr) {
    mine.seen_address = address;
    mine.seen.assign(address, address + how.size_bytes);
  }
}

void scoped_memory::before_plain_store(lane& self, const operation& how) {
  if (!covers(how.address)) return;
  lane_facts& mine = facts(self);
  mine.stores_strongly = how.kind == operation_kind::volatile_store;
  for_each_part(mine, how.address, how.size_bytes,
                [&](const part& at) { look_for_race(self, mine, at, how, !mine.stores_strongly, true); });
  mine.store_address = how.address;
  mine.store_bytes = how.size_bytes;
  mine.store_step = core_.history.this_step();
  self.unsettled = true;
}

void scoped_memory::see_again(lane& self) {
  lane_facts& mine = facts(self);
  if (mine.seen_address == nullptr || mine.seen_address != mine.store_address) return;
  std::memcpy(mine.seen_address, mine.seen.data(), mine.seen.size());
}

void scoped_memory::after_plain(lane& self) {
  lane_facts& mine = facts(self);
  if (mine.window_address != nullptr) {
    std::memcpy(mine.window_address, mine.window_newest.data(), mine.window_newest.size());
    mine.window_address = nullptr;
  }
  if (mine.store_bytes == 0) return;
  const size_t size_bytes = std::exchange(mine.store_bytes, 0);
  operation how;
  how.kind = mine.stores_strongly ? operation_kind::volatile_store : operation_kind::plain_store;
  const bool single = reinterpret_cast<uintptr_t>(mine.store_address) % granule_bytes + size_bytes <= granule_bytes;
  for_each_part(mine, mine.store_address, size_bytes, [&](const part& at) {
    put(self, mine, at, scoped::read_granule(at.in->address), how, !mine.stores_strongly, nullptr, false, single);
  });
}

// The store's own lane has it in the location's order; this one cannot miss it any more than that.
bool scoped_memory::is_part_of_store(lane& self, const operation& how, const lane& by) {
  if (!covers(how.address) || reinterpret_cast<uintptr_t>(how.address) % granule_bytes + how.size_bytes > granule_bytes)
    return true;
  lane_facts& mine = facts(self);
  const part at = part_of(mine, how.address, how.size_bytes);
  look_for_race(self, mine, at, how, false, true);
  for (int n = at.in->count - 1; n >= 0; --n) {
    message& one = *at.in->order[static_cast<size_t>(n)];
    if (one.writer != by.id || one.mask != at.mask) continue;
    if (!one.was_observed_by(self.id)) one.add_observer({self.id, mine.epoch});
    break;
  }
  return true;
}

}  // namespace heddle::sim
