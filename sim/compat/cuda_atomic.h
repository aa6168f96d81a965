// <cuda/atomic> on the simulator: cuda::atomic and cuda::atomic_ref with thread scopes. (libcu++, "Extended API: Synchronization
// Primitives".) The scope of one thread counts as that of its warp.
#pragma once

#include <heddle/sim/compat/launch.h>
#include <heddle/sim/compat/words.h>

#include <atomic>
#include <type_traits>

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

using memory_order = ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;

}  // namespace cuda

namespace heddle::compat {

constexpr scope scope_of(::cuda::thread_scope wanted) {
  switch (wanted) {
    case ::cuda::thread_scope_device:
      return scope::device;
    case ::cuda::thread_scope_block:
      return scope::block;
    case ::cuda::thread_scope_thread:
      return scope::wave;
    case ::cuda::thread_scope_system:
      break;
  }
  return scope::system;
}

constexpr memory_order order_of(::std::memory_order order) {
  switch (order) {
    case ::std::memory_order_relaxed:
      return memory_order::relaxed;
    case ::std::memory_order_consume:
    case ::std::memory_order_acquire:
      return memory_order::acquire;
    case ::std::memory_order_release:
      return memory_order::release;
    case ::std::memory_order_acq_rel:
      return memory_order::acq_rel;
    case ::std::memory_order_seq_cst:
      break;
  }
  return memory_order::seq_cst;
}

}  // namespace heddle::compat

namespace cuda {

HEDDLE_COMPAT_INLINE void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system) {
  ::heddle::sim::runtime::fence(::heddle::compat::order_of(order), ::heddle::compat::scope_of(scope));
}

namespace detail {

/// The operations on a T at `where()`, which `Derived` has.
template <typename Derived, typename T, thread_scope Scope>
class atomic_operations {
  static_assert(::std::is_trivially_copyable_v<T>, "an atomic needs a type that is copied byte by byte");
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8,
                "an atomic of this size is not simulated: 1, 2, 4 or 8 bytes only");
  static constexpr ::heddle::scope reach = ::heddle::compat::scope_of(Scope);
  using kind = ::heddle::sim::runtime::rmw_kind;

 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;
  bool is_lock_free() const { return true; }

  HEDDLE_COMPAT_INLINE T load(memory_order order = memory_order_seq_cst) const {
    return ::heddle::compat::from_word<T>(
        ::heddle::sim::runtime::load(where(), sizeof(T), ::heddle::compat::order_of(order), reach));
  }
  HEDDLE_COMPAT_INLINE operator T() const { return load(); }
  HEDDLE_COMPAT_INLINE void store(T value, memory_order order = memory_order_seq_cst) const {
    ::heddle::sim::runtime::store(where(), sizeof(T), ::heddle::compat::to_word(value),
                                  ::heddle::compat::order_of(order), reach);
  }
  HEDDLE_COMPAT_INLINE T exchange(T value, memory_order order = memory_order_seq_cst) const {
    return ::heddle::compat::modify(kind::exchange, where(), value, ::heddle::compat::order_of(order), reach);
  }
  HEDDLE_COMPAT_INLINE bool compare_exchange_strong(T& expected, T desired,
                                                    memory_order order = memory_order_seq_cst) const {
    return compare_exchange(expected, desired, ::heddle::compat::order_of(order), false);
  }
  HEDDLE_COMPAT_INLINE bool compare_exchange_strong(T& expected, T desired, memory_order success,
                                                    memory_order failure) const {
    return compare_exchange(expected, desired,
                            {::heddle::compat::order_of(success), ::heddle::compat::order_of(failure)}, false);
  }
  HEDDLE_COMPAT_INLINE bool compare_exchange_weak(T& expected, T desired,
                                                  memory_order order = memory_order_seq_cst) const {
    return compare_exchange(expected, desired, ::heddle::compat::order_of(order), true);
  }
  HEDDLE_COMPAT_INLINE bool compare_exchange_weak(T& expected, T desired, memory_order success,
                                                  memory_order failure) const {
    return compare_exchange(expected, desired,
                            {::heddle::compat::order_of(success), ::heddle::compat::order_of(failure)}, true);
  }

  HEDDLE_COMPAT_INLINE T fetch_add(T value, memory_order order = memory_order_seq_cst) const
    requires ::std::is_arithmetic_v<T>
  {
    if constexpr (::std::is_integral_v<T>)
      return ::heddle::compat::modify(kind::add, where(), value, ::heddle::compat::order_of(order), reach);
    else
      return ::heddle::compat::modify<::heddle::compat::plus>(where(), value, ::heddle::compat::order_of(order), reach);
  }
  HEDDLE_COMPAT_INLINE T fetch_sub(T value, memory_order order = memory_order_seq_cst) const
    requires ::std::is_arithmetic_v<T>
  {
    if constexpr (::std::is_integral_v<T>)
      return ::heddle::compat::modify(kind::subtract, where(), value, ::heddle::compat::order_of(order), reach);
    else
      return ::heddle::compat::modify<::heddle::compat::minus>(where(), value, ::heddle::compat::order_of(order),
                                                               reach);
  }
  HEDDLE_COMPAT_INLINE T fetch_and(T value, memory_order order = memory_order_seq_cst) const
    requires ::std::is_integral_v<T>
  {
    return ::heddle::compat::modify(kind::bit_and, where(), value, ::heddle::compat::order_of(order), reach);
  }
  HEDDLE_COMPAT_INLINE T fetch_or(T value, memory_order order = memory_order_seq_cst) const
    requires ::std::is_integral_v<T>
  {
    return ::heddle::compat::modify(kind::bit_or, where(), value, ::heddle::compat::order_of(order), reach);
  }
  HEDDLE_COMPAT_INLINE T fetch_xor(T value, memory_order order = memory_order_seq_cst) const
    requires ::std::is_integral_v<T>
  {
    return ::heddle::compat::modify(kind::bit_xor, where(), value, ::heddle::compat::order_of(order), reach);
  }
  HEDDLE_COMPAT_INLINE T fetch_min(T value, memory_order order = memory_order_seq_cst) const
    requires ::std::is_arithmetic_v<T>
  {
    return ::heddle::compat::modify<::heddle::compat::smaller>(where(), value, ::heddle::compat::order_of(order),
                                                               reach);
  }
  HEDDLE_COMPAT_INLINE T fetch_max(T value, memory_order order = memory_order_seq_cst) const
    requires ::std::is_arithmetic_v<T>
  {
    return ::heddle::compat::modify<::heddle::compat::greater>(where(), value, ::heddle::compat::order_of(order),
                                                               reach);
  }
  /// Of a pointer, in objects.
  HEDDLE_COMPAT_INLINE T fetch_add(ptrdiff_t count, memory_order order = memory_order_seq_cst) const
    requires ::std::is_pointer_v<T>
  {
    return ::heddle::compat::from_word<T>(::heddle::sim::runtime::read_modify_write(
        kind::add, where(), sizeof(T), static_cast<uint64_t>(count) * sizeof(::std::remove_pointer_t<T>),
        ::heddle::compat::order_of(order), reach));
  }
  HEDDLE_COMPAT_INLINE T fetch_sub(ptrdiff_t count, memory_order order = memory_order_seq_cst) const
    requires ::std::is_pointer_v<T>
  {
    return fetch_add(-count, order);
  }
  HEDDLE_COMPAT_INLINE T operator++() const { return static_cast<T>(fetch_add(1) + 1); }
  HEDDLE_COMPAT_INLINE T operator++(int) const { return fetch_add(1); }
  HEDDLE_COMPAT_INLINE T operator--() const { return static_cast<T>(fetch_sub(1) - 1); }
  HEDDLE_COMPAT_INLINE T operator--(int) const { return fetch_sub(1); }
  HEDDLE_COMPAT_INLINE T operator+=(T value) const { return static_cast<T>(fetch_add(value) + value); }
  HEDDLE_COMPAT_INLINE T operator-=(T value) const { return static_cast<T>(fetch_sub(value) - value); }
  HEDDLE_COMPAT_INLINE T operator&=(T value) const { return static_cast<T>(fetch_and(value) & value); }
  HEDDLE_COMPAT_INLINE T operator|=(T value) const { return static_cast<T>(fetch_or(value) | value); }
  HEDDLE_COMPAT_INLINE T operator^=(T value) const { return static_cast<T>(fetch_xor(value) ^ value); }

  /// A loop that looks: to the simulator that is a wait, and notify_one() and notify_all() are not needed for its end.
  HEDDLE_COMPAT_INLINE void wait(T old, memory_order order = memory_order_seq_cst) const {
    while (::heddle::compat::to_word(load(order)) == ::heddle::compat::to_word(old)) ::heddle::sim::runtime::pause();
  }
  HEDDLE_COMPAT_INLINE void notify_one() const {}
  HEDDLE_COMPAT_INLINE void notify_all() const {}

 private:
  T* where() const { return static_cast<const Derived*>(this)->where(); }
  HEDDLE_COMPAT_INLINE bool compare_exchange(T& expected, T desired, ::heddle::sim::runtime::exchange_order in_order,
                                             bool weak) const {
    uint64_t found = ::heddle::compat::to_word(expected);
    const uint64_t wanted = ::heddle::compat::to_word(desired);
    const bool done =
        weak ? ::heddle::sim::runtime::compare_exchange_weak(where(), sizeof(T), &found, wanted, in_order, reach)
             : ::heddle::sim::runtime::compare_exchange(where(), sizeof(T), &found, wanted, in_order, reach);
    if (!done) expected = ::heddle::compat::from_word<T>(found);
    return done;
  }
};

}  // namespace detail

template <typename T, thread_scope Scope = thread_scope_system>
class atomic : public detail::atomic_operations<atomic<T, Scope>, T, Scope> {
 public:
  atomic() = default;
  constexpr atomic(T value) : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  HEDDLE_COMPAT_INLINE T operator=(T value) {
    this->store(value);
    return value;
  }

 private:
  friend detail::atomic_operations<atomic<T, Scope>, T, Scope>;
  T* where() const { return const_cast<T*>(&value_); }
  alignas(sizeof(T)) T value_;
};

template <typename T, thread_scope Scope = thread_scope_system>
class atomic_ref : public detail::atomic_operations<atomic_ref<T, Scope>, T, Scope> {
 public:
  static constexpr size_t required_alignment = sizeof(T);
  explicit atomic_ref(T& referenced) : referenced_(&referenced) {}
  HEDDLE_COMPAT_INLINE T operator=(T value) const {
    this->store(value);
    return value;
  }

 private:
  friend detail::atomic_operations<atomic_ref<T, Scope>, T, Scope>;
  T* where() const { return referenced_; }
  T* referenced_;
};

namespace std {

using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;
template <typename T>
using atomic = ::cuda::atomic<T, thread_scope_system>;
template <typename T>
using atomic_ref = ::cuda::atomic_ref<T, thread_scope_system>;
HEDDLE_COMPAT_INLINE void atomic_thread_fence(memory_order order) { ::cuda::atomic_thread_fence(order); }

class atomic_flag {
 public:
  HEDDLE_COMPAT_INLINE bool test(memory_order order = memory_order_seq_cst) const { return word_.load(order) != 0; }
  HEDDLE_COMPAT_INLINE bool test_and_set(memory_order order = memory_order_seq_cst) {
    return word_.exchange(1, order) != 0;
  }
  HEDDLE_COMPAT_INLINE void clear(memory_order order = memory_order_seq_cst) { word_.store(0, order); }
  HEDDLE_COMPAT_INLINE void wait(bool old, memory_order order = memory_order_seq_cst) const {
    word_.wait(old ? 1 : 0, order);
  }
  HEDDLE_COMPAT_INLINE void notify_one() const {}
  HEDDLE_COMPAT_INLINE void notify_all() const {}

 private:
  atomic<uint32_t> word_{0};
};

}  // namespace std
}  // namespace cuda
