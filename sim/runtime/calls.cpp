#include <heddle/sim/named_slots.h>
#include <heddle/sim/requests.h>
#include <heddle/sim/runtime/atomic_accesses.h>
#include <heddle/sim/runtime/calls.h>
#include <heddle/sim/runtime/entry.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace heddle::sim {

thread_local constinit lane* execution::current = nullptr;
thread_local constinit execution* execution::instance = nullptr;

}  // namespace heddle::sim

namespace heddle::sim::runtime {
namespace {

operation collective_operation(operation_kind kind, uint64_t mask, const caller& from) {
  operation made = make_operation(kind, nullptr, 0, from);
  made.mask = mask;
  return made;
}

/// What heddle's own objects do for a lane is not the lane's doing.
void* look_away() { return std::exchange(execution::current, nullptr); }
void look_again(void* looked_away) {
  auto* const self = static_cast<lane*>(looked_away);
  execution::current = self;
  if (self != nullptr && self->is_explored) [[unlikely]]
    clear_dead_stack();
}

}  // namespace

const scheduler::onlooker& looks_on_at_lanes() {
  static constexpr scheduler::onlooker self = {.look_away = look_away, .look_again = look_again};
  return self;
}

// -- lanes -------------------------------------------------------------------------------------------------------------------------

uint64_t lane_mask() {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("target");
  const entered inside(self);
  return execution::instance->active_mask(self, make_operation(operation_kind::active_mask, nullptr, 0, from));
}

uint32_t lane_id() { return caller_lane("target").index; }

uint32_t lane_count() {
  const lane& self = caller_lane("target");
  return static_cast<uint32_t>(self.of->lanes.size());
}

bool is_first_lane(uint64_t mask) {
  const lane& self = caller_lane("target");
  return self.is_host() || (mask != 0 && static_cast<uint32_t>(__builtin_ctzll(mask)) == self.index);
}

uint64_t broadcast(uint64_t mask, uint64_t value) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("target");
  if (self.is_host()) return value;
  const entered inside(self);
  return execution::instance->collective(self, collective_operation(operation_kind::broadcast, mask, from), value);
}

uint64_t ballot(uint64_t mask, bool predicate) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("target");
  if (self.is_host()) return predicate ? mask : 0;
  const entered inside(self);
  return execution::instance->collective(self, collective_operation(operation_kind::ballot, mask, from),
                                         predicate ? 1 : 0);
}

void sync_lanes(uint64_t mask) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("target");
  if (self.is_host()) return;
  const entered inside(self);
  execution::instance->collective(self, collective_operation(operation_kind::sync_lanes, mask, from), 0);
}

// -- memory ------------------------------------------------------------------------------------------------------------------------

uint64_t load(const void* address, uint32_t size_bytes, memory_order order, scope reach) {
  return atomic_load({address, size_bytes, order, reach}, HEDDLE_CALLER);
}

void store(void* address, uint32_t size_bytes, uint64_t value, memory_order order, scope reach) {
  atomic_store({address, size_bytes, order, reach}, value, HEDDLE_CALLER);
}

uint64_t read_modify_write(rmw_kind kind, void* address, uint32_t size_bytes, uint64_t operand, memory_order order,
                           scope reach) {
  return atomic_rmw(kind, {address, size_bytes, order, reach}, operand, HEDDLE_CALLER);
}

bool compare_exchange(void* address, uint32_t size_bytes, uint64_t* expected, uint64_t desired, exchange_order order,
                      scope reach) {
  return atomic_compare_exchange({address, size_bytes, order.success, reach}, *expected, desired, HEDDLE_CALLER,
                                 {.failure = order.failure});
}

bool compare_exchange_weak(void* address, uint32_t size_bytes, uint64_t* expected, uint64_t desired,
                           exchange_order order, scope reach) {
  return atomic_compare_exchange({address, size_bytes, order.success, reach}, *expected, desired, HEDDLE_CALLER,
                                 {.failure = order.failure, .weak = true});
}

uint64_t peek(const void* address, uint32_t size_bytes) {
  if (lane* const self = execution::current; self != nullptr) {
    if (recorder* const record = execution::instance->core().observers.recorder.get(); record != nullptr) [[unlikely]] {
      const entered inside(*self);
      record->note_peek(*self, address);
    }
  }
  // Memory holds the newest values whenever a lane runs (late_memory.h). Not by memcpy, which is an access of the lane.
  uint64_t value = 0;
  for (uint32_t n = size_bytes; n-- > 0;) value = value << 8 | static_cast<const volatile unsigned char*>(address)[n];
  return value;
}

void fence(memory_order order, scope reach) { fence(order, reach, HEDDLE_CALLER); }

namespace {
void store_fence_of(const caller& from) {
  fence_by(memory_order::release, scope::system, from,
           [](late_memory& late, lane& self) { late.store_fence(self, self.pending); });
}
}  // namespace

void store_fence() { store_fence_of(HEDDLE_CALLER); }

// -- position and waiting ----------------------------------------------------------------------------------------------------------

uint32_t block_id() { return caller_lane("target").of->block; }

uint32_t wave_id() {
  const wave& of = *caller_lane("target").of;
  return of.host ? of.ordinal : of.in_kernel;
}

void pause() {
  const caller from = HEDDLE_CALLER;
  lane* const self = execution::current;
  if (self == nullptr) return;
  const entered inside(*self);
  publish(*execution::instance, *self, operation_kind::pause, from);
  execution::instance->pause(*self, from.private_state);
}

void notify(doorbell* bell) {
  const caller from = HEDDLE_CALLER;
  lane* const self = observed_atomic(bell);
  doorbell_line::fate fate;
  if (self != nullptr) {
    execution& here = *execution::instance;
    const entered inside(*self);
    fate = here.rings().fate_of(*self, bell);
    if (fate.counts_now == 0) {
      publish_access(here, *self, operation_kind::notify, {bell, sizeof *bell, memory_order::release}, from);
      take_turn(here, *self);
      if (fate.under_way) here.send_ring(*self, bell, fate.steps);
      here.performed(*self, read_memory(bell, sizeof *bell));
      return;
    }
  }
  atomic_rmw(rmw_kind::add, {bell, sizeof *bell, memory_order::release}, fate.counts_now, from, operation_kind::notify);
}

void wait(doorbell* bell, doorbell seen, uint64_t timeout_ns) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("target");
  const entered inside(self);
  const hidden_operands hidden(self, as_operand(bell), seen, timeout_ns);
  execution& here = *execution::instance;
  publish_access(here, self, operation_kind::wait, {bell, sizeof *bell, memory_order::acquire}, from);
  take_turn(here, self);
  late_memory* const late = here.late();
  const uint64_t count = late == nullptr ? read_memory(bell, sizeof *bell) : late->load(self, self.pending);
  here.performed(self, count);
  if (count != seen) return;
  if (timed_memory* const times = here.timed()) times->sleeps(self, bell, timeout_ns);
  // A wait that can time out is one more turn of the loop around it: it ends when anything that the loop has read changes, be it
  // late. Without a time-out only the bell ends it, and running the loop again would hide a ring that was lost.
  if (timeout_ns == no_timeout) waits::forget_reads(self);
  here.waiting().has_read(self, bell, sizeof *bell, count);
  self.in_same_call = true;
  here.finish_plain_store(self, from.frame);
  here.pause(self, timeout_ns == no_timeout ? nullptr : from.private_state);
  self.in_same_call = false;
}

static void trap_from(const caller& from, fault why, const char* message) {
  if (execution::current == nullptr) {
    std::fprintf(stderr, "heddle: %s\n", message);
    std::abort();
  }
  lane& self = *execution::current;
  const entered inside(self);
  execution& here = *execution::instance;
  here.finish_plain_store(self, from.frame);
  self.pending = make_operation(operation_kind::none, nullptr, 0, from);
  here.core().end(self, why == fault::protocol ? scheduler::verdict::protocol : scheduler::verdict::assertion, message);
}

void trap(fault why, const char* message) { trap_from(HEDDLE_CALLER, why, message); }

void trap_at(const void* function, fault why, const char* message) {
  caller from = HEDDLE_CALLER;
  from.place = static_cast<const std::byte*>(function) + 1;  // as if it had called from there
  trap_from(from, why, message);
}

bool is_device() { return execution::current != nullptr && !execution::current->is_host(); }

// -- what the code under test tells the simulator ---------------------------------------------------------------------------------

void name_slots(const named_slots& where) {
  if (execution::current == nullptr) return;
  lane& self = *execution::current;
  // Notes that grow are the simulator's doing: taken for the lane's, they would tell an explained run from others.
  const entered inside(self);
  if (recorder* const record = execution::instance->core().observers.recorder.get()) record->name(where);
}

void call_begins() {
  if (execution::current == nullptr || execution::instance->timed() == nullptr) return;
  lane& self = *execution::current;
  const entered inside(self);
  execution::instance->timed()->call_begins(self);
}

void call_ends(bool answered) {
  if (execution::current == nullptr || execution::instance->timed() == nullptr) return;
  lane& self = *execution::current;
  const entered inside(self);
  execution::instance->timed()->call_ends(self, answered);
}

void request_made(uint64_t id) {
  lane& self = caller_lane("request_made");
  const entered inside(self);
  execution::instance->request_made(self, id);
}

void request_served(uint64_t id) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("request_served");
  const entered inside(self);
  execution::instance->request_served(self, id, make_operation(operation_kind::none, nullptr, 0, from));
}

}  // namespace heddle::sim::runtime

// What an sfence of a program becomes (tools/rewrite/host_instructions.h).
extern "C" void heddle_x86_sfence();
extern "C" void heddle_x86_sfence() {
  using namespace heddle::sim::runtime;
  store_fence_of(HEDDLE_CALLER);
}
