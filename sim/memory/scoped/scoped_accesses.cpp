// The accesses of lanes to scoped memory, one after another: what each compares, chooses, learns and stores.
#include <heddle/sim/machine/kernel.h>
#include <heddle/sim/memory/scoped/scoped_bytes.h>
#include <heddle/sim/memory/scoped/scoped_memory.h>
#include <heddle/sim/memory/scoped/scoped_parts.h>

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

// Where nothing is kept of single stores, each acquire counts as one of all releases there.
[[gnu::noinline]] void order_elsewhere(late_memory& memory, lane& self, const operation& how, bool writes) {
  if (acquires(how.order)) memory.acquire_object(self, how.address);
  if (writes && releases(how.order)) memory.release_object(self, how.address);
}

// Whether it is the load that has read the store there last, and would find the same.
[[gnu::always_inline]] inline bool repeats(const scoped::access& made) {
  const auto& [self, mine, at, how, plain] = made;
  const scoped::settled_store& settled = at.place->settled;
  return settled.repeats && settled.newest == at.in->newest &&
         settled.is_read_again(at.mask, reach_of(mine, how), acquires(how.order));
}

}  // namespace

// -- atomic accesses -------------------------------------------------------------------------------------------------------------

void scoped_memory::tell_found(const lane& self, const part& at, const message* read, bool is_newest) {
  const message* const newest = is_newest ? read : latest(*at.in, at.in->count - 1, at.mask);
  core_.found(self, read == nullptr ? 0 : read->step, is_newest, newest == nullptr ? 0 : newest->step);
}

// Most loads are those of a lane that waits, and find what the one before has found.
uint64_t scoped_memory::load(lane& self, const operation& how) {
  note_access(self, how, false);
  copies_.look_before(self, how, how.size_bytes, false);
  const total_order ordered(*this, self, how, false);
  const size_t size_bytes = how.size_bytes;
  const uint64_t newest = read_atomic(how.address, size_bytes);
  if (reinterpret_cast<uintptr_t>(how.address) % granule_bytes + size_bytes > granule_bytes) return newest;
  granule* in = locations_.known(how.address);
  if (in == nullptr) [[unlikely]] {
    if (!locations_.covers(how.address)) {
      order_elsewhere(*this, self, how, false);
      return newest;
    }
    in = &locations_.add(how.address);
  }
  lane_facts& mine = scoped::facts(self);
  const part at = scoped::part_in(mine, *in, how.address, size_bytes);
  const access made{self, mine, at, how};
  races_.look(made, false);
  return repeats(made) ? newest : load_anew(made, newest);
}

[[gnu::always_inline]] inline uint64_t scoped_memory::load_anew(const access& made, uint64_t newest) {
  const auto& [self, mine, at, how, plain] = made;
  const bool is_acquire = acquires(how.order);
  settled_store& settled = at.place->settled;
  const visible found = choice_.choose(made, false);
  const int cut = found.cut;
  const bool is_newest = found.newest();
  const bool known = found.known();
  message* const read = latest(*at.in, cut, at.mask);
  if (read != nullptr) learning_.has_read(made, *read, known);
  if (core_.explains()) tell_found(self, at, read, is_newest);
  // An earlier load of the same location, be it relaxed, begins the acquire pattern that this one ends.
  if (is_acquire) learning_.acquire_pending(mine, reach_of(mine, how), &at);
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
  note_access(self, how, true);
  copies_.look_before(self, how, how.size_bytes, true);
  const total_order ordered(*this, self, how, true);
  const size_t size_bytes = how.size_bytes;
  auto* const address = static_cast<std::byte*>(const_cast<void*>(how.address));
  if (!locations_.covers(address) ||
      reinterpret_cast<uintptr_t>(address) % granule_bytes + size_bytes > granule_bytes) {
    order_elsewhere(*this, self, how, true);
    std::memcpy(address, &value, size_bytes);
    return;
  }
  lane_facts& mine = scoped::facts(self);
  const part at = part_of(mine, address, size_bytes);
  races_.look({self, mine, at, how}, true);
  stores_.put(self, mine, at, how, {.value = value << at.shift, .anywhere = true});
}

uint64_t scoped_memory::read_modify_write(lane& self, const operation& how, const modification& next) {
  note_access(self, how, true);
  copies_.look_before(self, how, how.size_bytes, true);
  const total_order ordered(*this, self, how, true);
  const size_t size_bytes = how.size_bytes;
  auto* const address = static_cast<std::byte*>(const_cast<void*>(how.address));
  uint64_t old = read_atomic(address, size_bytes);
  const auto writes = [&] { return next.writes == nullptr || next.writes(next.context, old); };
  if (!locations_.covers(address) ||
      reinterpret_cast<uintptr_t>(address) % granule_bytes + size_bytes > granule_bytes) {
    order_elsewhere(*this, self, how, writes());
    if (!writes()) return old;
    const uint64_t value = next.apply(next.context, old);
    std::memcpy(address, &value, size_bytes);
    return old;
  }
  lane_facts& mine = scoped::facts(self);
  const part at = part_of(mine, address, size_bytes);
  const access made{self, mine, at, how};
  const visible found = choice_.choose(made, true);
  const int cut = found.cut;
  const bool is_newest = found.newest();
  const bool known = found.known();
  if (!is_newest) old = (value_at(*at.in, cut) & scoped::bytes_of_mask[at.mask]) >> at.shift;
  races_.look(made, writes());
  message* const read = latest(*at.in, cut, at.mask);
  const auto has_read = [&](const access& by) {
    if (read != nullptr) learning_.has_read(by, *read, known);
    if (core_.explains()) tell_found(self, at, read, is_newest);
    if (acquires(by.how.order)) learning_.acquire_pending(mine, reach_of(mine, how), &at);
  };
  if (!next.unless_written || writes()) {
    has_read(made);
  } else {
    operation failed = how;
    failed.order = *next.unless_written;
    has_read({self, mine, at, failed});
  }
  if (!writes()) {
    if (mine.tso) known_.fence_host(mine);
    return old;
  }
  const uint64_t value = next.apply(next.context, old);
  const bool is_kept =
      value != old || !(known_.gives_nothing(mine, how, at, read) || known_.repeats_its_own(self, mine, how, at, read));
  if (is_kept) stores_.put(self, mine, at, how, {.value = value << at.shift, .modifies = true, .modified = read});
  if (mine.tso) known_.fence_host(mine);
  return old;
}

// -- plain accesses --------------------------------------------------------------------------------------------------------------

[[gnu::always_inline]] inline void scoped_memory::load_parts(lane& self, lane_facts& mine, const operation& how,
                                                             bool plain, std::byte* from, size_t size_bytes) {
  auto* const address = static_cast<std::byte*>(const_cast<void*>(how.address));
  if (!plain || mine.tso || core_.asks_what_would_order() || !core_.machine.link.pool) {
    note_access(self, how, false);
    for_each_part(mine, from, size_bytes, [&](const part& at) {
      const access made{self, mine, at, how, plain};
      races_.look(made, false);
      const visible found = choice_.choose(made, false);
      message* const read = latest(*at.in, found.cut, at.mask);
      if (core_.explains()) tell_found(self, at, read, found.newest());
      if (read != nullptr) learning_.has_read(made, *read, found.known());
      // A strong one may be assumed to acquire.
      if (acquires(how.order)) learning_.acquire_pending(mine, reach_of(mine, how), &at);
      if (!found.newest()) open_window(self, mine, address, how.size_bytes, at, found.cut);
    });
  } else {
    for_each_plain_part(from, size_bytes, [&](const part& at) {
      const access made{self, mine, at, how, true};
      races_.look_before_plain(self, mine, at, how, false);
      const visible found = choice_.choose<false>(made, false);
      if (!found.newest()) open_window(self, mine, address, how.size_bytes, at, found.cut);
    });
  }
}

// Where the lane knows all that was stored to a row, there is nothing to choose and nothing to learn.
template <typename ByGranule>
void scoped_memory::load_rows(lane& self, lane_facts& mine, const operation& how, const ByGranule& by_granule) {
  const auto comes_behind = [&](const scoped::row_access& one) { return one.loads || follows_row(mine, one); };
  const auto comes_after = [&](const scoped::row_access& one) { return scoped::comes_after(mine, one.access); };
  const auto load = [&](std::byte* at, size_t granules) {
    if (granules * granule_bytes < scoped::locations::least_row_bytes ||
        !locations_.takes_row(at, granules, comes_behind))
      return by_granule(at, granules * granule_bytes);
    uint64_t step = 0;
    locations_.each_row_stored(at, granules, [&](message& one) {
      step = one.step;
      one.host_saw = one.host_saw || (mine.tso && !mine.has_done(one.writer, one.epoch));
    });
    if (core_.explains()) core_.found(self, step, true, step);
    const part whole{.mask = 0xff};
    mine.accesses(nullptr, 0);
    locations_.add_row_load(at, granules, races_.record_of({self, mine, whole, how, true}, false), comes_after);
  };
  locations_.split(how.address, how.size_bytes, load, by_granule);
}

void scoped_memory::before_plain_load(lane& self, const operation& how) {
  if (!locations_.covers(how.address)) return;
  note_plain_access(self, how);
  copies_.look_before(self, how, how.size_bytes, false);
  lane_facts& mine = scoped::facts(self);
  auto* const address = static_cast<std::byte*>(const_cast<void*>(how.address));
  mine.seen_address = nullptr;
  const bool plain = how.kind != operation_kind::volatile_load;
  if (plain && is_alone(self, mine) && locations_.are_ordered(address, how.size_bytes)) return;
  if (how.order == memory_order::seq_cst) [[unlikely]]
    total_order::begin(*this, self, how);
  const auto by_granule = [&](std::byte* at, size_t size_bytes)
                              __attribute__((always_inline)) { load_parts(self, mine, how, plain, at, size_bytes); };
  if (plain && is_row(mine, how.size_bytes, false)) [[unlikely]]
    load_rows(self, mine, how, by_granule);
  else
    by_granule(address, how.size_bytes);
  if (mine.window_address != nullptr) {
    mine.seen_address = address;
    mine.seen.assign(address, address + how.size_bytes);
  }
}

[[gnu::always_inline]] inline void scoped_memory::look_before_store(lane& self, lane_facts& mine,
                                                                    const operation& how) {
  if (mine.stores_strongly)
    for_each_part(mine, how.address, how.size_bytes, [&](const part& at) { races_.look({self, mine, at, how}, true); });
  else if (is_row(mine, how.size_bytes, true)) [[unlikely]]
    before_row_store(self, mine, how);
  else
    for_each_plain_part(how.address, how.size_bytes,
                        [&](const part& at) { races_.look_before_plain(self, mine, at, how, true); });
}

void scoped_memory::before_plain_store(lane& self, const operation& how) {
  if (!locations_.covers(how.address)) return;
  note_plain_access(self, how);
  copies_.look_before(self, how, how.size_bytes, true);
  lane_facts& mine = scoped::facts(self);
  mine.stores_strongly = how.kind == operation_kind::volatile_store;
  mine.store_order = how.order;
  mine.store_reach = how.reach;
  if (how.order == memory_order::seq_cst) [[unlikely]]
    total_order::begin(*this, self, how);
  if (mine.stores_strongly) note_access(self, how, true);
  mine.store_step = core_.history.this_step();
  mine.stores_alone = !mine.stores_strongly && is_alone(self, mine);
  if (mine.stores_alone)
    locations_.stores_alone();
  else
    look_before_store(self, mine, how);
  mine.store_address = how.address;
  mine.store_bytes = how.size_bytes;
  self.unsettled = true;
}

void scoped_memory::after_plain(lane& self) {
  lane_facts& mine = scoped::facts(self);
  if (mine.window_address != nullptr) {
    if (!self.has_returned_from(mine.window_address))
      std::memcpy(mine.window_address, mine.window_newest.data(), mine.window_newest.size());
    mine.window_address = nullptr;
  }
  if (mine.store_bytes == 0) return;
  const size_t size_bytes = std::exchange(mine.store_bytes, 0);
  races_.stored(self);
  if (self.has_returned_from(mine.store_address)) return;
  if (mine.stores_alone) return locations_.begin_anew(mine.store_address, size_bytes);
  operation how;
  how.kind = mine.stores_strongly ? operation_kind::volatile_store : operation_kind::plain_store;
  how.order = mine.store_order;
  how.reach = mine.store_reach;
  if (is_row(mine, size_bytes, true)) [[unlikely]]
    return after_row_store(self, mine, how, mine.store_address, size_bytes);
  const bool single = reinterpret_cast<uintptr_t>(mine.store_address) % granule_bytes + size_bytes <= granule_bytes;
  for_each_plain_part(mine.store_address, size_bytes, [&](const part& at) {
    stores_.put(self, mine, at, how,
                {.value = scoped::read_granule(at.in->address), .plain = !mine.stores_strongly, .anywhere = single});
  });
  if (how.order == memory_order::seq_cst) [[unlikely]]
    total_order::end(*this, self, how);
}

// Memory changes when the copy is made: here it is compared with other accesses alone.
void scoped_memory::copy_begins(lane& self, const async_copy& what) {
  lane_facts& mine = scoped::facts(self);
  const operation& how = self.pending;
  copies_.look_before(self, how, what.size_bytes, true);
  if (locations_.covers(what.to)) {
    note_plain_access(self, how);
    for_each_plain_part(what.to, what.size_bytes,
                        [&](const part& at) { races_.look_before_plain(self, mine, at, how, true); });
  }
  copies_.begin(self, mine, what);
}

}  // namespace heddle::sim
