// Clocks and occupancy of an NVIDIA GPU. For files that nvcc compiles.
#pragma once

#include "machine_gpu.h"

#include <heddle/hw/cuda/device.h>

namespace heddle::bench::machine {

inline constexpr const char* name = "cuda";

/// Cycles of the multiprocessor, on which a wave stays. (%clock64, PTX ISA.)
HEDDLE_FUNCTION inline uint64_t ticks() {
#ifdef __CUDA_ARCH__
  return static_cast<uint64_t>(clock64());
#else
  return 0;
#endif
}

/// Nanoseconds, the same on the whole device, in steps of up to a microsecond: too coarse for a call. (%globaltimer, PTX ISA.)
HEDDLE_FUNCTION inline uint64_t shared_ticks() {
#ifdef __CUDA_ARCH__
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return 0;
#endif
}
inline double shared_tick_ns(cuda::device&) { return 1; }

inline double ticks_per_second(cuda::device& on) {
  int kilohertz = 0;
  const cudaError_t status = cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, static_cast<int>(on.index()));
  gpu::answered<cuda::device::runtime_type>(status, "cudaDeviceGetAttribute", "clock rate").value();
  return 1e3 * kilohertz;
}

template <typename Kernel>
uint32_t resident_waves(cuda::device& on, uint32_t waves_per_block) {
  int blocks = 0;
  int processors = 0;
  const int threads = static_cast<int>(waves_per_block * on.max_lanes());
  cudaError_t status =
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, cuda::device::entry<Kernel>(), threads, 0);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, static_cast<int>(on.index()));
  gpu::answered<cuda::device::runtime_type>(status, "occupancy").value();
  return static_cast<uint32_t>(blocks * processors) * waves_per_block;
}

inline std::string driver() { return driver_of<cuda::device>(); }

}  // namespace heddle::bench::machine
