#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/timed/timed_memory.h>

#include <utility>

namespace heddle::sim {

void timed_memory::begin_run(late_memory* inner, const time_settings& costs, call_times& into) {
  inner_ = inner == nullptr ? &immediate_ : inner;
  costs_ = costs;
  into_ = &into;
  into.clocks.clear();
  clock_.reset(costs.heavy, into.runs++);
  lanes_.clear();
  starter_ = nullptr;
  found_step_ = 0;
}

// -- where memory is ---------------------------------------------------------------------------------------------------------------

bool timed_memory::is_across(const lane& self, const void* address) const {
  constexpr uint32_t host = ~uint32_t{0};
  const uint32_t near_to = self.is_on_host() ? host : self.of->gpu;
  const heap& memory = core_.map.heap;
  // Variables of the program, and the C++ heap, are the host's.
  const allocation* const known = memory.contains(address) ? memory.nearest(address) : nullptr;
  if (known == nullptr) return near_to != host;
  if (known->kind != memory_kind::device) return near_to != (costs_.shared_on_device ? 0 : host);
  if (near_to == host) return true;
  const device_set& devices = devices_;
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - known->base);
  return near_to != (devices.places_memory() ? devices.gpu_of(known->base, offset) : known->device);
}

uint64_t timed_memory::round_trip(const lane& self, const void* address) {
  if (is_across(self, address)) return clock_.drawn(costs_.read);
  return clock_.drawn(self.is_on_host() ? costs_.host_memory : costs_.device_memory);
}

// -- accesses ----------------------------------------------------------------------------------------------------------------------

uint64_t timed_memory::load(lane& self, const operation& how) {
  found_step_ = 0;
  const uint64_t value = inner_->load(self, how);
  if (copies(self)) return value;
  if (how.order == memory_order::seq_cst) fence_before(self, how);
  clock_.reads(self.id, {.place = how.place,
                         .address = how.address,
                         .value = value,
                         .store_step = found_step_,
                         .takes = round_trip(self, how.address)});
  note_time(self);
  return value;
}

void timed_memory::store(lane& self, const operation& how, uint64_t value) {
  inner_->store(self, how, value);
  if (!copies(self)) fence_before(self, how);
  const bool is_late = !copies(self) && is_across(self, how.address);
  clock_.stores(self.id, how.address, value, core_.history.this_step(), is_late ? clock_.drawn(costs_.posted) : 0);
  note_time(self);
}

uint64_t timed_memory::read_modify_write(lane& self, const operation& how, const modification& next) {
  found_step_ = 0;
  const uint64_t old = inner_->read_modify_write(self, how, next);
  const uint64_t all_bits = how.size_bytes < 8 ? (uint64_t{1} << how.size_bytes * 8) - 1 : ~uint64_t{0};
  const bool writes = next.writes == nullptr || next.writes(next.context, old);
  const uint64_t stored = writes ? next.apply(next.context, old) & all_bits : old;
  fence_before(self, how);
  // Rings go one way.
  if (how.kind == operation_kind::notify && is_across(self, how.address)) {
    clock_.stores(self.id, how.address, stored, core_.history.this_step(), clock_.drawn(costs_.posted));
    note_time(self);
    return old;
  }
  const virtual_clock::look look = {.place = how.place,
                                    .address = how.address,
                                    .value = old,
                                    .store_step = found_step_,
                                    .takes = round_trip(self, how.address)};
  // One that leaves the value as it was is a read.
  if (stored == old)
    clock_.reads(self.id, look);
  else
    clock_.replaces(self.id, look, stored, core_.history.this_step());
  note_time(self);
  return old;
}

wide_value timed_memory::load_wide(lane& self, const operation& how) {
  const wide_value value = inner_->load_wide(self, how);
  if (copies(self)) return value;
  if (how.order == memory_order::seq_cst) fence_before(self, how);
  clock_.reads(self.id, {.place = how.place,
                         .address = how.address,
                         .value = value.low,
                         .store_step = 0,
                         .takes = round_trip(self, how.address)});
  note_time(self);
  return value;
}

void timed_memory::store_wide(lane& self, const operation& how, wide_value value) {
  inner_->store_wide(self, how, value);
  if (!copies(self)) fence_before(self, how);
  const bool is_late = !copies(self) && is_across(self, how.address);
  clock_.stores(self.id, how.address, value.low, core_.history.this_step(), is_late ? clock_.drawn(costs_.posted) : 0);
  note_time(self);
}

wide_value timed_memory::modify_wide(lane& self, const operation& how, const wide_modification& next) {
  const wide_value old = inner_->modify_wide(self, how, next);
  const bool writes = next.writes == nullptr || next.writes(next.context, old);
  const wide_value stored = writes ? next.apply(next.context, old) : old;
  fence_before(self, how);
  const virtual_clock::look look = {.place = how.place,
                                    .address = how.address,
                                    .value = old.low,
                                    .store_step = 0,
                                    .takes = round_trip(self, how.address)};
  if (stored == old)
    clock_.reads(self.id, look);
  else
    clock_.replaces(self.id, look, stored.low, core_.history.this_step());
  note_time(self);
  return old;
}

void timed_memory::before_plain_load(lane& self, const operation& how) {
  inner_->before_plain_load(self, how);
  if (copies(self)) return;
  const uint64_t takes = round_trip(self, how.address);
  if (how.kind != operation_kind::volatile_load) {
    clock_.reads_beside(self.id, takes);
    return note_time(self);
  }
  clock_.reads(self.id, {.place = how.place,
                         .address = how.address,
                         .value = watched::value_at(how.address, how.size_bytes),
                         .store_step = 0,
                         .takes = takes});
  note_time(self);
}

void timed_memory::before_plain_store(lane& self, const operation& how) {
  inner_->before_plain_store(self, how);
  const bool is_late = !copies(self) && is_across(self, how.address);
  clock_.stores_plainly(self.id, is_late ? clock_.drawn(costs_.posted) : 0);
  note_time(self);
}

void timed_memory::fence_before(const lane& self, const operation& how) {
  if (self.is_on_host() || how.reach != scope::system || !releases(how.order)) return;
  clock_.fences(self.id, clock_.drawn(costs_.fence), costs_.drains);
}

void timed_memory::fence(lane& self, const operation& how) {
  inner_->fence(self, how);
  // One that only acquires waits for no store, and takes no more than an acquire load.
  if (!self.is_on_host() && how.reach == scope::system && releases(how.order) && !copies(self))
    clock_.fences(self.id, clock_.drawn(costs_.fence), costs_.drains);
  note_time(self);
}

void timed_memory::sleeps(const lane& self, const doorbell* bell, uint64_t timeout_ns) {
  constexpr uint64_t ps_per_ns = 1000;
  constexpr uint64_t longest_ns = virtual_clock::forever / ps_per_ns;
  clock_.sleeps(self.id, bell, timeout_ns > longest_ns ? virtual_clock::forever : timeout_ns * ps_per_ns, costs_.wake);
}

// -- what orders lanes -------------------------------------------------------------------------------------------------------------

void timed_memory::begins(lane& fresh, const lane* by) {
  inner_->begins(fresh, by);
  if (fresh.id >= lanes_.size()) lanes_.resize(fresh.id + size_t{1});
  lanes_[fresh.id] = {};
  const lane* const after = by != nullptr ? by : fresh.is_on_host() ? nullptr : starter_;
  clock_.begins(fresh.id, after == nullptr ? 0 : clock_.now(after->id));
  lanes_[fresh.id].launched = !fresh.is_on_host();
  note_time(fresh);
}

void timed_memory::meet(lane* const* lanes, size_t count) {
  inner_->meet(lanes, count);
  carry(lanes, count);
}

void timed_memory::carry(lane* const* lanes, size_t count) {
  numbers_.clear();
  for (size_t n = 0; n < count; ++n) numbers_.push_back(lanes[n]->id);
  clock_.meet(numbers_);
  for (size_t n = 0; n < count; ++n) note_time(*lanes[n]);
}

void timed_memory::order(const lane& first, lane& then) {
  inner_->order(first, then);
  clock_.follows(first.id, then.id);
  note_time(then);
}

void timed_memory::release_object(lane& self, const void* object) {
  inner_->release_object(self, object);
  clock_.gives(self.id, object);
}

void timed_memory::acquire_object(lane& self, const void* object) {
  inner_->acquire_object(self, object);
  // A lane that begins acquires its launch first.
  const bool begins = std::exchange(lanes_[self.id].launched, false);
  clock_.takes(self.id, object, begins ? clock_.drawn(costs_.launch) : 0);
  note_time(self);
}

// -- copies and calls --------------------------------------------------------------------------------------------------------------

void timed_memory::note_time(const lane& self) {
  if (!into_->keeps_clocks) return;
  const uint64_t now = clock_.now(self.id);
  if (std::exchange(lanes_[self.id].noted, now) == now) return;
  into_->clocks.push_back({.step = core_.history.this_step(), .lane = self.id, .at_ps = now});
}

bool timed_memory::copies(const lane& self) const { return lanes_[self.id].in_copies != 0; }

void timed_memory::enters_copy(const lane& self, size_t size_bytes) {
  if (lanes_[self.id].in_copies++ != 0) return;
  clock_.passes(self.id, clock_.drawn(costs_.copy) + costs_.copy_byte * size_bytes);
  note_time(self);
}

void timed_memory::leaves_copy(const lane& self) { --lanes_[self.id].in_copies; }

void timed_memory::call_begins(const lane& self) {
  lane_calls& of = lanes_[self.id];
  if (of.depth++ != 0) return;
  ++into_->begun;
  clock_.gets_on(self.id);
  of.begun_at = clock_.now(self.id);
}

void timed_memory::call_ends(const lane& self, bool answered) {
  lane_calls& of = lanes_[self.id];
  if (of.depth == 0) return;
  --of.depth;
  if (of.depth != 0 || !answered) return;
  into_->took_ps.push_back(clock_.now(self.id) - of.begun_at);
}

}  // namespace heddle::sim
