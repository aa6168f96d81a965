// Atomic accesses and fences of code under test, as the entry points make them.
#pragma once

#include <heddle/sim/machine/rmw.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/reached.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace heddle::sim::runtime {

using sim::apply;

/// A modification of late memory: what a read-modify-write makes of the old value.
struct rmw_operand {
  rmw_kind kind;
  uint64_t operand;
  static uint64_t apply_to(const void* self, uint64_t old) {
    const auto& how = *static_cast<const rmw_operand*>(self);
    return apply(how.kind, old, how.operand);
  }
};
struct exchange_operand {
  uint64_t expected;
  uint64_t desired;
  bool fails = false;  ///< whatever it finds
  static uint64_t apply_to(const void* self, uint64_t) { return static_cast<const exchange_operand*>(self)->desired; }
  static bool writes(const void* self, uint64_t old) {
    const auto& how = *static_cast<const exchange_operand*>(self);
    return old == how.expected && !how.fails;
  }
};

// Atomic accesses of 1, 2, 4 or 8 bytes. No other lane sees a lane's own stack, nor what happens outside of runs: there these are the
// plain accesses that a single thread needs.

[[gnu::always_inline]] inline uint64_t read_memory(const void* address, size_t size_bytes) {
  return watched::value_at(address, static_cast<uint32_t>(size_bytes));
}
[[gnu::always_inline]] inline void write_memory(void* address, size_t size_bytes, uint64_t value) {
  switch (size_bytes) {
    case 8:
      std::memcpy(address, &value, 8);
      return;
    case 4:
      std::memcpy(address, &value, 4);
      return;
    case 2:
      std::memcpy(address, &value, 2);
      return;
    default:
      std::memcpy(address, &value, 1);
      return;
  }
}

[[gnu::always_inline]] inline uint64_t atomic_load(access what, const caller& from) {
  const void* address = what.address;
  const size_t size_bytes = what.size_bytes;
  lane* const self = observed_atomic(address);
  if (self == nullptr) return read_memory(address, size_bytes);
  execution& here = *execution::instance;
  const entered inside(*self);
  what.address = address = reached(here, *self, address, size_bytes, mapping_right::read);
  publish_access(here, *self, operation_kind::load, what, from);
  take_atomic_turn(here, *self);
  late_memory* const late = here.late();
  uint64_t value = late == nullptr ? read_memory(address, size_bytes) : late->load(*self, self->pending);
  uint64_t watched_for = value;
  if (here.cache().on() && !self->is_host()) [[unlikely]] {
    value = here.cache().load(address, size_bytes, value);
    // What its loop waits for is a change of memory, whatever it sees of that.
    if (here.cache().holds(address)) watched_for = read_memory(address, size_bytes);
  }
  read_done(here, *self, from, what, value, watched_for);
  return value;
}

[[gnu::always_inline]] inline void atomic_store(access what, uint64_t value, const caller& from) {
  void* address = what.to();
  const size_t size_bytes = what.size_bytes;
  lane* const self = observed_atomic(address);
  if (self == nullptr) return write_memory(address, size_bytes, value);
  execution& here = *execution::instance;
  const entered inside(*self);
  what.address = address = reached(here, *self, address, size_bytes, mapping_right::write);
  publish_access(here, *self, operation_kind::store, what, from);
  self->operands[0] = value;
  take_atomic_turn(here, *self);
  here.core().frames.let_go(*self, value);
  if (here.is_stored(*self)) [[unlikely]]
    return here.performed_at(*self, address, static_cast<uint32_t>(size_bytes), value);
  const uint64_t before = read_memory(address, size_bytes);
  if (late_memory* const late = here.late()) [[likely]]
    late->store(*self, self->pending, value);
  else
    write_memory(address, size_bytes, value);
  if (here.cache().on() && !self->is_host()) [[unlikely]]
    here.cache().stored(address, size_bytes, value);
  here.performed_at(*self, address, static_cast<uint32_t>(size_bytes), value);
  if (before != read_memory(address, size_bytes)) here.changed(*self, address, size_bytes);
}

[[gnu::always_inline]] inline uint64_t atomic_rmw(rmw_kind kind, access what, uint64_t operand, const caller& from,
                                                  operation_kind named = operation_kind::read_modify_write) {
  void* address = what.to();
  const size_t size_bytes = what.size_bytes;
  lane* const self = observed_atomic(address);
  if (self == nullptr) {
    const uint64_t old = read_memory(address, size_bytes);
    write_memory(address, size_bytes, apply(kind, old, operand));
    return old;
  }
  execution& here = *execution::instance;
  const entered inside(*self);
  what.address = address = reached(here, *self, address, size_bytes, mapping_right::write);
  publish_access(here, *self, named, what, from);
  self->operands = {operand, static_cast<uint64_t>(kind)};
  take_atomic_turn(here, *self);
  here.core().frames.let_go(*self, operand);
  const uint64_t before = read_memory(address, size_bytes);
  uint64_t old = before;
  if (late_memory* const late = here.late()) [[likely]] {
    const rmw_operand context = {kind, operand};
    old = late->read_modify_write(
        *self, self->pending,
        {.apply = &rmw_operand::apply_to,
         .context = &context,
         .is_atomic_op = kind == rmw_kind::exchange || kind == rmw_kind::add || kind == rmw_kind::subtract});
  } else {
    write_memory(address, size_bytes, apply(kind, old, operand));
  }
  if (here.cache().on() && !self->is_host()) [[unlikely]]
    here.cache().modified(address);
  const uint64_t now = read_memory(address, size_bytes);
  // One that leaves the value as it was is a read, or loops of test-and-set would never wait.
  if (before == now) {
    read_done(here, *self, from, what, old);
  } else {
    here.performed_at(*self, address, static_cast<uint32_t>(size_bytes), old);
    here.changed(*self, address, size_bytes);
  }
  return old;
}

/// How a compare-exchange fails: it then is the read of what it found.
struct exchange_failure {
  memory_order failure;
  bool weak = false;  ///< also for no reason, where the machine is set so
};

/// The order of a compare-exchange that does not happen; none where the run assumes another order of it than it has.
inline std::optional<memory_order> failure_of(const lane& self, memory_order success, memory_order failure) {
  if (acquires(failure) == acquires(success) || self.pending.order != success) return {};
  return failure;
}

/// Whether the exchange happened; `expected` receives what was found.
[[gnu::always_inline]] inline bool atomic_compare_exchange(access what, uint64_t& expected, uint64_t desired,
                                                           const caller& from, const exchange_failure& how) {
  void* address = what.to();
  const size_t size_bytes = what.size_bytes;
  lane* const self = observed_atomic(address);
  if (self == nullptr) {
    const uint64_t old = read_memory(address, size_bytes);
    if (old == expected) write_memory(address, size_bytes, desired);
    return std::exchange(expected, old) == old;
  }
  execution& here = *execution::instance;
  const entered inside(*self);
  what.address = address = reached(here, *self, address, size_bytes, mapping_right::write);
  publish_access(here, *self, operation_kind::compare_exchange, what, from);
  self->operands = {expected, desired};
  take_atomic_turn(here, *self);
  here.core().frames.let_go(*self, desired);
  const uint64_t before = read_memory(address, size_bytes);
  uint64_t old = before;
  const bool fails = how.weak && before == expected && here.core().fails_spuriously(*self);
  late_memory* const late = here.late();
  if (late != nullptr) [[likely]] {
    const exchange_operand context = {expected, desired, fails};
    old = late->read_modify_write(*self, self->pending,
                                  {.apply = &exchange_operand::apply_to,
                                   .writes = &exchange_operand::writes,
                                   .context = &context,
                                   .unless_written = failure_of(*self, what.order, how.failure)});
  }
  if (here.cache().on() && !self->is_host()) [[unlikely]]
    here.cache().modified(address);
  const bool equal = old == expected && !fails;
  expected = old;
  if (equal && late == nullptr) write_memory(address, size_bytes, desired);
  if (equal && before != read_memory(address, size_bytes)) {
    here.performed(*self, old);
    here.changed(*self, address, size_bytes);
  } else {
    read_done(here, *self, from, what, old);
  }
  return equal;
}

/// `perform` does in the memory that is late what the fence does there.
template <typename Perform>
[[gnu::always_inline]] inline void fence_by(memory_order order, scope reach, const caller& from, Perform&& perform) {
  lane* const self = execution::current;
  if (self == nullptr) return;
  execution& here = *execution::instance;
  const entered inside(*self);
  operation how = make_operation(operation_kind::fence, nullptr, 0, from);
  how.order = order;
  how.reach = reach;
  here.step(*self, how);
  here.let_arrive(*self);
  if (late_memory* const late = here.late()) perform(*late, *self);
  here.performed(*self, 0);
}

[[gnu::always_inline]] inline void fence(memory_order order, scope reach, const caller& from) {
  fence_by(order, reach, from, [](late_memory& late, lane& self) { late.fence(self, self.pending); });
}

}  // namespace heddle::sim::runtime
