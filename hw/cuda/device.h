// The host side of an NVIDIA GPU, over the CUDA runtime. For files that nvcc compiles.
#pragma once

#include <cuda_runtime.h>
#include <heddle/hw/cuda/target.h>
#include <heddle/hw/gpu/device.h>
#include <stdlib.h>

#include <iterator>

namespace heddle::cuda {

namespace detail {

/// CUDA as a gpu::runtime: what a member does is said there. A lambda chooses where CUDA has several functions of a
/// name, and adds what is always the same.
struct runtime {
  using target = cuda::target;
  using stream = cudaStream_t;
  using event = cudaEvent_t;

  using status = cudaError_t;
  static constexpr status success = cudaSuccess;
  static constexpr status not_ready = cudaErrorNotReady;
  static status last_error() { return cudaGetLastError(); }
  static const char* error_name(status of) { return cudaGetErrorName(of); }
  static const char* error_text(status of) { return cudaGetErrorString(of); }

  // -- devices --------------------------------------------------------------------------------------------------------

  /// Before the program's first use of CUDA this has all kernels loaded with the context, and not at their first
  /// launches. ("Lazy Loading", CUDA C++ Programming Guide.) Too late when the program has used CUDA before: load() is
  /// for that.
  static constexpr auto device_count = gpu::call("cudaGetDeviceCount", [](int* found) {
    setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/0);
    return cudaGetDeviceCount(found);
  });
  static constexpr auto get_device = gpu::call("cudaGetDevice", cudaGetDevice);
  static constexpr auto set_device = gpu::call("cudaSetDevice", cudaSetDevice);

  using attribute = cudaDeviceAttr;
  static constexpr attribute wave_lanes = cudaDevAttrWarpSize;
  static constexpr attribute host_reaches_memory = cudaDevAttrDirectManagedMemAccessFromHost;
  static constexpr attribute concurrent_access = cudaDevAttrConcurrentManagedAccess;
  static constexpr auto device_attribute = gpu::call("cudaDeviceGetAttribute", cudaDeviceGetAttribute);
  /// All or none, but from CUDA 13 on, where each operation can be asked for.
  static constexpr auto link_atomics = gpu::call("cudaDeviceGetAttribute", [](link_properties* found, int index) {
    int all = 0;
    status answer = cudaDeviceGetAttribute(&all, cudaDevAttrHostNativeAtomicSupported, index);
    found->add = found->swap = found->compare = found->bits = all != 0;
#if CUDART_VERSION >= 13000
    int some = 0;
    if (answer == success && all == 0)
      answer = cudaDeviceGetAttribute(&some, cudaDevAttrOnlyPartialHostNativeAtomicSupported, index);
    if (answer == success && some != 0) {
      constexpr cudaAtomicOperation asked[] = {cudaAtomicOperationIntegerAdd, cudaAtomicOperationExchange,
                                               cudaAtomicOperationCAS, cudaAtomicOperationOr, cudaAtomicOperationAnd};
      constexpr unsigned whole = cudaAtomicCapabilityScalar32 | cudaAtomicCapabilityScalar64;
      unsigned can[std::size(asked)] = {};
      answer = cudaDeviceGetHostAtomicCapabilities(can, asked, std::size(asked), index);
      const auto has = [&can](size_t n) { return (can[n] & whole) == whole; };
      found->add = has(0);
      found->swap = has(1);
      found->compare = has(2);
      found->bits = has(3) && has(4);
    }
#endif
    return answer;
  });
  using properties = cudaDeviceProp;
  static constexpr auto device_properties = gpu::call(
      "cudaGetDeviceProperties", [](properties* all, int index) { return cudaGetDeviceProperties(all, index); });
  static constexpr auto driver_version = gpu::call("cudaDriverGetVersion", cudaDriverGetVersion);

  // -- memory ---------------------------------------------------------------------------------------------------------

  /// With unified addressing, which every 64-bit system has, both sides use the same pointer.
  static constexpr auto allocate_host = gpu::call("cudaHostAlloc", [](void** memory, size_t bytes) {
    return cudaHostAlloc(memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
  });
  static constexpr auto allocate_device =
      gpu::call("cudaMalloc", [](void** memory, size_t bytes) { return cudaMalloc(memory, bytes); });
  /// Copies and kernels meet in the L2 cache of the device, and both are there in time: no other kind is needed.
  static constexpr auto allocate_fine = allocate_device;
  static constexpr auto allocate_managed = gpu::call("cudaMallocManaged", [](void** memory, size_t bytes) {
    return cudaMallocManaged(memory, bytes, cudaMemAttachGlobal);
  });

  using advice = cudaMemoryAdvise;
  static constexpr advice prefer_location = cudaMemAdviseSetPreferredLocation;
  static constexpr advice accessed_by = cudaMemAdviseSetAccessedBy;
  static constexpr int host = cudaCpuDeviceId;
  static constexpr auto advise = gpu::call("cudaMemAdvise", [](void* memory, size_t bytes, advice which, int index) {
#if CUDART_VERSION >= 13000
    cudaMemLocation where{};
    where.type = index == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    where.id = index == cudaCpuDeviceId ? 0 : index;
    return cudaMemAdvise(memory, bytes, which, where);
#else
    return cudaMemAdvise(memory, bytes, which, index);
#endif
  });

  static constexpr auto free_host = gpu::call("cudaFreeHost", cudaFreeHost);
  static constexpr auto free_device = gpu::call("cudaFree", cudaFree);
  static constexpr auto memory_info = gpu::call("cudaMemGetInfo", cudaMemGetInfo);
  static constexpr auto clear = gpu::call(
      "cudaMemsetAsync", [](void* memory, size_t bytes, stream in) { return cudaMemsetAsync(memory, 0, bytes, in); });
  static constexpr auto copy = gpu::call("cudaMemcpyAsync", [](void* to, const void* from, size_t bytes, stream in) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, in);
  });

  // -- launches -------------------------------------------------------------------------------------------------------

  static constexpr auto load = gpu::call("cudaFuncGetAttributes", [](auto kernel) {
    cudaFuncAttributes attributes{};
    return cudaFuncGetAttributes(&attributes, kernel);
  });
  static constexpr auto launch =
      gpu::call("cudaLaunchKernel", [](auto kernel, uint32_t blocks, uint32_t threads, void** arguments, stream in) {
        return cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), arguments, 0, in);
      });

  // -- streams and events ---------------------------------------------------------------------------------------------

  /// Non-blocking: it does not wait for the default stream, which other code of this program may use.
  static constexpr auto create_stream = gpu::call(
      "cudaStreamCreateWithFlags", [](stream* made) { return cudaStreamCreateWithFlags(made, cudaStreamNonBlocking); });
  static constexpr auto destroy_stream = gpu::call("cudaStreamDestroy", cudaStreamDestroy);
  static constexpr auto query_stream = gpu::call("cudaStreamQuery", cudaStreamQuery);
  static constexpr auto synchronize_stream = gpu::call("cudaStreamSynchronize", cudaStreamSynchronize);
  static constexpr auto wait_in_stream = gpu::call(
      "cudaStreamWaitEvent", [](stream later, event earlier) { return cudaStreamWaitEvent(later, earlier, 0); });
  /// Without times, which make recording and asking slower.
  static constexpr auto create_event = gpu::call(
      "cudaEventCreateWithFlags", [](event* made) { return cudaEventCreateWithFlags(made, cudaEventDisableTiming); });
  static constexpr auto destroy_event = gpu::call("cudaEventDestroy", cudaEventDestroy);
  static constexpr auto record_event = gpu::call("cudaEventRecord", cudaEventRecord);
  static constexpr auto query_event = gpu::call("cudaEventQuery", cudaEventQuery);
  static constexpr auto synchronize_event = gpu::call("cudaEventSynchronize", cudaEventSynchronize);
};

}  // namespace detail

using device = gpu::basic_device<detail::runtime>;

}  // namespace heddle::cuda
