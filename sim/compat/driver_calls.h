// More of the driver API: contexts on a stack, launches with attributes, memory of streams, fills and copies that do not wait. Included by <cuda.h>
// alone.
#pragma once

// -- contexts

namespace heddle::compat {

/// The contexts that a thread has pushed, and not popped yet.
struct context_stack {
  static constexpr size_t most = 32;
  uint32_t devices[most] = {};
  size_t count = 0;
};
inline context_stack& pushed_contexts() {
  static constexpr char key = 0;
  return *static_cast<context_stack*>(sim::runtime::memory_of_lane(&key, sizeof(context_stack)));
}

inline int device_of(CUcontext context) { return static_cast<int>(reinterpret_cast<uintptr_t>(context) - 1); }
/// Whether it is the context of another device than the current one.
inline bool is_peer(CUcontext context) {
  return context != nullptr && is_device(device_of(context)) &&
         static_cast<uint32_t>(device_of(context)) != sim::runtime::current_device();
}

}  // namespace heddle::compat

struct CUctxCreateParams {
  void* execAffinityParams;
  int numExecAffinityParams;
  void* cigParams;
};
inline CUresult heddle_create_context(CUcontext* context, unsigned int flags, CUdevice device) {
  return cuCtxCreate(context, flags, device);
}
/// As from CUDA 13 on. Errors: parameters that ask for a part of a device.
inline CUresult heddle_create_context(CUcontext* context, const CUctxCreateParams* parameters, unsigned int flags,
                                      CUdevice device) {
  if (parameters != nullptr && (parameters->numExecAffinityParams != 0 || parameters->cigParams != nullptr))
    return CUDA_ERROR_NOT_SUPPORTED;
  return cuCtxCreate(context, flags, device);
}
/// Of three arguments or four; of none it stays the function's name, which is not overloaded.
#define cuCtxCreate(...) heddle_create_context(__VA_ARGS__)
inline CUresult cuCtxPushCurrent(CUcontext context) {
  heddle::compat::context_stack& pushed = heddle::compat::pushed_contexts();
  if (pushed.count == heddle::compat::context_stack::most) return CUDA_ERROR_OUT_OF_MEMORY;
  const uint32_t before = heddle::sim::runtime::current_device();
  if (!heddle::compat::enter(context)) return CUDA_ERROR_INVALID_CONTEXT;
  pushed.devices[pushed.count++] = before;
  return CUDA_SUCCESS;
}
inline CUresult cuCtxPopCurrent(CUcontext* context) {
  heddle::compat::context_stack& pushed = heddle::compat::pushed_contexts();
  if (pushed.count == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) cuCtxGetCurrent(context);
  heddle::sim::runtime::set_current_device(pushed.devices[--pushed.count]);
  return CUDA_SUCCESS;
}
inline CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!heddle::compat::is_peer(peer)) return CUDA_ERROR_INVALID_CONTEXT;
  return static_cast<CUresult>(cudaDeviceEnablePeerAccess(heddle::compat::device_of(peer), 0));
}
inline CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  if (!heddle::compat::is_peer(peer)) return CUDA_ERROR_INVALID_CONTEXT;
  return static_cast<CUresult>(cudaDeviceDisablePeerAccess(heddle::compat::device_of(peer)));
}
enum CUdevice_P2PAttribute {
  CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK = 1,
  CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED = 2,
  CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED = 3,
};
inline CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to) {
  return static_cast<CUresult>(cudaDeviceGetP2PAttribute(value, static_cast<cudaDeviceP2PAttr>(attribute), from, to));
}
inline CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  return cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

// -- launches

using CUhostFn = void (*)(void*);
using CUlaunchAttributeID = cudaLaunchAttributeID;
using CUlaunchAttributeValue = cudaLaunchAttributeValue;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_IGNORE = cudaLaunchAttributeIgnore;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_COOPERATIVE = cudaLaunchAttributeCooperative;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = cudaLaunchAttributeClusterDimension;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION =
    cudaLaunchAttributeProgrammaticStreamSerialization;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_PRIORITY = cudaLaunchAttributePriority;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN = cudaLaunchAttributeMemSyncDomain;
struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  CUlaunchAttributeValue value;
};
struct CUlaunchConfig {
  unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned int numAttrs;
};
/// Of the attributes, those that cudaLaunchKernelEx gives a meaning. At most 32.
inline CUresult cuLaunchKernelEx(const CUlaunchConfig* how, CUfunction function, void** arguments, void** extra) {
  constexpr unsigned int most = 32;
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (extra != nullptr || how->numAttrs > most) return CUDA_ERROR_INVALID_VALUE;
  cudaLaunchAttribute given[most];
  for (unsigned int n = 0; n < how->numAttrs; ++n) given[n] = {how->attrs[n].id, how->attrs[n].value};
  const cudaLaunchConfig_t same = {dim3(how->gridDimX, how->gridDimY, how->gridDimZ),
                                   dim3(how->blockDimX, how->blockDimY, how->blockDimZ),
                                   how->sharedMemBytes,
                                   how->hStream,
                                   given,
                                   how->numAttrs};
  return static_cast<CUresult>(cudaLaunchKernelExC(&same, function, arguments));
}
inline constexpr auto cuLaunchCooperativeKernel =
    +[](CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
        unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream,
        void** arguments) -> CUresult {
  CUlaunchAttribute cooperative = {CU_LAUNCH_ATTRIBUTE_COOPERATIVE, {}};
  cooperative.value.cooperative = 1;
  const CUlaunchConfig how = {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, &cooperative, 1};
  return cuLaunchKernelEx(&how, function, arguments, nullptr);
};
inline CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* given) {
  return static_cast<CUresult>(cudaLaunchHostFunc(stream, function, given));
}

// -- memory, in streams

inline CUresult cuMemAllocAsync(CUdeviceptr* memory, size_t bytes, CUstream stream) {
  return cuMemAllocFromPoolAsync(memory, bytes, heddle::compat::pool_of_stream(stream), stream);
}
inline CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream stream) {
  heddle::compat::release_in_stream(heddle::compat::memory_at(memory), stream);
  return CUDA_SUCCESS;
}
inline CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  heddle::compat::copy_in_stream(heddle::compat::memory_at(to), heddle::compat::memory_at(from), bytes,
                                 heddle::compat::direction::by_pointers, stream);
  return CUDA_SUCCESS;
}
inline CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes,
                                  CUstream stream) {
  return cuMemcpyDtoDAsync(to, from, bytes, stream);
}
inline CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes) {
  return cuMemcpyDtoD(to, from, bytes);
}
inline CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  heddle::compat::fill_in_stream(heddle::compat::memory_at(to), value, bytes, stream);
  return CUDA_SUCCESS;
}
inline CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  heddle::compat::fill_words_in_stream(heddle::compat::memory_at(to), value, count, stream);
  return CUDA_SUCCESS;
}
inline CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count) {
  const CUresult done = cuMemsetD16Async(to, value, count, nullptr);
  heddle::compat::complete(heddle::compat::memory_at(to));
  return done;
}
inline CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
  heddle::compat::fill_words_in_stream(heddle::compat::memory_at(to), value, count, stream);
  return CUDA_SUCCESS;
}
inline CUresult cuMemsetD32(CUdeviceptr to, unsigned int value, size_t count) {
  const CUresult done = cuMemsetD32Async(to, value, count, nullptr);
  heddle::compat::complete(heddle::compat::memory_at(to));
  return done;
}
inline CUresult cuMemHostRegister(void* memory, size_t bytes, unsigned int flags) {
  return static_cast<CUresult>(cudaHostRegister(memory, bytes, flags));
}
inline CUresult cuMemHostUnregister(void* memory) { return static_cast<CUresult>(cudaHostUnregister(memory)); }
inline constexpr unsigned int CU_MEMHOSTREGISTER_PORTABLE = 1;
inline constexpr unsigned int CU_MEMHOSTREGISTER_DEVICEMAP = 2;
inline constexpr unsigned int CU_MEMHOSTREGISTER_IOMEMORY = 4;

// -- streams and events

inline CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return static_cast<CUresult>(cudaStreamCreateWithPriority(stream, flags, priority));
}
inline CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  return static_cast<CUresult>(cudaEventElapsedTime(milliseconds, from, to));
}
