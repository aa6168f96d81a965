// The machine that is an AMD GPU, for code that hipcc compiles: lanes of a kernel, and the host threads beside them.
//
// The seam between the compilations of a file is gpu::basic_target's; here stands what only this machine does.
//
// Written for ROCm 5.2 and later: none of HIP's _sync intrinsics, which came with 6.2.
#pragma once

#include <heddle/hw/gpu/target.h>
#include <heddle/hw/host/target.h>
#include <heddle/rpc/target.h>
#include <hip/hip_runtime.h>
#include <stdint.h>

namespace heddle::hip {

namespace detail {

#ifdef __HIP_DEVICE_COMPILE__

/// The compiler's name of an order. A constant argument folds to a constant.
__device__ constexpr int builtin_order(memory_order order) {
  switch (order) {
    case memory_order::relaxed:
      return __ATOMIC_RELAXED;
    case memory_order::acquire:
      return __ATOMIC_ACQUIRE;
    case memory_order::release:
      return __ATOMIC_RELEASE;
    case memory_order::acq_rel:
      return __ATOMIC_ACQ_REL;
    case memory_order::seq_cst:
      break;
  }
  return __ATOMIC_SEQ_CST;
}

/// What remains of an order where nothing is stored.
__device__ constexpr int builtin_failure_order(memory_order order) {
  switch (order) {
    case memory_order::relaxed:
    case memory_order::release:
      return __ATOMIC_RELAXED;
    case memory_order::acquire:
    case memory_order::acq_rel:
      return __ATOMIC_ACQUIRE;
    case memory_order::seq_cst:
      break;
  }
  return __ATOMIC_SEQ_CST;
}

__device__ constexpr int builtin_scope(scope wanted) {
  switch (wanted) {
    case scope::wave:
      return __HIP_MEMORY_SCOPE_WAVEFRONT;
    case scope::block:
      return __HIP_MEMORY_SCOPE_WORKGROUP;
    case scope::cluster:
    case scope::device:
      return __HIP_MEMORY_SCOPE_AGENT;
    case scope::system:
      break;
  }
  return __HIP_MEMORY_SCOPE_SYSTEM;
}

/// A reference to a word with the compiler's scoped operations, as the host has one with the standard's.
template <typename T, scope Scope>
class gpu_atomic_ref {
 public:
  explicit __device__ gpu_atomic_ref(T& referenced) : word_(&referenced) {}

  __device__ T load(memory_order order) const {
    return __hip_atomic_load(word_, builtin_order(order), builtin_scope(Scope));
  }
  __device__ void store(T value, memory_order order) const {
    __hip_atomic_store(word_, value, builtin_order(order), builtin_scope(Scope));
  }
  __device__ T exchange(T value, memory_order order) const {
    return __hip_atomic_exchange(word_, value, builtin_order(order), builtin_scope(Scope));
  }
  __device__ T fetch_or(T bits, memory_order order) const {
    return __hip_atomic_fetch_or(word_, bits, builtin_order(order), builtin_scope(Scope));
  }
  __device__ T fetch_and(T bits, memory_order order) const {
    return __hip_atomic_fetch_and(word_, bits, builtin_order(order), builtin_scope(Scope));
  }
  __device__ T fetch_add(T amount, memory_order order) const {
    return __hip_atomic_fetch_add(word_, amount, builtin_order(order), builtin_scope(Scope));
  }
  __device__ T fetch_sub(T amount, memory_order order) const {
    return __hip_atomic_fetch_add(word_, static_cast<T>(T{0} - amount), builtin_order(order), builtin_scope(Scope));
  }
  __device__ T fetch_max(T value, memory_order order) const {
    return __hip_atomic_fetch_max(word_, value, builtin_order(order), builtin_scope(Scope));
  }
  __device__ T fetch_min(T value, memory_order order) const {
    return __hip_atomic_fetch_min(word_, value, builtin_order(order), builtin_scope(Scope));
  }
  __device__ bool compare_exchange_strong(T& expected, T desired, memory_order order) const {
    return __hip_atomic_compare_exchange_strong(word_, &expected, desired, builtin_order(order),
                                                builtin_failure_order(order), builtin_scope(Scope));
  }
  __device__ bool compare_exchange_weak(T& expected, T desired, memory_order order) const {
    return __hip_atomic_compare_exchange_weak(word_, &expected, desired, builtin_order(order),
                                              builtin_failure_order(order), builtin_scope(Scope));
  }

 private:
  T* word_;
};

/// The members of target on the GPU.
struct lanes : heddle::gpu::lanes<lanes> {
  /// A wave has one program counter, so the lanes that are switched on here are the lanes that stand here.
  static __device__ uint64_t lane_mask() { return __ballot(1); }

  /// Counts the lanes below this one; the second half adds nothing in a wave of 32.
  static __device__ uint32_t lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }

  /// 32 or 64, as the code was compiled for.
  static __device__ uint32_t lane_count() { return warpSize; }

  static __device__ bool is_first_lane(uint64_t mask) {
    return lane_id() == static_cast<uint32_t>(__ffsll(static_cast<unsigned long long>(mask)) - 1);
  }

  // The instruction reads from the first lane that is switched on and knows no mask.
  static __device__ uint32_t broadcast(uint64_t, uint32_t value) {
    return static_cast<uint32_t>(__builtin_amdgcn_readfirstlane(static_cast<int>(value)));
  }
  using heddle::gpu::lanes<lanes>::broadcast;

  static __device__ uint64_t ballot(uint64_t mask, bool vote) { return mask & __ballot(vote); }

  /// The barrier keeps the compiler from moving code across and is no instruction; the lanes of a wave stand together
  /// anyhow. The fences are for the compiler too: it may otherwise move or keep in registers what another lane of the
  /// wave reads.
  static __device__ void sync_lanes(uint64_t) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
  }

  // The builtin wants its order and its scope as literals.
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
  static __device__ void fence(memory_order order) {
    switch (order) {
      case memory_order::relaxed:
        break;
      case memory_order::acquire:
        HEDDLE_FENCE(__ATOMIC_ACQUIRE);
        break;
      case memory_order::release:
        HEDDLE_FENCE(__ATOMIC_RELEASE);
        break;
      case memory_order::acq_rel:
        HEDDLE_FENCE(__ATOMIC_ACQ_REL);
        break;
      case memory_order::seq_cst:
        HEDDLE_FENCE(__ATOMIC_SEQ_CST);
        break;
    }
  }

#undef HEDDLE_FENCE

  /// A fence invalidates caches, once, and reads nothing. Earlier compilers write caches back at it too: there one more load is cheaper.
  template <scope Scope, typename T>
  static __device__ void acquire_seen(T& word) {
#if __clang_major__ >= 19
    (void)word;
    fence<Scope>(memory_order::acquire);
#else
    (void)gpu_atomic_ref<T, Scope>(word).load(memory_order::acquire);
#endif
  }

  /// Two units of 64 clocks.
  static __device__ void pause() { __builtin_amdgcn_s_sleep(2); }

  static __device__ void notify(doorbell& bell) {
    gpu_atomic_ref<doorbell, scope::system>(bell).fetch_add(1, memory_order::release);
  }

  static __device__ void end_kernel() { __builtin_trap(); }
};

#endif

/// What gpu::basic_target takes from the compilation.
struct machine {
#ifdef __HIP_DEVICE_COMPILE__
  using here = lanes;
  template <typename T, scope Scope>
  using atomic_ref = gpu_atomic_ref<T, Scope>;
#else
  using here = host::polling_target;
  template <typename T, scope Scope>
  using atomic_ref = host::atomic_ref<T, Scope>;
#endif
  HEDDLE_FUNCTION static constexpr memory_order order(memory_order wanted) { return wanted; }
};

}  // namespace detail

/// What may cross the link to host memory: loads and stores of aligned words; with PCIe atomics also fetch_add,
/// exchange and compare_exchange, and nothing else (PCI Express Base Specification, AtomicOps). fetch_sub is an
/// addition for this reason.
template <typename T, scope Scope>
using atomic_ref = gpu::basic_atomic_ref<detail::machine, T, Scope>;

/// What is special about this machine:
///
/// - lane_mask() is exact: a wave has one program counter.
/// - A collective ignores its mask, but for the bits of a ballot: the mask must name exactly the lanes that stand
/// there.
/// - The link has atomics where it is PCIe with atomics: see notify().
/// - trap() prints by HIP's own calls to the host, and ends the queue; the runtime then ends the program.
struct target : gpu::basic_target<detail::machine> {};

}  // namespace heddle::hip
