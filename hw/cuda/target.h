// The machine that is an NVIDIA GPU, for code that nvcc compiles: lanes of a kernel, and the host threads beside them.
//
// The seam between the two compilations of a file is gpu::basic_target's; here stands what only this machine does.
#pragma once

#include <heddle/hw/gpu/pairs.h>
#include <heddle/hw/gpu/target.h>
#include <heddle/hw/host/target.h>
#include <heddle/rpc/target.h>
#include <stdint.h>

#include <cuda/atomic>

namespace heddle::cuda {

namespace detail {

/// The standard's name of an order, in libcu++. A constant argument folds to a constant.
HEDDLE_FUNCTION constexpr ::cuda::std::memory_order standard_order(memory_order order) {
  switch (order) {
    case memory_order::relaxed:
      return ::cuda::std::memory_order_relaxed;
    case memory_order::acquire:
      return ::cuda::std::memory_order_acquire;
    case memory_order::release:
      return ::cuda::std::memory_order_release;
    case memory_order::acq_rel:
      return ::cuda::std::memory_order_acq_rel;
    case memory_order::seq_cst:
      break;
  }
  return ::cuda::std::memory_order_seq_cst;
}

/// PTX has no scope of a warp, and libcu++ none of a cluster: each is the next wider one.
HEDDLE_FUNCTION constexpr ::cuda::thread_scope thread_scope(scope wanted) {
  switch (wanted) {
    case scope::wave:
    case scope::block:
      return ::cuda::thread_scope_block;
    case scope::cluster:
    case scope::device:
      return ::cuda::thread_scope_device;
    case scope::system:
      break;
  }
  return ::cuda::thread_scope_system;
}

#ifdef __CUDA_ARCH__

/// The members of target on the GPU.
struct lanes : heddle::gpu::lanes<lanes>, heddle::gpu::pairs {
  static __device__ uint64_t lane_mask() { return __activemask(); }

  /// From the special register, which numbers lanes as masks do. That threadIdx counts along is how blocks are cut into
  /// warps, no rule of the PTX ISA.
  static __device__ uint32_t lane_id() {
    uint32_t lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
  }

  static __device__ uint32_t lane_count() { return 32; }
  static __device__ bool is_first_lane(uint64_t mask) { return lane_id() == first_lane(mask); }

  static __device__ uint32_t broadcast(uint64_t mask, uint32_t value) {
    return __shfl_sync(narrow(mask), value, static_cast<int>(first_lane(mask)));
  }
  using heddle::gpu::lanes<lanes>::broadcast;

  static __device__ uint64_t ballot(uint64_t mask, bool vote) { return __ballot_sync(narrow(mask), vote); }
  static __device__ void sync_lanes(uint64_t mask) { __syncwarp(narrow(mask)); }

  template <scope Scope>
  static __device__ void fence(memory_order order) {
    ::cuda::atomic_thread_fence(standard_order(order), thread_scope(Scope));
  }

  /// From Hopper on a fence that only acquires: it invalidates the first-level cache and waits for no store. Elsewhere PTX's fences wait for
  /// what was stored before, so that a load is cheaper, which ptxas makes one with the relaxed load before it.
  template <scope Scope, typename T>
  static __device__ void acquire_seen(T& word) {
#if __CUDA_ARCH__ >= 900 && (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 8))
    if constexpr (Scope == scope::system)
      asm volatile("fence.acquire.sys;" ::: "memory");
    else
      fence<Scope>(memory_order::acquire);
#else
    (void)::cuda::atomic_ref<T, thread_scope(Scope)>(word).load(::cuda::std::memory_order_acquire);
#endif
  }

  static __device__ void pause() { __nanosleep(64); }

  static __device__ void notify(doorbell& bell) {
    ::cuda::atomic_ref<doorbell, ::cuda::thread_scope_system>(bell).fetch_add(1, ::cuda::std::memory_order_release);
  }

  static __device__ void end_kernel() { __trap(); }

 private:
  /// A warp has 32 lanes: the upper half of its masks is zero.
  static __device__ uint32_t narrow(uint64_t mask) { return static_cast<uint32_t>(mask); }
  static __device__ uint32_t first_lane(uint64_t mask) {
    return static_cast<uint32_t>(__ffs(static_cast<int>(narrow(mask))) - 1);
  }
};

#endif

/// What gpu::basic_target takes from the compilation.
struct machine {
#ifdef __CUDA_ARCH__
  using here = lanes;
  template <typename T, scope Scope>
  using atomic_ref = ::cuda::atomic_ref<T, thread_scope(Scope)>;
  HEDDLE_FUNCTION static constexpr auto order(memory_order wanted) { return standard_order(wanted); }
#else
  using here = host::polling_target;
  template <typename T, scope Scope>
  using atomic_ref = host::atomic_ref<T, Scope>;
  HEDDLE_FUNCTION static constexpr auto order(memory_order wanted) { return wanted; }
#endif
};

}  // namespace detail

/// What may cross the link to mapped host memory: on a GPU without hostNativeAtomicSupported only loads and stores of
/// aligned words. Everything else is atomic among the lanes of the GPU, and a read and a write to the host. (CUDA C++
/// memory model.)
template <typename T, scope Scope>
using atomic_ref = gpu::basic_atomic_ref<detail::machine, T, Scope>;

/// What is special about this machine:
///
/// - lane_mask() is a snapshot: since Volta other lanes may come to the same point of the program later.
/// - A collective waits until every lane of the mask has come to it.
/// - The link has atomics where hostNativeAtomicSupported is 1: see notify().
/// - trap() ends the context too. The next call of the runtime reports the error in any case; the line arrives only if
///   the runtime still reads its print buffer then.
struct target : gpu::basic_target<detail::machine> {};

}  // namespace heddle::cuda
