// The machine that is an NVIDIA GPU, for code that nvcc compiles: lanes of a kernel, and the host threads beside them.
//
// nvcc compiles each file once for the host and once for the GPU. The types are the same in both; what a member does is
// taken from `here`, which is the GPU in the one and host::polling_target in the other.
#pragma once

#include <heddle/hw/host/target.h>
#include <heddle/rpc/target.h>
#include <stdint.h>
#include <stdio.h>

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

/// PTX has no scope of a warp: the block is the next wider one.
HEDDLE_FUNCTION constexpr ::cuda::thread_scope thread_scope(scope wanted) {
  switch (wanted) {
    case scope::wave:
    case scope::block:
      return ::cuda::thread_scope_block;
    case scope::device:
      return ::cuda::thread_scope_device;
    case scope::system:
      break;
  }
  return ::cuda::thread_scope_system;
}

#ifdef __CUDA_ARCH__

/// The members of target on the GPU.
struct gpu {
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
  static __device__ uint64_t broadcast(uint64_t mask, uint64_t value) {
    const uint32_t low = broadcast(mask, static_cast<uint32_t>(value));
    const uint32_t high = broadcast(mask, static_cast<uint32_t>(value >> 32));
    return (static_cast<uint64_t>(high) << 32) | low;
  }
  static __device__ uint64_t ballot(uint64_t mask, bool vote) { return __ballot_sync(narrow(mask), vote); }
  static __device__ void sync_lanes(uint64_t mask) { __syncwarp(narrow(mask)); }

  template <scope Scope>
  static __device__ void fence(memory_order order) {
    ::cuda::atomic_thread_fence(standard_order(order), thread_scope(Scope));
  }

  static __device__ uint32_t block_id() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

  /// Not from %warpid: the PTX ISA calls it volatile, a warp may be given another one.
  static __device__ uint32_t wave_id() {
    const uint32_t threads = blockDim.x * blockDim.y * blockDim.z;
    const uint32_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    return block_id() * ((threads + 31) / 32) + thread / 32;
  }

  static __device__ void pause() { __nanosleep(64); }

  static __device__ void notify(doorbell& bell) {
    ::cuda::atomic_ref<doorbell, ::cuda::thread_scope_system>(bell).fetch_add(1, ::cuda::std::memory_order_release);
  }

  static __device__ void wait(doorbell&, uint32_t, uint64_t) { pause(); }

  static __device__ void trap(fault reason, const char* message) {
    printf("heddle: %s: %s\n", reason == fault::assertion ? "assertion" : "protocol", message);
    __trap();
  }

  static __device__ bool is_device() { return true; }

 private:
  /// A warp has 32 lanes: the upper half of its masks is zero.
  static __device__ uint32_t narrow(uint64_t mask) { return static_cast<uint32_t>(mask); }
  static __device__ uint32_t first_lane(uint64_t mask) {
    return static_cast<uint32_t>(__ffs(static_cast<int>(narrow(mask))) - 1);
  }
};

using here = gpu;
template <typename T, scope Scope>
using atomic_ref_here = ::cuda::atomic_ref<T, thread_scope(Scope)>;
HEDDLE_FUNCTION constexpr auto order_here(memory_order order) { return standard_order(order); }

#else

using here = host::polling_target;
template <typename T, scope Scope>
using atomic_ref_here = host::atomic_ref<T, Scope>;
HEDDLE_FUNCTION constexpr auto order_here(memory_order order) { return order; }

#endif

}  // namespace detail

/// A word that several lanes, or both sides of the link, use. Members and orders are the standard's; a load that
/// releases and a store that acquires are undefined (host::atomic_ref traps them).
///
/// What may cross the link to mapped host memory: on a GPU without hostNativeAtomicSupported only loads and stores of
/// aligned words. Everything else is atomic among the lanes of the GPU, and a read and a write to the host. (CUDA C++
/// memory model.)
template <typename T, scope Scope>
class atomic_ref {
 public:
  HEDDLE_FUNCTION explicit atomic_ref(T& referenced) : word_(referenced) {}

  HEDDLE_FUNCTION T load(memory_order order) const { return ref().load(detail::order_here(order)); }
  HEDDLE_FUNCTION void store(T value, memory_order order) const { ref().store(value, detail::order_here(order)); }
  HEDDLE_FUNCTION T exchange(T value, memory_order order) const {
    return ref().exchange(value, detail::order_here(order));
  }
  HEDDLE_FUNCTION T fetch_or(T bits, memory_order order) const {
    return ref().fetch_or(bits, detail::order_here(order));
  }
  HEDDLE_FUNCTION T fetch_and(T bits, memory_order order) const {
    return ref().fetch_and(bits, detail::order_here(order));
  }
  HEDDLE_FUNCTION T fetch_add(T amount, memory_order order) const {
    return ref().fetch_add(amount, detail::order_here(order));
  }
  HEDDLE_FUNCTION T fetch_sub(T amount, memory_order order) const {
    return ref().fetch_sub(amount, detail::order_here(order));
  }
  HEDDLE_FUNCTION T fetch_max(T value, memory_order order) const {
    return ref().fetch_max(value, detail::order_here(order));
  }
  HEDDLE_FUNCTION T fetch_min(T value, memory_order order) const {
    return ref().fetch_min(value, detail::order_here(order));
  }
  HEDDLE_FUNCTION bool compare_exchange_strong(T& expected, T desired, memory_order order) const {
    return ref().compare_exchange_strong(expected, desired, detail::order_here(order));
  }
  HEDDLE_FUNCTION bool compare_exchange_weak(T& expected, T desired, memory_order order) const {
    return ref().compare_exchange_weak(expected, desired, detail::order_here(order));
  }

 private:
  HEDDLE_FUNCTION auto ref() const { return detail::atomic_ref_here<T, Scope>(word_); }
  T& word_;
};

/// What the members mean is said at heddle::target_machine; here stands what is special about this machine.
struct target {
  /// A snapshot: since Volta other lanes may come to the same place later.
  HEDDLE_FUNCTION static uint64_t lane_mask() { return detail::here::lane_mask(); }
  HEDDLE_FUNCTION static uint32_t lane_id() { return detail::here::lane_id(); }
  HEDDLE_FUNCTION static uint32_t lane_count() { return detail::here::lane_count(); }
  HEDDLE_FUNCTION static bool is_first_lane(uint64_t mask) { return detail::here::is_first_lane(mask); }

  // A collective waits until every lane of the mask has come to it.
  HEDDLE_FUNCTION static uint32_t broadcast(uint64_t mask, uint32_t value) {
    return detail::here::broadcast(mask, value);
  }
  HEDDLE_FUNCTION static uint64_t broadcast(uint64_t mask, uint64_t value) {
    return detail::here::broadcast(mask, value);
  }
  HEDDLE_FUNCTION static uint64_t ballot(uint64_t mask, bool vote) { return detail::here::ballot(mask, vote); }
  HEDDLE_FUNCTION static void sync_lanes(uint64_t mask) { detail::here::sync_lanes(mask); }

  template <typename T, scope Scope>
  using atomic_ref = cuda::atomic_ref<T, Scope>;

  template <scope Scope>
  HEDDLE_FUNCTION static void fence(memory_order order) {
    detail::here::template fence<Scope>(order);
  }

  HEDDLE_FUNCTION static uint32_t block_id() { return detail::here::block_id(); }
  /// Dense within the launch.
  HEDDLE_FUNCTION static uint32_t wave_id() { return detail::here::wave_id(); }

  HEDDLE_FUNCTION static void pause() { detail::here::pause(); }

  /// A release: who sees the ring also finds the work that was published before it; pairs with the acquire in wait().
  ///
  /// The bell usually lies in mapped host memory. Where the link has no atomics (hostNativeAtomicSupported is 0) the
  /// GPU's ring is a read and a write to the host, and may swallow a ring of a host thread. So a waiter sets a
  /// time-out, and looks for work after it whatever the bell says.
  HEDDLE_FUNCTION static void notify(doorbell& bell) { detail::here::notify(bell); }

  /// A kernel cannot interrupt a host thread: this polls, with naps that grow (host::poll_until_rung). On the GPU,
  /// where no lane can sleep, it returns at once, "for no reason".
  HEDDLE_FUNCTION static void wait(doorbell& bell, uint32_t seen, uint64_t timeout_ns) {
    detail::here::wait(bell, seen, timeout_ns);
  }

  /// On the GPU: prints a line and ends the kernel, and with it the context. The next call of the runtime reports the
  /// error in any case; the line arrives only if the runtime still reads its print buffer then.
  HEDDLE_FUNCTION static void trap(fault reason, const char* message) { detail::here::trap(reason, message); }

  HEDDLE_FUNCTION static bool is_device() { return detail::here::is_device(); }
};

}  // namespace heddle::cuda
