// The host side of an AMD GPU, over the HIP runtime. For files that hipcc compiles.
#pragma once

#include <heddle/hw/gpu/device.h>
#include <heddle/hw/hip/target.h>
#include <hip/hip_runtime.h>

namespace heddle::hip {

namespace detail {

/// HIP as a gpu::runtime: what a member does is said there. A lambda chooses where HIP has several functions of a name,
/// and adds what is always the same.
struct runtime {
  using target = hip::target;
  using stream = hipStream_t;
  using event = hipEvent_t;

  using status = hipError_t;
  static constexpr status success = hipSuccess;
  static constexpr status not_ready = hipErrorNotReady;
  static status last_error() { return hipGetLastError(); }
  static const char* error_name(status of) { return hipGetErrorName(of); }
  static const char* error_text(status of) { return hipGetErrorString(of); }

  // -- devices --------------------------------------------------------------------------------------------------------

  static constexpr auto device_count = gpu::call("hipGetDeviceCount", hipGetDeviceCount);
  static constexpr auto get_device = gpu::call("hipGetDevice", hipGetDevice);
  static constexpr auto set_device = gpu::call("hipSetDevice", hipSetDevice);

  using attribute = hipDeviceAttribute_t;
  static constexpr attribute wave_lanes = hipDeviceAttributeWarpSize;
  static constexpr attribute host_reaches_memory = hipDeviceAttributeDirectManagedMemAccessFromHost;
  static constexpr attribute concurrent_access = hipDeviceAttributeConcurrentManagedAccess;
  static constexpr auto device_attribute = gpu::call("hipDeviceGetAttribute", hipDeviceGetAttribute);
  /// The runtime does not say. What PCIe's AtomicOps have is what ROCm asks of a computer (its system requirements), and uses itself, for
  /// its signals and queues.
  static constexpr auto link_atomics = gpu::call("hipDeviceGetAttribute", [](link_properties* found, int) {
    found->add = found->swap = found->compare = true;
    return success;
  });
  using properties = hipDeviceProp_t;
  static constexpr auto device_properties = gpu::call(
      "hipGetDeviceProperties", [](properties* all, int index) { return hipGetDeviceProperties(all, index); });
  static constexpr auto driver_version = gpu::call("hipDriverGetVersion", hipDriverGetVersion);

  // -- memory ---------------------------------------------------------------------------------------------------------

  /// Coherent memory is what HIP calls memory that the GPU does not cache: a store of either side reaches the other
  /// while the kernel runs. Both sides use the same pointer.
  static constexpr auto allocate_host = gpu::call("hipHostMalloc", [](void** memory, size_t bytes) {
    return hipHostMalloc(memory, bytes, hipHostMallocMapped | hipHostMallocPortable | hipHostMallocCoherent);
  });
  static constexpr auto allocate_device =
      gpu::call("hipMalloc", [](void** memory, size_t bytes) { return hipMalloc(memory, bytes); });
  /// Other memory of a device is coarse-grained: a kernel sees the host's writes at its start alone, and atomics of system scope act as
  /// those of device scope there (HIP, "Coherence control").
  static constexpr auto allocate_fine = gpu::call("hipExtMallocWithFlags", [](void** memory, size_t bytes) {
    return hipExtMallocWithFlags(memory, bytes, hipDeviceMallocFinegrained);
  });
  static constexpr auto allocate_managed = gpu::call("hipMallocManaged", [](void** memory, size_t bytes) {
    return hipMallocManaged(memory, bytes, hipMemAttachGlobal);
  });

  using advice = hipMemoryAdvise;
  static constexpr advice prefer_location = hipMemAdviseSetPreferredLocation;
  static constexpr advice accessed_by = hipMemAdviseSetAccessedBy;
  static constexpr int host = hipCpuDeviceId;
  static constexpr auto advise = gpu::call("hipMemAdvise", [](void* memory, size_t bytes, advice which, int index) {
    return hipMemAdvise(memory, bytes, which, index);
  });

  static constexpr auto free_host = gpu::call("hipHostFree", hipHostFree);
  static constexpr auto free_device = gpu::call("hipFree", hipFree);
  static constexpr auto memory_info = gpu::call("hipMemGetInfo", hipMemGetInfo);
  static constexpr auto clear = gpu::call(
      "hipMemsetAsync", [](void* memory, size_t bytes, stream in) { return hipMemsetAsync(memory, 0, bytes, in); });
  static constexpr auto copy = gpu::call("hipMemcpyAsync", [](void* to, const void* from, size_t bytes, stream in) {
    return hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, in);
  });

  // -- launches -------------------------------------------------------------------------------------------------------

  /// HIP may load a kernel at its first launch.
  static constexpr auto load = gpu::call("hipFuncGetAttributes", [](auto kernel) {
    hipFuncAttributes attributes{};
    return hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
  });
  static constexpr auto launch =
      gpu::call("hipLaunchKernel", [](auto kernel, uint32_t blocks, uint32_t threads, void** arguments, stream in) {
        return hipLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(threads), arguments, 0, in);
      });

  // -- streams and events ---------------------------------------------------------------------------------------------

  /// Non-blocking: it does not wait for the default stream, which other code of this program may use.
  static constexpr auto create_stream = gpu::call(
      "hipStreamCreateWithFlags", [](stream* made) { return hipStreamCreateWithFlags(made, hipStreamNonBlocking); });
  static constexpr auto destroy_stream = gpu::call("hipStreamDestroy", hipStreamDestroy);
  static constexpr auto query_stream = gpu::call("hipStreamQuery", hipStreamQuery);
  static constexpr auto synchronize_stream = gpu::call("hipStreamSynchronize", hipStreamSynchronize);
  static constexpr auto wait_in_stream = gpu::call(
      "hipStreamWaitEvent", [](stream later, event earlier) { return hipStreamWaitEvent(later, earlier, 0); });
  /// Without times, which make recording and asking slower.
  static constexpr auto create_event = gpu::call(
      "hipEventCreateWithFlags", [](event* made) { return hipEventCreateWithFlags(made, hipEventDisableTiming); });
  static constexpr auto destroy_event = gpu::call("hipEventDestroy", hipEventDestroy);
  static constexpr auto record_event = gpu::call("hipEventRecord", hipEventRecord);
  static constexpr auto query_event = gpu::call("hipEventQuery", hipEventQuery);
  static constexpr auto synchronize_event = gpu::call("hipEventSynchronize", hipEventSynchronize);
};

}  // namespace detail

using device = gpu::basic_device<detail::runtime>;

}  // namespace heddle::hip
