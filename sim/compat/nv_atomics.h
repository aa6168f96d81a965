// nvcc's own atomic operations with orders and scopes: `__nv_atomic_*`. (CUDA C++ Programming Guide, "Built-in Atomic Functions".)
#pragma once

#include <heddle/sim/compat/scoped.h>

#include <type_traits>

enum {
  __NV_ATOMIC_RELAXED,
  __NV_ATOMIC_CONSUME,
  __NV_ATOMIC_ACQUIRE,
  __NV_ATOMIC_RELEASE,
  __NV_ATOMIC_ACQ_REL,
  __NV_ATOMIC_SEQ_CST
};
enum {
  __NV_THREAD_SCOPE_THREAD,
  __NV_THREAD_SCOPE_BLOCK,
  __NV_THREAD_SCOPE_CLUSTER,
  __NV_THREAD_SCOPE_DEVICE,
  __NV_THREAD_SCOPE_SYSTEM,
};

namespace heddle::compat {

constexpr scope scope_of_nv(int wanted) {
  constexpr scope scopes[] = {scope::wave, scope::block, scope::cluster, scope::device, scope::system};
  return scopes[wanted];
}
template <typename T>
using operand_of = std::type_identity_t<std::remove_cv_t<T>>;

}  // namespace heddle::compat

template <typename T>
HEDDLE_COMPAT_INLINE std::remove_cv_t<T> __nv_atomic_load_n(T* at, int order, int wanted = __NV_THREAD_SCOPE_SYSTEM) {
  return ::heddle::compat::scoped_load(at, order, ::heddle::compat::scope_of_nv(wanted));
}
template <typename T>
HEDDLE_COMPAT_INLINE void __nv_atomic_load(T* at, std::remove_cv_t<T>* to, int order,
                                           int wanted = __NV_THREAD_SCOPE_SYSTEM) {
  *to = __nv_atomic_load_n(at, order, wanted);
}
template <typename T>
HEDDLE_COMPAT_INLINE void __nv_atomic_store_n(T* at, ::heddle::compat::operand_of<T> value, int order,
                                              int wanted = __NV_THREAD_SCOPE_SYSTEM) {
  ::heddle::compat::scoped_store(at, value, order, ::heddle::compat::scope_of_nv(wanted));
}
template <typename T>
HEDDLE_COMPAT_INLINE void __nv_atomic_store(T* at, std::remove_cv_t<T>* from, int order,
                                            int wanted = __NV_THREAD_SCOPE_SYSTEM) {
  __nv_atomic_store_n(at, *from, order, wanted);
}
template <typename T>
HEDDLE_COMPAT_INLINE std::remove_cv_t<T> __nv_atomic_exchange_n(T* at, ::heddle::compat::operand_of<T> value, int order,
                                                                int wanted = __NV_THREAD_SCOPE_SYSTEM) {
  return ::heddle::compat::scoped_exchange(at, value, order, ::heddle::compat::scope_of_nv(wanted));
}
template <typename T>
HEDDLE_COMPAT_INLINE void __nv_atomic_exchange(T* at, std::remove_cv_t<T>* from, std::remove_cv_t<T>* to, int order,
                                               int wanted = __NV_THREAD_SCOPE_SYSTEM) {
  *to = __nv_atomic_exchange_n(at, *from, order, wanted);
}
// Behind the order of a success stand that of a failure, and the scope where one is given.
template <typename T, typename... Rest>
HEDDLE_COMPAT_INLINE bool __nv_atomic_compare_exchange_n(T* at, std::remove_cv_t<T>* expected,
                                                         ::heddle::compat::operand_of<T> desired, bool, int success,
                                                         Rest... rest) {
  static_assert(sizeof...(rest) == 1 || sizeof...(rest) == 2);
  const int given[] = {rest...};
  const int wanted = sizeof...(rest) == 2 ? given[1] : __NV_THREAD_SCOPE_SYSTEM;
  // The instruction does not fail for no reason, whether it may or not.
  using ::heddle::compat::order_of_builtin;
  return ::heddle::compat::scoped_compare_exchange(
      at, expected, desired,
      ::heddle::sim::runtime::exchange_order(order_of_builtin(success), order_of_builtin(given[0])),
      ::heddle::compat::scope_of_nv(wanted), false);
}
template <typename T, typename... Rest>
HEDDLE_COMPAT_INLINE bool __nv_atomic_compare_exchange(T* at, std::remove_cv_t<T>* expected, std::remove_cv_t<T>* from,
                                                       bool weak, int success, Rest... rest) {
  return __nv_atomic_compare_exchange_n(at, expected, *from, weak, success, rest...);
}

// Each with its old value, and without one.
#define HEDDLE_NV_ATOMIC(name, ...)                                                                     \
  template <typename T>                                                                                 \
  HEDDLE_COMPAT_INLINE std::remove_cv_t<T> __nv_atomic_fetch_##name(                                    \
      T* at, ::heddle::compat::operand_of<T> value, int order, int wanted = __NV_THREAD_SCOPE_SYSTEM) { \
    return ::heddle::compat::__VA_ARGS__(at, value, order, ::heddle::compat::scope_of_nv(wanted));      \
  }                                                                                                     \
  template <typename T>                                                                                 \
  HEDDLE_COMPAT_INLINE void __nv_atomic_##name(T* at, ::heddle::compat::operand_of<T> value, int order, \
                                               int wanted = __NV_THREAD_SCOPE_SYSTEM) {                 \
    ::heddle::compat::__VA_ARGS__(at, value, order, ::heddle::compat::scope_of_nv(wanted));             \
  }
HEDDLE_NV_ATOMIC(add, scoped_modify<::heddle::compat::plus>)
HEDDLE_NV_ATOMIC(sub, scoped_modify<::heddle::compat::minus>)
HEDDLE_NV_ATOMIC(min, scoped_modify<::heddle::compat::smaller>)
HEDDLE_NV_ATOMIC(max, scoped_modify<::heddle::compat::greater>)
HEDDLE_NV_ATOMIC(and, scoped_bits<::heddle::sim::runtime::rmw_kind::bit_and>)
HEDDLE_NV_ATOMIC(or, scoped_bits<::heddle::sim::runtime::rmw_kind::bit_or>)
HEDDLE_NV_ATOMIC(xor, scoped_bits<::heddle::sim::runtime::rmw_kind::bit_xor>)
#undef HEDDLE_NV_ATOMIC

HEDDLE_COMPAT_INLINE void __nv_atomic_thread_fence(int order, int wanted = __NV_THREAD_SCOPE_SYSTEM) {
  ::heddle::sim::runtime::fence(::heddle::compat::order_of_builtin(order), ::heddle::compat::scope_of_nv(wanted));
}
