// Atomic operations on 16 bytes: the entry points that -fsanitize=thread calls, and those that compilers expect in a library (libatomic's
// names). Both halves are read and written as one.
#include <heddle/sim/runtime/atomic_accesses.h>
#include <heddle/sim/runtime/gpu_calls.h>
#include <heddle/sim/runtime/reached.h>

#include <cstring>

namespace {

__extension__ using wide = unsigned __int128;

using heddle::memory_order;
using heddle::scope;
using heddle::sim::execution;
using heddle::sim::lane;
using heddle::sim::late_memory;
using heddle::sim::operation_kind;
using heddle::sim::watched;
using heddle::sim::wide_modification;
using heddle::sim::wide_value;
namespace runtime = heddle::sim::runtime;
using runtime::rmw_kind;

static_assert(sizeof(wide_value) == sizeof(wide));
constexpr uint32_t wide_bytes = 16;

wide_value halves_of(wide value) { return {static_cast<uint64_t>(value), static_cast<uint64_t>(value >> 64)}; }
wide whole(wide_value value) { return static_cast<wide>(value.high) << 64 | value.low; }

wide read_wide(const volatile void* address) {
  wide value = 0;
  std::memcpy(&value, const_cast<const void*>(address), sizeof value);
  return value;
}
void write_wide(volatile void* address, wide value) { std::memcpy(const_cast<void*>(address), &value, sizeof value); }

memory_order order_from_abi(int order) {
  constexpr memory_order orders[] = {memory_order::relaxed, memory_order::acquire, memory_order::acquire,
                                     memory_order::release, memory_order::acq_rel, memory_order::seq_cst};
  return orders[order >= 0 && order < 5 ? order : 5];
}

/// An access of 16 bytes: where, and how.
runtime::access wide_access(const volatile void* address, int order) {
  return {const_cast<const void*>(address), wide_bytes, order_from_abi(order)};
}

/// What the halves point to, others know of.
void let_go(execution& here, lane& self, const wide_value& halves) {
  here.core().frames.let_go(self, halves.low);
  here.core().frames.let_go(self, halves.high);
}

/// What the lane's loop waits for, where it has found `value`.
uint64_t as_watched(const wide& value) { return watched::value_at(&value, wide_bytes); }

wide load(runtime::access what, const runtime::caller& from) {
  const void* address = what.address;
  lane* const self = runtime::observed_atomic(address);
  if (self == nullptr) return read_wide(address);
  execution& here = *execution::instance;
  const runtime::entered inside(*self);
  what.address = address = runtime::reached(here, *self, address, wide_bytes, heddle::sim::mapping_right::read);
  runtime::publish_access(here, *self, operation_kind::load, what, from);
  runtime::take_atomic_turn(here, *self);
  late_memory* const late = here.late();
  const wide value = late == nullptr ? read_wide(address) : whole(late->load_wide(*self, self->pending));
  runtime::read_done(here, *self, from, {address, wide_bytes}, halves_of(value).low, as_watched(value));
  return value;
}

void store(runtime::access what, wide value, const runtime::caller& from) {
  void* address = what.to();
  lane* const self = runtime::observed_atomic(address);
  if (self == nullptr) return write_wide(address, value);
  execution& here = *execution::instance;
  const runtime::entered inside(*self);
  what.address = address = runtime::reached(here, *self, address, wide_bytes, heddle::sim::mapping_right::write);
  const wide_value halves = halves_of(value);
  self->operands = {halves.low, halves.high};
  runtime::publish_access(here, *self, operation_kind::store, what, from);
  runtime::take_atomic_turn(here, *self);
  let_go(here, *self, halves);
  const wide before = read_wide(address);
  if (late_memory* const late = here.late())
    late->store_wide(*self, self->pending, halves);
  else
    write_wide(address, value);
  here.performed(*self, halves.low);
  if (before != read_wide(address)) here.changed(*self, address, wide_bytes);
}

struct operand_of_rmw {
  rmw_kind kind;
  wide operand;
  static wide_value apply_to(const void* self, wide_value old) {
    const auto& how = *static_cast<const operand_of_rmw*>(self);
    return halves_of(runtime::apply<wide>(how.kind, whole(old), how.operand));
  }
};

wide modify(rmw_kind kind, runtime::access what, wide operand, const runtime::caller& from) {
  void* address = what.to();
  lane* const self = runtime::observed_atomic(address);
  if (self == nullptr) {
    const wide old = read_wide(address);
    write_wide(address, runtime::apply<wide>(kind, old, operand));
    return old;
  }
  const wide_value halves = halves_of(operand);
  const runtime::hidden_operands hidden(*self, halves.low, halves.high, static_cast<uint64_t>(kind));
  execution& here = *execution::instance;
  const runtime::entered inside(*self);
  what.address = address = runtime::reached(here, *self, address, wide_bytes, heddle::sim::mapping_right::write);
  runtime::publish_access(here, *self, operation_kind::read_modify_write, what, from);
  runtime::take_atomic_turn(here, *self);
  let_go(here, *self, halves);
  const wide before = read_wide(address);
  wide old = before;
  if (late_memory* const late = here.late()) {
    const operand_of_rmw context = {kind, operand};
    old = whole(late->modify_wide(*self, self->pending, {.apply = &operand_of_rmw::apply_to, .context = &context}));
  } else {
    write_wide(address, runtime::apply<wide>(kind, old, operand));
  }
  if (before == read_wide(address)) {
    runtime::read_done(here, *self, from, {address, wide_bytes}, halves_of(old).low, as_watched(old));
  } else {
    here.performed(*self, halves_of(old).low);
    here.changed(*self, address, wide_bytes);
  }
  return old;
}

struct operand_of_exchange {
  wide expected;
  wide desired;
  bool fails;
  static wide_value apply_to(const void* self, wide_value) {
    return halves_of(static_cast<const operand_of_exchange*>(self)->desired);
  }
  static bool writes(const void* self, wide_value old) {
    const auto& how = *static_cast<const operand_of_exchange*>(self);
    return whole(old) == how.expected && !how.fails;
  }
};

bool compare_exchange(runtime::access what, void* expects, wide desired, const runtime::exchange_failure& how,
                      const runtime::caller& from) {
  void* address = what.to();
  const wide expected = read_wide(expects);
  lane* const self = runtime::observed_atomic(address);
  if (self == nullptr) {
    const wide old = read_wide(address);
    if (old == expected) write_wide(address, desired);
    write_wide(expects, old);
    return old == expected;
  }
  const wide_value wanted = halves_of(desired);
  wide old = 0;
  bool equal = false;
  {
    const runtime::hidden_operands hidden(*self, wanted.low, wanted.high, how.weak ? 1 : 0);
    execution& here = *execution::instance;
    const runtime::entered inside(*self);
    what.address = address = runtime::reached(here, *self, address, wide_bytes, heddle::sim::mapping_right::write);
    self->operands = {halves_of(expected).low, halves_of(expected).high};
    runtime::publish_access(here, *self, operation_kind::compare_exchange, what, from);
    runtime::take_atomic_turn(here, *self);
    let_go(here, *self, wanted);
    const wide before = old = read_wide(address);
    const operand_of_exchange context = {expected, desired,
                                         how.weak && before == expected && here.core().fails_spuriously(*self)};
    late_memory* const late = here.late();
    if (late != nullptr)
      old = whole(late->modify_wide(*self, self->pending,
                                    {.apply = &operand_of_exchange::apply_to,
                                     .writes = &operand_of_exchange::writes,
                                     .context = &context,
                                     .unless_written = runtime::failure_of(*self, what.order, how.failure),
                                     .is_atomic_op = true}));
    equal = old == expected && !context.fails;
    if (equal && late == nullptr) write_wide(address, desired);
    if (equal && before != read_wide(address)) {
      here.performed(*self, halves_of(old).low);
      here.changed(*self, address, wide_bytes);
    } else {
      runtime::read_done(here, *self, from, {address, wide_bytes}, halves_of(old).low, as_watched(old));
    }
  }
  write_wide(expects, old);
  return equal;
}

}  // namespace

namespace heddle::sim::runtime {

void load_wide(const void* address, uint64_t* halves, memory_order order, scope reach) {
  const wide_value found = halves_of(::load(access{address, wide_bytes, order, reach}, HEDDLE_CALLER));
  halves[0] = found.low;
  halves[1] = found.high;
}

void store_wide(void* address, const uint64_t* halves, memory_order order, scope reach) {
  ::store(access{address, wide_bytes, order, reach}, whole({halves[0], halves[1]}), HEDDLE_CALLER);
}

void exchange_wide(void* address, uint64_t* halves, memory_order order, scope reach) {
  const wide_value found = halves_of(::modify(rmw_kind::exchange, access{address, wide_bytes, order, reach},
                                              whole({halves[0], halves[1]}), HEDDLE_CALLER));
  halves[0] = found.low;
  halves[1] = found.high;
}

void compare_exchange_wide(void* address, uint64_t* expected, const uint64_t* desired, exchange_order order,
                           scope reach) {
  ::compare_exchange(access{address, wide_bytes, order.success, reach}, expected, whole({desired[0], desired[1]}),
                     {order.failure}, HEDDLE_CALLER);
}

void access_vectors_of(uint8_t value_bytes) {
  if (lane* const self = execution::current; self != nullptr) self->vector_of = value_bytes;
}

}  // namespace heddle::sim::runtime

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the compiler chose the names

wide __tsan_atomic128_load(const volatile wide* address, int order) {
  return load(wide_access(address, order), HEDDLE_CALLER);
}
void __tsan_atomic128_store(volatile wide* address, wide value, int order) {
  store(wide_access(address, order), value, HEDDLE_CALLER);
}

// Compilers know the library's names as built in: ours are others, and the linker's are those.
#define HEDDLE_WIDE_RMW(tsan_name, kind)                                                          \
  wide __tsan_atomic128_##tsan_name(volatile wide* address, wide operand, int order) {            \
    return modify(kind, wide_access(address, order), operand, HEDDLE_CALLER);                     \
  }                                                                                               \
  [[gnu::weak]] wide heddle_library_##tsan_name(volatile void* address, wide operand,             \
                                                int order) __asm__("__atomic_" #tsan_name "_16"); \
  wide heddle_library_##tsan_name(volatile void* address, wide operand, int order) {              \
    return modify(kind, wide_access(address, order), operand, HEDDLE_CALLER);                     \
  }

HEDDLE_WIDE_RMW(exchange, rmw_kind::exchange)
HEDDLE_WIDE_RMW(fetch_add, rmw_kind::add)
HEDDLE_WIDE_RMW(fetch_sub, rmw_kind::subtract)
HEDDLE_WIDE_RMW(fetch_and, rmw_kind::bit_and)
HEDDLE_WIDE_RMW(fetch_or, rmw_kind::bit_or)
HEDDLE_WIDE_RMW(fetch_xor, rmw_kind::bit_xor)
HEDDLE_WIDE_RMW(fetch_nand, rmw_kind::nand)

int __tsan_atomic128_compare_exchange_strong(volatile wide* address, wide* expected, wide desired, int order,
                                             int failure) {
  return compare_exchange(wide_access(address, order), expected, desired, {order_from_abi(failure)}, HEDDLE_CALLER) ? 1
                                                                                                                    : 0;
}
int __tsan_atomic128_compare_exchange_weak(volatile wide* address, wide* expected, wide desired, int order,
                                           int failure) {
  return compare_exchange(wide_access(address, order), expected, desired, {order_from_abi(failure), true},
                          HEDDLE_CALLER)
             ? 1
             : 0;
}
wide __tsan_atomic128_compare_exchange_val(volatile wide* address, wide expected, wide desired, int order,
                                           int failure) {
  wide found = expected;
  compare_exchange(wide_access(address, order), &found, desired, {order_from_abi(failure)}, HEDDLE_CALLER);
  return found;
}

// clang calls these where it is not told that the processor has an instruction for 16 bytes (-mcx16).
[[gnu::weak]] wide heddle_library_load(const volatile void* address, int order) __asm__("__atomic_load_16");
wide heddle_library_load(const volatile void* address, int order) {
  return load(wide_access(address, order), HEDDLE_CALLER);
}

[[gnu::weak]] void heddle_library_store(volatile void* address, wide value, int order) __asm__("__atomic_store_16");
void heddle_library_store(volatile void* address, wide value, int order) {
  store(wide_access(address, order), value, HEDDLE_CALLER);
}

[[gnu::weak]] bool heddle_library_compare_exchange(volatile void* address, void* expected, wide desired, int success,
                                                   int failure) __asm__("__atomic_compare_exchange_16");
bool heddle_library_compare_exchange(volatile void* address, void* expected, wide desired, int success, int failure) {
  return compare_exchange(wide_access(address, success), expected, desired, {order_from_abi(failure)}, HEDDLE_CALLER);
}

[[gnu::weak]] bool heddle_library_is_lock_free(size_t size_bytes,
                                               const volatile void* address) __asm__("__atomic_is_lock_free");
bool heddle_library_is_lock_free(size_t size_bytes, const volatile void* address) {
  return size_bytes <= wide_bytes && (size_bytes & (size_bytes - 1)) == 0 &&
         (size_bytes == 0 || reinterpret_cast<uintptr_t>(address) % size_bytes == 0);
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
