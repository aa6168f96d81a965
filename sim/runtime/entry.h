// What every entry from code under test into the simulator has in common.
#pragma once

#include <heddle/scheduler/own_work.h>
#include <heddle/sim/run/execution.h>
#include <heddle/sim/runtime/calls.h>

#include <cstddef>
#include <cstring>
#include <utility>

namespace heddle::sim::runtime {

/// Clears what the simulator has left on the lane's stack, below all that is alive: where a function that is called later does not write
/// all of its frame, that would become part of the lane's state.
[[gnu::always_inline]] inline void clear_dead_stack() {
#if defined(__x86_64__) && !defined(HEDDLE_ADDRESS_SANITIZER)
  constexpr size_t cleared_bytes = 3072;
  asm volatile(
      "lea -%c[bytes](%%rsp), %%rdi\n\t"
      "xor %%eax, %%eax\n\t"
      "mov %[words], %%ecx\n\t"
      "rep stosq"
      :
      : [bytes] "i"(cleared_bytes), [words] "i"(cleared_bytes / 8)
      : "rdi", "rax", "rcx", "memory", "cc");
#endif
}

/// Looks away while heddle's own objects work for code under test.
const scheduler::onlooker& looks_on_at_lanes();

/// Marks that the simulator has been entered, and by which lane: until it is left, whatever the simulator calls is not
/// observed, even inline functions whose instrumented copy the linker kept.
class entered {
 public:
  explicit entered(lane& self) : self_(self) { execution::current = nullptr; }
  ~entered() {
    execution::current = &self_;
    if (self_.is_explored) [[unlikely]]
      clear_dead_stack();
  }
  entered(const entered&) = delete;
  entered& operator=(const entered&) = delete;

 private:
  lane& self_;
};

/// Marks a call whose arguments are nowhere but in its own frame: what it will do is not told by its pending operation. They, and where it
/// stands, must say all of it.
class hidden_operands {
 public:
  explicit hidden_operands(lane& self, uint64_t first = 0, uint64_t second = 0, uint64_t third = 0) : self_(self) {
    self.hides_operands = true;
    self.call = {first, second, third};
  }
  ~hidden_operands() { self_.hides_operands = false; }
  hidden_operands(const hidden_operands&) = delete;
  hidden_operands& operator=(const hidden_operands&) = delete;

 private:
  lane& self_;
};

/// Where the caller of an entry point stands in the code under test; to be taken in the entry point itself.
struct caller {
  const void* place;               ///< the return address
  void* const* frame;              ///< of the entry point
  const std::byte* private_state;  ///< low end of what the caller's future depends on
};

// An entry point saves all registers that a call preserves right below its frame pointer (System V ABI for x86-64: rbx and r12
// to r15; the caller's rbp is at the frame pointer), so that they and the stack above are the whole private state of the lane.
// Elsewhere more may be saved: bytes too many only make two states look different that are not.
#define HEDDLE_CALLER                                                                                                 \
  (__builtin_unwind_init(),                                                                                           \
   ::heddle::sim::runtime::caller{__builtin_return_address(0), static_cast<void* const*>(__builtin_frame_address(0)), \
                                  static_cast<const std::byte*>(__builtin_frame_address(0)) - 5 * sizeof(void*)})

[[gnu::always_inline]] inline operation make_operation(operation_kind kind, const void* address, size_t size_bytes,
                                                       const caller& from) {
  operation made;
  made.kind = kind;
  made.address = address;
  made.size_bytes = static_cast<uint32_t>(size_bytes);
  made.place = from.place;
  made.frame = from.frame;
  made.private_state = from.private_state;
  return made;
}

/// Makes this access what the lane does next, member by member where it stays: a copy of a whole operation would wait for the
/// members that were written last.
[[gnu::always_inline]] inline void publish_access(execution& here, lane& self, operation_kind kind, const void* address,
                                                  size_t size_bytes, memory_order order, scope reach,
                                                  const caller& from) {
  here.finish_plain_store(self);
  operation& next = self.pending;
  next.kind = kind;
  next.order = order;
  next.reach = reach;
  next.size_bytes = static_cast<uint32_t>(size_bytes);
  next.address = address;
  next.place = from.place;
  next.frame = from.frame;
  next.private_state = from.private_state;
}

/// The same for what touches no memory.
[[gnu::always_inline]] inline void publish(execution& here, lane& self, operation_kind kind, const caller& from) {
  publish_access(here, self, kind, nullptr, 0, memory_order::relaxed, scope::system, from);
  self.pending.mask = 0;
  self.pending.without_ended = false;
}

/// Waits for the lane's turn to make the access that it has published and that has been checked.
[[gnu::always_inline]] inline void take_checked_turn(execution& here, lane& self) {
  const bool frees = here.yield_and_watch_frees(self);
  here.let_arrive(self);
  // While others ran the memory may have gone.
  if (frees) [[unlikely]]
    here.check_access(self);
}

/// Waits for the lane's turn to make the plain access that it has published, which must be in bounds.
[[gnu::always_inline]] inline void take_turn(execution& here, lane& self, bool may_switch = true) {
  here.check_access(self);
  if (!may_switch && !here.must_yield(self)) return;
  take_checked_turn(here, self);
}

/// The same for an atomic access, which must be aligned to its size too.
[[gnu::always_inline]] inline void take_atomic_turn(execution& here, lane& self) {
  here.check_atomic_access(self);
  take_checked_turn(here, self);
}

[[gnu::always_inline]] inline void read_done(execution& here, lane& self, const caller& from, const void* address,
                                             size_t size_bytes, uint64_t value, uint64_t watched_for) {
  here.read(self, address, static_cast<uint32_t>(size_bytes), value, watched_for);
  if (self.may_spin()) [[unlikely]]
    here.look_for_spin(self, from.private_state);
}

[[gnu::always_inline]] inline void read_done(execution& here, lane& self, const caller& from, const void* address,
                                             size_t size_bytes, uint64_t value) {
  read_done(here, self, from, address, size_bytes, value, value);
}

/// An address as an argument of a call that hides its operands.
inline uint64_t as_operand(const void* address) { return reinterpret_cast<uintptr_t>(address); }

/// The lane that the simulator must hear of: null outside of runs, inside the simulator, and for a lane's own stack.
[[gnu::always_inline]] inline lane* observed(const void* address) {
  lane* const self = execution::current;
  return self == nullptr || self->is_private(address) ? nullptr : self;
}

/// The same for an atomic access. A host thread that goes on looking at an atomic in its own frame waits for another that knows of it.
[[gnu::always_inline]] inline lane* observed_atomic(const void* address) {
  lane* const self = execution::current;
  if (self == nullptr) return nullptr;
  if (self->is_private(address)) [[unlikely]] {
    constexpr uint32_t many = 64;
    if (!self->is_host() || ++self->own_atomics < many) return nullptr;
    self->share_frames(address);
  }
  return self;
}

/// Marks what follows as one more operation of a call whose first one touched `first`: a wave with one program counter has not left it.
class same_call {
 public:
  explicit same_call(const void* first) : self_(observed(first)) {
    if (self_ != nullptr) self_->in_same_call = true;
  }
  ~same_call() {
    if (self_ != nullptr) self_->in_same_call = false;
  }
  same_call(const same_call&) = delete;
  same_call& operator=(const same_call&) = delete;

 private:
  lane* self_;
};

/// A plain read by the lane, before the code under test makes it. Of any size, but 0. A volatile one is strong, of 1, 2, 4 or 8 bytes.
[[gnu::always_inline]] inline void plain_read_of(lane* self, const void* address, size_t size_bytes, const caller& from,
                                                 operation_kind named = operation_kind::plain_load) {
  execution& here = *execution::instance;
  const entered inside(*self);
  if (!here.core().map.heap.contains(address) && here.core().map.is_constant(address)) [[unlikely]]
    return;
  publish_access(here, *self, named, address, size_bytes, memory_order::relaxed, scope::system, from);
  take_turn(here, *self, here.machine().plain_points || named == operation_kind::volatile_load);
  if (late_memory* const late = here.late()) late->before_plain_load(*self, self->pending);
  read_done(here, *self, from, address, size_bytes, watched::value_at(address, static_cast<uint32_t>(size_bytes)));
}

/// The same where it is not known yet whether the simulator must hear of it.
[[gnu::always_inline]] inline void plain_read(const void* address, size_t size_bytes, const caller& from,
                                              operation_kind named = operation_kind::plain_load) {
  lane* const self = observed(address);
  if (self != nullptr && size_bytes != 0) plain_read_of(self, address, size_bytes, from, named);
}

/// A plain write by the lane, before the code under test makes it; at most 16 bytes. Its effect is looked at when the lane comes back.
[[gnu::always_inline]] inline void plain_write_of(lane* self, void* address, size_t size_bytes, const caller& from,
                                                  operation_kind named = operation_kind::plain_store) {
  execution& here = *execution::instance;
  const entered inside(*self);
  publish_access(here, *self, named, address, size_bytes, memory_order::relaxed, scope::system, from);
  take_turn(here, *self, here.machine().plain_points || named == operation_kind::volatile_store);
  if (late_memory* const late = here.late()) late->before_plain_store(*self, self->pending);
  here.performed_at(*self, address, static_cast<uint32_t>(size_bytes), 0);
  here.waiting().begin_plain_store(*self, address, static_cast<uint32_t>(size_bytes));
}

/// The same where it is not known yet whether the simulator must hear of it.
[[gnu::always_inline]] inline void plain_write(void* address, size_t size_bytes, const caller& from,
                                               operation_kind named = operation_kind::plain_store) {
  lane* const self = observed(address);
  if (self != nullptr && size_bytes != 0) plain_write_of(self, address, size_bytes, from, named);
}

/// The two halves of one statement that reads and writes, announced one after the other before the code under test makes either.
[[gnu::always_inline]] inline void plain_read_write(void* address, size_t size_bytes, const caller& from) {
  plain_read(address, size_bytes, from);
  {
    const same_call more(address);
    plain_write(address, size_bytes, from);
  }
  if (late_memory* const late = execution::instance->late())
    if (lane* const self = observed(address)) late->see_again(*self);
}

/// A plain write of a whole object, before the code under test makes it. What is longer than a store in progress can hold counts
/// as changed when the lane comes back, without a look at what it was before.
[[gnu::always_inline]] inline void object_write(void* address, size_t size_bytes, const caller& from) {
  if (size_bytes <= plain_store_in_progress::largest_bytes) return plain_write(address, size_bytes, from);
  lane* const self = observed(address);
  if (self == nullptr) return;
  execution& here = *execution::instance;
  const entered inside(*self);
  publish_access(here, *self, operation_kind::plain_store, address, size_bytes, memory_order::relaxed, scope::system,
                 from);
  take_turn(here, *self, here.machine().plain_points);
  if (late_memory* const late = here.late()) late->before_plain_store(*self, self->pending);
  here.performed(*self, 0);
  here.waiting().begin_object_store(*self, address, static_cast<uint32_t>(size_bytes));
}

/// A plain read of a whole object, before the code under test makes it. A write of as many bytes that was announced last may be
/// of the same copy: it is looked at once more when the lane comes back.
[[gnu::always_inline]] inline void object_read(const void* address, size_t size_bytes, const caller& from) {
  lane* const self = observed(address);
  if (self == nullptr) return;
  const plain_store_in_progress announced = self->storing;
  plain_read(address, size_bytes, from);
  if (announced.size_bytes != size_bytes) return;
  if (late_memory* const late = execution::instance->late()) {
    const entered inside(*self);
    operation again = self->pending;
    again.kind = operation_kind::plain_store;
    again.address = announced.address;
    late->before_plain_store(*self, again);
  }
  if (size_bytes <= plain_store_in_progress::largest_bytes)
    execution::instance->waiting().begin_plain_store(*self, announced.address, announced.size_bytes);
  else
    execution::instance->waiting().begin_object_store(*self, announced.address, announced.size_bytes);
}

/// A read of a string: up to and with its end, or `most` bytes.
inline void string_read(const char* text, size_t most, const caller& from) {
  lane* const self = observed(text);
  if (self == nullptr) return;
  size_t size_bytes = 0;
  {
    const entered inside(*self);
    if (!execution::instance->core().map.heap.contains(text) && execution::instance->core().map.is_constant(text))
      return;
    publish_access(*execution::instance, *self, operation_kind::plain_load, text, 1, memory_order::relaxed,
                   scope::system, from);
    execution::instance->check_access(*self);
    while (size_bytes < most && text[size_bytes] != '\0') ++size_bytes;
    if (size_bytes < most) ++size_bytes;  // the end is read too
  }
  plain_read(text, size_bytes, from);
}

/// A write of many bytes that the simulator makes itself: `write()` is called when it is the lane's turn.
template <typename Write>
[[gnu::always_inline]] inline void range_write(void* address, size_t size_bytes, const caller& from, Write&& write) {
  lane* const self = observed(address);
  if (self == nullptr || size_bytes == 0) {
    write();
    return;
  }
  execution& here = *execution::instance;
  const entered inside(*self);
  publish_access(here, *self, operation_kind::plain_store, address, size_bytes, memory_order::relaxed, scope::system,
                 from);
  take_turn(here, *self, here.machine().plain_points);
  const uint64_t before = watched::value_at(address, static_cast<uint32_t>(size_bytes));
  late_memory* const late = here.late();
  if (late != nullptr) late->before_plain_store(*self, self->pending);
  write();
  if (late != nullptr) here.waiting().settle(*self);
  const uint64_t after = watched::value_at(address, static_cast<uint32_t>(size_bytes));
  here.performed(*self, after);
  if (before != after) here.changed(*self, address, size_bytes);
}

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

// Atomic accesses of 1, 2, 4 or 8 bytes. A lane's own stack is nobody else's business; neither is what happens outside of runs,
// where these are the plain accesses that one thread needs.

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

[[gnu::always_inline]] inline uint64_t atomic_load(const void* address, size_t size_bytes, memory_order order,
                                                   scope reach, const caller& from) {
  lane* const self = observed_atomic(address);
  if (self == nullptr) return read_memory(address, size_bytes);
  execution& here = *execution::instance;
  const entered inside(*self);
  publish_access(here, *self, operation_kind::load, address, size_bytes, order, reach, from);
  take_atomic_turn(here, *self);
  late_memory* const late = here.late();
  uint64_t value = late == nullptr ? read_memory(address, size_bytes) : late->load(*self, self->pending);
  uint64_t watched_for = value;
  if (here.cache().on() && !self->is_host()) [[unlikely]] {
    value = here.cache().load(address, size_bytes, value);
    // What its loop waits for is a change of memory, whatever it sees of that.
    if (here.cache().holds(address)) watched_for = read_memory(address, size_bytes);
  }
  read_done(here, *self, from, address, size_bytes, value, watched_for);
  return value;
}

[[gnu::always_inline]] inline void atomic_store(void* address, size_t size_bytes, uint64_t value, memory_order order,
                                                scope reach, const caller& from) {
  lane* const self = observed_atomic(address);
  if (self == nullptr) return write_memory(address, size_bytes, value);
  execution& here = *execution::instance;
  const entered inside(*self);
  publish_access(here, *self, operation_kind::store, address, size_bytes, order, reach, from);
  self->operands[0] = value;
  take_atomic_turn(here, *self);
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

[[gnu::always_inline]] inline uint64_t atomic_rmw(rmw_kind kind, void* address, size_t size_bytes, uint64_t operand,
                                                  memory_order order, scope reach, const caller& from,
                                                  operation_kind named = operation_kind::read_modify_write) {
  lane* const self = observed_atomic(address);
  if (self == nullptr) {
    const uint64_t old = read_memory(address, size_bytes);
    write_memory(address, size_bytes, apply(kind, old, operand));
    return old;
  }
  execution& here = *execution::instance;
  const entered inside(*self);
  publish_access(here, *self, named, address, size_bytes, order, reach, from);
  self->operands = {operand, static_cast<uint64_t>(kind)};
  take_atomic_turn(here, *self);
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
    read_done(here, *self, from, address, size_bytes, old);
  } else {
    here.performed_at(*self, address, static_cast<uint32_t>(size_bytes), old);
    here.changed(*self, address, size_bytes);
  }
  return old;
}

/// How a compare-exchange may fail.
enum class exchange_kind : uint8_t {
  strong,  ///< only where it does not find what it expects
  weak,    ///< also for no reason, where the machine is set so; it then is the read of what it found
};

/// Whether the exchange happened; `expected` receives what was found.
[[gnu::always_inline]] inline bool atomic_compare_exchange(void* address, size_t size_bytes, uint64_t& expected,
                                                           uint64_t desired, memory_order order, scope reach,
                                                           const caller& from,
                                                           exchange_kind kind = exchange_kind::strong) {
  lane* const self = observed_atomic(address);
  if (self == nullptr) {
    const uint64_t old = read_memory(address, size_bytes);
    if (old == expected) write_memory(address, size_bytes, desired);
    return std::exchange(expected, old) == old;
  }
  execution& here = *execution::instance;
  const entered inside(*self);
  publish_access(here, *self, operation_kind::compare_exchange, address, size_bytes, order, reach, from);
  self->operands = {expected, desired};
  take_atomic_turn(here, *self);
  const uint64_t before = read_memory(address, size_bytes);
  uint64_t old = before;
  const bool fails = kind == exchange_kind::weak && before == expected && here.core().fails_spuriously(*self);
  late_memory* const late = here.late();
  if (late != nullptr) [[likely]] {
    const exchange_operand context = {expected, desired, fails};
    old = late->read_modify_write(
        *self, self->pending,
        {.apply = &exchange_operand::apply_to, .writes = &exchange_operand::writes, .context = &context});
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
    read_done(here, *self, from, address, size_bytes, old);
  }
  return equal;
}

[[gnu::always_inline]] inline void fence(memory_order order, scope reach, const caller& from) {
  lane* const self = execution::current;
  if (self == nullptr) return;
  execution& here = *execution::instance;
  const entered inside(*self);
  operation how = make_operation(operation_kind::fence, nullptr, 0, from);
  how.order = order;
  how.reach = reach;
  here.step(*self, how);
  here.let_arrive(*self);
  if (late_memory* const late = here.late()) late->fence(*self, self->pending);
  here.performed(*self, 0);
}

}  // namespace heddle::sim::runtime
