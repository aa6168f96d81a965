// Calls of the C and C++ libraries in which host threads wait for notice: condition variables (--wrap). The threads are fibers of one OS thread: the
// simulator has them wait.
#include <heddle/sim/runtime/atomic_accesses.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/moments.h>
#include <heddle/sim/runtime/mutex_calls.h>
#include <heddle/sim/runtime/waiting_calls.h>
#include <pthread.h>
#include <threads.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace runtime = heddle::sim::runtime;
using heddle::sim::execution;
using heddle::sim::lane;
using heddle::sim::operation;
using heddle::sim::operation_kind;
using runtime::never;

namespace heddle::sim::runtime {

bool wait_for_notice(lane& self, const std::byte* private_state, const operation& how) {
  execution& here = *execution::instance;
  here.finish_plain_store(self, how.frame);
  self.operands = {as_operand(how.address), 0};
  self.pending = how;
  waits::forget_reads(self);
  self.reads.add(&self.noticed, sizeof self.noticed, 0);
  here.pause(self, private_state);
  const bool given = self.noticed != 0;
  if (given)
    here.core().note_progress(self);
  else
    here.hosts().notices.leave(self);
  self.noticed = 0;
  return given;
}

namespace {

/// Gives notice to one of those that wait at the operation's address, whichever, or to all.
void give_notice(lane& self, bool to_all, bool to_object, const operation& how) {
  execution& here = *execution::instance;
  notices& known = here.hosts().notices;
  self.operands = {as_operand(how.address), to_all ? 1u : 0u};
  here.step(self, how);
  if (to_object)
    check_object(here, self, how.address);
  else
    futex_barrier(self, how);
  const size_t waiting = known.count(how.address);
  here.performed(self, waiting);
  if (here.core().observers.on) [[unlikely]]
    here.core().observe_change(self, how.address, 1);
  for (size_t left = to_all ? waiting : std::min<size_t>(waiting, 1); left != 0; --left) {
    const auto count = static_cast<uint32_t>(known.count(how.address));
    const bool chooses = !to_all && count > 1 && here.core().phase.is_open();
    const uint32_t picked = chooses ? here.core().pick(self, count, scheduler::choice_kind::lane) : 0;
    lane& who = known.give(how.address, picked);
    here.waiting().wake_readers(self, &who.noticed, sizeof who.noticed);
  }
}

}  // namespace

int wait_at_condition(lane& self, const void* condition, const pthread_mutex_t* mutex, uint64_t moment,
                      const caller& from) {
  const hidden_operands hidden(self, as_operand(condition), as_operand(mutex), moment);
  const entered inside(self);
  execution& here = *execution::instance;
  const operation waits = make_operation(operation_kind::wait_notice, condition, 1, from);
  // A notice that comes before this one counts as waiting is lost.
  self.operands = {as_operand(condition), as_operand(mutex)};
  here.step(self, waits);
  check_object(here, self, condition);
  here.performed(self, 0);
  here.hosts().notices.wait_at(condition, self);
  if (const int wrong =
          here.unlock_mutex(self, mutex, kind_of(*mutex), mutex_operation(operation_kind::unlock_mutex, from))) {
    here.hosts().notices.leave(self);
    return wrong;
  }
  timed_wait time(self, moment);
  bool noticed = wait_for_notice(self, time.private_state(from), waits);
  bool timed_out = false;
  // Where it ends for no reason it has ended, but where it is looked at whether anything can go on.
  while (!noticed && time.has_end() && !(timed_out = time.is_over()) && !here.core().phase.is_open()) {
    here.hosts().notices.wait_at(condition, self);
    noticed = wait_for_notice(self, time.private_state(from), waits);
  }
  const uint32_t wakes = self.left.wakes;
  self.call[2] = timed_out ? 1 : 0;  // what the call will return
  here.lock_mutex(self, mutex, kind_of(*mutex), mutex_operation(operation_kind::lock_mutex, from));
  // Woken for no reason it has made no progress: it is not to be woken so for ever.
  if (!noticed && !timed_out) self.left.wakes = wakes;
  return timed_out ? ETIMEDOUT : 0;
}

void notify(lane& self, const void* object, bool all, const caller& from, bool is_word) {
  const hidden_operands hidden(self, as_operand(object), all ? 1 : 0);
  const entered inside(self);
  give_notice(self, all, !is_word, make_operation(operation_kind::give_notice, object, 1, from));
}

}  // namespace heddle::sim::runtime

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// -- condition variables -----------------------------------------------------------------------------------------------------------

HEDDLE_TAKES(pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t* mutex), (condition, mutex),
             runtime::wait_at_condition(*self, condition, mutex, never, from))
HEDDLE_TAKES(pthread_cond_timedwait, (pthread_cond_t * condition, pthread_mutex_t* mutex, const timespec* until),
             (condition, mutex, until),
             runtime::wait_at_condition(*self, condition, mutex, runtime::moment_of(CLOCK_REALTIME, until), from))
HEDDLE_TAKES(pthread_cond_clockwait,
             (pthread_cond_t * condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until),
             (condition, mutex, clock, until),
             runtime::wait_at_condition(*self, condition, mutex, runtime::moment_of(clock, until), from))
HEDDLE_TAKES(pthread_cond_signal, (pthread_cond_t * condition), (condition),
             (runtime::notify(*self, condition, false, from), 0))
HEDDLE_TAKES(pthread_cond_broadcast, (pthread_cond_t * condition), (condition),
             (runtime::notify(*self, condition, true, from), 0))
HEDDLE_TAKES(cnd_wait, (cnd_t * condition, mtx_t* mutex), (condition, mutex),
             runtime::as_c11(runtime::wait_at_condition(*self, condition, reinterpret_cast<pthread_mutex_t*>(mutex),
                                                        never, from)))
HEDDLE_TAKES(cnd_timedwait, (cnd_t * condition, mtx_t* mutex, const timespec* until), (condition, mutex, until),
             runtime::as_c11(runtime::wait_at_condition(*self, condition, reinterpret_cast<pthread_mutex_t*>(mutex),
                                                        runtime::moment_of(CLOCK_REALTIME, until), from)))
HEDDLE_TAKES(cnd_signal, (cnd_t * condition), (condition),
             (runtime::notify(*self, condition, false, from), thrd_success))
HEDDLE_TAKES(cnd_broadcast, (cnd_t * condition), (condition),
             (runtime::notify(*self, condition, true, from), thrd_success))

// std::condition_variable begins with the one of the C library, and std::unique_lock with the address of its mutex.

void __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(void* self, void* lock);
// At an even address: of a pointer to a member function an odd one says that the function is virtual.
[[gnu::aligned(16)]] void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(void* condition,
                                                                                           void* lock) {
  lane* const self = execution::current;
  if (self == nullptr) return __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(condition, lock);
  runtime::wait_at_condition(*self, condition, *static_cast<pthread_mutex_t**>(lock), never, HEDDLE_CALLER);
}

void __real__ZNSt18condition_variable10notify_oneEv(void* condition);
[[gnu::aligned(16)]] void __wrap__ZNSt18condition_variable10notify_oneEv(void* condition) {
  lane* const self = execution::current;
  if (self == nullptr) return __real__ZNSt18condition_variable10notify_oneEv(condition);
  runtime::notify(*self, condition, false, HEDDLE_CALLER);
}

void __real__ZNSt18condition_variable10notify_allEv(void* condition);
[[gnu::aligned(16)]] void __wrap__ZNSt18condition_variable10notify_allEv(void* condition) {
  lane* const self = execution::current;
  if (self == nullptr) return __real__ZNSt18condition_variable10notify_allEv(condition);
  runtime::notify(*self, condition, true, HEDDLE_CALLER);
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
