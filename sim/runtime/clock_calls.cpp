// Clocks and sleeps of the C and C++ libraries, and waits with a time-out: in code under test they are of simulated time, so that a run that
// looks at a clock is the same run again (--wrap). Time passes with steps, with looks at a clock, and with sleeps.
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/moments.h>
#include <heddle/sim/runtime/mutex_calls.h>
#include <pthread.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace runtime = heddle::sim::runtime;
using heddle::sim::execution;
using heddle::sim::lane;
using heddle::sim::operation;
using heddle::sim::operation_kind;

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names
int __real_clock_gettime(clockid_t clock, timespec* now);
int __real_gettimeofday(timeval* now, void* zone);
time_t __real_time(time_t* now);
clock_t __real_clock();
int __real_timespec_get(timespec* now, int base);
int64_t __real__ZNSt6chrono3_V212steady_clock3nowEv();
int64_t __real__ZNSt6chrono3_V212system_clock3nowEv();
int __real_nanosleep(const timespec* time, timespec* left);
int __real_clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left);
int __real_usleep(useconds_t microseconds);
unsigned __real_sleep(unsigned seconds);
int __real_pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until);
int __real_pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace {

using runtime::in_ns;
using runtime::moment_of;
using runtime::ns_per_second;
using runtime::start_of;

timespec as_timespec(uint64_t ns) {
  return {.tv_sec = static_cast<time_t>(ns / ns_per_second), .tv_nsec = static_cast<long>(ns % ns_per_second)};
}

/// What the clock shows now. A step.
uint64_t look_at(clockid_t clock, lane& self, const runtime::caller& from) {
  const runtime::entered inside(self);
  execution& here = *execution::instance;
  here.step(self, runtime::make_operation(operation_kind::clock, nullptr, 0, from));
  const uint64_t now = here.look_at_clock(self);
  here.performed(self, now);
  return start_of(clock) + now;
}

/// The end of a turn in a loop that waits, as pause(): how long a sleep lasts is for the schedule to choose, but it lasts as long as it says.
void sleep_for(lane& self, uint64_t ns, const runtime::caller& from) {
  const runtime::entered inside(self);
  execution& here = *execution::instance;
  here.core().clock.pass(ns);
  runtime::publish(here, self, operation_kind::pause, from);
  here.pause(self, from.private_state);
}

int lock_until(lane& self, const pthread_mutex_t* mutex, uint64_t moment, const runtime::caller& from) {
  const runtime::hidden_operands hidden(self, runtime::as_operand(mutex), moment);
  const runtime::entered inside(self);
  execution& here = *execution::instance;
  const operation how = runtime::mutex_operation(operation_kind::lock_mutex, from);
  runtime::timed_wait waits(self, moment);
  while (true) {
    int busy = here.try_lock_mutex(self, mutex, runtime::kind_of(*mutex), how);
    if (busy == EBUSY) {
      runtime::publish(here, self, operation_kind::pause, from);
      here.pause(self, waits.private_state(from));
      self.call[2] = 1;  // no other wait comes behind this attempt
      busy = here.try_lock_mutex(self, mutex, runtime::kind_of(*mutex), how);
    }
    if (busy != EBUSY) return busy;
    if (waits.is_over()) return ETIMEDOUT;
    self.call[2] = 0;
  }
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// -- clocks ------------------------------------------------------------------------------------------------------------------------

int __wrap_clock_gettime(clockid_t clock, timespec* now) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_clock_gettime(clock, now);
  if (clock < 0) {
    const runtime::entered inside(*self);
    return __real_clock_gettime(clock, now);
  }
  *now = as_timespec(look_at(clock, *self, HEDDLE_CALLER));
  return 0;
}

int __wrap_gettimeofday(timeval* now, void* zone) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_gettimeofday(now, zone);
  const uint64_t at = look_at(CLOCK_REALTIME, *self, HEDDLE_CALLER);
  now->tv_sec = static_cast<time_t>(at / ns_per_second);
  now->tv_usec = static_cast<suseconds_t>(at % ns_per_second / 1000);
  return 0;
}

time_t __wrap_time(time_t* now) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_time(now);
  const auto at = static_cast<time_t>(look_at(CLOCK_REALTIME, *self, HEDDLE_CALLER) / ns_per_second);
  if (now != nullptr) *now = at;
  return at;
}

clock_t __wrap_clock() {
  lane* const self = execution::current;
  if (self == nullptr) return __real_clock();
  constexpr uint64_t ns_per_tick = ns_per_second / CLOCKS_PER_SEC;
  return static_cast<clock_t>(look_at(CLOCK_PROCESS_CPUTIME_ID, *self, HEDDLE_CALLER) / ns_per_tick);
}

int __wrap_timespec_get(timespec* now, int base) {
  lane* const self = execution::current;
  if (self == nullptr || base != TIME_UTC) return __real_timespec_get(now, base);
  *now = as_timespec(look_at(CLOCK_REALTIME, *self, HEDDLE_CALLER));
  return base;
}

// What rdtsc becomes (tools/rewrite/host_instructions.h): a cycle takes a nanosecond.
unsigned long long heddle_x86_rdtsc();
unsigned long long heddle_x86_rdtsc() {
  lane* const self = execution::current;
  return self == nullptr ? __builtin_ia32_rdtsc() : look_at(CLOCK_MONOTONIC, *self, HEDDLE_CALLER);
}

// std::chrono::steady_clock::now() and that of system_clock, which the C++ library defines.

int64_t __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
  lane* const self = execution::current;
  if (self == nullptr) return __real__ZNSt6chrono3_V212steady_clock3nowEv();
  return static_cast<int64_t>(look_at(CLOCK_MONOTONIC, *self, HEDDLE_CALLER));
}

int64_t __wrap__ZNSt6chrono3_V212system_clock3nowEv() {
  lane* const self = execution::current;
  if (self == nullptr) return __real__ZNSt6chrono3_V212system_clock3nowEv();
  return static_cast<int64_t>(look_at(CLOCK_REALTIME, *self, HEDDLE_CALLER));
}

// -- sleeps ------------------------------------------------------------------------------------------------------------------------

int __wrap_nanosleep(const timespec* time, timespec* left) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_nanosleep(time, left);
  sleep_for(*self, in_ns(*time), HEDDLE_CALLER);
  return 0;
}

int __wrap_clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_clock_nanosleep(clock, flags, time, left);
  const runtime::caller from = HEDDLE_CALLER;
  if ((flags & TIMER_ABSTIME) != 0) {
    {
      const runtime::entered inside(*self);
      execution::instance->core().clock.pass_until(moment_of(clock, *time));
    }
    sleep_for(*self, 0, from);
  } else {
    sleep_for(*self, in_ns(*time), from);
  }
  return 0;
}

int __wrap_usleep(useconds_t microseconds) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_usleep(microseconds);
  sleep_for(*self, uint64_t{microseconds} * 1000, HEDDLE_CALLER);
  return 0;
}

int __real_thrd_sleep(const timespec* time, timespec* left);
int __wrap_thrd_sleep(const timespec* time, timespec* left) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_thrd_sleep(time, left);
  sleep_for(*self, in_ns(*time), HEDDLE_CALLER);
  return 0;
}

unsigned __wrap_sleep(unsigned seconds) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_sleep(seconds);
  sleep_for(*self, seconds * ns_per_second, HEDDLE_CALLER);
  return 0;
}

// -- waits with a time-out ---------------------------------------------------------------------------------------------------------

int __wrap_pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_mutex_timedlock(mutex, until);
  return lock_until(*self, mutex, moment_of(CLOCK_REALTIME, *until), HEDDLE_CALLER);
}

int __wrap_pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_mutex_clocklock(mutex, clock, until);
  return lock_until(*self, mutex, moment_of(clock, *until), HEDDLE_CALLER);
}

int __real_mtx_timedlock(mtx_t* mutex, const timespec* until);
int __wrap_mtx_timedlock(mtx_t* mutex, const timespec* until) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_mtx_timedlock(mutex, until);
  return runtime::as_c11(
      lock_until(*self, reinterpret_cast<pthread_mutex_t*>(mutex), moment_of(CLOCK_REALTIME, *until), HEDDLE_CALLER));
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
