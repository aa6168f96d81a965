// Calls of the C library that give up the processor or wait. On fibers of one OS thread the real ones would stop all of them, so
// that code under test comes here instead (--wrap).
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/mutex_calls.h>

#include <pthread.h>
#include <threads.h>

namespace runtime = heddle::sim::runtime;
using heddle::sim::execution;
using heddle::sim::lane;
using heddle::sim::operation_kind;

namespace {

/// What a call that gives way does: the end of a turn in a loop that waits, as pause().
void give_way(lane& self, const runtime::caller& from) {
  const runtime::entered inside(self);
  runtime::publish(*execution::instance, self, operation_kind::pause, from);
  execution::instance->pause(self, from.private_state);
}

/// No step, but where it ends the run.
void destroy_mutex(lane& self, const void* mutex, const runtime::caller& from) {
  const runtime::entered inside(self);
  execution& here = *execution::instance;
  const heddle::sim::mutex_table& known = here.hosts().mutexes;
  if (known.holder_of(mutex) == nullptr) [[likely]]
    return;
  self.operands = {runtime::as_operand(mutex), 0};
  here.step(self, runtime::mutex_operation(operation_kind::unlock_mutex, from));
  if (known.holder_of(mutex) != nullptr) known.misused(here.core(), self, "destroys", mutex);
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

int __real_sched_yield();
int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __real_pthread_mutex_trylock(pthread_mutex_t* mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t* mutex);

int __wrap_sched_yield() {
  lane* const self = execution::current;
  if (self == nullptr) return __real_sched_yield();
  give_way(*self, HEDDLE_CALLER);
  return 0;
}

void __real_thrd_yield();
void __wrap_thrd_yield() {
  lane* const self = execution::current;
  if (self == nullptr) return __real_thrd_yield();
  give_way(*self, HEDDLE_CALLER);
}

// A mutex that lanes use is the simulator's alone: to the real one all fibers would be one thread.

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_mutex_lock(mutex);
  const runtime::caller from = HEDDLE_CALLER;
  const runtime::entered inside(*self);
  return execution::instance->lock_mutex(*self, mutex, runtime::kind_of(*mutex),
                                         runtime::mutex_operation(operation_kind::lock_mutex, from));
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_mutex_trylock(mutex);
  const runtime::caller from = HEDDLE_CALLER;
  const runtime::entered inside(*self);
  return execution::instance->try_lock_mutex(*self, mutex, runtime::kind_of(*mutex),
                                             runtime::mutex_operation(operation_kind::lock_mutex, from));
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_mutex_unlock(mutex);
  const runtime::caller from = HEDDLE_CALLER;
  const runtime::entered inside(*self);
  return execution::instance->unlock_mutex(*self, mutex, runtime::kind_of(*mutex),
                                           runtime::mutex_operation(operation_kind::unlock_mutex, from));
}

int __real_pthread_mutex_destroy(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_destroy(pthread_mutex_t* mutex) {
  if (lane* const self = execution::current; self != nullptr) {
    destroy_mutex(*self, mutex, HEDDLE_CALLER);
    const runtime::entered inside(*self);
    return __real_pthread_mutex_destroy(mutex);
  }
  return __real_pthread_mutex_destroy(mutex);
}

// Those of C11 are the same mutexes, with results of their own.

int __real_mtx_lock(mtx_t* mutex);
int __real_mtx_trylock(mtx_t* mutex);
int __real_mtx_unlock(mtx_t* mutex);

int __wrap_mtx_lock(mtx_t* given) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_mtx_lock(given);
  const runtime::caller from = HEDDLE_CALLER;
  const runtime::entered inside(*self);
  auto* const mutex = reinterpret_cast<pthread_mutex_t*>(given);
  return runtime::as_c11(execution::instance->lock_mutex(*self, mutex, runtime::kind_of(*mutex),
                                                         runtime::mutex_operation(operation_kind::lock_mutex, from)));
}

int __wrap_mtx_trylock(mtx_t* given) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_mtx_trylock(given);
  const runtime::caller from = HEDDLE_CALLER;
  const runtime::entered inside(*self);
  auto* const mutex = reinterpret_cast<pthread_mutex_t*>(given);
  return runtime::as_c11(execution::instance->try_lock_mutex(
      *self, mutex, runtime::kind_of(*mutex), runtime::mutex_operation(operation_kind::lock_mutex, from)));
}

int __wrap_mtx_unlock(mtx_t* given) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_mtx_unlock(given);
  const runtime::caller from = HEDDLE_CALLER;
  const runtime::entered inside(*self);
  auto* const mutex = reinterpret_cast<pthread_mutex_t*>(given);
  return runtime::as_c11(execution::instance->unlock_mutex(
      *self, mutex, runtime::kind_of(*mutex), runtime::mutex_operation(operation_kind::unlock_mutex, from)));
}

void __real_mtx_destroy(mtx_t* mutex);
void __wrap_mtx_destroy(mtx_t* mutex) {
  if (lane* const self = execution::current; self != nullptr) {
    destroy_mutex(*self, mutex, HEDDLE_CALLER);
  }
  __real_mtx_destroy(mutex);
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
