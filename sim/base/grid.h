// The shape of a launch as GPU runtimes give it: in threads, in three dimensions.
#pragma once

#include <heddle/driver/extent.h>

#include <stddef.h>
#include <stdint.h>

namespace heddle::sim {

using driver::extent;

/// A block's threads are cut into waves in the order of their numbers; the last wave may have fewer lanes than the others. The blocks of a
/// cluster have places on the device at the same time. (CUDA C++ Programming Guide, "Thread Block Clusters".)
struct grid_shape {
  extent grid;               ///< in blocks
  extent block;              ///< in threads
  extent cluster = {};       ///< in blocks; the grid has a multiple of it along each axis
  uint32_t wave_lanes = 32;  ///< 1 to 64
  size_t shared_bytes = 0;   ///< dynamic shared memory of each block
  uint32_t stream = 0;       ///< 0 is the default stream
  /// It may begin when all blocks of the kernel in front of it in the stream have said so or ended. (CUDA C++ Programming Guide, "Programmatic
  /// Dependent Launch and Synchronization".)
  bool early = false;
  bool cooperative = false;     ///< its blocks may meet
  const char* named = nullptr;  ///< what the stream does by one lane that is no kernel of the program's: "memset"
};

/// The position of a lane in its launch.
struct grid_position {
  extent thread;  ///< within the block, each from 0
  extent block;   ///< within the grid, each from 0
  extent block_size;
  extent grid_size;
  extent cluster_size;      ///< in blocks
  size_t shared_bytes = 0;  ///< dynamic shared memory of the block
  uint32_t launch = 0;      ///< its number in the run

  /// The block's place within its cluster, and its number there; the cluster's place within the grid.
  constexpr extent in_cluster() const {
    return {block.x % cluster_size.x, block.y % cluster_size.y, block.z % cluster_size.z};
  }
  constexpr uint32_t cluster_rank() const {
    const extent at = in_cluster();
    return (at.z * cluster_size.y + at.y) * cluster_size.x + at.x;
  }
  constexpr extent cluster() const {
    return {block.x / cluster_size.x, block.y / cluster_size.y, block.z / cluster_size.z};
  }
  constexpr extent clusters() const {
    return {grid_size.x / cluster_size.x, grid_size.y / cluster_size.y, grid_size.z / cluster_size.z};
  }
};

}  // namespace heddle::sim
