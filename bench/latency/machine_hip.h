// Clocks and occupancy of an AMD GPU. For files that hipcc compiles.
#pragma once

#include "machine_gpu.h"

#include <heddle/hw/hip/device.h>
#include <heddle/rpc/rpc.h>

#include <stdint.h>

#include <chrono>
#include <thread>

namespace heddle::bench {

// The rate of a device's clock, for a runtime that does not tell it.

/// Reads the clock once for each request of the host.
template <typename Clock>
struct read_clock {
  uint32_t* requests;  ///< asked for, and answered
  uint64_t* readings;
  Clock clock;

  HEDDLE_FUNCTION void operator()() const {
    using word = target::atomic_ref<uint32_t, scope::system>;
    for (uint32_t n = 1; n <= 2; ++n) {
      // Acquire and release pair with those of measured_tick_ns().
      while (word(requests[0]).load(memory_order::acquire) < n) target::pause();
      readings[n - 1] = clock();
      word(requests[1]).store(n, memory_order::release);
    }
  }
};

/// Nanoseconds from one tick to the next, by the host's clock: two readings, far apart beside what a request takes.
template <typename Device, typename Clock>
double measured_tick_ns(Device& on, Clock clock) {
  using word = target::atomic_ref<uint32_t, scope::system>;
  using host_clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds apart{50};
  uint32_t* const requests = on.template allocate_shared<uint32_t>(2, "requests");
  uint64_t* const readings = on.template allocate_shared<uint64_t>(2, "readings");
  on.launch({}, read_clock<Clock>{requests, readings, clock});
  host_clock::time_point taken[2];
  for (uint32_t n = 1; n <= 2; ++n) {
    if (n == 2) std::this_thread::sleep_for(apart);
    word(requests[0]).store(n, memory_order::release);
    while (word(requests[1]).load(memory_order::acquire) != n) (void)on.query();
    taken[n - 1] = host_clock::now();
  }
  on.synchronize();
  const std::chrono::duration<double, std::nano> between = taken[1] - taken[0];
  const double tick_ns = between.count() / static_cast<double>(readings[1] - readings[0]);
  on.free(requests);
  on.free(readings);
  return tick_ns;
}

}  // namespace heddle::bench

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
