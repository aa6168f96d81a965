// Calls of the C library that give up the processor or wait. On fibers of one OS thread the real ones would stop all of them, so
// that code under test comes here instead (--wrap).
#include <heddle/sim/runtime/entry.h>

#include <pthread.h>

namespace runtime = heddle::sim::runtime;
using heddle::sim::lane;
using heddle::sim::mutex_kind;
using heddle::sim::operation;
using heddle::sim::operation_kind;
using heddle::sim::world;

namespace {

/// What a call that gives way does: the end of a turn in a loop that waits, as pause().
void give_way(lane& self, const runtime::caller& from) {
  const runtime::entered inside(self);
  runtime::publish(*world::instance, self, operation_kind::pause, from);
  world::instance->pause(self, from.private_state);
}

operation mutex_operation(operation_kind kind, const runtime::caller& from) {
  return runtime::make_operation(kind, nullptr, 0, from);
}

// There is no call that asks a mutex for its kind; glibc keeps it where PTHREAD_MUTEX_INITIALIZER puts it.
mutex_kind kind_of(const pthread_mutex_t& mutex) {
  switch (mutex.__data.__kind & 3) {
    case PTHREAD_MUTEX_RECURSIVE:
      return mutex_kind::recursive;
    case PTHREAD_MUTEX_ERRORCHECK:
      return mutex_kind::error_checking;
    default:
      return mutex_kind::normal;
  }
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

int __real_sched_yield();
int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __real_pthread_mutex_trylock(pthread_mutex_t* mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t* mutex);

int __wrap_sched_yield() {
  lane* const self = world::current;
  if (self == nullptr) return __real_sched_yield();
  give_way(*self, HEDDLE_CALLER);
  return 0;
}

// A mutex that lanes use is the simulator's alone: to the real one all fibers would be one thread.

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  lane* const self = world::current;
  if (self == nullptr) return __real_pthread_mutex_lock(mutex);
  const runtime::caller from = HEDDLE_CALLER;
  const runtime::entered inside(*self);
  return world::instance->lock_mutex(*self, mutex, kind_of(*mutex), mutex_operation(operation_kind::lock_mutex, from));
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) {
  lane* const self = world::current;
  if (self == nullptr) return __real_pthread_mutex_trylock(mutex);
  const runtime::caller from = HEDDLE_CALLER;
  const runtime::entered inside(*self);
  return world::instance->try_lock_mutex(*self, mutex, kind_of(*mutex),
                                         mutex_operation(operation_kind::lock_mutex, from));
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  lane* const self = world::current;
  if (self == nullptr) return __real_pthread_mutex_unlock(mutex);
  const runtime::caller from = HEDDLE_CALLER;
  const runtime::entered inside(*self);
  return world::instance->unlock_mutex(*self, mutex, mutex_operation(operation_kind::unlock_mutex, from));
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
