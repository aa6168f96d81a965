// Values of 1, 2, 4 or 8 bytes as the words that the simulator's entry points take, and read-modify-writes of any kind on them.
#pragma once

#include <heddle/sim/runtime/gpu_calls.h>
#include <stdint.h>

#include <type_traits>

namespace heddle::compat {

template <size_t Bytes>
using word_of =
    std::conditional_t<Bytes == 8, uint64_t,
                       std::conditional_t<Bytes == 4, uint32_t, std::conditional_t<Bytes == 2, uint16_t, uint8_t>>>;

template <typename T>
constexpr uint64_t to_word(T value) {
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "1, 2, 4 or 8 bytes only");
  static_assert(std::is_trivially_copyable_v<T>);
  return __builtin_bit_cast(word_of<sizeof(T)>, value);
}
template <typename T>
constexpr T from_word(uint64_t word) {
  return __builtin_bit_cast(T, static_cast<word_of<sizeof(T)>>(word));
}

/// `Operation::apply(old, operand)` on the words of two values.
template <typename T, typename Operation>
uint64_t apply_to_words(uint64_t old, uint64_t operand) {
  return to_word<T>(Operation::apply(from_word<T>(old), from_word<T>(operand)));
}

struct plus {
  template <typename T>
  static T apply(T old, T operand) {
    return static_cast<T>(old + operand);
  }
};
struct minus {
  template <typename T>
  static T apply(T old, T operand) {
    return static_cast<T>(old - operand);
  }
};
struct smaller {
  template <typename T>
  static T apply(T old, T operand) {
    return operand < old ? operand : old;
  }
};
struct greater {
  template <typename T>
  static T apply(T old, T operand) {
    return old < operand ? operand : old;
  }
};
/// Up to the operand, then from 0 again.
struct increment_up_to {
  static uint32_t apply(uint32_t old, uint32_t operand) { return old >= operand ? 0 : old + 1; }
};
/// Down to 0, then from the operand again.
struct decrement_from {
  static uint32_t apply(uint32_t old, uint32_t operand) { return old == 0 || old > operand ? operand : old - 1; }
};

/// Atomically; returns the old value.
template <typename Operation, typename T>
[[gnu::always_inline]] inline T modify(T* address, T operand, memory_order order, scope reach) {
  return from_word<T>(sim::runtime::modify(&apply_to_words<T, Operation>, const_cast<std::remove_cv_t<T>*>(address),
                                           sizeof(T), to_word(operand), order, reach));
}
/// The same by one of the operations that a link can carry.
template <typename T>
[[gnu::always_inline]] inline T modify(sim::runtime::rmw_kind kind, T* address, T operand, memory_order order,
                                       scope reach) {
  return from_word<T>(sim::runtime::read_modify_write(kind, address, sizeof(T), to_word(operand), order, reach));
}
/// Returns the old value.
template <typename T>
[[gnu::always_inline]] inline T compare_and_swap(T* address, T expected, T desired, memory_order order, scope reach) {
  uint64_t found = to_word(expected);
  sim::runtime::compare_exchange(address, sizeof(T), &found, to_word(desired), order, reach);
  return from_word<T>(found);
}

}  // namespace heddle::compat
