// What lanes of NVIDIA's and of AMD's GPUs do alike. Only in a compilation for the GPU there is anything in it.
#pragma once

#include <heddle/rpc/target.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __HIPCC__
#include <hip/hip_runtime.h>
#endif

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

namespace heddle::gpu {

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

}  // namespace heddle::gpu

#endif
