// The host side of an NVIDIA GPU, over the CUDA runtime. For files that nvcc compiles.
#pragma once

#include <cuda_runtime.h>
#include <heddle/hw/cuda/target.h>
#include <heddle/hw/runtime_device.h>
#include <heddle/rpc/device.h>
#include <stdlib.h>

namespace heddle::cuda {

namespace detail {

inline constexpr uint32_t warp_lanes = 32;

/// Runs the kernel in the first `lanes` lanes of each warp; the others leave at once and are in nobody's mask.
template <typename Kernel>
__global__ void run_lanes(uint32_t lanes, Kernel kernel) {
  if (target::lane_id() < lanes) kernel();
}

/// The calls that runtime_device makes. `name` is what the caller allocates for, said when it fails.
struct runtime {
  using stream = cudaStream_t;

  static void check(cudaError_t error, const char* call, const char* name = "") {
    if (error != cudaSuccess)
      heddle::detail::runtime_failed(call, name, cudaGetErrorName(error), cudaGetErrorString(error));
  }

  /// Before the program's first use of CUDA this has all kernels loaded with the context. A kernel that is loaded at its
  /// first launch may have to wait for the one that runs, which may be waiting for a request that this thread should
  /// serve. ("Lazy Loading", CUDA C++ Programming Guide.) Too late when the program has used CUDA before; launch() has a
  /// second answer.
  static void load_eagerly() { setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/0); }

  static bool present() {
    load_eagerly();
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  }

  /// Makes the context now, not at the first launch.
  static void start() {
    load_eagerly();
    check(cudaSetDevice(0), "cudaSetDevice");
    check(cudaFree(nullptr), "cudaFree");
  }

  static uint32_t wave_lanes() { return warp_lanes; }

  static stream create_stream() {
    stream created{};
    // Non-blocking: it does not wait for the default stream, which others in this program may use.
    check(cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return created;
  }
  static void destroy_stream(stream which) { check(cudaStreamDestroy(which), "cudaStreamDestroy"); }

  /// With unified addressing, which every 64-bit system has, both sides use the same pointer.
  static void* allocate_shared(size_t bytes, const char* name) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc", name);
    return memory;
  }
  static void* allocate_device(size_t bytes, const char* name) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes), "cudaMalloc", name);
    return memory;
  }
  static void free_shared(void* memory) { check(cudaFreeHost(memory), "cudaFreeHost"); }
  static void free_device(void* memory) { check(cudaFree(memory), "cudaFree"); }

  static void clear(void* memory, size_t bytes, stream where) {
    check(cudaMemsetAsync(memory, 0, bytes, where), "cudaMemsetAsync");
  }
  static void copy(void* to, const void* from, size_t bytes, stream where) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, where), "cudaMemcpyAsync");
  }

  template <typename Kernel>
  static void launch(launch_shape shape, const Kernel& kernel, stream where) {
    // Loads the kernel, if it is not, while nothing has been started that could wait for us.
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, run_lanes<Kernel>), "cudaFuncGetAttributes");
    run_lanes<<<shape.blocks, shape.waves * warp_lanes, 0, where>>>(shape.lanes, kernel);
    check(cudaGetLastError(), "kernel launch");
  }

  static bool ended(stream which) {
    const cudaError_t answer = cudaStreamQuery(which);
    if (answer == cudaErrorNotReady) return false;
    check(answer, "cudaStreamQuery");
    return true;
  }
  static void wait(stream which) { check(cudaStreamSynchronize(which), "cudaStreamSynchronize"); }
};

}  // namespace detail

using device = runtime_device<detail::runtime>;

}  // namespace heddle::cuda
