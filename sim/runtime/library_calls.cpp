// Calls from shared libraries that were not compiled by heddle. The linker's --wrap reaches what is linked into the program; a library takes these
// names from the program that loads it, and so comes here. In a run they do what they do for code under test: a thread that a library starts is a
// host thread of the simulation, and its locks are those that the simulator knows. Left to the system, a second thread would run unseen beside the
// simulation, and a lock that another lane holds would stop all of it.
#include <dlfcn.h>
#include <heddle/sim/code/program_libraries.h>
#include <heddle/sim/code/program_state.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/files.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/time.h>
#include <time.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>

// By which it is linked into a program, of which nothing calls it by name.
extern "C" const char heddle_library_calls;
extern "C" const char heddle_library_calls = 0;

// Sanitizers have these names themselves.
#if !defined(HEDDLE_ADDRESS_SANITIZER)

namespace {

namespace runtime = heddle::sim::runtime;
using heddle::sim::execution;

/// Whether a lane calls, from a library of the program. What a library does last in a function may be a jump, which returns to the program's own
/// code. That calls none of these itself: --wrap is between, and what stands there asks the system only where `entered` hides the lane.
bool is_of_run(const void* place) {
  heddle::sim::lane* const self = execution::current;
  if (self == nullptr || !heddle::sim::is_program() || !heddle::sim::has_program_libraries()) [[likely]]
    return false;
  const runtime::entered inside(*self);
  const char* const untold = heddle::sim::why_calls_are_untold(place);
  if (untold != nullptr) runtime::no_state_tells(untold);
  return untold != nullptr;
}

/// The next function of that name behind the program's own. It may be asked for before anything of the program is initialized.
template <typename Function>
Function* next_of(std::atomic<Function*>& known, const char* name) {
  Function* found = known.load(std::memory_order_relaxed);  // the same for each that looks
  if (found == nullptr) [[unlikely]] {
    found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    known.store(found, std::memory_order_relaxed);
  }
  return found;
}

}  // namespace

// Declared under another name: the headers of the C library say more of them than these have to. At even addresses: of a pointer to a member function an
// odd one says that the function is virtual.
#define HEDDLE_OF_LIBRARY(type, name, parameters, arguments)                                                       \
  type __wrap_##name parameters;                                                                                   \
  [[gnu::visibility("default"), gnu::used, gnu::weak, gnu::aligned(16)]] type heddle_##name parameters asm(#name); \
  type heddle_##name parameters {                                                                                  \
    static constinit std::atomic<type(*) parameters> next = nullptr;                                               \
    if (is_of_run(__builtin_return_address(0))) return __wrap_##name arguments;                                    \
    return next_of(next, #name) arguments;                                                                         \
  }

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names
int __wrap_pthread_create(pthread_t* made, const pthread_attr_t* how, void* (*body)(void*), void* argument);
[[gnu::visibility("default"), gnu::used, gnu::weak]] int heddle_pthread_create(pthread_t* made,
                                                                               const pthread_attr_t* how,
                                                                               void* (*body)(void*),
                                                                               void* argument) asm("pthread_create");
int heddle_pthread_create(pthread_t* made, const pthread_attr_t* how, void* (*body)(void*), void* argument) {
  static constinit std::atomic<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> next = nullptr;
  if (is_of_run(__builtin_return_address(0))) return __wrap_pthread_create(made, how, body, argument);
  // The program's own calls, and heddle's, do not come here in a run.
  if (heddle::sim::lane* const self = execution::current; self != nullptr) [[unlikely]] {
    const runtime::entered inside(*self);
    heddle::sim::note_unseen_thread(__builtin_return_address(0));
  }
  return next_of(next, "pthread_create")(made, how, body, argument);
}
HEDDLE_OF_LIBRARY(int, pthread_join, (pthread_t a, void** b), (a, b))
HEDDLE_OF_LIBRARY(int, pthread_tryjoin_np, (pthread_t a, void** b), (a, b))
HEDDLE_OF_LIBRARY(int, pthread_timedjoin_np, (pthread_t a, void** b, const timespec* c), (a, b, c))
HEDDLE_OF_LIBRARY(int, pthread_clockjoin_np, (pthread_t a, void** b, clockid_t c, const timespec* d), (a, b, c, d))
HEDDLE_OF_LIBRARY(int, pthread_detach, (pthread_t a), (a))
HEDDLE_OF_LIBRARY(pthread_t, pthread_self, (), ())
HEDDLE_OF_LIBRARY(int, pthread_setname_np, (pthread_t a, const char* b), (a, b))
HEDDLE_OF_LIBRARY(int, pthread_getname_np, (pthread_t a, char* b, size_t c), (a, b, c))
HEDDLE_OF_LIBRARY(int, sched_yield, (), ())
HEDDLE_OF_LIBRARY(int, pthread_once, (pthread_once_t * a, void (*b)()), (a, b))
HEDDLE_OF_LIBRARY(int, pthread_key_create, (pthread_key_t * a, void (*b)(void*)), (a, b))
HEDDLE_OF_LIBRARY(int, pthread_key_delete, (pthread_key_t a), (a))
HEDDLE_OF_LIBRARY(int, pthread_setspecific, (pthread_key_t a, const void* b), (a, b))
HEDDLE_OF_LIBRARY(void*, pthread_getspecific, (pthread_key_t a), (a))
HEDDLE_OF_LIBRARY(int, __cxa_atexit, (void (*a)(void*), void* b, void* c), (a, b, c))
HEDDLE_OF_LIBRARY(int, __cxa_guard_acquire, (uint64_t* a), (a))
HEDDLE_OF_LIBRARY(void, __cxa_guard_release, (uint64_t* a), (a))
HEDDLE_OF_LIBRARY(void, __cxa_guard_abort, (uint64_t* a), (a))

HEDDLE_OF_LIBRARY(int, pthread_mutex_lock, (pthread_mutex_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_mutex_trylock, (pthread_mutex_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_mutex_timedlock, (pthread_mutex_t * a, const timespec* b), (a, b))
HEDDLE_OF_LIBRARY(int, pthread_mutex_clocklock, (pthread_mutex_t * a, clockid_t b, const timespec* c), (a, b, c))
HEDDLE_OF_LIBRARY(int, pthread_mutex_unlock, (pthread_mutex_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_mutex_destroy, (pthread_mutex_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_cond_wait, (pthread_cond_t * a, pthread_mutex_t* b), (a, b))
HEDDLE_OF_LIBRARY(int, pthread_cond_timedwait, (pthread_cond_t * a, pthread_mutex_t* b, const timespec* c), (a, b, c))
HEDDLE_OF_LIBRARY(int, pthread_cond_clockwait, (pthread_cond_t * a, pthread_mutex_t* b, clockid_t c, const timespec* d),
                  (a, b, c, d))
HEDDLE_OF_LIBRARY(int, pthread_cond_signal, (pthread_cond_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_cond_broadcast, (pthread_cond_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_rwlock_rdlock, (pthread_rwlock_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t * a, const timespec* b), (a, b))
HEDDLE_OF_LIBRARY(int, pthread_rwlock_wrlock, (pthread_rwlock_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_rwlock_trywrlock, (pthread_rwlock_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t * a, const timespec* b), (a, b))
HEDDLE_OF_LIBRARY(int, pthread_rwlock_clockrdlock, (pthread_rwlock_t * a, clockid_t b, const timespec* c), (a, b, c))
HEDDLE_OF_LIBRARY(int, pthread_rwlock_clockwrlock, (pthread_rwlock_t * a, clockid_t b, const timespec* c), (a, b, c))
HEDDLE_OF_LIBRARY(int, pthread_rwlock_unlock, (pthread_rwlock_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_spin_lock, (pthread_spinlock_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_spin_trylock, (pthread_spinlock_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_spin_unlock, (pthread_spinlock_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_barrier_init, (pthread_barrier_t * a, const pthread_barrierattr_t* b, unsigned c),
                  (a, b, c))
HEDDLE_OF_LIBRARY(int, pthread_barrier_destroy, (pthread_barrier_t * a), (a))
HEDDLE_OF_LIBRARY(int, pthread_barrier_wait, (pthread_barrier_t * a), (a))
HEDDLE_OF_LIBRARY(int, sem_wait, (sem_t * a), (a))
HEDDLE_OF_LIBRARY(int, sem_trywait, (sem_t * a), (a))
HEDDLE_OF_LIBRARY(int, sem_timedwait, (sem_t * a, const timespec* b), (a, b))
HEDDLE_OF_LIBRARY(int, sem_clockwait, (sem_t * a, clockid_t b, const timespec* c), (a, b, c))
HEDDLE_OF_LIBRARY(int, sem_getvalue, (sem_t * a, int* b), (a, b))
HEDDLE_OF_LIBRARY(int, sem_post, (sem_t * a), (a))
// The kernel's call of this number takes what it needs of six.
long __wrap_syscall(long number, ...);
[[gnu::visibility("default"), gnu::used, gnu::weak]] long heddle_syscall(long number, ...) asm("syscall");
long heddle_syscall(long number, ...) {
  static constinit std::atomic<long (*)(long, ...)> next = nullptr;
  va_list more;
  va_start(more, number);
  long given[6];
  for (long& each : given) each = va_arg(more, long);
  va_end(more);
  const auto call = is_of_run(__builtin_return_address(0)) ? __wrap_syscall : next_of(next, "syscall");
  return call(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

HEDDLE_OF_LIBRARY(int, clock_gettime, (clockid_t a, timespec* b), (a, b))
HEDDLE_OF_LIBRARY(int, gettimeofday, (timeval * a, void* b), (a, b))
HEDDLE_OF_LIBRARY(time_t, time, (time_t* a), (a))
HEDDLE_OF_LIBRARY(int, nanosleep, (const timespec* a, timespec* b), (a, b))
HEDDLE_OF_LIBRARY(int, clock_nanosleep, (clockid_t a, int b, const timespec* c, timespec* d), (a, b, c, d))
HEDDLE_OF_LIBRARY(int, usleep, (useconds_t a), (a))
HEDDLE_OF_LIBRARY(unsigned, sleep, (unsigned a), (a))

// std::thread, std::condition_variable, the clocks and std::future, whose code is in the C++ library.
HEDDLE_OF_LIBRARY(void, _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE,
                  (void* a, void* b, void (*c)()), (a, b, c))
HEDDLE_OF_LIBRARY(void, _ZNSt6thread4joinEv, (void* a), (a))
HEDDLE_OF_LIBRARY(void, _ZNSt6thread6detachEv, (void* a), (a))
HEDDLE_OF_LIBRARY(unsigned, _ZNSt6thread20hardware_concurrencyEv, (), ())
HEDDLE_OF_LIBRARY(void, _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE, (void* a, void* b), (a, b))
HEDDLE_OF_LIBRARY(void, _ZNSt18condition_variable10notify_oneEv, (void* a), (a))
HEDDLE_OF_LIBRARY(void, _ZNSt18condition_variable10notify_allEv, (void* a), (a))
HEDDLE_OF_LIBRARY(int64_t, _ZNSt6chrono3_V212steady_clock3nowEv, (), ())
HEDDLE_OF_LIBRARY(int64_t, _ZNSt6chrono3_V212system_clock3nowEv, (), ())
HEDDLE_OF_LIBRARY(
    bool,
    _ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE,
    (void* a, unsigned* b, unsigned c, bool d, int64_t e, int64_t f), (a, b, c, d, e, f))
HEDDLE_OF_LIBRARY(
    bool,
    _ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_steadyEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE,
    (void* a, unsigned* b, unsigned c, bool d, int64_t e, int64_t f), (a, b, c, d, e, f))
HEDDLE_OF_LIBRARY(void, _ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj, (unsigned* a), (a))
// NOLINTEND(bugprone-reserved-identifier)
}

#endif
