// Atomic operations of the host: std::atomic_ref under the seam's orders and scopes.
//
// A scope costs nothing here: every thread of the host observes every other one, so all scopes are the widest.
#pragma once

#include <heddle/hw/host/trap.h>
#include <heddle/rpc/target.h>

#include <atomic>
#include <concepts>

#if defined(__SANITIZE_THREAD__)
#define HEDDLE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEDDLE_THREAD_SANITIZER 1
#endif
#endif

#ifdef HEDDLE_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace heddle::host {

/// The standard's name of an order. A constant argument, the only kind in protocol code, folds to a constant.
constexpr std::memory_order standard_order(memory_order order) noexcept {
  switch (order) {
    case memory_order::relaxed:
      return std::memory_order_relaxed;
    case memory_order::acquire:
      return std::memory_order_acquire;
    case memory_order::release:
      return std::memory_order_release;
    case memory_order::acq_rel:
      return std::memory_order_acq_rel;
    case memory_order::seq_cst:
      break;
  }
  return std::memory_order_seq_cst;
}

/// A word that several threads use. Members and orders are the standard's ([atomics.ref.generic]); each is one
/// instruction, or one with a lock prefix, once the order is a constant.
///
/// A load that releases and a store that acquires are mistakes which the standard leaves undefined and which the GPU
/// targets cannot catch: here they trap, and the check is gone when the order is a constant.
template <typename T, scope Scope>
class atomic_ref {
 public:
  static_assert(std::integral<T> && sizeof(T) <= 8, "integers of 8, 16, 32 or 64 bits only");

  explicit atomic_ref(T& referenced) noexcept : word_(referenced) {}

  T load(memory_order order) const {
    if (order == memory_order::release || order == memory_order::acq_rel)
      trap(fault::assertion, "an atomic load cannot have release order");
    return word_.load(standard_order(order));
  }

  void store(T value, memory_order order) const {
    if (order == memory_order::acquire || order == memory_order::acq_rel)
      trap(fault::assertion, "an atomic store cannot have acquire order");
    word_.store(value, standard_order(order));
  }

  T exchange(T value, memory_order order) const { return word_.exchange(value, standard_order(order)); }
  T fetch_or(T bits, memory_order order) const { return word_.fetch_or(bits, standard_order(order)); }
  T fetch_and(T bits, memory_order order) const { return word_.fetch_and(bits, standard_order(order)); }
  T fetch_add(T amount, memory_order order) const { return word_.fetch_add(amount, standard_order(order)); }
  T fetch_sub(T amount, memory_order order) const { return word_.fetch_sub(amount, standard_order(order)); }

  T fetch_max(T value, memory_order order) const {
    return replace(order, [value](T old) { return old < value ? value : old; });
  }
  T fetch_min(T value, memory_order order) const {
    return replace(order, [value](T old) { return value < old ? value : old; });
  }

  /// On failure `expected` becomes the value found, loaded with what remains of `order` without its release half.
  bool compare_exchange_strong(T& expected, T desired, memory_order order) const {
    return word_.compare_exchange_strong(expected, desired, standard_order(order));
  }

  /// As the strong one, but may fail although the value was the expected one.
  bool compare_exchange_weak(T& expected, T desired, memory_order order) const {
    return word_.compare_exchange_weak(expected, desired, standard_order(order));
  }

 private:
  /// It stores also where the value stays: that is the release of the order.
  template <typename Next>
  T replace(memory_order order, Next&& next) const {
    T old = word_.load(std::memory_order_relaxed);
    while (!word_.compare_exchange_weak(old, next(old), standard_order(order))) {
    }
    return old;
  }
  std::atomic_ref<T> word_;
};

#ifdef HEDDLE_THREAD_SANITIZER

namespace detail {
inline char all_fences;
}

/// ThreadSanitizer sees no fences and reports races that are none. It is told instead that all fences meet at one
/// object: so it may miss a race beside a fence, and invents none. Acquire loads and release stores need no such help;
/// prefer them.
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wtsan"  // says what the comment says
#endif
template <scope Scope>
void fence(memory_order order) noexcept {
  if (order != memory_order::relaxed && order != memory_order::acquire) __tsan_release(&detail::all_fences);
  std::atomic_thread_fence(standard_order(order));
  if (order != memory_order::relaxed && order != memory_order::release) __tsan_acquire(&detail::all_fences);
}
#pragma GCC diagnostic pop

#else

/// The standard's fence. ThreadSanitizer does not understand it (see the other half of this conditional); where an
/// acquire load or a release store can do the work, protocol code uses that.
template <scope Scope>
void fence(memory_order order) noexcept {
  std::atomic_thread_fence(standard_order(order));
}

#endif

}  // namespace heddle::host
