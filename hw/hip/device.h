// The host side of an AMD GPU, over the HIP runtime. For files that hipcc compiles.
#pragma once

#include <heddle/hw/hip/target.h>
#include <heddle/hw/runtime_device.h>
#include <heddle/rpc/device.h>
#include <hip/hip_runtime.h>

namespace heddle::hip {

namespace detail {

/// Runs the kernel in the first `lanes` lanes of each wave; the others leave at once and are in nobody's mask.
template <typename Kernel>
__global__ void run_lanes(uint32_t lanes, Kernel kernel) {
  if (target::lane_id() < lanes) kernel();
}

/// The calls that runtime_device makes. `name` is what the caller allocates for, said when it fails.
struct runtime {
  using stream = hipStream_t;

  static void check(hipError_t error, const char* call, const char* name = "") {
    if (error != hipSuccess)
      heddle::detail::runtime_failed(call, name, hipGetErrorName(error), hipGetErrorString(error));
  }

  static bool present() {
    int count = 0;
    return hipGetDeviceCount(&count) == hipSuccess && count > 0;
  }

  /// Makes the context now. HIP may load a kernel at its first launch, which would then wait for the one that runs;
  /// launch() sees to that.
  static void start() {
    check(hipSetDevice(0), "hipSetDevice");
    check(hipFree(nullptr), "hipFree");
  }

  static uint32_t wave_lanes() {
    int lanes = 0;
    check(hipDeviceGetAttribute(&lanes, hipDeviceAttributeWarpSize, 0), "hipDeviceGetAttribute");
    return static_cast<uint32_t>(lanes);
  }

  static stream create_stream() {
    stream created{};
    // Non-blocking: it does not wait for the default stream, which others in this program may use.
    check(hipStreamCreateWithFlags(&created, hipStreamNonBlocking), "hipStreamCreateWithFlags");
    return created;
  }
  static void destroy_stream(stream which) { check(hipStreamDestroy(which), "hipStreamDestroy"); }

  /// Coherent memory is what HIP calls memory that the GPU does not cache: a store of either side reaches the other
  /// while the kernel runs. Both sides use the same pointer.
  static void* allocate_shared(size_t bytes, const char* name) {
    void* memory = nullptr;
    check(hipHostMalloc(&memory, bytes, hipHostMallocMapped | hipHostMallocPortable | hipHostMallocCoherent),
          "hipHostMalloc", name);
    return memory;
  }
  static void* allocate_device(size_t bytes, const char* name) {
    void* memory = nullptr;
    check(hipMalloc(&memory, bytes), "hipMalloc", name);
    return memory;
  }
  static void free_shared(void* memory) { check(hipHostFree(memory), "hipHostFree"); }
  static void free_device(void* memory) { check(hipFree(memory), "hipFree"); }

  static void clear(void* memory, size_t bytes, stream where) {
    check(hipMemsetAsync(memory, 0, bytes, where), "hipMemsetAsync");
  }
  static void copy(void* to, const void* from, size_t bytes, stream where) {
    check(hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, where), "hipMemcpyAsync");
  }

  template <typename Kernel>
  static void launch(launch_shape shape, const Kernel& kernel, stream where) {
    // Loads the kernel, if it is not, while nothing has been started that could wait for us.
    hipFuncAttributes attributes{};
    const void* entry = reinterpret_cast<const void*>(&run_lanes<Kernel>);
    check(hipFuncGetAttributes(&attributes, entry), "hipFuncGetAttributes");
    run_lanes<<<dim3(shape.blocks), dim3(shape.waves * wave_lanes()), 0, where>>>(shape.lanes, kernel);
    check(hipGetLastError(), "kernel launch");
  }

  static bool ended(stream which) {
    const hipError_t answer = hipStreamQuery(which);
    if (answer == hipErrorNotReady) return false;
    check(answer, "hipStreamQuery");
    return true;
  }
  static void wait(stream which) { check(hipStreamSynchronize(which), "hipStreamSynchronize"); }
};

}  // namespace detail

using device = runtime_device<detail::runtime>;

}  // namespace heddle::hip
