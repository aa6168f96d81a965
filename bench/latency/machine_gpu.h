// What measuring needs of a GPU beyond Target and Device, as far as CUDA and HIP agree.
#pragma once

#include <heddle/rpc/result.h>
#include <heddle/rpc/rpc.h>

#include <stdint.h>

#include <string>

namespace heddle::bench::machine {

/// One wave a block spreads few waves over the whole device. Many need larger blocks, or the limit on blocks is met first.
inline uint32_t waves_per_block(uint32_t waves) { return waves >= 64 && waves % 4 == 0 ? 4 : 1; }

/// Lanes are lanes.
template <typename Use>
auto with_lanes(uint32_t, Use use) {
  return use(target{});
}
inline uint32_t launched_lanes(uint32_t lanes) { return lanes; }
template <typename Device>
uint32_t lanes_max(Device& on) {
  return on.max_lanes();
}
inline bool has_lanes(uint32_t lanes) { return lanes > 0; }

template <typename Device>
std::string device_name(Device& on) {
  result<std::string> name = on.name();
  return name ? name.value() : name.why().line();
}
template <typename Device>
std::string driver_of() {
  result<int> version = Device::driver_version();
  return version ? std::to_string(version.value()) : version.why().line();
}
inline constexpr bool memory_is_one = false;

}  // namespace heddle::bench::machine
