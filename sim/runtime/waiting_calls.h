// Waiting for notice and giving it, and taking what others may hold, as the calls of the C and C++ libraries do.
#pragma once

#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/moments.h>
#include <pthread.h>

#include <cerrno>
#include <cstdint>

namespace heddle::sim::runtime {

/// Gives up the mutex, waits for notice at the condition, and takes the mutex again: 0, or ETIMEDOUT where the wait has ended by time, or what
/// was wrong with the mutex. `moment`: when it may end by time; runtime::never.
int wait_at_condition(lane& self, const void* condition, const pthread_mutex_t* mutex, uint64_t moment,
                      const caller& from);
/// Gives notice to one of those that wait at the object, or to all. A step.
void notify(lane& self, const void* object, bool all, const caller& from);

/// Blocks the lane, in `how`, until `take()` has taken the object at the operation's address; looks again whenever that changes.
template <typename Take>
void take_object(lane& self, const operation& how, Take&& take) {
  execution& here = *execution::instance;
  self.operands = {as_operand(how.address), 0};
  here.step(self, how);
  while (!take()) {
    self.reads.clear();
    self.reads.add(how.address, 1, 0);
    here.waiting().begin_waiting(self, nullptr);
    here.yield(self);
  }
  here.core().note_progress(self);
  here.performed(self, 0);
}

/// The same, but the lane tries once and, where it has `private_state`, once more behind a wait. Whether it was taken.
template <typename Take>
bool try_object(lane& self, const operation& how, const std::byte* private_state, Take&& take) {
  execution& here = *execution::instance;
  self.operands = {as_operand(how.address), 1};
  here.step(self, how);
  bool taken = take();
  here.performed(self, taken ? 1 : 0);
  if (!taken) self.reads.add(how.address, 1, here.waiting().change_of(how.address), true);
  if (!taken && private_state != nullptr) {
    here.pause(self, private_state);
    taken = take();
  }
  if (taken) here.core().note_progress(self);
  return taken;
}

/// `change()` gives back the object of so many bytes at the operation's address, which those that wait for it look at again. Its result.
template <typename Change>
int give_object(lane& self, uint32_t size_bytes, const operation& how, Change&& change) {
  execution& here = *execution::instance;
  self.operands = {as_operand(how.address), 2};
  here.step(self, how);
  const int result = change();
  here.performed(self, static_cast<uint64_t>(result));
  if (result != 0) return result;
  if (here.core().notes != nullptr) here.changed(self, how.address, size_bytes);
  here.waiting().notice(self, how.address);
  return 0;
}

// What takes an object waits until it can, at most until `moment`. `take()`: 0, or the result of an attempt that fails.
template <typename Take>
int take_until(lane& self, const void* object, uint64_t moment, const caller& from, Take&& take) {
  const hidden_operands hidden(self, as_operand(object), moment);
  const entered inside(self);
  const operation how = make_operation(operation_kind::wait_notice, object, 1, from);
  int result = 0;
  const auto takes = [&] { return (result = take()) != EBUSY; };
  if (moment == never) {
    take_object(self, how, takes);
    return result;
  }
  timed_wait time(moment);
  while (!try_object(self, how, time.private_state(from), takes))
    if (time.is_over(self)) return ETIMEDOUT;
  return result;
}

template <typename Take>
int try_to_take(lane& self, const void* object, const caller& from, Take&& take) {
  const hidden_operands hidden(self, as_operand(object));
  const entered inside(self);
  int result = 0;
  try_object(self, make_operation(operation_kind::wait_notice, object, 1, from), nullptr,
             [&] { return (result = take()) != EBUSY; });
  return result;
}

template <typename Give>
int give(lane& self, void* object, uint32_t size_bytes, const caller& from, Give&& change) {
  const hidden_operands hidden(self, as_operand(object));
  const entered inside(self);
  return give_object(self, size_bytes, make_operation(operation_kind::give_notice, object, 1, from), change);
}

}  // namespace heddle::sim::runtime

// The C library's function `name`, and what is done in its place for a call by code under test: by the lane `self`, which came from `from`.
#define HEDDLE_TAKES(name, parameters, arguments, ...)   \
  int __real_##name parameters;                          \
  int __wrap_##name parameters {                         \
    lane* const self = execution::current;               \
    if (self == nullptr) return __real_##name arguments; \
    const runtime::caller from = HEDDLE_CALLER;          \
    return __VA_ARGS__;                                  \
  }
