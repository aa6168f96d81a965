// Plain accesses of code under test, as the entry points announce them.
#pragma once

#include <heddle/sim/code/thread_locals.h>
#include <heddle/sim/runtime/entry.h>

#include <cstddef>
#include <cstring>

namespace heddle::sim::runtime {

/// Whether no other lane could see the bytes change, or change them: they never change, or are the thread's own.
[[gnu::noinline]] inline bool is_unseen(execution& here, const void* address) {
  return here.core().map.is_constant(address) || is_thread_local(address);
}

/// What the thread keeps for itself has changed: a loop that does so is not back where it was.
[[gnu::noinline]] inline bool changes_thread_local(execution& here, lane& self, void* address, size_t size_bytes) {
  if (!is_thread_local(address)) return false;
  here.finish_plain_store(self);
  here.changed(self, address, size_bytes);
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

/// A plain read by the lane, before the code under test makes it. Of any size, but 0. A volatile one is strong, of 1, 2, 4 or 8 bytes.
[[gnu::always_inline]] inline void plain_read_of(lane* self, const void* address, size_t size_bytes, const caller& from,
                                                 operation_kind named = operation_kind::plain_load) {
  execution& here = *execution::instance;
  const entered inside(*self);
  if (!here.core().map.heap.contains(address) && is_unseen(here, address)) [[unlikely]]
    return;
  if (named == operation_kind::plain_load)
    named = kind_of_plain(here, address, size_bytes, named, operation_kind::volatile_load);
  const access what = {address, size_bytes};
  publish_access(here, *self, named, what, from);
  take_turn(here, *self,
            is_strong(here, *self, named, operation_kind::volatile_load) || here.core().is_plain_point(address));
  if (late_memory* const late = here.late()) late->before_plain_load(*self, self->pending);
  read_done(here, *self, from, what, watched::value_at(address, what.bytes()));
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
  if (!here.core().map.heap.contains(address) && changes_thread_local(here, *self, address, size_bytes)) [[unlikely]]
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
  if (!here.core().map.heap.contains(address) && changes_thread_local(here, *self, address, size_bytes)) [[unlikely]]
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
  if (late_memory* const late = execution::instance->late()) {
    const entered inside(*self);
    operation again = self->pending;
    again.kind = kind_of_plain(*execution::instance, announced.address, size_bytes, operation_kind::plain_store,
                               operation_kind::volatile_store);
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
    if (!execution::instance->core().map.heap.contains(text) && is_unseen(*execution::instance, text)) return;
    publish_access(*execution::instance, *self, operation_kind::plain_load, {text, 1}, from);
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
  if (!here.core().map.heap.contains(address) && changes_thread_local(here, *self, address, size_bytes)) [[unlikely]]
    return write();
  publish_access(here, *self, operation_kind::plain_store, {address, size_bytes}, from);
  take_turn(here, *self, here.core().is_plain_point(address));
  const uint64_t before = watched::value_at(address, static_cast<uint32_t>(size_bytes));
  late_memory* const late = here.late();
  if (late != nullptr) late->before_plain_store(*self, self->pending);
  write();
  if (late != nullptr) here.waiting().settle(*self);
  const uint64_t after = watched::value_at(address, static_cast<uint32_t>(size_bytes));
  here.performed(*self, after);
  if (before != after) here.changed(*self, address, size_bytes);
}

}  // namespace heddle::sim::runtime
