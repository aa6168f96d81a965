// How many of something there are along each of three axes.
#pragma once

#include <stdint.h>

namespace heddle::driver {

struct extent {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;

  constexpr uint64_t count() const { return uint64_t{x} * y * z; }
  /// The place of the thing of this number, where x counts fastest and z slowest.
  constexpr extent at(uint64_t number) const {
    return {static_cast<uint32_t>(number % x), static_cast<uint32_t>(number / x % y),
            static_cast<uint32_t>(number / x / y)};
  }
};

/// The number of the thing at this place: what `all.at(number)` gives.
constexpr uint64_t number_of(const extent& place, const extent& all) {
  return (uint64_t{place.z} * all.y + place.y) * all.x + place.x;
}

}  // namespace heddle::driver
