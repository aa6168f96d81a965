// The shape of a launch as GPU runtimes give it: in threads, in three dimensions.
#pragma once

#include <heddle/driver/extent.h>

#include <stddef.h>
#include <stdint.h>

namespace heddle::sim {

using driver::extent;

/// A block's threads are cut into waves in the order of their numbers; the last wave may have fewer lanes than the others.
struct grid_shape {
  extent grid;               ///< in blocks
  extent block;              ///< in threads
  uint32_t wave_lanes = 32;  ///< 1 to 64
  size_t shared_bytes = 0;   ///< dynamic shared memory of each block
  uint32_t stream = 0;       ///< 0 is the default stream
};

/// The position of a lane in its launch.
struct grid_position {
  extent thread;  ///< within the block, each from 0
  extent block;   ///< within the grid, each from 0
  extent block_size;
  extent grid_size;
};

}  // namespace heddle::sim
