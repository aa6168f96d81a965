// Calls of the C library that take what others may hold: semaphores, locks for readers and writers, spin locks, and barriers (--wrap). What such an
// object holds stays in the object, as far as the C library can change it without waiting.
#include <heddle/sim/runtime/file_memory.h>
#include <heddle/sim/runtime/waiting_calls.h>
#include <pthread.h>
#include <semaphore.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace runtime = heddle::sim::runtime;
using heddle::sim::execution;
using heddle::sim::lane;
using heddle::sim::operation_kind;
using runtime::acquire_from;
using runtime::never;
using runtime::release_to;

namespace {

/// What readers have done comes before the next writer, not before the next reader.
const void* readers_of(const pthread_rwlock_t* lock) { return reinterpret_cast<const char*>(lock) + 1; }

void takes(const lane& self, const void* lock) { execution::instance->hosts().threads.takes(lock, self.id); }

/// Ends the run where the lane does not hold it, for which POSIX has no result.
void gives(lane& self, const void* lock, const char* call, const runtime::caller& from) {
  heddle::sim::run_core& core = execution::instance->core();
  heddle::sim::host_threads& known = execution::instance->hosts().threads;
  if (known.gives(lock, self.id)) [[likely]]
    return;
  std::string why;
  core.aside(self, [&] {
    const uint32_t holder = known.holder_of(lock);
    why = std::string(call) + ": the lock at " + heddle::sim::describe_location(core.map.heap, lock) + " is held by " +
          (holder == heddle::sim::host_threads::none ? "no thread" : name_of(core.threads.lanes[holder]));
  });
  runtime::refuse(self, heddle::scheduler::verdict::assertion, why, from);
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// -- semaphores --------------------------------------------------------------------------------------------------------------------

int __real_sem_trywait(sem_t* semaphore);
int __real_sem_post(sem_t* semaphore);

// The functions on semaphores tell what is wrong by errno.
static int take_semaphore(lane& self, sem_t* semaphore, uint64_t moment, const runtime::caller& from) {
  const auto take = [&] {
    if (__real_sem_trywait(semaphore) != 0) return errno == EAGAIN ? EBUSY : errno;
    acquire_from(self, semaphore);
    return 0;
  };
  const int wrong = moment == 0 ? runtime::try_to_take(self, semaphore, from, take)
                                : runtime::take_until(self, semaphore, moment, from, take);
  if (wrong == 0) return 0;
  errno = wrong == EBUSY ? EAGAIN : wrong;
  return -1;
}

HEDDLE_TAKES(sem_wait, (sem_t * semaphore), (semaphore), take_semaphore(*self, semaphore, never, from))
HEDDLE_TAKES(sem_timedwait, (sem_t * semaphore, const timespec* until), (semaphore, until),
             take_semaphore(*self, semaphore, runtime::moment_of(CLOCK_REALTIME, until), from))
HEDDLE_TAKES(sem_clockwait, (sem_t * semaphore, clockid_t clock, const timespec* until), (semaphore, clock, until),
             take_semaphore(*self, semaphore, runtime::moment_of(clock, until), from))
int __wrap_sem_trywait(sem_t* semaphore) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_sem_trywait(semaphore);
  return take_semaphore(*self, semaphore, 0, HEDDLE_CALLER);
}
// A look: it orders nothing, and what it has found may be over.
int __real_sem_getvalue(sem_t* semaphore, int* value);
int __wrap_sem_getvalue(sem_t* semaphore, int* value) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_sem_getvalue(semaphore, value);
  const runtime::caller from = HEDDLE_CALLER;
  int found = 0;
  // Whatever it finds, the lane has come no further than one that has tried in vain: a loop that looks again waits for a change.
  runtime::try_to_take(*self, semaphore, from, [&] {
    __real_sem_getvalue(semaphore, &found);
    return EBUSY;
  });
  runtime::fill_memory(value, sizeof found, from, [&](void* to) {
    std::memcpy(to, &found, sizeof found);
    return sizeof found;
  });
  return 0;
}
int __wrap_sem_post(sem_t* semaphore) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_sem_post(semaphore);
  return runtime::give(*self, semaphore, sizeof *semaphore, HEDDLE_CALLER, [&] {
    release_to(*self, semaphore);
    return __real_sem_post(semaphore);
  });
}

// -- locks for readers and writers ---------------------------------------------------------------------------------------------------

int __real_pthread_rwlock_tryrdlock(pthread_rwlock_t* lock);
int __real_pthread_rwlock_trywrlock(pthread_rwlock_t* lock);
int __real_pthread_rwlock_unlock(pthread_rwlock_t* lock);

static int lock_to_read(lane& self, pthread_rwlock_t* lock) {
  if (const int wrong = __real_pthread_rwlock_tryrdlock(lock)) return wrong;
  acquire_from(self, lock);
  takes(self, lock);
  return 0;
}
static int lock_to_write(lane& self, pthread_rwlock_t* lock) {
  if (const int wrong = __real_pthread_rwlock_trywrlock(lock)) return wrong;
  acquire_from(self, lock);
  acquire_from(self, readers_of(lock));
  takes(self, lock);
  return 0;
}

#define HEDDLE_LOCKS(kind, take)                                                                                    \
  HEDDLE_TAKES(pthread_rwlock_##kind##lock, (pthread_rwlock_t * lock), (lock),                                      \
               runtime::take_until(*self, lock, never, from, [&] { return take(*self, lock); }))                    \
  HEDDLE_TAKES(pthread_rwlock_timed##kind##lock, (pthread_rwlock_t * lock, const timespec* until), (lock, until),   \
               runtime::take_until(*self, lock, runtime::moment_of(CLOCK_REALTIME, until), from,                    \
                                   [&] { return take(*self, lock); }))                                              \
  HEDDLE_TAKES(pthread_rwlock_clock##kind##lock, (pthread_rwlock_t * lock, clockid_t clock, const timespec* until), \
               (lock, clock, until), runtime::take_until(*self, lock, runtime::moment_of(clock, until), from, [&] { \
                 return take(*self, lock);                                                                          \
               }))                                                                                                  \
  int __wrap_pthread_rwlock_try##kind##lock(pthread_rwlock_t* lock) {                                               \
    lane* const self = execution::current;                                                                          \
    if (self == nullptr) return __real_pthread_rwlock_try##kind##lock(lock);                                        \
    return runtime::try_to_take(*self, lock, HEDDLE_CALLER, [&] { return take(*self, lock); });                     \
  }
HEDDLE_LOCKS(rd, lock_to_read)
HEDDLE_LOCKS(wr, lock_to_write)

int __wrap_pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_rwlock_unlock(lock);
  const runtime::caller from = HEDDLE_CALLER;
  return runtime::give(*self, lock, sizeof *lock, from, [&] {
    gives(*self, lock, "pthread_rwlock_unlock", from);
    release_to(*self, lock->__data.__cur_writer != 0 ? lock : readers_of(lock));
    return __real_pthread_rwlock_unlock(lock);
  });
}

// -- spin locks --------------------------------------------------------------------------------------------------------------------

int __real_pthread_spin_trylock(pthread_spinlock_t* lock);
int __real_pthread_spin_unlock(pthread_spinlock_t* lock);

static int lock_spin(lane& self, pthread_spinlock_t* lock) {
  if (const int wrong = __real_pthread_spin_trylock(lock)) return wrong;
  acquire_from(self, const_cast<const int*>(lock));
  takes(self, const_cast<const int*>(lock));
  return 0;
}
HEDDLE_TAKES(pthread_spin_lock, (pthread_spinlock_t * lock), (lock),
             runtime::take_until(*self, const_cast<const int*>(lock), never, from,
                                 [&] { return lock_spin(*self, lock); }))
int __wrap_pthread_spin_trylock(pthread_spinlock_t* lock) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_spin_trylock(lock);
  return runtime::try_to_take(*self, const_cast<const int*>(lock), HEDDLE_CALLER,
                              [&] { return lock_spin(*self, lock); });
}
int __wrap_pthread_spin_unlock(pthread_spinlock_t* lock) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_spin_unlock(lock);
  const runtime::caller from = HEDDLE_CALLER;
  return runtime::give(*self, const_cast<int*>(lock), sizeof *lock, from, [&] {
    gives(*self, const_cast<const int*>(lock), "pthread_spin_unlock", from);
    release_to(*self, const_cast<const int*>(lock));
    return __real_pthread_spin_unlock(lock);
  });
}

// -- barriers ----------------------------------------------------------------------------------------------------------------------

int __real_pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* how, unsigned count);
int __wrap_pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* how, unsigned count) {
  if (lane* const self = execution::current; self != nullptr && count != 0) {
    const runtime::entered inside(*self);
    execution::instance->hosts().threads.barrier_at(barrier, count);
    return __real_pthread_barrier_init(barrier, how, count);
  }
  return __real_pthread_barrier_init(barrier, how, count);
}

int __real_pthread_barrier_destroy(pthread_barrier_t* barrier);
int __wrap_pthread_barrier_destroy(pthread_barrier_t* barrier) {
  if (lane* const self = execution::current; self != nullptr) {
    const runtime::entered inside(*self);
    execution::instance->hosts().threads.forget_barrier(barrier);
    return __real_pthread_barrier_destroy(barrier);
  }
  return __real_pthread_barrier_destroy(barrier);
}

static int wait_at_barrier(lane& self, pthread_barrier_t* barrier, const runtime::caller& from) {
  const runtime::hidden_operands hidden(self, runtime::as_operand(barrier));
  const runtime::entered inside(self);
  execution& here = *execution::instance;
  heddle::sim::host_threads& known = here.hosts().threads;
  // One that was made before the run: glibc keeps the number of threads behind two others.
  if (known.known_barrier(barrier) == nullptr) known.barrier_at(barrier, reinterpret_cast<const unsigned*>(barrier)[2]);
  uint64_t round = 0;
  bool last = false;
  // Rounds are told apart, for the first threads may come again while the last ones have yet to go on.
  const auto meeting = [&] { return reinterpret_cast<const char*>(barrier) + round % 4; };
  runtime::give_object(self, sizeof *barrier, runtime::make_operation(operation_kind::give_notice, barrier, 1, from),
                       [&] {
                         auto& at = *known.known_barrier(barrier);
                         round = at.round;
                         release_to(self, meeting());
                         last = ++at.arrived == at.count;
                         if (last) {
                           at.arrived = 0;
                           ++at.round;
                         }
                         return 0;
                       });
  runtime::take_object(self, runtime::make_operation(operation_kind::wait_notice, barrier, 1, from), [&] {
    const auto* const at = known.known_barrier(barrier);
    return at == nullptr || at->round != round;
  });
  acquire_from(self, meeting());
  return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}
HEDDLE_TAKES(pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier), wait_at_barrier(*self, barrier, from))

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
