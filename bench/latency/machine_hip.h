// Clocks and occupancy of an AMD GPU. For files that hipcc compiles.
#pragma once

#include "clock_rate.h"
#include "machine_gpu.h"

#include <heddle/hw/hip/device.h>

namespace heddle::bench::machine {

inline constexpr const char* name = "hip";

/// A clock of constant rate, the same on the whole device, in steps of some nanoseconds. (s_memrealtime, AMD ISA documents.)
HEDDLE_FUNCTION inline uint64_t shared_ticks() {
#ifdef __HIP_DEVICE_COMPILE__
  return __builtin_amdgcn_s_memrealtime();
#else
  return 0;
#endif
}
HEDDLE_FUNCTION inline uint64_t ticks() { return shared_ticks(); }

struct shared_clock {
  HEDDLE_FUNCTION uint64_t operator()() const { return shared_ticks(); }
};
/// Asked of the clock itself: older runtimes do not tell its rate.
inline double shared_tick_ns(hip::device& on) {
  static const double measured = measured_tick_ns(on, shared_clock{});
  return measured;
}
inline double ticks_per_second(hip::device& on) { return 1e9 / shared_tick_ns(on); }

template <typename Kernel>
uint32_t resident_waves(hip::device& on, uint32_t waves_per_block) {
  int blocks = 0;
  int processors = 0;
  const int threads = static_cast<int>(waves_per_block * on.max_lanes());
  hipError_t status = hipOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, reinterpret_cast<const void*>(hip::device::entry<Kernel>()), threads, 0);
  if (status == hipSuccess)
    status = hipDeviceGetAttribute(&processors, hipDeviceAttributeMultiprocessorCount, static_cast<int>(on.index()));
  gpu::answered<hip::device::runtime_type>(status, "occupancy").value();
  return static_cast<uint32_t>(blocks * processors) * waves_per_block;
}

inline std::string driver() { return driver_of<hip::device>(); }

}  // namespace heddle::bench::machine
