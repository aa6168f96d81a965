// What calls that lock a mutex of the C library have in common.
#pragma once

#include <heddle/sim/runtime/entry.h>

#include <pthread.h>

namespace heddle::sim::runtime {

inline operation mutex_operation(operation_kind kind, const caller& from) {
  return make_operation(kind, nullptr, 0, from);
}

/// There is no call that asks a mutex for its kind; glibc keeps it where PTHREAD_MUTEX_INITIALIZER puts it.
inline mutex_kind kind_of(const pthread_mutex_t& mutex) {
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
