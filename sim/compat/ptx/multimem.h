// Accesses to an address that stands for the memory of several devices (sim/runtime/mapping_calls.h): one to each of these. An address of other
// memory stands for that alone. (PTX ISA, "multimem.ld_reduce, multimem.st, multimem.red".)
#pragma once

#include <heddle/sim/compat/ptx/bits.h>
#include <heddle/sim/compat/ptx/floats.h>
#include <heddle/sim/compat/ptx/memory.h>
#include <heddle/sim/runtime/mapping_calls.h>

namespace heddle::ptx {

/// Where it goes, in the order of the devices.
class memories {
 public:
  HEDDLE_PTX_INLINE memories(uint64_t address, size_t size_bytes)
      : count_(sim::runtime::memories_at(at<sp_global>(address), static_cast<uint32_t>(size_bytes), all_,
                                         sim::runtime::most_memories)) {}
  HEDDLE_PTX_INLINE uint32_t count() const { return count_; }
  HEDDLE_PTX_INLINE uint64_t operator[](uint32_t n) const { return reinterpret_cast<uint64_t>(all_[n]); }

 private:
  void* all_[sim::runtime::most_memories];
  uint32_t count_;
};

template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> combined(word<T> a, word<T> b) {
  if constexpr (has<m_min, M...>)
    return i_min<T>(a, b);
  else if constexpr (has<m_max, M...>)
    return i_max<T>(a, b);
  else if constexpr (has<m_and, M...>)
    return i_and<T>(a, b);
  else if constexpr (has<m_or, M...>)
    return i_or<T>(a, b);
  else if constexpr (has<m_xor, M...>)
    return i_xor<T>(a, b);
  else
    return i_add<T>(a, b);
}

/// The same value of each memory made one; with .acc::f32 the sum is one of floats, and rounded once.
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> combined_of(const word<T>* from, uint32_t count) {
  if constexpr (has<m_acc__f32, M...> && has_halves<T>) {
    const auto half = [&](uint32_t shift) {
      float sum = 0;
      for (uint32_t n = 0; n < count; ++n) sum += real_value<typename T::half>(static_cast<uint16_t>(from[n] >> shift));
      return static_cast<word<T>>(real_word<typename T::half>(sum)) << shift;
    };
    return half(0) | half(16);
  } else if constexpr (has<m_acc__f32, M...>) {
    float sum = 0;
    for (uint32_t n = 0; n < count; ++n) sum += static_cast<float>(real_value<T>(from[n]));
    return real_word<T>(sum);
  } else {
    word<T> made = from[0];
    for (uint32_t n = 1; n < count; ++n) made = combined<T, M...>(made, from[n]);
    return made;
  }
}

template <size_t Count, typename T, typename... M>
HEDDLE_PTX_INLINE values<word<T>, Count> multimem_ld_reduce(uint64_t address) {
  const memories all(address, sizeof(word<T>) * Count);
  word<T> found[Count][sim::runtime::most_memories];
  for (uint32_t memory = 0; memory < all.count(); ++memory) {
    const auto each = ld<sp_global, Count, T, M...>(all[memory]);
    for (size_t n = 0; n < Count; ++n) found[n][memory] = static_cast<word<T>>(each.at[n]);
  }
  values<word<T>, Count> made;
  for (size_t n = 0; n < Count; ++n) made.at[n] = combined_of<T, M...>(found[n], all.count());
  return made;
}

template <size_t Count, typename T, typename... M>
HEDDLE_PTX_INLINE void multimem_st(uint64_t address, const values<word<T>, Count>& given) {
  const memories all(address, sizeof(word<T>) * Count);
  for (uint32_t memory = 0; memory < all.count(); ++memory) st<sp_global, Count, T, M...>(all[memory], given);
}

template <size_t Count, typename T, typename... M>
HEDDLE_PTX_INLINE void multimem_red(uint64_t address, const values<word<T>, Count>& given) {
  const memories all(address, sizeof(word<T>) * Count);
  for (uint32_t memory = 0; memory < all.count(); ++memory)
    each_of_vector<sp_global, Count, T, M...>(all[memory], given);
}

}  // namespace heddle::ptx
