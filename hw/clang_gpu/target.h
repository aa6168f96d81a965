// The machine that is a GPU of either make, for ordinary C++ that clang compiles for the GPU itself: neither CUDA nor HIP, and no library.
//
//   clang++ --target=nvptx64-nvidia-cuda -march=sm_90 -std=c++20 -ffreestanding -fno-exceptions -nogpulib -O2 ...
//   clang++ --target=amdgcn-amd-amdhsa -mcpu=gfx90a -std=c++20 -ffreestanding -fno-exceptions -nogpulib -O2 ...
//
// Lanes and positions are those of <gpuintrin.h>, which clang has from its version 20 on. For clang 19 the part of it that is needed here
// is written below, under the same names.
#pragma once

#include <heddle/hw/gpu/pairs.h>
#include <heddle/rpc/target.h>
#include <stdint.h>

#if !defined(__clang__) || !(defined(__NVPTX__) || defined(__AMDGPU__))
#error "heddle: HEDDLE_TARGET=clang_gpu is for clang with --target=nvptx64-nvidia-cuda or --target=amdgcn-amd-amdhsa"
#endif

#if __has_include(<gpuintrin.h>)
#include <gpuintrin.h>
#else

#ifdef __NVPTX__
#define __gpu_kernel __attribute__((nvptx_kernel))
#define HEDDLE_GPU_AXIS(axis)                                                                                 \
  static inline uint32_t __gpu_num_blocks_##axis() { return uint32_t(__nvvm_read_ptx_sreg_nctaid_##axis()); } \
  static inline uint32_t __gpu_block_id_##axis() { return uint32_t(__nvvm_read_ptx_sreg_ctaid_##axis()); }    \
  static inline uint32_t __gpu_num_threads_##axis() { return uint32_t(__nvvm_read_ptx_sreg_ntid_##axis()); }  \
  static inline uint32_t __gpu_thread_id_##axis() { return uint32_t(__nvvm_read_ptx_sreg_tid_##axis()); }
#else
#define __gpu_kernel __attribute__((amdgpu_kernel, visibility("protected")))
#define HEDDLE_GPU_AXIS(axis)                                                                            \
  static inline uint32_t __gpu_num_blocks_##axis() {                                                     \
    return __builtin_amdgcn_grid_size_##axis() / __builtin_amdgcn_workgroup_size_##axis();               \
  }                                                                                                      \
  static inline uint32_t __gpu_block_id_##axis() { return __builtin_amdgcn_workgroup_id_##axis(); }      \
  static inline uint32_t __gpu_num_threads_##axis() { return __builtin_amdgcn_workgroup_size_##axis(); } \
  static inline uint32_t __gpu_thread_id_##axis() { return __builtin_amdgcn_workitem_id_##axis(); }
#endif
HEDDLE_GPU_AXIS(x)
HEDDLE_GPU_AXIS(y)
HEDDLE_GPU_AXIS(z)
#undef HEDDLE_GPU_AXIS

static inline uint64_t __gpu_first_lane_id(uint64_t mask) {
  return static_cast<uint64_t>(__builtin_ffsll(static_cast<long long>(mask)) - 1);
}

#ifdef __NVPTX__
static inline uint32_t __gpu_num_lanes() { return 32; }
static inline uint32_t __gpu_lane_id() { return static_cast<uint32_t>(__nvvm_read_ptx_sreg_laneid()); }
// Volatile: which lanes stand here may change from one look to the next.
static inline uint64_t __gpu_lane_mask() {
  uint32_t mask;
  asm volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
}
static inline uint32_t __gpu_read_first_lane_u32(uint64_t mask, uint32_t value) {
  return static_cast<uint32_t>(__nvvm_shfl_sync_idx_i32(static_cast<uint32_t>(mask), static_cast<int>(value),
                                                        static_cast<int>(__gpu_first_lane_id(mask)), 31));
}
static inline uint64_t __gpu_ballot(uint64_t mask, bool vote) {
  return __nvvm_vote_ballot_sync(static_cast<uint32_t>(mask), vote);
}
static inline void __gpu_sync_lane(uint64_t mask) { __nvvm_bar_warp_sync(static_cast<uint32_t>(mask)); }
static inline void __gpu_thread_suspend() { asm volatile("nanosleep.u32 64;" ::: "memory"); }
#else
static inline uint32_t __gpu_num_lanes() { return __builtin_amdgcn_wavefrontsize(); }
static inline uint32_t __gpu_lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }
static inline uint64_t __gpu_ballot(uint64_t mask, bool vote) {
#if __AMDGCN_WAVEFRONT_SIZE__ == 32
  return mask & __builtin_amdgcn_ballot_w32(vote);
#else
  return mask & __builtin_amdgcn_ballot_w64(vote);
#endif
}
static inline uint64_t __gpu_lane_mask() { return __gpu_ballot(~uint64_t{0}, true); }
// The instruction reads from the first lane that is switched on and knows no mask.
static inline uint32_t __gpu_read_first_lane_u32(uint64_t, uint32_t value) {
  return static_cast<uint32_t>(__builtin_amdgcn_readfirstlane(static_cast<int>(value)));
}
static inline void __gpu_sync_lane(uint64_t) { __builtin_amdgcn_wave_barrier(); }
static inline void __gpu_thread_suspend() { __builtin_amdgcn_s_sleep(2); }
#endif

static inline uint64_t __gpu_read_first_lane_u64(uint64_t mask, uint64_t value) {
  const uint32_t low = __gpu_read_first_lane_u32(mask, static_cast<uint32_t>(value));
  const uint32_t high = __gpu_read_first_lane_u32(mask, static_cast<uint32_t>(value >> 32));
  return static_cast<uint64_t>(high) << 32 | low;
}

#endif

namespace heddle::clang_gpu {

#ifdef __NVPTX__

// Memory is accessed in PTX itself. From the scoped builtins clang 19 makes read-modify-writes that have neither order nor scope, and has
// no instruction for a load that acquires; libcu++ writes PTX for the same reason. The orders are NVIDIA's mapping of the C++ orders to PTX,
// in which seq_cst is a fence.sc before an acquire, or before a relaxed store. PTX has no scope of a warp: the block is the next wider one.
#define HEDDLE_PTX_SCOPED(MAKE, BEFORE, BEHIND) \
  do {                                          \
    if constexpr (Scope == scope::system)       \
      MAKE(BEFORE, ".sys", BEHIND);             \
    else if constexpr (Scope == scope::device)  \
      MAKE(BEFORE, ".gpu", BEHIND);             \
    else                                        \
      MAKE(BEFORE, ".cta", BEHIND);             \
  } while (false)
#define HEDDLE_PTX_FENCE(BEFORE, SCOPE, BEHIND) asm volatile(BEFORE SCOPE ";" ::: "memory")
#define HEDDLE_PTX_LOAD(BEFORE, SCOPE, BEHIND)                                         \
  if constexpr (sizeof(T) == 8)                                                        \
    asm volatile(BEFORE SCOPE ".b64 %0, [%1];" : "=l"(value) : "l"(word_) : "memory"); \
  else                                                                                 \
    asm volatile(BEFORE SCOPE ".b32 %0, [%1];" : "=r"(value) : "l"(word_) : "memory")
#define HEDDLE_PTX_STORE(BEFORE, SCOPE, BEHIND)                                      \
  if constexpr (sizeof(T) == 8)                                                      \
    asm volatile(BEFORE SCOPE ".b64 [%0], %1;" ::"l"(word_), "l"(value) : "memory"); \
  else                                                                               \
    asm volatile(BEFORE SCOPE ".b32 [%0], %1;" ::"l"(word_), "r"(value) : "memory")
#define HEDDLE_PTX_ATOM(BEFORE, SCOPE, BEHIND)                                                               \
  if constexpr (sizeof(T) == 8)                                                                              \
    asm volatile(BEFORE SCOPE BEHIND "64 %0, [%1], %2;" : "=l"(before) : "l"(word_), "l"(value) : "memory"); \
  else                                                                                                       \
    asm volatile(BEFORE SCOPE BEHIND "32 %0, [%1], %2;" : "=r"(before) : "l"(word_), "r"(value) : "memory")
#define HEDDLE_PTX_CAS(BEFORE, SCOPE, BEHIND)            \
  if constexpr (sizeof(T) == 8)                          \
    asm volatile(BEFORE SCOPE ".b64 %0, [%1], %2, %3;"   \
                 : "=l"(before)                          \
                 : "l"(word_), "l"(expected), "l"(value) \
                 : "memory");                            \
  else                                                   \
    asm volatile(BEFORE SCOPE ".b32 %0, [%1], %2, %3;"   \
                 : "=r"(before)                          \
                 : "l"(word_), "r"(expected), "r"(value) \
                 : "memory")
#define HEDDLE_PTX_ORDERED(MAKE, BEFORE, BEHIND)          \
  switch (order) {                                        \
    case memory_order::relaxed:                           \
      HEDDLE_PTX_SCOPED(MAKE, BEFORE ".relaxed", BEHIND); \
      break;                                              \
    case memory_order::release:                           \
      HEDDLE_PTX_SCOPED(MAKE, BEFORE ".release", BEHIND); \
      break;                                              \
    case memory_order::acq_rel:                           \
      HEDDLE_PTX_SCOPED(MAKE, BEFORE ".acq_rel", BEHIND); \
      break;                                              \
    case memory_order::seq_cst:                           \
      fence<Scope>(order);                                \
      [[fallthrough]];                                    \
    case memory_order::acquire:                           \
      HEDDLE_PTX_SCOPED(MAKE, BEFORE ".acquire", BEHIND); \
      break;                                              \
  }
#define HEDDLE_PTX_MODIFY(NAME, OPERATION, TYPE)                     \
  T NAME(T value, memory_order order) const {                        \
    T before{};                                                      \
    HEDDLE_PTX_ORDERED(HEDDLE_PTX_ATOM, "atom." OPERATION, "." TYPE) \
    return before;                                                   \
  }

template <scope Scope>
inline void fence(memory_order order) {
  if (order == memory_order::seq_cst)
    HEDDLE_PTX_SCOPED(HEDDLE_PTX_FENCE, "fence.sc", "");
  else if (order != memory_order::relaxed)
    HEDDLE_PTX_SCOPED(HEDDLE_PTX_FENCE, "fence.acq_rel", "");
}

/// A word that several lanes, or both sides of the link, use: of 32 or 64 bits, without a sign. What may cross the link is as on CUDA
/// (cuda::atomic_ref).
template <typename T, scope Scope>
class atomic_ref {
  static_assert((sizeof(T) == 4 || sizeof(T) == 8) && T(0) < T(-1), "a word here is unsigned, of 32 or 64 bits");

 public:
  explicit atomic_ref(T& referenced) : word_(&referenced) {}

  T load(memory_order order) const {
    T value{};
    if (order == memory_order::seq_cst) fence<Scope>(order);
    if (order == memory_order::relaxed)
      HEDDLE_PTX_SCOPED(HEDDLE_PTX_LOAD, "ld.relaxed", "");
    else
      HEDDLE_PTX_SCOPED(HEDDLE_PTX_LOAD, "ld.acquire", "");
    return value;
  }
  void store(T value, memory_order order) const {
    if (order == memory_order::seq_cst) fence<Scope>(order);
    if (order == memory_order::release)
      HEDDLE_PTX_SCOPED(HEDDLE_PTX_STORE, "st.release", "");
    else
      HEDDLE_PTX_SCOPED(HEDDLE_PTX_STORE, "st.relaxed", "");
  }
  HEDDLE_PTX_MODIFY(exchange, "exch", "b")
  HEDDLE_PTX_MODIFY(fetch_or, "or", "b")
  HEDDLE_PTX_MODIFY(fetch_and, "and", "b")
  HEDDLE_PTX_MODIFY(fetch_add, "add", "u")
  HEDDLE_PTX_MODIFY(fetch_max, "max", "u")
  HEDDLE_PTX_MODIFY(fetch_min, "min", "u")
  T fetch_sub(T amount, memory_order order) const { return fetch_add(T{0} - amount, order); }
  bool compare_exchange_strong(T& expected, T value, memory_order order) const {
    T before{};
    HEDDLE_PTX_ORDERED(HEDDLE_PTX_CAS, "atom.cas", "")
    const bool same = before == expected;
    expected = before;
    return same;
  }
  bool compare_exchange_weak(T& expected, T value, memory_order order) const {
    return compare_exchange_strong(expected, value, order);
  }

 private:
  T* word_;
};

#undef HEDDLE_PTX_MODIFY
#undef HEDDLE_PTX_ORDERED
#undef HEDDLE_PTX_CAS
#undef HEDDLE_PTX_ATOM
#undef HEDDLE_PTX_STORE
#undef HEDDLE_PTX_LOAD
#undef HEDDLE_PTX_FENCE
#undef HEDDLE_PTX_SCOPED

#else

namespace detail {

/// The compiler's names. A constant argument folds to a constant.
constexpr int builtin_order(memory_order order) {
  return order == memory_order::relaxed   ? __ATOMIC_RELAXED
         : order == memory_order::acquire ? __ATOMIC_ACQUIRE
         : order == memory_order::release ? __ATOMIC_RELEASE
         : order == memory_order::acq_rel ? __ATOMIC_ACQ_REL
                                          : __ATOMIC_SEQ_CST;
}
constexpr int builtin_scope(scope wanted) {
  return wanted == scope::wave     ? __MEMORY_SCOPE_WVFRNT
         : wanted == scope::block  ? __MEMORY_SCOPE_WRKGRP
         : wanted != scope::system ? __MEMORY_SCOPE_DEVICE
                                   : __MEMORY_SCOPE_SYSTEM;
}

/// What remains of an order where nothing is stored.
constexpr int builtin_failure_order(memory_order order) {
  if (order == memory_order::seq_cst) return __ATOMIC_SEQ_CST;
  return order == memory_order::acquire || order == memory_order::acq_rel ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
}

}  // namespace detail

// The make's own builtin wants its order and its scope as literals.
#define HEDDLE_FENCE(ORDER)                       \
  do {                                            \
    if constexpr (Scope == scope::wave)           \
      __builtin_amdgcn_fence(ORDER, "wavefront"); \
    else if constexpr (Scope == scope::block)     \
      __builtin_amdgcn_fence(ORDER, "workgroup"); \
    else if constexpr (Scope != scope::system)    \
      __builtin_amdgcn_fence(ORDER, "agent");     \
    else                                          \
      __builtin_amdgcn_fence(ORDER, "");          \
  } while (false)

template <scope Scope>
inline void fence(memory_order order) {
  if (order == memory_order::acquire)
    HEDDLE_FENCE(__ATOMIC_ACQUIRE);
  else if (order == memory_order::release)
    HEDDLE_FENCE(__ATOMIC_RELEASE);
  else if (order == memory_order::acq_rel)
    HEDDLE_FENCE(__ATOMIC_ACQ_REL);
  else if (order == memory_order::seq_cst)
    HEDDLE_FENCE(__ATOMIC_SEQ_CST);
}

#undef HEDDLE_FENCE

#define HEDDLE_MODIFY(NAME)                                                              \
  T NAME(T value, memory_order order) const {                                            \
    return __scoped_atomic_##NAME(word_, value, detail::builtin_order(order), in_scope); \
  }

/// A word that several lanes, or both sides of the link, use. What may cross the link is as on HIP (hip::atomic_ref); fetch_sub is an
/// addition for this reason.
template <typename T, scope Scope>
class atomic_ref {
 public:
  explicit atomic_ref(T& referenced) : word_(&referenced) {}

  T load(memory_order order) const { return __scoped_atomic_load_n(word_, detail::builtin_order(order), in_scope); }
  void store(T value, memory_order order) const {
    __scoped_atomic_store_n(word_, value, detail::builtin_order(order), in_scope);
  }
  T exchange(T value, memory_order order) const {
    return __scoped_atomic_exchange_n(word_, value, detail::builtin_order(order), in_scope);
  }
  HEDDLE_MODIFY(fetch_or)
  HEDDLE_MODIFY(fetch_and)
  HEDDLE_MODIFY(fetch_add)
  HEDDLE_MODIFY(fetch_max)
  HEDDLE_MODIFY(fetch_min)
  T fetch_sub(T amount, memory_order order) const { return fetch_add(static_cast<T>(T{0} - amount), order); }
  bool compare_exchange_strong(T& expected, T value, memory_order order) const {
    return __scoped_atomic_compare_exchange_n(word_, &expected, value, false, detail::builtin_order(order),
                                              detail::builtin_failure_order(order), in_scope);
  }
  bool compare_exchange_weak(T& expected, T value, memory_order order) const {
    return compare_exchange_strong(expected, value, order);
  }

 private:
  // A constant, or clang makes a choice at run time of it, which under OpenMP it has been seen to fold to another scope.
  static constexpr int in_scope = detail::builtin_scope(Scope);

  T* word_;
};

#undef HEDDLE_MODIFY

#endif

/// What the members mean is said at heddle::target_machine. What is special about this machine:
///
/// - It is a GPU's side alone, so that all its code is of a lane. The other side of the link is a program of its own, with the host target.
/// - Lanes are as on CUDA (cuda::target) or on HIP (hip::target), whichever make it is compiled for.
/// - trap() ends the kernel and prints nothing: there is no library to print with.
struct target : gpu::pairs {
  static uint64_t lane_mask() { return __gpu_lane_mask(); }
  static uint32_t lane_id() { return __gpu_lane_id(); }
  static uint32_t lane_count() { return __gpu_num_lanes(); }
  static bool is_first_lane(uint64_t mask) {
    return __gpu_lane_id() == static_cast<uint32_t>(__gpu_first_lane_id(mask));
  }

  static uint32_t broadcast(uint64_t mask, uint32_t value) { return __gpu_read_first_lane_u32(mask, value); }
  static uint64_t broadcast(uint64_t mask, uint64_t value) { return __gpu_read_first_lane_u64(mask, value); }
  static uint64_t ballot(uint64_t mask, bool vote) { return __gpu_ballot(mask, vote); }

  /// AMD's barrier orders no memory: the fences keep the compiler from moving, or keeping in registers, what another lane reads.
  static void sync_lanes(uint64_t mask) {
#ifdef __AMDGPU__
    fence<scope::wave>(memory_order::release);
#endif
    __gpu_sync_lane(mask);
#ifdef __AMDGPU__
    fence<scope::wave>(memory_order::acquire);
#endif
  }

  template <typename T, scope Scope>
  using atomic_ref = clang_gpu::atomic_ref<T, Scope>;

  template <scope Scope>
  static void fence(memory_order order) {
    clang_gpu::fence<Scope>(order);
  }

  /// As heddle::rpc::acquire_seen says. PTX's fences wait for what was stored before, so that one more load is cheaper there; a fence that
  /// only acquires is of a later PTX than clang 19 writes.
  template <scope Scope, typename T>
  static void acquire_seen([[maybe_unused]] T& word) {
#ifdef __NVPTX__
    (void)atomic_ref<T, Scope>(word).load(memory_order::acquire);
#else
    fence<Scope>(memory_order::acquire);
#endif
  }

  static uint32_t block_id() {
    return __gpu_block_id_x() + __gpu_num_blocks_x() * (__gpu_block_id_y() + __gpu_num_blocks_y() * __gpu_block_id_z());
  }
  /// Dense within the launch: from the thread's number in the block, which is cut into waves in this order.
  static uint32_t wave_id() {
    const uint32_t threads = __gpu_num_threads_x() * __gpu_num_threads_y() * __gpu_num_threads_z();
    const uint32_t thread = __gpu_thread_id_x() +
                            __gpu_num_threads_x() * (__gpu_thread_id_y() + __gpu_num_threads_y() * __gpu_thread_id_z());
    return block_id() * ((threads + lane_count() - 1) / lane_count()) + thread / lane_count();
  }

  static void pause() { __gpu_thread_suspend(); }

  /// As gpu::basic_target::notify. Release, system scope: pairs with the acquire in wait() of the host's target.
  static void notify(doorbell& bell) { atomic_ref<doorbell, scope::system>(bell).fetch_add(1, memory_order::release); }

  /// No lane can sleep: returns at once, "for no reason".
  static void wait(doorbell&, uint32_t, uint64_t) { pause(); }

  static void trap(fault, const char*) { __builtin_trap(); }

  static bool is_device() { return true; }
};

}  // namespace heddle::clang_gpu
