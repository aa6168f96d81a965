// Memory instructions of PTX as accesses that the simulator hears of. (PTX ISA, "Memory Consistency Model".)
#pragma once

#include <heddle/sim/compat/ptx/announced.h>
#include <heddle/sim/compat/ptx/integers.h>
#include <heddle/sim/compat/ptx/module.h>
#include <heddle/sim/compat/ptx/types.h>
#include <heddle/sim/runtime/gpu_calls.h>

namespace heddle::ptx {

// State spaces.
struct sp_generic {};
struct sp_global {};
struct sp_const {};
struct sp_shared {};
struct sp_local {};
struct sp_param {};

/// An address of a state space as one of the simulated machine.
template <typename Space>
HEDDLE_PTX_INLINE void* at(uint64_t address) {
  if constexpr (std::is_same_v<Space, sp_shared>)
    return generic_of_shared(address);
  else
    return reinterpret_cast<void*>(address);
}

/// The values of a vector.
template <typename Word, size_t Count>
struct values {
  Word at[Count];
};

/// Of a row of modifiers, the scope.
template <typename... M>
constexpr scope reach_of(scope unsaid) {
  if (has<m_cta, M...>) return scope::block;
  if (has<m_cluster, M...>) return scope::cluster;
  if (has<m_gpu, M...> || has<m_gl, M...>) return scope::device;
  if (has<m_sys, M...>) return scope::system;
  return unsaid;
}
template <typename... M>
constexpr memory_order order_of() {
  if (has<m_acq_rel, M...>) return memory_order::acq_rel;
  if (has<m_acquire, M...>) return memory_order::acquire;
  if (has<m_release, M...>) return memory_order::release;
  return memory_order::relaxed;
}
/// Whether an access is strong and says its order and scope.
template <typename... M>
inline constexpr bool is_ordered = has<m_relaxed, M...> || has<m_acquire, M...> || has<m_release, M...>;

/// A misaligned address ends the run, as it ends a kernel.
HEDDLE_PTX_INLINE void check_alignment(const void* address, size_t size_bytes) {
  if (reinterpret_cast<uintptr_t>(address) % size_bytes != 0) [[unlikely]]
    sim::runtime::trap(fault::assertion, "an access to an address that is not aligned to its size");
}

template <typename Space>
inline constexpr bool is_private_space = std::is_same_v<Space, sp_local> || std::is_same_v<Space, sp_param>;

/// How many bytes of a vector one strong access has. PTX takes a vector for as many accesses as it has values, in no order; GPUs make one of up
/// to 16 bytes, on which programs rely. A volatile one has at most 8.
template <size_t ValueBytes, size_t Count, typename... M>
constexpr size_t piece_bytes() {
#ifdef HEDDLE_PTX_VECTORS_IN_PIECES
  return ValueBytes;
#else
  constexpr size_t most = has<m_volatile, M...> && ValueBytes <= 8 ? 8 : 16;
  return ValueBytes * Count < most ? ValueBytes * Count : most;
#endif
}

template <size_t Bytes>
using piece = std::conditional_t<
    Bytes == 16, wide,
    std::conditional_t<Bytes == 8, uint64_t,
                       std::conditional_t<Bytes == 4, uint32_t, std::conditional_t<Bytes == 2, uint16_t, uint8_t>>>>;

template <size_t Bytes, typename... M>
HEDDLE_PTX_INLINE piece<Bytes> load_piece(unsigned char* from) {
  constexpr scope reach = reach_of<M...>(scope::system);
  check_alignment(from, Bytes);
  if constexpr (has<m_volatile, M...>) {
    announce_volatile_read<Bytes>(from);
    return raw_load<piece<Bytes>>(from);
  } else if constexpr (Bytes == 16) {
    uint64_t halves[2];
    sim::runtime::load_wide(from, halves, order_of<M...>(), reach);
    return wide{halves[1]} << 64 | halves[0];
  } else {
    return static_cast<piece<Bytes>>(sim::runtime::load(from, Bytes, order_of<M...>(), reach));
  }
}
template <size_t Bytes, typename... M>
HEDDLE_PTX_INLINE void store_piece(unsigned char* to, piece<Bytes> value) {
  constexpr scope reach = reach_of<M...>(scope::system);
  check_alignment(to, Bytes);
  if constexpr (has<m_volatile, M...>) {
    announce_volatile_write<Bytes>(to);
    raw_store(to, value);
  } else if constexpr (Bytes == 16) {
    const uint64_t halves[2] = {static_cast<uint64_t>(value), static_cast<uint64_t>(value >> 64)};
    sim::runtime::store_wide(to, halves, order_of<M...>(), reach);
  } else {
    sim::runtime::store(to, Bytes, value, order_of<M...>(), reach);
  }
}

/// Of a strong vector that is accessed in pieces of several values.
template <size_t ValueBytes, size_t PieceBytes>
class in_vectors {
 public:
  HEDDLE_PTX_INLINE in_vectors() {
    if constexpr (is_any) sim::runtime::access_vectors_of(ValueBytes);
  }
  HEDDLE_PTX_INLINE ~in_vectors() {
    if constexpr (is_any) sim::runtime::access_vectors_of(0);
  }
  in_vectors(const in_vectors&) = delete;
  in_vectors& operator=(const in_vectors&) = delete;

 private:
  static constexpr bool is_any = PieceBytes > ValueBytes&& ValueBytes < 8;
};

/// A load of as many values as the vector has. A weak one of up to 16 bytes is one access.
template <typename Space, size_t Count, typename T, typename... M>
HEDDLE_PTX_INLINE auto ld(uint64_t address) {
  auto* const from = static_cast<unsigned char*>(at<Space>(address));
  constexpr size_t bytes = sizeof(word<T>);
  values<decltype(extended<T>(word<T>{})), Count> found;
  if constexpr (is_private_space<Space> || !(is_ordered<M...> || has<m_volatile, M...>)) {
    constexpr size_t part = bytes * Count <= 16 ? bytes * Count : 16;
    for (size_t n = 0; n < Count; ++n) {
      if constexpr (!is_private_space<Space>)
        if (n * bytes % part == 0) {
          check_alignment(from + n * bytes, part);
          announce_read<part>(from + n * bytes);
        }
      found.at[n] = extended<T>(raw_load<word<T>>(from + n * bytes));
    }
  } else {
    constexpr size_t part = piece_bytes<bytes, Count, M...>();
    const in_vectors<bytes, part> marked;
    for (size_t n = 0; n < Count; n += part / bytes) {
      const piece<part> all = load_piece<part, M...>(from + n * bytes);
      for (size_t within = 0; within < part / bytes; ++within)
        found.at[n + within] = extended<T>(static_cast<word<T>>(all >> (within * bytes * 8)));
    }
  }
  return found;
}

template <typename Space, size_t Count, typename T, typename... M>
HEDDLE_PTX_INLINE void st(uint64_t address, const values<word<T>, Count>& given) {
  auto* const to = static_cast<unsigned char*>(at<Space>(address));
  constexpr size_t bytes = sizeof(word<T>);
  if constexpr (is_private_space<Space> || !(is_ordered<M...> || has<m_volatile, M...>)) {
    // What is announced is made before the next is.
    constexpr size_t part = bytes * Count <= 16 ? bytes * Count : 16;
    for (size_t n = 0; n < Count; ++n) {
      if constexpr (!is_private_space<Space>)
        if (n * bytes % part == 0) {
          check_alignment(to + n * bytes, part);
          announce_write<part>(to + n * bytes);
        }
      raw_store(to + n * bytes, given.at[n]);
    }
  } else {
    constexpr size_t part = piece_bytes<bytes, Count, M...>();
    const in_vectors<bytes, part> marked;
    for (size_t n = 0; n < Count; n += part / bytes) {
      piece<part> all = 0;
      for (size_t within = 0; within < part / bytes; ++within)
        all |= static_cast<piece<part>>(static_cast<piece<part>>(given.at[n + within]) << (within * bytes * 8));
      store_piece<part, M...>(to + n * bytes, all);
    }
  }
}

// -- read-modify-writes

struct smaller_word {
  template <typename T>
  static uint64_t apply(uint64_t old, uint64_t operand) {
    return i_min<T>(static_cast<word<T>>(old), static_cast<word<T>>(operand));
  }
};
struct greater_word {
  template <typename T>
  static uint64_t apply(uint64_t old, uint64_t operand) {
    return i_max<T>(static_cast<word<T>>(old), static_cast<word<T>>(operand));
  }
};
struct sum_word {
  template <typename T>
  static uint64_t apply(uint64_t old, uint64_t operand) {
    return i_add<T>(static_cast<word<T>>(old), static_cast<word<T>>(operand));
  }
};
struct up_to_word {
  template <typename T>
  static uint64_t apply(uint64_t old, uint64_t operand) {
    return old >= operand ? 0 : old + 1;
  }
};
struct down_to_word {
  template <typename T>
  static uint64_t apply(uint64_t old, uint64_t operand) {
    return old == 0 || old > operand ? operand : old - 1;
  }
};

template <typename How, typename T>
HEDDLE_PTX_INLINE word<T> modified(void* to, word<T> operand, memory_order order, scope reach) {
  return static_cast<word<T>>(
      sim::runtime::modify(&How::template apply<T>, to, sizeof(word<T>), operand, order, reach));
}

template <typename Space, typename T, typename... M>
HEDDLE_PTX_INLINE word<T> atom(uint64_t address, word<T> operand) {
  void* const to = at<Space>(address);
  constexpr memory_order order = order_of<M...>();
  constexpr scope reach = reach_of<M...>(scope::device);
  check_alignment(to, sizeof(word<T>));
  using sim::runtime::rmw_kind;
  if constexpr (T::bits == 128) {
    uint64_t halves[2] = {static_cast<uint64_t>(operand), static_cast<uint64_t>(operand >> 64)};
    sim::runtime::exchange_wide(to, halves, order, reach);
    return wide{halves[1]} << 64 | halves[0];
  } else if constexpr (has<m_min, M...>) {
    return modified<smaller_word, T>(to, operand, order, reach);
  } else if constexpr (has<m_max, M...>) {
    return modified<greater_word, T>(to, operand, order, reach);
  } else if constexpr (has<m_inc, M...>) {
    return modified<up_to_word, T>(to, operand, order, reach);
  } else if constexpr (has<m_dec, M...>) {
    return modified<down_to_word, T>(to, operand, order, reach);
  } else if constexpr (has<m_add, M...> && (is_real<T> || has_halves<T>)) {
    return modified<sum_word, T>(to, operand, order, reach);
  } else {
    constexpr rmw_kind kind = has<m_add, M...>   ? rmw_kind::add
                              : has<m_and, M...> ? rmw_kind::bit_and
                              : has<m_or, M...>  ? rmw_kind::bit_or
                              : has<m_xor, M...> ? rmw_kind::bit_xor
                                                 : rmw_kind::exchange;
    return static_cast<word<T>>(sim::runtime::read_modify_write(kind, to, sizeof(word<T>), operand, order, reach));
  }
}
/// A vector is as many operations as it has values, in no order. (PTX ISA, "atom", "red".)
template <typename Space, size_t Count, typename T, typename... M>
HEDDLE_PTX_INLINE values<word<T>, Count> each_of_vector(uint64_t address, const values<word<T>, Count>& given) {
  values<word<T>, Count> found;
  for (size_t n = 0; n < Count; ++n) found.at[n] = atom<Space, T, M...>(address + n * sizeof(word<T>), given.at[n]);
  return found;
}
/// Compare and swap.
template <typename Space, typename T, typename... M>
HEDDLE_PTX_INLINE word<T> atom(uint64_t address, word<T> expected, word<T> desired) {
  void* const to = at<Space>(address);
  check_alignment(to, sizeof(word<T>));
  constexpr memory_order order = order_of<M...>();
  constexpr scope reach = reach_of<M...>(scope::device);
  if constexpr (T::bits == 128) {
    uint64_t found[2] = {static_cast<uint64_t>(expected), static_cast<uint64_t>(expected >> 64)};
    const uint64_t wanted[2] = {static_cast<uint64_t>(desired), static_cast<uint64_t>(desired >> 64)};
    sim::runtime::compare_exchange_wide(to, found, wanted, order, reach);
    return wide{found[1]} << 64 | found[0];
  } else {
    uint64_t found = expected;
    sim::runtime::compare_exchange(to, sizeof(word<T>), &found, desired, order, reach);
    return static_cast<word<T>>(found);
  }
}

template <typename... M>
HEDDLE_PTX_INLINE void i_fence() {
  // Of the proxies only the asynchronous one is another way to the same memory here.
  if constexpr (has<m_proxy, M...>) {
    if constexpr (has<m_async, M...>) {
      constexpr bool of_global = has<m_global, M...>;
      constexpr bool of_block = has<m_shared__cta, M...> || has<m_shared__cluster, M...>;
      sim::runtime::proxy_fence((of_block ? 0u : 1u) | (of_global ? 0u : 2u));
    }
    return;
  }
  constexpr memory_order order = order_of<M...>();
  sim::runtime::fence(has<m_sc, M...>                  ? memory_order::seq_cst
                      : order == memory_order::relaxed ? memory_order::acq_rel
                                                       : order,
                      reach_of<M...>(scope::system));
}
/// (PTX ISA, "membar": a synonym of fence.sc.)
template <typename... M>
HEDDLE_PTX_INLINE void i_membar() {
  sim::runtime::fence(memory_order::seq_cst, reach_of<M...>(scope::system));
}

// -- addresses

template <typename T, typename... M>
inline constexpr bool names_shared = has<m_shared, M...> || has<m_shared__cta, M...> || has<m_shared__cluster, M...>;

template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_cvta(word<T> address) {
  if constexpr (!names_shared<T, M...>)
    return address;
  else if constexpr (has<m_to, M...>)
    return static_cast<word<T>>(shared_of_generic(address));
  else
    return static_cast<word<T>>(reinterpret_cast<uint64_t>(generic_of_shared(address)));
}
template <typename... M>
HEDDLE_PTX_INLINE bool i_isspacep(uint64_t address) {
  const where_it_is found = space_of(address);
  if constexpr (has<m_shared__cluster, M...>)
    if (found == where_it_is::cluster) return true;
  if constexpr (names_shared<void, M...>) return found == where_it_is::shared;
  if constexpr (has<m_global, M...>) return found == where_it_is::global;
  if constexpr (has<m_local, M...>) return found == where_it_is::local;
  if constexpr (has<m_const, M...>) return found == where_it_is::constant;
  return false;
}

}  // namespace heddle::ptx
