// The shape of a launch as GPU runtimes give it: in threads, in three dimensions.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace heddle::sim {

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

/// A block's threads are cut into waves in the order of their numbers; the last wave may have fewer lanes than the others.
struct grid_shape {
  extent grid;               ///< in blocks
  extent block;              ///< in threads
  uint32_t wave_lanes = 32;  ///< 1 to 64
  size_t shared_bytes = 0;   ///< dynamic shared memory of each block
  uint32_t stream = 0;       ///< 0 is the default stream
};

/// Where a lane stands in its launch.
struct grid_position {
  extent thread;  ///< within the block, each from 0
  extent block;   ///< within the grid, each from 0
  extent block_size;
  extent grid_size;
};

}  // namespace heddle::sim
