// CUDA on the simulator: what a source that nvcc compiles finds in <cuda_runtime.h>, and what nvcc itself declares.
//
// For files that heddle_simulate_cuda() compiles (docs/existing-code.md): launches `<<<>>>`, `__shared__` and the like are rewritten
// before the compiler sees them (tools/rewrite/rewrite.h). What is missing here is not simulated.
#pragma once

// As nvcc does by itself.
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmath>
#include <cstdlib>
#include <new>
#include <utility>

#include <heddle/sim/compat/atomics.h>
#include <heddle/sim/compat/clusters.h>
#include <heddle/sim/compat/host_sources.h>
#include <heddle/sim/compat/intrinsics.h>
#include <heddle/sim/compat/lanes.h>
#include <heddle/sim/compat/launch.h>
#include <heddle/sim/compat/memory.h>
#include <heddle/sim/compat/nv_atomics.h>
#include <heddle/sim/compat/ptx/ptx.h>
#include <heddle/sim/compat/vectors.h>

// Which toolkit this is as, and the names by which other headers know that its own have been included.
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 12080
#define __CUDART_API_VERSION CUDART_VERSION
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__
#define __VECTOR_TYPES_H__
#define __CUDA_ARCH_LIST__ __CUDA_ARCH__
#define __CUDA_ARCH_FEAT_SM90_ALL
#define CUDART_CB
#define CUDARTAPI
#define __host__
#define __inline_hint__
#define __nv_pure__
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __cudart_builtin__
#define __maxnreg__(...)
#if !defined(__clang__)
#define __builtin_assume(holds) static_cast<void>(0)
#endif

#define HEDDLE_GPU_PREFIX cuda
#define HEDDLE_GPU_VERSION CUDART_VERSION
#define HEDDLE_GPU_ATTRIBUTE(name) cudaDevAttr##name
#define HEDDLE_GPU_ATTRIBUTE_TYPE cudaDeviceAttr
#define HEDDLE_GPU_PROPERTIES cudaDeviceProp
#define HEDDLE_GPU_POINTER_ATTRIBUTES cudaPointerAttributes
#define HEDDLE_GPU_LEAST_PRIORITY 0
#define HEDDLE_GPU_MEMORY device_alone
#define HEDDLE_COMPAT_FIRST_P2P_ATTRIBUTE 1
#define HEDDLE_GPU_STAGES true
#define HEDDLE_GPU_GREATEST_PRIORITY (-5)
#include <heddle/sim/compat/runtime_api.h>

// As old sources call it.
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
// A flag, and the stream that no other is: a null pointer is made of nothing but a literal.
#define cudaStreamDefault 0x00

#include <heddle/sim/compat/cuda_errors.h>

// -- the host side, where CUDA has names of its own

inline constexpr unsigned int cudaHostAllocDefault = 0;
inline constexpr unsigned int cudaHostAllocPortable = 1;
inline constexpr unsigned int cudaHostAllocMapped = 2;
inline constexpr unsigned int cudaHostAllocWriteCombined = 4;
inline constexpr unsigned int cudaMemAttachGlobal = 1;
inline constexpr unsigned int cudaMemAttachHost = 2;
inline constexpr unsigned int cudaMemAttachSingle = 4;
inline constexpr unsigned int cudaDeviceScheduleAuto = 0;
inline constexpr unsigned int cudaDeviceScheduleSpin = 1;
inline constexpr unsigned int cudaDeviceScheduleYield = 2;
inline constexpr unsigned int cudaDeviceScheduleBlockingSync = 4;
inline constexpr unsigned int cudaDeviceBlockingSync = 4;
inline constexpr unsigned int cudaDeviceScheduleMask = 7;
inline constexpr unsigned int cudaDeviceMapHost = 8;
inline constexpr unsigned int cudaDeviceLmemResizeToMax = 16;
inline constexpr unsigned int cudaOccupancyDefault = 0;
#define cudaStreamLegacy (reinterpret_cast<cudaStream_t>(uintptr_t{1}))
#define cudaStreamPerThread (reinterpret_cast<cudaStream_t>(uintptr_t{2}))
inline constexpr int cudaCpuDeviceId = -1;
inline constexpr int cudaInvalidDeviceId = -2;

template <typename T>
cudaError_t cudaHostAlloc(T** memory, size_t bytes, unsigned int flags) {
  if (flags > (cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) return cudaErrorInvalidValue;
  const bool combines = (flags & cudaHostAllocWriteCombined) != 0;
  heddle::compat::allocate(memory, bytes, heddle::compat::place_on_host(combines), "cudaHostAlloc");
  return cudaSuccess;
}
inline cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }
/// Pinned memory is mapped always; how a thread waits is for the schedule to say.
inline cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return (flags & ~(cudaDeviceScheduleMask | cudaDeviceMapHost | cudaDeviceLmemResizeToMax)) == 0
             ? cudaSuccess
             : cudaErrorInvalidValue;
}
inline cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  *flags = cudaDeviceMapHost;
  return cudaSuccess;
}
inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
inline cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }

// -- launches with attributes

enum cudaAccessProperty { cudaAccessPropertyNormal, cudaAccessPropertyStreaming, cudaAccessPropertyPersisting };
struct cudaAccessPolicyWindow {
  void* base_ptr;
  size_t num_bytes;
  float hitRatio;
  cudaAccessProperty hitProp, missProp;
};
enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeAccessPolicyWindow = 1,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributePriority = 8,
  cudaLaunchAttributeMemSyncDomain = 10,
};
union cudaLaunchAttributeValue {
  char pad[64];
  cudaAccessPolicyWindow accessPolicyWindow;
  int cooperative;
  struct {
    unsigned int x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
  int priority;
  int memSyncDomain;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned int numAttrs;
};
using cudaStreamAttrID = cudaLaunchAttributeID;
using cudaStreamAttrValue = cudaLaunchAttributeValue;
inline constexpr cudaStreamAttrID cudaStreamAttributeAccessPolicyWindow = cudaLaunchAttributeAccessPolicyWindow;
inline cudaError_t cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue*) {
  return cudaSuccess;
}

/// Of the attributes, those of a cooperative launch, of clusters and of an early begin have a meaning here.
struct heddle_launch {
  heddle::sim::grid_shape shape;
  bool is_cooperative = false;
};
inline heddle_launch heddle_launch_of(const cudaLaunchConfig_t& how) {
  heddle_launch made = {heddle::compat::shape(how.gridDim, how.blockDim, how.dynamicSmemBytes, how.stream)};
  for (unsigned int n = 0; n < how.numAttrs; ++n) {
    const cudaLaunchAttribute& one = how.attrs[n];
    if (one.id == cudaLaunchAttributeCooperative) made.is_cooperative = one.val.cooperative != 0;
    if (one.id == cudaLaunchAttributeProgrammaticStreamSerialization)
      made.shape.early = one.val.programmaticStreamSerializationAllowed != 0;
    if (one.id == cudaLaunchAttributeClusterDimension)
      made.shape.cluster = {one.val.clusterDim.x, one.val.clusterDim.y, one.val.clusterDim.z};
  }
  return made;
}
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* how, void (*kernel)(Parameters...), Arguments&&... arguments) {
  heddle_launch asked = heddle_launch_of(*how);
  heddle::sim::runtime::take_clusters(asked.shape,
                                      heddle::sim::runtime::clusters_of(reinterpret_cast<const void*>(kernel)));
  heddle::compat::launch_cooperatively(
      asked.is_cooperative, kernel, asked.shape,
      static_cast<std::remove_cv_t<Parameters>>(std::forward<Arguments>(arguments))...);
  return cudaSuccess;
}
/// By the address of the kernel and those of its arguments.
inline cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* how, const void* kernel, void** arguments) {
  const heddle_launch asked = heddle_launch_of(*how);
  heddle::compat::launch_by_address(kernel, asked.shape, {.addresses = arguments, .cooperative = asked.is_cooperative});
  return cudaSuccess;
}
/// Of one multiprocessor for each block that has a place. (CUDA Runtime API, "Occupancy".)
template <typename Kernel>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, Kernel*, const cudaLaunchConfig_t* how) {
  const heddle::sim::extent each = heddle_launch_of(*how).shape.cluster;
  const int threads = static_cast<int>(heddle::compat::extent_of(how->blockDim).count());
  if (threads <= 0 || each.count() == 0) return cudaErrorInvalidValue;
  *clusters = heddle::compat::blocks_of_multiprocessor(threads, how->dynamicSmemBytes) *
              heddle::compat::multiprocessors / static_cast<int>(each.count());
  return cudaSuccess;
}
template <typename Kernel>
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, Kernel*, const cudaLaunchConfig_t*) {
  *blocks = 8;  // on every device that has clusters
  return cudaSuccess;
}
HEDDLE_COMPAT_INLINE void cudaGridDependencySynchronize() { heddle::sim::runtime::wait_for_kernel_before(); }
HEDDLE_COMPAT_INLINE void cudaTriggerProgrammaticLaunchCompletion() { heddle::sim::runtime::let_next_kernel_begin(); }

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

// -- what HIP does not have

constexpr unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
constexpr unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
constexpr long long llmin(long long a, long long b) { return min(a, b); }
constexpr long long llmax(long long a, long long b) { return max(a, b); }
constexpr unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
constexpr unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
