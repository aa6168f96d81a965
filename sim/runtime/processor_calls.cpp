// What host threads ask about themselves and about processors (--wrap). A thread runs when the schedule says so: processors and priorities are taken
// and change nothing.
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/thread_values.h>
#include <pthread.h>
#include <sched.h>
#include <sys/types.h>
#include <time.h>

#include <cstring>

namespace runtime = heddle::sim::runtime;
using heddle::sim::execution;

namespace {

constexpr int most_processors = 4;

void fill(cpu_set_t* to, size_t size_bytes) {
  std::memset(to, 0, size_bytes);
  for (int each = 0; each < most_processors; ++each) CPU_SET_S(static_cast<size_t>(each), size_bytes, to);
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// A call by code under test has this answer, any other goes on to the C library.
#define HEDDLE_ANSWERS(type, name, parameters, arguments, ...) \
  type __real_##name parameters;                               \
  type __wrap_##name parameters {                              \
    if (execution::current == nullptr) [[unlikely]]            \
      return __real_##name arguments;                          \
    return __VA_ARGS__;                                        \
  }

HEDDLE_ANSWERS(pid_t, gettid, (), (), runtime::id_of_thread(*execution::current))
HEDDLE_ANSWERS(int, pthread_setaffinity_np, (pthread_t thread, size_t bytes, const cpu_set_t* set),
               (thread, bytes, set), 0)
HEDDLE_ANSWERS(int, sched_setaffinity, (pid_t thread, size_t bytes, const cpu_set_t* set), (thread, bytes, set), 0)
HEDDLE_ANSWERS(int, pthread_getaffinity_np, (pthread_t thread, size_t bytes, cpu_set_t* set), (thread, bytes, set),
               (fill(set, bytes), 0))
HEDDLE_ANSWERS(int, sched_getaffinity, (pid_t thread, size_t bytes, cpu_set_t* set), (thread, bytes, set),
               (fill(set, bytes), 0))
HEDDLE_ANSWERS(int, sched_getcpu, (), (), static_cast<int>(execution::current->of->id) % most_processors)
HEDDLE_ANSWERS(unsigned, _ZNSt6thread20hardware_concurrencyEv, (), (), unsigned{most_processors})

HEDDLE_ANSWERS(int, pthread_setschedparam, (pthread_t thread, int policy, const sched_param* how),
               (thread, policy, how), 0)
HEDDLE_ANSWERS(int, pthread_getschedparam, (pthread_t thread, int* policy, sched_param* how), (thread, policy, how),
               (*policy = SCHED_OTHER, how->sched_priority = 0, 0))
HEDDLE_ANSWERS(int, pthread_setschedprio, (pthread_t thread, int priority), (thread, priority), 0)
HEDDLE_ANSWERS(int, sched_setscheduler, (pid_t thread, int policy, const sched_param* how), (thread, policy, how), 0)
HEDDLE_ANSWERS(int, sched_getscheduler, (pid_t thread), (thread), SCHED_OTHER)
HEDDLE_ANSWERS(int, sched_setparam, (pid_t thread, const sched_param* how), (thread, how), 0)
HEDDLE_ANSWERS(int, sched_getparam, (pid_t thread, sched_param* how), (thread, how), (how->sched_priority = 0, 0))

// There is one clock of all threads.
HEDDLE_ANSWERS(int, pthread_getcpuclockid, (pthread_t thread, clockid_t* clock), (thread, clock),
               (*clock = CLOCK_THREAD_CPUTIME_ID, 0))

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
