// What the threads of a warp, and of a block, do together, in the spellings that CUDA and HIP share.
#pragma once

#include <heddle/sim/compat/launch.h>
#include <heddle/sim/compat/words.h>

#include <type_traits>

namespace heddle::compat {

/// The lane whose value a lane of this index gets, where a warp is cut into parts of `width` lanes. (PTX ISA, "shfl.sync".)
constexpr uint32_t source_of_index(uint32_t lane, int index, int width) {
  const auto part = static_cast<uint32_t>(width);
  return (lane & ~(part - 1)) | (static_cast<uint32_t>(index) & (part - 1));
}
constexpr uint32_t source_above(uint32_t lane, unsigned int delta, int width) {
  const uint32_t within = lane & (static_cast<uint32_t>(width) - 1);
  return delta > within ? lane : lane - delta;
}
constexpr uint32_t source_below(uint32_t lane, unsigned int delta, int width) {
  const auto part = static_cast<uint32_t>(width);
  return delta >= part - (lane & (part - 1)) ? lane : lane + delta;
}
constexpr uint32_t source_across(uint32_t lane, int mask, int width) {
  // A part that the other lane lies behind keeps its own value.
  const uint32_t other = lane ^ static_cast<uint32_t>(mask);
  const auto part = static_cast<uint32_t>(width);
  return other > (lane | (part - 1)) ? lane : other;
}

/// A bit for each lane of a warp.
using lane_bits = std::conditional_t<HEDDLE_COMPAT_WAVE_LANES == 64, unsigned long long, unsigned int>;

/// What a shuffle can carry: 4 or 8 bytes of a number.
template <typename T>
concept shuffled = std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);

/// A number that becomes an int where it is given to a collective.
template <typename T>
concept small_integer = std::is_integral_v<T> && sizeof(T) < sizeof(int);

template <typename T>
HEDDLE_COMPAT_INLINE T shuffle(uint64_t mask, T value, uint32_t source) {
  return from_word<T>(sim::runtime::shuffle(mask, to_word(value), source));
}

constexpr bool is_width(int width) { return width > 0 && width <= warpSize && (width & (width - 1)) == 0; }
inline void check_width(int width) {
  if (!is_width(width))
    sim::runtime::trap(fault::assertion, "the width of a shuffle is no power of two up to warpSize");
}

}  // namespace heddle::compat

template <::heddle::compat::shuffled T>
HEDDLE_COMPAT_INLINE T __shfl_sync(unsigned long long mask, T value, int lane, int width = warpSize) {
  ::heddle::compat::check_width(width);
  return ::heddle::compat::shuffle(mask, value,
                                   ::heddle::compat::source_of_index(::heddle::sim::runtime::lane_id(), lane, width));
}
template <::heddle::compat::shuffled T>
HEDDLE_COMPAT_INLINE T __shfl_up_sync(unsigned long long mask, T value, unsigned int delta, int width = warpSize) {
  ::heddle::compat::check_width(width);
  return ::heddle::compat::shuffle(mask, value,
                                   ::heddle::compat::source_above(::heddle::sim::runtime::lane_id(), delta, width));
}
template <::heddle::compat::shuffled T>
HEDDLE_COMPAT_INLINE T __shfl_down_sync(unsigned long long mask, T value, unsigned int delta, int width = warpSize) {
  ::heddle::compat::check_width(width);
  return ::heddle::compat::shuffle(mask, value,
                                   ::heddle::compat::source_below(::heddle::sim::runtime::lane_id(), delta, width));
}
template <::heddle::compat::shuffled T>
HEDDLE_COMPAT_INLINE T __shfl_xor_sync(unsigned long long mask, T value, int lanes, int width = warpSize) {
  ::heddle::compat::check_width(width);
  return ::heddle::compat::shuffle(mask, value,
                                   ::heddle::compat::source_across(::heddle::sim::runtime::lane_id(), lanes, width));
}

HEDDLE_COMPAT_INLINE int __any_sync(unsigned long long mask, int predicate) {
  return ::heddle::sim::runtime::ballot_of_live(mask, predicate != 0) != 0 ? 1 : 0;
}
/// Whether all that vote, the lanes of the mask that have not ended, agree.
HEDDLE_COMPAT_INLINE int __all_sync(unsigned long long mask, int predicate) {
  return ::heddle::sim::runtime::ballot_of_live(mask, predicate == 0) == 0 ? 1 : 0;
}

HEDDLE_COMPAT_INLINE void __syncthreads() {
  ::heddle::sim::runtime::block_barrier(::heddle::sim::runtime::barrier_kind::plain, false, true);
}
HEDDLE_COMPAT_INLINE int __syncthreads_count(int predicate) {
  return static_cast<int>(
      ::heddle::sim::runtime::block_barrier(::heddle::sim::runtime::barrier_kind::count, predicate != 0, true));
}
HEDDLE_COMPAT_INLINE int __syncthreads_and(int predicate) {
  return static_cast<int>(
      ::heddle::sim::runtime::block_barrier(::heddle::sim::runtime::barrier_kind::all, predicate != 0, true));
}
HEDDLE_COMPAT_INLINE int __syncthreads_or(int predicate) {
  return static_cast<int>(
      ::heddle::sim::runtime::block_barrier(::heddle::sim::runtime::barrier_kind::any, predicate != 0, true));
}

// Fences of sequential consistency. (CUDA C++ Programming Guide, "Memory Fence Functions".)
HEDDLE_COMPAT_INLINE void __threadfence_block() {
  ::heddle::sim::runtime::fence(::heddle::memory_order::seq_cst, ::heddle::scope::block);
}
HEDDLE_COMPAT_INLINE void __threadfence() {
  ::heddle::sim::runtime::fence(::heddle::memory_order::seq_cst, ::heddle::scope::device);
}
HEDDLE_COMPAT_INLINE void __threadfence_system() {
  ::heddle::sim::runtime::fence(::heddle::memory_order::seq_cst, ::heddle::scope::system);
}

// Time passes as the schedule has it; a loop that waits for the clock alone comes to its end soon.
HEDDLE_COMPAT_INLINE long long clock64() { return static_cast<long long>(::heddle::sim::runtime::clock()); }

[[noreturn]] HEDDLE_COMPAT_INLINE void __trap() {
  ::heddle::sim::runtime::trap(::heddle::fault::assertion, "__trap()");
  __builtin_unreachable();
}

// The names of <math.h> that are overloaded for integers on GPUs: of a signed and an unsigned one as wide, what C++ makes of both.
#define HEDDLE_MIN_MAX(type)                                   \
  constexpr type min(type a, type b) { return b < a ? b : a; } \
  constexpr type max(type a, type b) { return a < b ? b : a; }
#define HEDDLE_MIN_MAX_MIXED(result, type, other)                                                       \
  constexpr result min(type a, other b) { return min(static_cast<result>(a), static_cast<result>(b)); } \
  constexpr result min(other a, type b) { return min(static_cast<result>(a), static_cast<result>(b)); } \
  constexpr result max(type a, other b) { return max(static_cast<result>(a), static_cast<result>(b)); } \
  constexpr result max(other a, type b) { return max(static_cast<result>(a), static_cast<result>(b)); }
// Of a number and no number, the number.
#define HEDDLE_MIN_MAX_REAL(type)                                        \
  constexpr type min(type a, type b) { return b < a || a != a ? b : a; } \
  constexpr type max(type a, type b) { return a < b || a != a ? b : a; }
HEDDLE_MIN_MAX(int)
HEDDLE_MIN_MAX(unsigned int)
HEDDLE_MIN_MAX(long)
HEDDLE_MIN_MAX(unsigned long)
HEDDLE_MIN_MAX(long long)
HEDDLE_MIN_MAX(unsigned long long)
HEDDLE_MIN_MAX_REAL(float)
HEDDLE_MIN_MAX_REAL(double)
HEDDLE_MIN_MAX_MIXED(unsigned int, int, unsigned int)
HEDDLE_MIN_MAX_MIXED(unsigned long, long, unsigned long)
HEDDLE_MIN_MAX_MIXED(unsigned long long, long long, unsigned long long)
HEDDLE_MIN_MAX_MIXED(double, float, double)
#undef HEDDLE_MIN_MAX
#undef HEDDLE_MIN_MAX_MIXED
#undef HEDDLE_MIN_MAX_REAL

// Bits of words. (CUDA Math API, "Integer Intrinsics".)
constexpr int __popc(unsigned int word) { return __builtin_popcount(word); }
constexpr int __popcll(unsigned long long word) { return __builtin_popcountll(word); }
constexpr int __ffs(int word) { return __builtin_ffs(word); }
constexpr int __ffsll(long long word) { return __builtin_ffsll(word); }
constexpr int __clz(int word) { return word == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(word)); }
constexpr int __clzll(long long word) {
  return word == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(word));
}
