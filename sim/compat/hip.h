// HIP on the simulator: what a source that hipcc compiles finds in <hip/hip_runtime.h>, and clang's builtins for AMD GPUs.
//
// For files that heddle_simulate_hip() compiles (docs/existing-code.md), as cuda.h for CUDA. A collective without a mask is one of the
// lanes that stand there together; which those are is for the setting `convergence` to say.
#pragma once

#define HEDDLE_GPU_STREAM ihipStream_t
#define HEDDLE_GPU_EVENT ihipEvent_t

#include <heddle/sim/compat/atomics.h>
#include <heddle/sim/compat/host_sources.h>
#include <heddle/sim/compat/hsa.h>
#include <heddle/sim/compat/intrinsics.h>
#include <heddle/sim/compat/lanes.h>
#include <heddle/sim/compat/launch.h>
#include <heddle/sim/compat/memory.h>
#include <heddle/sim/compat/scoped.h>
#include <heddle/sim/compat/vectors.h>

// As hipcc does by itself.
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string_view>
#define __host__

// g++ has no such vectors, and would take the attribute for none: a value of one element, without an error.
#ifndef __clang__
#define ext_vector_type(elements) vector_size(vectors_of_ext_vector_type_need_clang)
#define __ext_vector_type__(elements) ext_vector_type(elements)
#endif

#define HIP_VERSION_MAJOR 6
#define HIP_VERSION_MINOR 4
#define HIP_VERSION_PATCH 0
#define HIP_VERSION 60400000

#define HEDDLE_GPU_PREFIX hip
#define HEDDLE_GPU_VERSION HIP_VERSION
#define HEDDLE_GPU_ATTRIBUTE(name) hipDeviceAttribute##name
#define HEDDLE_GPU_ATTRIBUTE_TYPE hipDeviceAttribute_t
#define HEDDLE_GPU_PROPERTIES hipDeviceProp_t
#define HEDDLE_GPU_POINTER_ATTRIBUTES hipPointerAttribute_t
// A wave of an AMD GPU has one program counter: what `convergence` is by default in a program of this kind (sim/settings.cpp).
extern "C" {
extern const char heddle_waves_have_one_counter __attribute__((weak));
const char heddle_waves_have_one_counter = 1;
}
// Memory of an AMD GPU is mapped for the host.
#define HEDDLE_GPU_LEAST_PRIORITY 1
#define HEDDLE_GPU_MEMORY device_mapped
#define HEDDLE_COMPAT_FIRST_P2P_ATTRIBUTE 0
#define HEDDLE_GPU_STAGES true
#define HEDDLE_GPU_GREATEST_PRIORITY (-1)
#include <heddle/sim/compat/runtime_api.h>
#include <heddle/sim/compat/stream_words.h>

#include <heddle/sim/compat/amdgcn_lanes.h>
#include <heddle/sim/compat/hip_atomics.h>
#include <heddle/sim/compat/hip_host.h>

#define hipStreamPerThread (reinterpret_cast<hipStream_t>(uintptr_t{2}))
// A flag, and the stream that no other is: a null pointer is made of nothing but a literal.
#define hipStreamDefault 0x00
#define HIP_SYMBOL(variable) variable
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, ...)                  \
  ::heddle::compat::launch([=](auto&... heddle_arguments) { kernel(heddle_arguments...); }, \
                           ::heddle::compat::shape(grid, block, shared_bytes, stream) __VA_OPT__(, ) __VA_ARGS__)
// With an event in front of the kernel and one behind it, where they are given.
#define hipExtLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, start, stop, flags, ...)                    \
  do {                                                                                                               \
    const hipEvent_t heddle_start = start;                                                                           \
    const hipEvent_t heddle_stop = stop;                                                                             \
    if (heddle_start != nullptr) (void)hipEventRecord(heddle_start, stream);                                         \
    ::heddle::compat::launch([=](auto&... heddle_arguments) { kernel(heddle_arguments...); },                        \
                             ::heddle::compat::shape(grid, block, shared_bytes, stream) __VA_OPT__(, ) __VA_ARGS__); \
    if (heddle_stop != nullptr) (void)hipEventRecord(heddle_stop, stream);                                           \
    static_cast<void>(flags);                                                                                        \
  } while (false)
#define HIP_DYNAMIC_SHARED(type, name) type* const name = static_cast<type*>(::heddle::sim::runtime::dynamic_shared());

// -- waves

HEDDLE_COMPAT_INLINE unsigned int __lane_id() { return ::heddle::sim::runtime::lane_id(); }
HEDDLE_COMPAT_INLINE unsigned long long __lanemask_eq() { return 1ULL << __lane_id(); }
HEDDLE_COMPAT_INLINE unsigned long long __lanemask_lt() { return __lanemask_eq() - 1; }
HEDDLE_COMPAT_INLINE unsigned long long __lanemask_le() { return __lanemask_lt() | __lanemask_eq(); }
HEDDLE_COMPAT_INLINE unsigned long long __lanemask_gt() { return ~__lanemask_le(); }
HEDDLE_COMPAT_INLINE unsigned long long __lanemask_ge() { return ~__lanemask_lt(); }
HEDDLE_COMPAT_INLINE unsigned long long __activemask() { return ::heddle::sim::runtime::lane_mask(); }
HEDDLE_COMPAT_INLINE unsigned long long __ballot(int predicate) {
  return ::heddle::sim::runtime::ballot_of_live(::heddle::sim::runtime::lane_mask(), predicate != 0);
}
HEDDLE_COMPAT_INLINE int __any(int predicate) { return __ballot(predicate) != 0 ? 1 : 0; }
HEDDLE_COMPAT_INLINE int __all(int predicate) { return __ballot(predicate == 0) == 0 ? 1 : 0; }

template <::heddle::compat::shuffled T>
HEDDLE_COMPAT_INLINE T __shfl(T value, int lane, int width = warpSize) {
  return __shfl_sync(::heddle::sim::runtime::lane_mask(), value, lane, width);
}
template <::heddle::compat::shuffled T>
HEDDLE_COMPAT_INLINE T __shfl_up(T value, unsigned int delta, int width = warpSize) {
  return __shfl_up_sync(::heddle::sim::runtime::lane_mask(), value, delta, width);
}
template <::heddle::compat::shuffled T>
HEDDLE_COMPAT_INLINE T __shfl_down(T value, unsigned int delta, int width = warpSize) {
  return __shfl_down_sync(::heddle::sim::runtime::lane_mask(), value, delta, width);
}
template <::heddle::compat::shuffled T>
HEDDLE_COMPAT_INLINE T __shfl_xor(T value, int lanes, int width = warpSize) {
  return __shfl_xor_sync(::heddle::sim::runtime::lane_mask(), value, lanes, width);
}
HEDDLE_COMPAT_INLINE unsigned long long __ballot_sync(unsigned long long mask, int predicate) {
  return ::heddle::sim::runtime::ballot_of_live(mask, predicate != 0);
}
HEDDLE_COMPAT_INLINE void __syncwarp(unsigned long long mask = ~0ULL) {
  ::heddle::sim::runtime::sync_live(::heddle::sim::runtime::lane_mask() & mask);
}
HEDDLE_COMPAT_INLINE long long wall_clock64() { return clock64(); }

// -- parts of words (HIP, "C++ language extensions")

constexpr unsigned int __bitextract_u32(unsigned int from, unsigned int first, unsigned int count) {
  const unsigned int at = first % 32;
  const unsigned int bits = count % 32;
  return bits == 0 ? 0 : from << (at + bits > 32 ? 0 : 32 - at - bits) >> (at + bits > 32 ? at : 32 - bits);
}
constexpr uint64_t __bitextract_u64(uint64_t from, unsigned int first, unsigned int count) {
  const unsigned int at = first % 64;
  const unsigned int bits = count % 64;
  return bits == 0 ? 0 : from << (at + bits > 64 ? 0 : 64 - at - bits) >> (at + bits > 64 ? at : 64 - bits);
}
constexpr unsigned int __bitinsert_u32(unsigned int into, unsigned int from, unsigned int first, unsigned int count) {
  const unsigned int mask = (1U << count % 32) - 1;
  return (into & ~(mask << first % 32)) | (from & mask) << first % 32;
}
constexpr uint64_t __bitinsert_u64(uint64_t into, uint64_t from, unsigned int first, unsigned int count) {
  const uint64_t mask = (uint64_t{1} << count % 64) - 1;
  return (into & ~(mask << first % 64)) | (from & mask) << first % 64;
}

// -- clang's builtins for AMD GPUs (clang, "AMDGPU builtins"; AMDGPU usage, "Memory Model")

HEDDLE_COMPAT_INLINE int __builtin_amdgcn_readfirstlane(int value) {
  const unsigned long long mask = ::heddle::sim::runtime::lane_mask();
  return ::heddle::compat::shuffle(mask, value, static_cast<uint32_t>(__builtin_ctzll(mask)));
}
HEDDLE_COMPAT_INLINE int __builtin_amdgcn_readlane(int value, int lane) {
  return ::heddle::compat::shuffle(::heddle::sim::runtime::lane_mask(), value, static_cast<uint32_t>(lane));
}
HEDDLE_COMPAT_INLINE uint64_t __builtin_amdgcn_read_exec() { return ::heddle::sim::runtime::lane_mask(); }
HEDDLE_COMPAT_INLINE uint64_t __builtin_amdgcn_ballot_w64(bool predicate) { return __ballot(predicate ? 1 : 0); }
HEDDLE_COMPAT_INLINE uint32_t __builtin_amdgcn_ballot_w32(bool predicate) {
  return static_cast<uint32_t>(__ballot(predicate ? 1 : 0));
}
HEDDLE_COMPAT_INLINE uint32_t __builtin_amdgcn_wavefrontsize() { return HEDDLE_COMPAT_WAVE_LANES; }
HEDDLE_COMPAT_INLINE uint32_t __builtin_amdgcn_mbcnt_lo(uint32_t mask, uint32_t base) {
  const uint32_t lane = __lane_id();
  const uint32_t below = lane < 32 ? (uint32_t{1} << lane) - 1 : ~uint32_t{0};
  return base + static_cast<uint32_t>(__builtin_popcount(mask & below));
}
HEDDLE_COMPAT_INLINE uint32_t __builtin_amdgcn_mbcnt_hi(uint32_t mask, uint32_t base) {
  const uint32_t lane = __lane_id();
  const uint32_t below = lane < 32 ? 0 : (uint32_t{1} << (lane - 32)) - 1;
  return base + static_cast<uint32_t>(__builtin_popcount(mask & below));
}
// Both barriers order what their lanes do, as they do with the fences that belong beside them.
HEDDLE_COMPAT_INLINE void __builtin_amdgcn_wave_barrier() {
  ::heddle::sim::runtime::sync_live(::heddle::sim::runtime::lane_mask());
}
HEDDLE_COMPAT_INLINE void __builtin_amdgcn_s_barrier() { __syncthreads(); }
HEDDLE_COMPAT_INLINE void __builtin_amdgcn_s_sleep(int) { ::heddle::sim::runtime::pause(); }
HEDDLE_COMPAT_INLINE uint64_t __builtin_amdgcn_s_memtime() { return static_cast<uint64_t>(clock64()); }
HEDDLE_COMPAT_INLINE uint64_t __builtin_amdgcn_s_memrealtime() { return static_cast<uint64_t>(wall_clock64()); }
// They wait for what is under way, and order nothing that a fence does not; the compiler moves no access across them.
HEDDLE_COMPAT_INLINE void __builtin_amdgcn_s_waitcnt(int) { __asm__ volatile("" ::: "memory"); }
HEDDLE_COMPAT_INLINE void __builtin_amdgcn_sched_barrier(int) { __asm__ volatile("" ::: "memory"); }
HEDDLE_COMPAT_INLINE void __builtin_amdgcn_s_setprio(int) {}

// Hints for the caches change nothing; a counter of the host's kind is the clock.
#if !defined(__clang__)
#define __builtin_nontemporal_load(address) (*(address))
#define __builtin_nontemporal_store(value, address) (static_cast<void>(*(address) = (value)))
#define __builtin_readsteadycounter() (static_cast<unsigned long long>(wall_clock64()))
#define __builtin_readcyclecounter() (static_cast<unsigned long long>(clock64()))
#endif

namespace heddle::compat {

/// Of "agent", "workgroup" and so on, each also for one address space ("agent-one-as"); nothing is the system. (AMDGPU usage, "Memory Scopes".)
inline scope scope_of_name(std::string_view name) {
  constexpr std::string_view one_space = "one-as";
  if (name.ends_with(one_space)) name.remove_suffix(one_space.size());
  if (name.ends_with('-')) name.remove_suffix(1);
  if (name.empty()) return scope::system;
  if (name == "agent") return scope::device;
  if (name == "cluster") return scope::cluster;
  if (name == "workgroup") return scope::block;
  if (name == "wavefront" || name == "singlethread") return scope::wave;
  sim::runtime::refuse_call("__builtin_amdgcn_fence", "no scope has this name");
}

}  // namespace heddle::compat

HEDDLE_COMPAT_INLINE void __builtin_amdgcn_fence(unsigned int order, const char* scope_name) {
  ::heddle::sim::runtime::fence(::heddle::compat::order_of_builtin(static_cast<int>(order)),
                                ::heddle::compat::scope_of_name(scope_name));
}

#define HEDDLE_AMDGCN_INDEX(axis)                                                 \
  HEDDLE_COMPAT_INLINE uint32_t __builtin_amdgcn_workitem_id_##axis() {           \
    return ::heddle::sim::runtime::position().thread.axis;                        \
  }                                                                               \
  HEDDLE_COMPAT_INLINE uint32_t __builtin_amdgcn_workgroup_id_##axis() {          \
    return ::heddle::sim::runtime::position().block.axis;                         \
  }                                                                               \
  HEDDLE_COMPAT_INLINE uint32_t __builtin_amdgcn_workgroup_size_##axis() {        \
    return ::heddle::sim::runtime::position().block_size.axis;                    \
  }                                                                               \
  HEDDLE_COMPAT_INLINE uint32_t __builtin_amdgcn_grid_size_##axis() {             \
    const ::heddle::sim::grid_position here = ::heddle::sim::runtime::position(); \
    return here.grid_size.axis * here.block_size.axis;                            \
  }
HEDDLE_AMDGCN_INDEX(x)
HEDDLE_AMDGCN_INDEX(y)
HEDDLE_AMDGCN_INDEX(z)
#undef HEDDLE_AMDGCN_INDEX

#include <heddle/sim/compat/ockl.h>

#define hipThreadIdx_x (threadIdx.x)
#define hipThreadIdx_y (threadIdx.y)
#define hipThreadIdx_z (threadIdx.z)
#define hipBlockIdx_x (blockIdx.x)
#define hipBlockIdx_y (blockIdx.y)
#define hipBlockIdx_z (blockIdx.z)
#define hipBlockDim_x (blockDim.x)
#define hipBlockDim_y (blockDim.y)
#define hipBlockDim_z (blockDim.z)
#define hipGridDim_x (gridDim.x)
#define hipGridDim_y (gridDim.y)
#define hipGridDim_z (gridDim.z)
