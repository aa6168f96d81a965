// clang's atomic operations with scopes: `__scoped_atomic_*` and `__hip_atomic_*`. Macros, because clang knows the names already.
// (clang, "Language Extensions": "__scoped_atomic builtins"; "HIP Support".) The scope of a single thread counts as that of its wave.
#pragma once

#include <heddle/sim/compat/launch.h>
#include <heddle/sim/compat/words.h>

#include <type_traits>

namespace heddle::compat {

constexpr memory_order order_of_builtin(int order) {
  switch (order) {
    case __ATOMIC_RELAXED:
      return memory_order::relaxed;
    case __ATOMIC_CONSUME:
    case __ATOMIC_ACQUIRE:
      return memory_order::acquire;
    case __ATOMIC_RELEASE:
      return memory_order::release;
    case __ATOMIC_ACQ_REL:
      return memory_order::acq_rel;
    default:
      return memory_order::seq_cst;
  }
}

/// Values of __MEMORY_SCOPE_*: system, device, work-group, wave, single thread, cluster, from 0.
constexpr scope scope_of_clang(int wanted) {
  constexpr scope scopes[] = {scope::system, scope::device, scope::block, scope::wave, scope::wave, scope::cluster};
  if (wanted < 0 || wanted > 5) sim::runtime::refuse_call("__scoped_atomic", "no __MEMORY_SCOPE_ has this value");
  return scopes[wanted];
}
/// Values of __HIP_MEMORY_SCOPE_*: single thread, wave, work-group, agent, system, cluster, from 1.
constexpr scope scope_of_hip(int wanted) {
  constexpr scope scopes[] = {scope::wave, scope::wave, scope::block, scope::device, scope::system, scope::cluster};
  if (wanted < 1 || wanted > 6) sim::runtime::refuse_call("__hip_atomic", "no __HIP_MEMORY_SCOPE_ has this value");
  return scopes[wanted - 1];
}

template <typename T>
using without_volatile = std::remove_cv_t<T>;

template <typename T>
HEDDLE_COMPAT_INLINE without_volatile<T> scoped_load(T* from, int order, scope reach) {
  return from_word<without_volatile<T>>(
      sim::runtime::load(const_cast<const without_volatile<T>*>(from), sizeof(T), order_of_builtin(order), reach));
}
template <typename T>
HEDDLE_COMPAT_INLINE void scoped_store(T* to, without_volatile<T> value, int order, scope reach) {
  sim::runtime::store(const_cast<without_volatile<T>*>(to), sizeof(T), to_word(value), order_of_builtin(order), reach);
}
template <typename T>
HEDDLE_COMPAT_INLINE without_volatile<T> scoped_exchange(T* at, without_volatile<T> value, int order, scope reach) {
  return modify(sim::runtime::rmw_kind::exchange, const_cast<without_volatile<T>*>(at), value, order_of_builtin(order),
                reach);
}
template <typename T>
HEDDLE_COMPAT_INLINE bool scoped_compare_exchange(T* at, without_volatile<T>* expected, without_volatile<T> desired,
                                                  sim::runtime::exchange_order in_order, scope reach, bool weak) {
  uint64_t found = to_word(*expected);
  auto* const word = const_cast<without_volatile<T>*>(at);
  const uint64_t wanted = to_word(desired);
  const bool done = weak ? sim::runtime::compare_exchange_weak(word, sizeof(T), &found, wanted, in_order, reach)
                         : sim::runtime::compare_exchange(word, sizeof(T), &found, wanted, in_order, reach);
  if (!done) *expected = from_word<without_volatile<T>>(found);
  return done;
}
template <bool Weak, typename T>
HEDDLE_COMPAT_INLINE bool hip_compare_exchange(T* at, without_volatile<T>* expected, without_volatile<T> desired,
                                               int success, int failure, int wanted) {
  return scoped_compare_exchange(at, expected, desired, {order_of_builtin(success), order_of_builtin(failure)},
                                 scope_of_hip(wanted), Weak);
}
template <typename Operation, typename T>
HEDDLE_COMPAT_INLINE without_volatile<T> scoped_modify(T* at, without_volatile<T> operand, int order, scope reach) {
  using sim::runtime::rmw_kind;
  auto* const word = const_cast<without_volatile<T>*>(at);
  if constexpr (std::is_integral_v<T> && std::is_same_v<Operation, plus>)
    return modify(rmw_kind::add, word, operand, order_of_builtin(order), reach);
  else if constexpr (std::is_integral_v<T> && std::is_same_v<Operation, minus>)
    return modify(rmw_kind::subtract, word, operand, order_of_builtin(order), reach);
  else
    return modify<Operation>(word, operand, order_of_builtin(order), reach);
}
/// Returns what it has made.
template <typename Operation, typename T>
HEDDLE_COMPAT_INLINE without_volatile<T> scoped_modified(T* at, without_volatile<T> operand, int order, scope reach) {
  return Operation::apply(scoped_modify<Operation>(at, operand, order, reach), operand);
}
template <sim::runtime::rmw_kind Kind, typename T>
HEDDLE_COMPAT_INLINE without_volatile<T> scoped_bits(T* at, without_volatile<T> operand, int order, scope reach) {
  static_assert(std::is_integral_v<T>, "bits of an integer");
  return modify(Kind, const_cast<without_volatile<T>*>(at), operand, order_of_builtin(order), reach);
}

template <sim::runtime::rmw_kind Kind, typename T>
HEDDLE_COMPAT_INLINE without_volatile<T> scoped_bits_made(T* at, without_volatile<T> operand, int order, scope reach) {
  using sim::runtime::rmw_kind;
  const without_volatile<T> old = scoped_bits<Kind>(at, operand, order, reach);
  if constexpr (Kind == rmw_kind::bit_and) return static_cast<without_volatile<T>>(old & operand);
  if constexpr (Kind == rmw_kind::bit_or) return static_cast<without_volatile<T>>(old | operand);
  if constexpr (Kind == rmw_kind::bit_xor) return static_cast<without_volatile<T>>(old ^ operand);
  if constexpr (Kind == rmw_kind::nand) return static_cast<without_volatile<T>>(~(old & operand));
}

}  // namespace heddle::compat

#ifndef __MEMORY_SCOPE_SYSTEM
#define __MEMORY_SCOPE_SYSTEM 0
#define __MEMORY_SCOPE_DEVICE 1
#define __MEMORY_SCOPE_WRKGRP 2
#define __MEMORY_SCOPE_WVFRNT 3
#define __MEMORY_SCOPE_SINGLE 4
#endif
#ifndef __MEMORY_SCOPE_CLUSTR
#define __MEMORY_SCOPE_CLUSTR 5
#endif

#define HEDDLE_SCOPED(wanted) ::heddle::compat::scope_of_clang(wanted)
#define __scoped_atomic_load_n(at, order, wanted) ::heddle::compat::scoped_load(at, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_load(at, to, order, wanted) \
  (*(to) = ::heddle::compat::scoped_load(at, order, HEDDLE_SCOPED(wanted)), void())
#define __scoped_atomic_store_n(at, value, order, wanted) \
  ::heddle::compat::scoped_store(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_store(at, from, order, wanted) \
  ::heddle::compat::scoped_store(at, *(from), order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_exchange_n(at, value, order, wanted) \
  ::heddle::compat::scoped_exchange(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_exchange(at, from, to, order, wanted) \
  (*(to) = ::heddle::compat::scoped_exchange(at, *(from), order, HEDDLE_SCOPED(wanted)), void())
#define __scoped_atomic_compare_exchange_n(at, expected, desired, weak, success, failure, wanted) \
  ::heddle::compat::scoped_compare_exchange(                                                      \
      at, expected, desired,                                                                      \
      ::heddle::sim::runtime::exchange_order(::heddle::compat::order_of_builtin(success),         \
                                             ::heddle::compat::order_of_builtin(failure)),        \
      HEDDLE_SCOPED(wanted), weak)
#define __scoped_atomic_compare_exchange(at, expected, from, weak, success, failure, wanted) \
  __scoped_atomic_compare_exchange_n(at, expected, *(from), weak, success, failure, wanted)
#define __scoped_atomic_fetch_add(at, value, order, wanted) \
  ::heddle::compat::scoped_modify<::heddle::compat::plus>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_fetch_sub(at, value, order, wanted) \
  ::heddle::compat::scoped_modify<::heddle::compat::minus>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_fetch_min(at, value, order, wanted) \
  ::heddle::compat::scoped_modify<::heddle::compat::smaller>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_fetch_max(at, value, order, wanted) \
  ::heddle::compat::scoped_modify<::heddle::compat::greater>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_fetch_and(at, value, order, wanted) \
  ::heddle::compat::scoped_bits<::heddle::sim::runtime::rmw_kind::bit_and>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_fetch_or(at, value, order, wanted) \
  ::heddle::compat::scoped_bits<::heddle::sim::runtime::rmw_kind::bit_or>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_fetch_xor(at, value, order, wanted) \
  ::heddle::compat::scoped_bits<::heddle::sim::runtime::rmw_kind::bit_xor>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_fetch_nand(at, value, order, wanted) \
  ::heddle::compat::scoped_bits<::heddle::sim::runtime::rmw_kind::nand>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_add_fetch(at, value, order, wanted) \
  ::heddle::compat::scoped_modified<::heddle::compat::plus>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_sub_fetch(at, value, order, wanted) \
  ::heddle::compat::scoped_modified<::heddle::compat::minus>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_min_fetch(at, value, order, wanted) \
  ::heddle::compat::scoped_modified<::heddle::compat::smaller>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_max_fetch(at, value, order, wanted) \
  ::heddle::compat::scoped_modified<::heddle::compat::greater>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_and_fetch(at, value, order, wanted) \
  ::heddle::compat::scoped_bits_made<::heddle::sim::runtime::rmw_kind::bit_and>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_or_fetch(at, value, order, wanted) \
  ::heddle::compat::scoped_bits_made<::heddle::sim::runtime::rmw_kind::bit_or>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_xor_fetch(at, value, order, wanted) \
  ::heddle::compat::scoped_bits_made<::heddle::sim::runtime::rmw_kind::bit_xor>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_nand_fetch(at, value, order, wanted) \
  ::heddle::compat::scoped_bits_made<::heddle::sim::runtime::rmw_kind::nand>(at, value, order, HEDDLE_SCOPED(wanted))
#define __scoped_atomic_thread_fence(order, wanted) \
  ::heddle::sim::runtime::fence(::heddle::compat::order_of_builtin(order), HEDDLE_SCOPED(wanted))

#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
#define __HIP_MEMORY_SCOPE_CLUSTER 6

#define HEDDLE_HIP_SCOPED(wanted) ::heddle::compat::scope_of_hip(wanted)
#define __hip_atomic_load(at, order, wanted) ::heddle::compat::scoped_load(at, order, HEDDLE_HIP_SCOPED(wanted))
#define __hip_atomic_store(at, value, order, wanted) \
  ::heddle::compat::scoped_store(at, value, order, HEDDLE_HIP_SCOPED(wanted))
#define __hip_atomic_exchange(at, value, order, wanted) \
  ::heddle::compat::scoped_exchange(at, value, order, HEDDLE_HIP_SCOPED(wanted))
// A template that is never instantiated may give another number of arguments.
#define __hip_atomic_compare_exchange_strong(...) ::heddle::compat::hip_compare_exchange<false>(__VA_ARGS__)
#define __hip_atomic_compare_exchange_weak(...) ::heddle::compat::hip_compare_exchange<true>(__VA_ARGS__)
#define __hip_atomic_fetch_add(at, value, order, wanted) \
  ::heddle::compat::scoped_modify<::heddle::compat::plus>(at, value, order, HEDDLE_HIP_SCOPED(wanted))
#define __hip_atomic_fetch_sub(at, value, order, wanted) \
  ::heddle::compat::scoped_modify<::heddle::compat::minus>(at, value, order, HEDDLE_HIP_SCOPED(wanted))
#define __hip_atomic_fetch_min(at, value, order, wanted) \
  ::heddle::compat::scoped_modify<::heddle::compat::smaller>(at, value, order, HEDDLE_HIP_SCOPED(wanted))
#define __hip_atomic_fetch_max(at, value, order, wanted) \
  ::heddle::compat::scoped_modify<::heddle::compat::greater>(at, value, order, HEDDLE_HIP_SCOPED(wanted))
#define __hip_atomic_fetch_and(at, value, order, wanted) \
  ::heddle::compat::scoped_bits<::heddle::sim::runtime::rmw_kind::bit_and>(at, value, order, HEDDLE_HIP_SCOPED(wanted))
#define __hip_atomic_fetch_or(at, value, order, wanted) \
  ::heddle::compat::scoped_bits<::heddle::sim::runtime::rmw_kind::bit_or>(at, value, order, HEDDLE_HIP_SCOPED(wanted))
#define __hip_atomic_fetch_xor(at, value, order, wanted) \
  ::heddle::compat::scoped_bits<::heddle::sim::runtime::rmw_kind::bit_xor>(at, value, order, HEDDLE_HIP_SCOPED(wanted))
