// Plain accesses of code under test, as the entry points announce them.
#pragma once

#include <heddle/sim/base/state_key.h>
#include <heddle/sim/code/thread_locals.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/reached.h>

#include <cstddef>
#include <cstring>

namespace heddle::sim::runtime {

/// Whether no other lane could see the bytes change, or change them: they never change, or are the thread's own.
[[gnu::noinline]] inline bool is_unseen(execution& here, lane& self, const void* address) {
  if (!self.is_in_own_object(address)) return here.core().map.is_constant(address) || is_thread_local(address);
  if (!self.own_object_may_vanish) return false;
  // A loop that goes on looking there waits for another thread after all.
  constexpr uint32_t many = 64;
  if (++self.own_object_reads >= many) self.own_object.size_bytes = 0;
  return true;
}

/// What the thread keeps for itself has changed: a loop that does so is not back where it was.
[[gnu::noinline]] inline bool changes_thread_local(execution& here, lane& self, void* address, size_t size_bytes,
                                                   const caller& from) {
  if (!is_thread_local(address)) return false;
  here.finish_plain_store(self, from.frame);
  here.changed(self, address, size_bytes);
  return true;
}

/// Whether there is only one actor so far, and what it stores is not recorded: no other can tell when it does.
inline bool is_alone(const run_core& core) {
  return core.history.counted == 0 && !core.observers.on && core.notes == nullptr && core.times == nullptr &&
         !core.assumes && core.history.uncounted < execution::budgets_alone * core.machine.budget;
}

/// Whether nothing is kept of memory there.
inline bool is_not_kept(const run_core& core, const void* address) {
  constexpr uintptr_t lowest_address = 65536;  // below it lies nothing
  return reinterpret_cast<uintptr_t>(address) >= lowest_address && core.map.may_vanish(address);
}

/// Whether a plain store needs no more than this: it is to what only the thread looks at, or made before there is any other actor.
[[gnu::noinline]] inline bool is_stored_alone(execution& here, lane& self, void* address, size_t size_bytes,
                                              const caller& from) {
  run_core& core = here.core();
  if (self.is_table_of_own_object(address)) return true;
  // What `new` has given is none of the thread's variables, and nothing is kept of it.
  const bool is_new = self.last_new.contains(address);
  if (!is_new && changes_thread_local(here, self, address, size_bytes, from)) return true;
  if (!is_alone(core) || !(is_new || is_not_kept(core, address))) return false;
  publish_access(here, self, operation_kind::plain_store, {address, size_bytes}, from);
  ++core.history.uncounted;
  core.performed_unnoticed(self);
  core.states.blind();
  return true;
}

/// Whether the lane's access, which was announced as `named`, is of this strong kind, or is assumed to be.
[[gnu::always_inline]] inline bool is_strong(const execution& here, const lane& self, operation_kind named,
                                             operation_kind strong) {
  return named == strong || (here.assumes() && self.pending.kind == strong);
}

/// What a plain access is: with races=relaxed, one that a single instruction makes is as strong as a volatile one.
[[gnu::always_inline]] inline operation_kind kind_of_plain(execution& here, const void* address, size_t size_bytes,
                                                           operation_kind plain, operation_kind strong) {
  if (!here.machine().plain_is_relaxed()) [[likely]]
    return plain;
  const bool is_word = size_bytes <= 8 && (size_bytes & (size_bytes - 1)) == 0;
  return is_word && reinterpret_cast<uintptr_t>(address) % size_bytes == 0 ? strong : plain;
}

/// The lane's loop only spins, and is blocked behind its pending load, which the code under test has yet to make: it makes it once it is woken.
[[gnu::noinline]] inline void load_when_woken(execution& here, lane& self, const access& what) {
  // Meanwhile others find memory as it is, and not as this lane has seen it.
  here.finish_plain_store(self, self.pending.frame);
  here.yield(self);
  here.check_access(self);
  if (late_memory* const late = here.late()) late->before_plain_load(self, self.pending);
  const uint64_t value = watched::value_at(what.address, what.bytes());
  here.read(self, what.address, what.bytes(), value, value);
}

/// Of a copy of an object g++ announces the write, then the read, and then makes both: what was announced first is yet to come behind the lane's
/// pending read.
[[gnu::noinline]] inline void announce_again(execution& here, lane& self, const plain_store_in_progress& write) {
  if (late_memory* const late = here.late()) {
    operation again = self.pending;
    again.kind = kind_of_plain(here, write.address, write.size_bytes, operation_kind::plain_store,
                               operation_kind::volatile_store);
    again.address = write.address;
    late->before_plain_store(self, again);
  }
  if (write.size_bytes <= plain_store_in_progress::largest_bytes)
    here.waiting().begin_plain_store(self, write.address, write.size_bytes);
  else
    here.waiting().begin_object_store(self, write.address, write.size_bytes);
}

/// A plain read by the lane, before the code under test makes it. Of any size, but 0. A volatile one is strong, of 1, 2, 4 or 8 bytes.
[[gnu::always_inline]] inline void plain_read_of(lane* self, const void* address, size_t size_bytes, const caller& from,
                                                 operation_kind named = operation_kind::plain_load) {
  execution& here = *execution::instance;
  const entered inside(*self);
  address = reached(here, *self, address, size_bytes, mapping_right::read);
  bool is_own = false;
  if (!here.core().map.heap.contains(address)) [[unlikely]] {
    if (is_unseen(here, *self, address)) return;
    is_own = self->is_in_own_object(address);
  }
  const plain_store_in_progress copy = self->storing;
  const bool is_copy = self->unsettled && copy.size_bytes == size_bytes && here.late()->withdraw_store(*self, address);
  if (named == operation_kind::plain_load)
    named = kind_of_plain(here, address, size_bytes, named, operation_kind::volatile_load);
  const access what = {address, size_bytes};
  publish_access(here, *self, named, what, from);
  take_turn(
      here, *self,
      is_strong(here, *self, named, operation_kind::volatile_load) || (!is_own && here.core().is_plain_point(address)));
  if (late_memory* const late = here.late()) late->before_plain_load(*self, self->pending);
  const uint64_t value = watched::value_at(address, what.bytes());
  here.read(*self, address, what.bytes(), value, value);
  if (self->may_spin() && here.waiting().only_spins(*self, from.private_state)) [[unlikely]]
    load_when_woken(here, *self, what);
  if (is_own) [[unlikely]]
    self->own_object_operations = self->operations;
  if (is_copy) [[unlikely]]
    announce_again(here, *self, copy);
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
  address = reached(here, *self, address, size_bytes, mapping_right::write);
  if (!here.core().map.heap.contains(address) && is_stored_alone(here, *self, address, size_bytes, from)) [[unlikely]]
    return;
  if (named == operation_kind::plain_store)
    named = kind_of_plain(here, address, size_bytes, named, operation_kind::volatile_store);
  publish_access(here, *self, named, {address, size_bytes}, from);
  take_turn(here, *self,
            is_strong(here, *self, named, operation_kind::volatile_store) || here.core().is_plain_point(address));
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

/// The lane is about to do what it has announced by a plain read and another access: what it reads there is in memory. Where the other access is
/// to its own stack, it has not come to the simulator since, and that is so.
inline void look_again_inside(lane& self, const void* address, size_t size_bytes) {
  late_memory* const late = execution::instance->late();
  if (execution::current != nullptr) return;
  if (late == nullptr || size_bytes == 0 || self.is_private(address)) return;
  operation read = self.pending;
  read.kind = operation_kind::plain_load;
  read.address = address;
  read.size_bytes = static_cast<uint32_t>(size_bytes);
  late->look_again(self, read);
}
/// The same of a lane that is about to come back from the simulator.
inline void look_again(const void* address, size_t size_bytes) {
  lane* const self = observed(address);
  if (self == nullptr) return;
  const entered inside(*self);
  look_again_inside(*self, address, size_bytes);
}

/// What a host thread has stored need not be in memory yet where its processor keeps stores in a buffer.
inline void have_own_stores_in_memory(execution& here, lane& self) {
  if (here.machine().fidelity == fidelity::link && self.is_host()) here.late()->store_fence(self, self.pending);
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
  address = reached(here, *self, address, size_bytes, mapping_right::write);
  if (!here.core().map.heap.contains(address) && changes_thread_local(here, *self, address, size_bytes, from))
      [[unlikely]]
    return;
  publish_access(here, *self, operation_kind::plain_store, {address, size_bytes}, from);
  take_turn(here, *self, here.core().is_plain_point(address));
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
  const entered inside(*self);
  announce_again(*execution::instance, *self, announced);
}

/// A read of a string: up to and with its end, or `most` bytes.
inline void string_read(const char* text, size_t most, const caller& from) {
  lane* const self = observed(text);
  if (self == nullptr) return;
  size_t size_bytes = 0;
  {
    const entered inside(*self);
    text = static_cast<const char*>(reached(*execution::instance, *self, text, 1, mapping_right::read));
    if (!execution::instance->core().map.heap.contains(text) && is_unseen(*execution::instance, *self, text)) return;
    publish_access(*execution::instance, *self, operation_kind::plain_load, {text, 1}, from);
    execution::instance->check_access(*self);
    // How far there are any of its own stores is not known.
    have_own_stores_in_memory(*execution::instance, *self);
    while (size_bytes < most && text[size_bytes] != '\0') ++size_bytes;
    if (size_bytes < most) ++size_bytes;  // the end is read too
  }
  plain_read(text, size_bytes, from);
}

/// The lane, in the simulator, makes a write of many bytes, which is its pending access and has come to its turn.
template <typename Write>
[[gnu::always_inline]] inline void make_range_write(execution& here, lane& self, Write&& write) {
  const void* const address = self.pending.address;
  const uint32_t size_bytes = self.pending.size_bytes;
  const uint64_t before = watched::value_at(address, size_bytes);
  late_memory* const late = here.late();
  if (late != nullptr) late->before_plain_store(self, self.pending);
  write();
  if (self.is_host()) here.core().frames.let_go(self, address, size_bytes, self.pending.private_state);
  if (late != nullptr) here.waiting().settle(self);
  const uint64_t after = watched::value_at(address, size_bytes);
  here.performed(self, after);
  if (before != after) here.changed(self, address, size_bytes);
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
  address = reached(here, *self, address, size_bytes, mapping_right::write);
  if (!here.core().map.heap.contains(address) && changes_thread_local(here, *self, address, size_bytes, from))
      [[unlikely]]
    return write();
  publish_access(here, *self, operation_kind::plain_store, {address, size_bytes}, from);
  take_turn(here, *self, here.core().is_plain_point(address));
  make_range_write(here, *self, write);
}

/// range_write() of one byte again and again, as `write()` does it; of many bytes of the heap in the time that it takes to write them.
template <typename Write>
[[gnu::always_inline]] inline void range_fill(void* address, int value, size_t size_bytes, const caller& from,
                                              Write&& write) {
  constexpr size_t many = 1024;
  lane* const self = observed(address);
  if (self != nullptr && mapped_ranges::contains(address)) [[unlikely]] {
    const entered inside(*self);
    address = reached(*execution::instance, *self, address, size_bytes, mapping_right::write);
  }
  if (self == nullptr || size_bytes < many || !execution::instance->core().map.heap.contains(address))
    return range_write(address, size_bytes, from, write);
  execution& here = *execution::instance;
  const entered inside(*self);
  publish_access(here, *self, operation_kind::plain_store, {address, size_bytes}, from);
  take_turn(here, *self, here.core().is_plain_point(address));
  using filled = late_memory::filled;
  const auto byte = static_cast<std::byte>(value);
  filled how = filled::unchanged;
  if (late_memory* const late = here.late())
    how = late->fill(*self, self->pending, byte);
  else if (fill_where_it_differs(address, byte, size_bytes))
    how = filled::changed;
  if (how == filled::by_no_one) return make_range_write(here, *self, write);
  here.core().performed_fill(*self, byte);
  if (how == filled::changed) here.changed(*self, address, size_bytes);
}

}  // namespace heddle::sim::runtime
