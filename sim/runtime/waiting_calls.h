// Waiting for notice and giving it, and taking what others may hold, as the calls of the C and C++ libraries do.
#pragma once

#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/moments.h>
#include <pthread.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <string>

namespace heddle::sim::runtime {

/// Gives up the mutex, waits for notice at the condition, and takes the mutex again: 0, or ETIMEDOUT where the wait has ended by time, or what
/// was wrong with the mutex. `moment`: when it may end by time; runtime::never.
int wait_at_condition(lane& self, const void* condition, const pthread_mutex_t* mutex, uint64_t moment,
                      const caller& from);
/// Gives notice to one of those that wait at the object, or to all. A step.
void notify(lane& self, const void* object, bool all, const caller& from, bool is_word = false);

/// Waits, in `how`, until notice is given to the lane, which has come to notices::wait_at() before. True when it was; false when the wait ends for no
/// reason, or, with `private_state`, because nothing else can go on.
bool wait_for_notice(lane& self, const std::byte* private_state, const operation& how);

/// The full barrier that a call of futex(2) makes in the kernel, for the memory of a machine in which stores and loads may be late. One that wakes
/// makes it before it looks for sleepers, and pairs with the one that a thread makes when it counts as a sleeper, before it looks at the word: either
/// the first one sees the sleeper, or the second one sees what was stored before the wake. (kernel/futex/waitwake.c, "READ this before attempting to
/// hack on futexes!".)
void futex_barrier(lane& self, const operation& how);

/// Blocks the lane, in `how`, until `take()` has taken an object; looks again whenever one of those in `at` changes.
template <typename Take>
void take_object(lane& self, const operation& how, std::span<const void* const> at, Take&& take) {
  execution& here = *execution::instance;
  self.operands = {as_operand(how.address), 0};
  here.step(self, how);
  while (!take()) {
    self.reads.clear();
    for (const void* const each : at) self.reads.add(each, 1, 0);
    here.waiting().begin_waiting(self, nullptr);
    here.yield(self);
  }
  here.core().note_progress(self);
  here.performed(self, 0);
}
/// Of the object at the operation's address.
template <typename Take>
void take_object(lane& self, const operation& how, Take&& take) {
  take_object(self, how, {&how.address, 1}, take);
}

/// The same, but the lane tries once and, where it has `private_state`, once more behind a wait. Whether it was taken.
template <typename Take>
bool try_object(lane& self, const operation& how, std::span<const void* const> at, const std::byte* private_state,
                Take&& take) {
  execution& here = *execution::instance;
  self.operands = {as_operand(how.address), 1};
  here.step(self, how);
  bool taken = take();
  here.performed(self, taken ? 1 : 0);
  if (!taken)
    for (const void* const each : at) self.reads.add(each, 1, here.waiting().change_of(each), true);
  if (!taken && private_state != nullptr) {
    // Behind the wait is one more attempt, and not two: that is another state than the one before the first.
    constexpr uint64_t second = uint64_t{1} << 63;
    self.call[2] |= second;
    here.pause(self, private_state);
    self.call[2] &= ~second;
    taken = take();
  }
  if (taken) here.core().note_progress(self);
  return taken;
}

template <typename Take>
bool try_object(lane& self, const operation& how, const std::byte* private_state, Take&& take) {
  return try_object(self, how, {&how.address, 1}, private_state, take);
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

// What was done before an object was given comes before what is done behind its being taken.
inline void acquire_from(lane& self, const void* object) {
  if (late_memory* const late = execution::instance->late()) late->acquire_object(self, object);
}
inline void release_to(lane& self, const void* object) {
  if (late_memory* const late = execution::instance->late()) late->release_object(self, object);
}

/// Ends the run at a call that would wait for what is no part of the simulation.
[[noreturn]] inline void stuck(lane& self, const char* call, const caller& from, const char* on_what = "") {
  // The words are the simulator's: their copies are no accesses of the lane's.
  const entered inside(self);
  refuse(self, scheduler::verdict::stuck,
         std::string(call) + on_what +
             " waits outside of the simulation, where nothing can end the wait; wait in a loop that reads "
             "an atomic, or on a doorbell (target::wait)",
         from);
}

// What takes an object waits until it can, at most until `moment`. `take()`: 0, or the result of an attempt that fails.
template <typename Take>
int take_until(lane& self, const void* object, uint64_t moment, const caller& from, Take&& take) {
  const hidden_operands hidden(self, as_operand(object), moment);
  const entered inside(self);
  const operation how = make_operation(operation_kind::wait_notice, object, 1, from);
  int result = 0;
  const auto takes = [&] {
    check_object(*execution::instance, self, object);
    return (result = take()) != EBUSY;
  };
  if (moment == never) {
    take_object(self, how, takes);
    return result;
  }
  timed_wait time(self, moment);
  while (!try_object(self, how, time.private_state(from), takes))
    if (time.is_over()) return ETIMEDOUT;
  return result;
}

template <typename Take>
int try_to_take(lane& self, const void* object, const caller& from, Take&& take) {
  const hidden_operands hidden(self, as_operand(object));
  const entered inside(self);
  int result = 0;
  try_object(self, make_operation(operation_kind::wait_notice, object, 1, from), nullptr, [&] {
    check_object(*execution::instance, self, object);
    return (result = take()) != EBUSY;
  });
  // A loop that tries again and again waits for a change.
  if (result == EBUSY) {
    ++self.fruitless_reads;
    if (self.may_spin()) execution::instance->look_for_spin(self, from.private_state);
  }
  return result;
}

template <typename Give>
int give(lane& self, void* object, uint32_t size_bytes, const caller& from, Give&& change) {
  const hidden_operands hidden(self, as_operand(object));
  const entered inside(self);
  return give_object(self, size_bytes, make_operation(operation_kind::give_notice, object, 1, from), [&] {
    check_object(*execution::instance, self, object);
    return change();
  });
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
