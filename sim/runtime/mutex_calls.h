// What calls that lock a mutex of the C library have in common.
#pragma once

#include <heddle/sim/runtime/entry.h>

#include <pthread.h>
#include <threads.h>

#include <cerrno>

namespace heddle::sim::runtime {

inline operation mutex_operation(operation_kind kind, const caller& from) {
  return make_operation(kind, nullptr, 0, from);
}

/// What a call of C11 returns where that of pthreads returns `result`.
constexpr int as_c11(int result) {
  switch (result) {
    case 0:
      return thrd_success;
    case EBUSY:
      return thrd_busy;
    case ETIMEDOUT:
      return thrd_timedout;
    case ENOMEM:
      return thrd_nomem;
    default:
      return thrd_error;
  }
}

/// There is no call that asks a mutex for its kind; glibc keeps it where PTHREAD_MUTEX_INITIALIZER puts it.
inline mutex_kind kind_of(const pthread_mutex_t& mutex) {
  constexpr int robust = 16;
  if ((mutex.__data.__kind & robust) != 0) [[unlikely]]
    execution::instance->hosts().mutexes.is_robust(&mutex);
  switch (mutex.__data.__kind & 3) {
    case PTHREAD_MUTEX_RECURSIVE:
      return mutex_kind::recursive;
    case PTHREAD_MUTEX_ERRORCHECK:
      return mutex_kind::error_checking;
    default:
      return mutex_kind::normal;
  }
}

}  // namespace heddle::sim::runtime
