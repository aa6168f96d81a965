// What measuring needs of host threads beyond Target and Device: clocks, and how much runs at once.
#pragma once

#include <heddle/hw/host/device.h>
#include <heddle/hw/host/target.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

/// What is written for threads can be measured here, too.
#define HEDDLE_LANES_ARE_THREADS

namespace heddle::bench::machine {

inline constexpr const char* name = "host";

/// The clock that times a call. Any unit, any rate, as long as it is constant during a round.
inline uint64_t ticks() { return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()); }
/// The clock that all waves share; its rate is known.
inline uint64_t shared_ticks() { return ticks(); }
inline double shared_tick_ns(host::device&) {
  return 1e9 * std::chrono::steady_clock::period::num / std::chrono::steady_clock::period::den;
}
/// Roughly, to end a round in time.
inline double ticks_per_second(host::device&) { return 1e9; }

/// Waves that are sure to run at once: any number of threads is. Beyond a few a core nothing new is learned.
template <typename Kernel>
uint32_t resident_waves(host::device&, uint32_t) {
  return 4 * std::max(2U, std::thread::hardware_concurrency());
}

/// One, so that each thread gets a wave.
inline uint32_t waves_per_block(uint32_t) { return 1; }

/// A thread runs all lanes of its wave: their number is part of the type.
template <typename Use>
auto with_lanes(uint32_t lanes, Use use) {
  switch (lanes) {
    case 1:
      return use(host::basic_target<1>{});
    case 8:
      return use(host::basic_target<8>{});
    case 32:
      return use(host::basic_target<32>{});
    default:
      return use(host::basic_target<64>{});
  }
}
inline bool has_lanes(uint32_t lanes) { return lanes == 1 || lanes == 8 || lanes == 32 || lanes == 64; }
inline uint32_t launched_lanes(uint32_t) { return 1; }
inline uint32_t lanes_max(host::device&) { return 64; }

inline std::string device_name(host::device&) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  return "unknown processor";
}
inline std::string driver() { return {}; }
inline constexpr bool memory_is_one = true;

}  // namespace heddle::bench::machine
