#include <heddle/sim/memory/scoped/scoped_bytes.h>
#include <heddle/sim/memory/scoped/scoped_memory.h>

#include <algorithm>
#include <cstring>

namespace heddle::sim {

scoped_memory::scoped_memory(run_core& core, race_log& races)
    : core_(core),
      known_(core),
      locations_(core),
      races_(core, races, known_),
      learning_(core, known_, races_),
      choice_(core, known_),
      stores_(core, known_, locations_),
      proxies_(core, races, known_, locations_),
      copies_(core, races, known_) {}
scoped_memory::~scoped_memory() = default;

void scoped_memory::reset() {
  locations_.reset();
  known_.reset();
  races_.reset();
  choice_.reset();
  proxies_.reset();
  copies_.reset();
  alone_ = {};
}

// A search tells what is at each location, behind a race old values may be found, and a driver whose commands are steps may hold some back.
bool scoped_memory::look_whether_alone(const lane& self, const lane_facts& mine) {
  if (alone_.of != self.id) alone_ = {.of = self.id};
  alone_.lanes = known_.count();
  alone_.learnt_at = mine.learnt_at;
  const settings& machine = core_.machine;
  const bool may_be = notes_ == nullptr && machine.races_end() && machine.link.pool && !mine.clock->split &&
                      machine.detail == driver_detail::call;
  size_t& known = alone_.known_to_end;
  while (may_be && known < alone_.lanes && (known == self.id || known_.knows_end_of(mine, known))) ++known;
  return alone_.is_alone = may_be && known == alone_.lanes;
}

void scoped_memory::take_notes(search_notes* into) {
  notes_ = into;
  if (notes_ != nullptr) notes_->quiet.begin_run();
  races_.take_notes(into);
  stores_.take_notes(into);
}

// Nothing is under way here: a store that has not arrived is one that others need not read yet.
void scoped_memory::let_arrive(lane&) {}
bool scoped_memory::all_arrives(lane&) { return false; }

// Memory of the heap is never handed out twice in a run, and other memory that comes and goes is not looked after here.
void scoped_memory::gives_frames(const lane& self, const std::byte* low, const std::byte* end) {
  const lane_facts& mine = scoped::facts(self);
  // A plain store is looked at when the thread comes in again.
  const uint64_t step = self.came_in != nullptr ? mine.store_step : core_.history.this_step();
  locations_.give_frames({.low = low,
                          .end = end,
                          .stored = {.lane = mine.slot,
                                     .epoch = mine.epoch,
                                     .step = step,
                                     .mask = 0xff,
                                     .plain = true,
                                     .writes = true,
                                     .given = true,
                                     .place = low_half(self.pending.place)}});
}

void scoped_memory::fence(lane& self, const operation& how) {
  lane_facts& mine = scoped::facts(self);
  const auto reach = scoped::reach_of(mine, how);
  const bool of_call = how.kind == operation_kind::wait_notice || how.kind == operation_kind::give_notice;
  if (acquires(how.order) && !of_call) learning_.acquire_pending(mine, reach, nullptr);
  if (how.order == memory_order::seq_cst) {
    note_host_fence(self, mine);
    known_.fence_total(mine, reach);
  }
  if (releases(how.order) && !of_call) known_.release_fence(mine, reach);
}

void scoped_memory::proxy_fence(lane& self, uint32_t spaces) { proxies_.fence(scoped::facts(self), spaces); }
void scoped_memory::before_bulk(lane& self, const bulk_copy& what) {
  proxies_.before_bulk(self, scoped::facts(self), what);
}

// -- stores of many bytes -----------------------------------------------------------------------------------------------------------

bool scoped_memory::follows_row(const lane_facts& mine, const scoped::row_access& one) const {
  return scoped::comes_after(mine, one.access) && (one.loads || known_.knows_by_causality(mine, one.stored));
}

void scoped_memory::before_row_store(lane& self, lane_facts& mine, const operation& how) {
  const auto look = [&](const std::byte* at, size_t bytes) {
    races_.look_before_plain(self, mine, scoped::part_in(locations_.at(at), at, bytes), how, true);
  };
  const auto follows = [&](const scoped::row_access& one) { return follows_row(mine, one); };
  locations_.split(
      how.address, how.size_bytes,
      [&](std::byte* at, size_t granules) {
        if (granules * granule_bytes < scoped::locations::least_row_bytes ||
            !locations_.takes_row(at, granules, follows)) {
          for (size_t n = 0; n < granules; ++n) look(at + n * granule_bytes, granule_bytes);
          return;
        }
        scoped::row_access& made = locations_.add_row(at, granules);
        const part whole{.mask = 0xff};
        made.access = races_.record_of({self, mine, whole, how, true}, true);
        stores_.describe_row(self, mine, how, made.stored);
      },
      look);
}

late_memory::filled scoped_memory::fill(lane& self, const operation& how, std::byte byte) {
  lane_facts& mine = scoped::facts(self);
  auto* const address = static_cast<std::byte*>(const_cast<void*>(how.address));
  const size_t granules = how.size_bytes / granule_bytes;
  mine.stores_strongly = how.kind != operation_kind::plain_store;
  if (copies_.any()) return filled::by_no_one;
  const bool is_whole =
      reinterpret_cast<uintptr_t>(address) % granule_bytes == 0 && how.size_bytes % granule_bytes == 0;
  if (!is_whole || !is_row(mine, how.size_bytes, true) || !core_.map.heap.contains(address) ||
      how.order == memory_order::seq_cst || locations_.row_at(address, granules) != granules ||
      !locations_.takes_row(address, granules, [&](const scoped::row_access& one) { return follows_row(mine, one); }))
    return filled::by_no_one;
  mine.store_order = how.order;
  mine.store_reach = how.reach;
  mine.store_step = core_.history.this_step();
  scoped::row_access& made = locations_.fill_row(address, granules, byte);
  const part whole{.mask = 0xff};
  made.access = races_.record_of({self, mine, whole, how, true}, true);
  stores_.describe_row(self, mine, how, made.stored);
  races_.stored(self);
  const bool is_new = made.before.size() != 1 || made.before[0] != static_cast<uint64_t>(byte) * 0x0101010101010101u;
  return is_new ? filled::changed : filled::unchanged;
}

// Where a granule is known now it was looked at by itself.
void scoped_memory::after_row_store(lane& self, lane_facts& mine, const operation& how, const void* address,
                                    size_t size_bytes) {
  locations_.split(
      address, size_bytes, [](std::byte*, size_t) {},
      [&](const std::byte* at, size_t bytes) {
        stores_.put(self, mine, scoped::part_in(locations_.at(at), at, bytes), how,
                    {.value = scoped::read_granule(locations_.at(at).address), .plain = true});
      });
}

// From here on loads find what the lane sees, if that is not what memory holds.
void scoped_memory::open_window(lane& self, lane_facts& mine, std::byte* address, size_t size_bytes, const part& at,
                                int cut) {
  if (mine.window_address == nullptr) {
    mine.window_address = address;
    mine.window_newest.assign(address, address + size_bytes);
    self.unsettled = true;
  }
  scoped::write_bytes(at.in->address, at.mask, value_at(*at.in, cut));
}

void scoped_memory::see_again(lane& self) {
  lane_facts& mine = scoped::facts(self);
  if (mine.seen_address == nullptr || mine.seen_address != mine.store_address) return;
  std::memcpy(mine.seen_address, mine.seen.data(), mine.seen.size());
}

// The store's own lane has it in the location's order; this one cannot miss it any more than that.
bool scoped_memory::is_part_of_store(lane& self, const operation& how, const lane& by) {
  if (!locations_.covers(how.address) ||
      reinterpret_cast<uintptr_t>(how.address) % granule_bytes + how.size_bytes > granule_bytes)
    return true;
  lane_facts& mine = scoped::facts(self);
  const part at = scoped::part_in(mine, locations_.at(how.address), how.address, how.size_bytes);
  copies_.look_before(self, how, how.size_bytes, true);
  races_.look({self, mine, at, how}, true);
  for (int n = at.in->count - 1; n >= 0; --n) {
    message& one = *at.in->order[static_cast<size_t>(n)];
    if (!scoped::facts(by).has_done(one.writer, one.epoch) || one.mask != at.mask) continue;
    if (!one.was_observed_by(mine.slot)) one.add_observer({mine.slot, mine.epoch});
    break;
  }
  return true;
}

}  // namespace heddle::sim
