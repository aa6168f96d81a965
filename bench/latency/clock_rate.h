// The rate of a device's clock, for a runtime that does not tell it.
#pragma once

#include <heddle/rpc/rpc.h>

#include <stdint.h>

#include <chrono>
#include <thread>

namespace heddle::bench {

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
