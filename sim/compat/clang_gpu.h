// <gpuintrin.h> on the simulator: clang's intrinsics for GPUs of any make, with the atomic operations that go with them.
// (clang/lib/Headers/gpuintrin.h; masks as on NVIDIA.)
#pragma once

#include <heddle/sim/compat/launch.h>
#include <heddle/sim/compat/scoped.h>
#include <stdint.h>

#define __gpu_kernel
#define __GPU_X_DIM 0
#define __GPU_Y_DIM 1
#define __GPU_Z_DIM 2

#define HEDDLE_GPU_INDEX(name, of, axis) \
  HEDDLE_COMPAT_INLINE uint32_t __gpu_##name##_##axis() { return ::heddle::sim::runtime::position().of.axis; }
#define HEDDLE_GPU_INDICES(name, of)                                                    \
  HEDDLE_GPU_INDEX(name, of, x)                                                         \
  HEDDLE_GPU_INDEX(name, of, y)                                                         \
  HEDDLE_GPU_INDEX(name, of, z)                                                         \
  HEDDLE_COMPAT_INLINE uint32_t __gpu_##name(int dimension) {                           \
    const ::heddle::sim::extent all = ::heddle::sim::runtime::position().of;            \
    return dimension == __GPU_X_DIM ? all.x : dimension == __GPU_Y_DIM ? all.y : all.z; \
  }
HEDDLE_GPU_INDICES(num_blocks, grid_size)
HEDDLE_GPU_INDICES(block_id, block)
HEDDLE_GPU_INDICES(num_threads, block_size)
HEDDLE_GPU_INDICES(thread_id, thread)
#undef HEDDLE_GPU_INDICES
#undef HEDDLE_GPU_INDEX

#ifdef HEDDLE_CLANG_GPU
HEDDLE_COMPAT_INLINE uint32_t __gpu_num_lanes() { return ::heddle::sim::runtime::wave_lanes(); }
#else
HEDDLE_COMPAT_INLINE uint32_t __gpu_num_lanes() { return HEDDLE_COMPAT_WAVE_LANES; }
#endif
HEDDLE_COMPAT_INLINE uint32_t __gpu_lane_id() { return ::heddle::sim::runtime::lane_id(); }
HEDDLE_COMPAT_INLINE uint64_t __gpu_lane_mask() { return ::heddle::sim::runtime::lane_mask(); }
HEDDLE_COMPAT_INLINE uint64_t __gpu_first_lane_id(uint64_t mask) {
  return static_cast<uint64_t>(__builtin_ffsll(static_cast<long long>(mask)) - 1);
}
HEDDLE_COMPAT_INLINE bool __gpu_is_first_in_lane(uint64_t mask) { return __gpu_lane_id() == __gpu_first_lane_id(mask); }

HEDDLE_COMPAT_INLINE uint64_t __gpu_ballot(uint64_t mask, bool predicate) {
  return ::heddle::sim::runtime::ballot_of_live(mask, predicate);
}
HEDDLE_COMPAT_INLINE void __gpu_sync_lane(uint64_t mask) { ::heddle::sim::runtime::sync_live(mask); }
HEDDLE_COMPAT_INLINE void __gpu_sync_threads() {
  ::heddle::sim::runtime::block_barrier(::heddle::sim::runtime::barrier_kind::plain, false, true);
}
HEDDLE_COMPAT_INLINE void __gpu_thread_suspend() { ::heddle::sim::runtime::pause(); }

namespace heddle::compat {

/// The lane of this number in the caller's part of `width` lanes, a power of two; or in the wave, which may have another number of lanes here.
HEDDLE_COMPAT_INLINE uint32_t gpu_source_lane(uint32_t lane, uint32_t width) {
  if (width >= ::__gpu_num_lanes()) return lane % ::__gpu_num_lanes();
  return (::__gpu_lane_id() & ~(width - 1)) | (lane & (width - 1));
}

}  // namespace heddle::compat

// The value of the first lane of the mask, and of any lane of a part of `width` lanes.
#define HEDDLE_GPU_SHUFFLES(type, suffix)                                                           \
  HEDDLE_COMPAT_INLINE type __gpu_read_first_lane_##suffix(uint64_t mask, type value) {             \
    return ::heddle::compat::from_word<type>(::heddle::sim::runtime::shuffle(                       \
        mask, ::heddle::compat::to_word(value), static_cast<uint32_t>(__gpu_first_lane_id(mask)))); \
  }                                                                                                 \
  HEDDLE_COMPAT_INLINE type __gpu_shuffle_idx_##suffix(uint64_t mask, uint32_t lane, type value,    \
                                                       uint32_t width = __gpu_num_lanes()) {        \
    const uint32_t source = ::heddle::compat::gpu_source_lane(lane, width);                         \
    return ::heddle::compat::from_word<type>(                                                       \
        ::heddle::sim::runtime::shuffle(mask, ::heddle::compat::to_word(value), source));           \
  }
HEDDLE_GPU_SHUFFLES(uint32_t, u32)
HEDDLE_GPU_SHUFFLES(uint64_t, u64)
HEDDLE_GPU_SHUFFLES(float, f32)
HEDDLE_GPU_SHUFFLES(double, f64)
#undef HEDDLE_GPU_SHUFFLES

namespace heddle::compat {

/// Calls `use(lane, value)` for each lane of the mask that has not ended, in order, with the value that it gives.
template <typename T, typename Use>
HEDDLE_COMPAT_INLINE void for_each_of_lanes(uint64_t mask, T value, Use&& use) {
  for (uint64_t left = sim::runtime::ballot_of_live(mask, true); left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctzll(left));
    use(lane, from_word<T>(sim::runtime::shuffle(mask, to_word(value), lane)));
  }
}

}  // namespace heddle::compat

// The sum of all lanes of the mask, the sum of those up to the caller, the lanes that give its value, and all of them where all give one.
#define HEDDLE_GPU_SUMS(type, suffix)                                                              \
  HEDDLE_COMPAT_INLINE type __gpu_lane_sum_##suffix(uint64_t mask, type value) {                   \
    type sum = 0;                                                                                  \
    ::heddle::compat::for_each_of_lanes(mask, value, [&](uint32_t, type given) { sum += given; }); \
    return sum;                                                                                    \
  }                                                                                                \
  HEDDLE_COMPAT_INLINE type __gpu_lane_scan_##suffix(uint64_t mask, type value) {                  \
    type sum = 0;                                                                                  \
    ::heddle::compat::for_each_of_lanes(mask, value, [&](uint32_t lane, type given) {              \
      if (lane <= __gpu_lane_id()) sum += given;                                                   \
    });                                                                                            \
    return sum;                                                                                    \
  }
HEDDLE_GPU_SUMS(uint32_t, u32)
HEDDLE_GPU_SUMS(uint64_t, u64)
HEDDLE_GPU_SUMS(float, f32)
HEDDLE_GPU_SUMS(double, f64)
#undef HEDDLE_GPU_SUMS
#define HEDDLE_GPU_MATCHES(type, suffix)                                                                      \
  HEDDLE_COMPAT_INLINE uint64_t __gpu_match_any_##suffix(uint64_t mask, type value) {                         \
    uint64_t same = 0;                                                                                        \
    ::heddle::compat::for_each_of_lanes(                                                                      \
        mask, value, [&](uint32_t lane, type given) { same |= uint64_t{given == value ? 1u : 0u} << lane; }); \
    return same;                                                                                              \
  }                                                                                                           \
  HEDDLE_COMPAT_INLINE uint64_t __gpu_match_all_##suffix(uint64_t mask, type value) {                         \
    const uint64_t same = __gpu_match_any_##suffix(mask, value);                                              \
    return same == ::heddle::sim::runtime::ballot_of_live(mask, true) ? same : 0;                             \
  }
HEDDLE_GPU_MATCHES(uint32_t, u32)
HEDDLE_GPU_MATCHES(uint64_t, u64)
#undef HEDDLE_GPU_MATCHES

// A compiler for the host says no to what is a macro here, and freestanding code then has its own, without scopes.
#ifdef HEDDLE_CLANG_GPU
// What the C++ library, and the simulator's headers, ask their compiler for.
#if __has_builtin(__builtin_clear_padding)
#define HEDDLE_HAS___builtin_clear_padding 1
#endif
#if __has_builtin(__builtin_bit_cast)
#define HEDDLE_HAS___builtin_bit_cast 1
#endif
#if __has_builtin(__builtin_source_location)
#define HEDDLE_HAS___builtin_source_location 1
#endif
#if __has_builtin(__builtin_operator_new)
#define HEDDLE_HAS___builtin_operator_new 1
#endif
#if __has_builtin(__make_integer_seq)
#define HEDDLE_HAS___make_integer_seq 1
#endif
#if __has_builtin(__builtin_launder)
#define HEDDLE_HAS___builtin_launder 1
#endif
#if __has_builtin(__builtin_expect_with_probability)
#define HEDDLE_HAS___builtin_expect_with_probability 1
#endif
#define HEDDLE_HAS___scoped_atomic_load 1
#define HEDDLE_HAS___scoped_atomic_load_n 1
#define HEDDLE_HAS___scoped_atomic_store 1
#define HEDDLE_HAS___scoped_atomic_store_n 1
#define HEDDLE_HAS___scoped_atomic_exchange_n 1
#define HEDDLE_HAS___scoped_atomic_exchange 1
#define HEDDLE_HAS___scoped_atomic_compare_exchange 1
#define HEDDLE_HAS___scoped_atomic_compare_exchange_n 1
#define HEDDLE_HAS___scoped_atomic_add_fetch 1
#define HEDDLE_HAS___scoped_atomic_sub_fetch 1
#define HEDDLE_HAS___scoped_atomic_min_fetch 1
#define HEDDLE_HAS___scoped_atomic_max_fetch 1
#define HEDDLE_HAS___scoped_atomic_and_fetch 1
#define HEDDLE_HAS___scoped_atomic_or_fetch 1
#define HEDDLE_HAS___scoped_atomic_xor_fetch 1
#define HEDDLE_HAS___scoped_atomic_nand_fetch 1
#define HEDDLE_HAS___scoped_atomic_fetch_add 1
#define HEDDLE_HAS___scoped_atomic_fetch_sub 1
#define HEDDLE_HAS___scoped_atomic_fetch_min 1
#define HEDDLE_HAS___scoped_atomic_fetch_max 1
#define HEDDLE_HAS___scoped_atomic_fetch_and 1
#define HEDDLE_HAS___scoped_atomic_fetch_or 1
#define HEDDLE_HAS___scoped_atomic_fetch_xor 1
#define HEDDLE_HAS___scoped_atomic_fetch_nand 1
#define HEDDLE_HAS___scoped_atomic_thread_fence 1
// Without a warning about what follows.
#pragma GCC system_header
#undef __has_builtin
#define __has_builtin(name) (HEDDLE_HAS_##name + 0)
#endif
