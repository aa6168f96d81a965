// CUDA on the simulator: what a source that nvcc compiles finds in <cuda_runtime.h>, and what nvcc itself declares.
//
// For files that heddle_simulate_cuda() compiles (docs/existing-code.md): launches `<<<>>>`, `__shared__` and the like are rewritten
// before the compiler sees them (tools/rewrite/rewrite.h). What is missing here is not simulated.
#pragma once

#include <heddle/sim/compat/atomics.h>
#include <heddle/sim/compat/lanes.h>
#include <heddle/sim/compat/launch.h>
#include <heddle/sim/compat/memory.h>
#include <heddle/sim/compat/ptx/ptx.h>
#include <time.h>

#define HEDDLE_GPU_PREFIX cuda
#define HEDDLE_GPU_LEAST_PRIORITY 0
#define HEDDLE_GPU_GREATEST_PRIORITY (-5)
#include <heddle/sim/compat/runtime_api.h>

// -- the host side, where CUDA has names of its own

inline constexpr unsigned int cudaHostAllocDefault = 0;
inline constexpr unsigned int cudaHostAllocPortable = 1;
inline constexpr unsigned int cudaHostAllocMapped = 2;
inline constexpr unsigned int cudaHostAllocWriteCombined = 4;
inline constexpr unsigned int cudaMemAttachGlobal = 1;
inline constexpr unsigned int cudaDeviceMapHost = 8;

template <typename T>
cudaError_t cudaHostAlloc(T** memory, size_t bytes, unsigned int flags) {
  if (flags > (cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) return cudaErrorInvalidValue;
  heddle::compat::allocate(memory, bytes, false, "cudaHostAlloc");
  return cudaSuccess;
}
inline cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }
/// Pinned memory is mapped always.
inline cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return (flags & ~cudaDeviceMapHost) == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

// -- warps: collectives wait for the lanes of the mask that have not ended

HEDDLE_COMPAT_INLINE unsigned int __activemask() {
  return static_cast<unsigned int>(::heddle::sim::runtime::lane_mask());
}
HEDDLE_COMPAT_INLINE unsigned int __ballot_sync(unsigned int mask, int predicate) {
  return static_cast<unsigned int>(::heddle::sim::runtime::ballot_of_live(mask, predicate != 0));
}
HEDDLE_COMPAT_INLINE void __syncwarp(unsigned int mask = 0xffffffff) { ::heddle::sim::runtime::sync_live(mask); }
/// The end of a turn in a loop that waits; no time passes.
HEDDLE_COMPAT_INLINE void __nanosleep(unsigned int) { ::heddle::sim::runtime::pause(); }
/// Of the host too.
extern "C" HEDDLE_COMPAT_INLINE clock_t clock() noexcept {
  return static_cast<clock_t>(::heddle::sim::runtime::clock());
}

// Loads with a hint for the caches are plain loads.
template <typename T>
HEDDLE_COMPAT_INLINE T __ldg(const T* address) {
  return *address;
}
template <typename T>
HEDDLE_COMPAT_INLINE T __ldcg(const T* address) {
  return *address;
}
template <typename T>
HEDDLE_COMPAT_INLINE T __ldca(const T* address) {
  return *address;
}
