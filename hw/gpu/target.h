// What the Targets of CUDA and HIP have in common.
//
// nvcc and hipcc compile each file once for the host and once for each GPU. The types are the same in all; what a
// member does is taken from a Machine, which has in the one case the GPU's members and in the other the host's:
//
//   Machine::here                   lanes, position and waiting: the GPU's own, or host::polling_target
//   Machine::atomic_ref<T, scope>   a reference to a word, made of a T&; its members are those of basic_atomic_ref
//   Machine::order(memory_order)    the order as that reference wants it; a constant argument folds to a constant
#pragma once

#include <heddle/rpc/target.h>
#include <stdint.h>
#include <stdio.h>

#include <algorithm>
#include <chrono>
#include <thread>

#ifdef __HIPCC__
#include <hip/hip_runtime.h>
#endif

namespace heddle::gpu {

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

/// Members of a machine's lanes, for a class `Own` that derives from it and has the others.
template <typename Own>
struct lanes {
  /// In two halves: the instruction moves a word.
  static __device__ uint64_t broadcast(uint64_t mask, uint64_t value) {
    const uint32_t low = Own::broadcast(mask, static_cast<uint32_t>(value));
    const uint32_t high = Own::broadcast(mask, static_cast<uint32_t>(value >> 32));
    return (static_cast<uint64_t>(high) << 32) | low;
  }

  static __device__ uint32_t block_id() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

  /// From the thread's number in the block, which is cut into waves in this order. Not from CUDA's %warpid: the PTX ISA
  /// calls it volatile, a warp may be given another one.
  static __device__ uint32_t wave_id() {
    const uint32_t threads = blockDim.x * blockDim.y * blockDim.z;
    const uint32_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    return block_id() * ((threads + Own::lane_count() - 1) / Own::lane_count()) + thread / Own::lane_count();
  }

  static __device__ void wait(doorbell&, uint32_t, uint64_t) { Own::pause(); }

  static __device__ void trap(fault reason, const char* message) {
    printf("heddle: %s: %s\n", reason == fault::assertion ? "assertion" : "protocol", message);
    Own::end_kernel();
  }

  static __device__ bool is_device() { return true; }
};

#endif

/// A word that several lanes, or both sides of the link, use. Members and orders are the standard's; a load that
/// releases and a store that acquires are undefined (host::atomic_ref traps them). What may cross the link to host
/// memory is said where a machine names this class.
template <typename Machine, typename T, scope Scope>
class basic_atomic_ref {
 public:
  HEDDLE_FUNCTION explicit basic_atomic_ref(T& referenced) : word_(referenced) {}

  HEDDLE_FUNCTION T load(memory_order order) const { return ref().load(Machine::order(order)); }
  HEDDLE_FUNCTION void store(T value, memory_order order) const { ref().store(value, Machine::order(order)); }
  HEDDLE_FUNCTION T exchange(T value, memory_order order) const { return ref().exchange(value, Machine::order(order)); }
  HEDDLE_FUNCTION T fetch_or(T bits, memory_order order) const { return ref().fetch_or(bits, Machine::order(order)); }
  HEDDLE_FUNCTION T fetch_and(T bits, memory_order order) const { return ref().fetch_and(bits, Machine::order(order)); }
  HEDDLE_FUNCTION T fetch_add(T amount, memory_order order) const {
    return ref().fetch_add(amount, Machine::order(order));
  }
  HEDDLE_FUNCTION T fetch_sub(T amount, memory_order order) const {
    return ref().fetch_sub(amount, Machine::order(order));
  }
  HEDDLE_FUNCTION T fetch_max(T value, memory_order order) const {
    return ref().fetch_max(value, Machine::order(order));
  }
  HEDDLE_FUNCTION T fetch_min(T value, memory_order order) const {
    return ref().fetch_min(value, Machine::order(order));
  }
  HEDDLE_FUNCTION bool compare_exchange_strong(T& expected, T desired, memory_order order) const {
    return ref().compare_exchange_strong(expected, desired, Machine::order(order));
  }
  HEDDLE_FUNCTION bool compare_exchange_weak(T& expected, T desired, memory_order order) const {
    return ref().compare_exchange_weak(expected, desired, Machine::order(order));
  }

 private:
  HEDDLE_FUNCTION auto ref() const { return typename Machine::template atomic_ref<T, Scope>(word_); }
  T& word_;
};

/// What the members mean is said at heddle::target_machine; here stands what is special about a GPU, and where a
/// machine derives from it, what is special about that one.
template <typename Machine>
struct basic_target {
  HEDDLE_FUNCTION static uint64_t lane_mask() { return Machine::here::lane_mask(); }
  HEDDLE_FUNCTION static uint32_t lane_id() { return Machine::here::lane_id(); }
  HEDDLE_FUNCTION static uint32_t lane_count() { return Machine::here::lane_count(); }
  HEDDLE_FUNCTION static bool is_first_lane(uint64_t mask) { return Machine::here::is_first_lane(mask); }

  HEDDLE_FUNCTION static uint32_t broadcast(uint64_t mask, uint32_t value) {
    return Machine::here::broadcast(mask, value);
  }
  HEDDLE_FUNCTION static uint64_t broadcast(uint64_t mask, uint64_t value) {
    return Machine::here::broadcast(mask, value);
  }
  HEDDLE_FUNCTION static uint64_t ballot(uint64_t mask, bool vote) { return Machine::here::ballot(mask, vote); }
  HEDDLE_FUNCTION static void sync_lanes(uint64_t mask) { Machine::here::sync_lanes(mask); }

  template <typename T, scope Scope>
  using atomic_ref = basic_atomic_ref<Machine, T, Scope>;

  template <scope Scope>
  HEDDLE_FUNCTION static void fence(memory_order order) {
    Machine::here::template fence<Scope>(order);
  }

  /// As heddle::rpc::acquire_seen says.
  template <scope Scope, typename T>
  HEDDLE_FUNCTION static void acquire_seen(T& word) {
    Machine::here::template acquire_seen<Scope>(word);
  }

  /// Two relaxed stores of system scope to neighbouring words, the first aligned to 16 bytes, by one instruction; where there is one.
  template <typename Here = typename Machine::here>
    requires requires(uint64_t* at, uint64_t word) { Here::store_pair(at, word, word); }
  HEDDLE_FUNCTION static void store_pair(uint64_t* at, uint64_t first, uint64_t second) {
    Here::store_pair(at, first, second);
  }

  /// The same for two relaxed loads.
  template <typename Here = typename Machine::here>
    requires requires(const uint64_t* at, uint64_t& word) { Here::load_pair(at, word, word); }
  HEDDLE_FUNCTION static void load_pair(const uint64_t* at, uint64_t& first, uint64_t& second) {
    Here::load_pair(at, first, second);
  }

  /// A GPU's ring wakes no thread of the host: one that waits for its calls naps and looks again.
  static constexpr bool can_wake = false;
  /// For host code. Naps that double up to 200 us, or `most_ns`. Linux adds its timer slack, as host::poll_until_rung says.
  static void nap(uint32_t n, uint64_t most_ns) {
    constexpr uint64_t nap_max_ns = 200'000;
    const uint64_t doubled_ns = n < 8 ? uint64_t{1'000} << n : nap_max_ns;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min({doubled_ns, nap_max_ns, most_ns})));
  }

  /// As host::low_bits, where the host runs it.
  template <typename Here = typename Machine::here>
    requires requires(const uint32_t* words) { Here::low_bits(words); }
  HEDDLE_FUNCTION static uint32_t low_bits(const uint32_t* words) {
    return Here::low_bits(words);
  }
  /// Likewise.
  template <int Bit, typename Here = typename Machine::here>
  HEDDLE_FUNCTION static uint32_t bit_of_each_half(uint64_t halves) {
    return Here::template bit_of_each_half<Bit>(halves);
  }

  HEDDLE_FUNCTION static uint32_t block_id() { return Machine::here::block_id(); }
  /// Dense within the launch.
  HEDDLE_FUNCTION static uint32_t wave_id() { return Machine::here::wave_id(); }

  HEDDLE_FUNCTION static void pause() { Machine::here::pause(); }

  /// A release: a waiter that sees the ring also finds the work that was published before it; pairs with the acquire in
  /// wait().
  ///
  /// The bell usually lies in host memory. Where the link has no atomics the GPU's ring is a read and a write to the
  /// host, and may swallow a ring of a host thread. So a waiter sets a time-out, and looks for work after it whatever
  /// the bell says.
  HEDDLE_FUNCTION static void notify(doorbell& bell) { Machine::here::notify(bell); }

  /// Unless a machine derived from this says otherwise, a kernel cannot interrupt a host thread: this polls, with naps that grow
  /// (host::poll_until_rung). On the GPU,
  /// where no lane can sleep, it returns at once, "for no reason".
  HEDDLE_FUNCTION static void wait(doorbell& bell, uint32_t seen, uint64_t timeout_ns) {
    Machine::here::wait(bell, seen, timeout_ns);
  }

  /// On the GPU: prints a line and ends the kernel.
  HEDDLE_FUNCTION static void trap(fault reason, const char* message) { Machine::here::trap(reason, message); }

  HEDDLE_FUNCTION static bool is_device() { return Machine::here::is_device(); }
};

}  // namespace heddle::gpu
