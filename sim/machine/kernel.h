// A launch as the simulator keeps it, and what the lanes of one of its blocks share.
#pragma once

#include <heddle/sim/base/grid.h>
#include <heddle/sim/fiber/fiber_body.h>
#include <heddle/sim/machine/lane.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim {

/// A copy that a stream is given. A copy engine of its own performs it, on whose stack this lies. A call of the host takes the same place in a
/// stream, and is told from one by its function.
struct stream_copy {
  void* to = nullptr;  ///< of a call: what the function is given
  const void* from = nullptr;
  size_t size_bytes = 0;
  void (*function)(void*) = nullptr;
  const void* place = nullptr;  ///< where the stream was given it, in the code under test
};

/// Names of what orders a launch before its lanes, and the end of work before what waits for it; by its number among launches.
inline const void* object_of_launch(uint32_t ordinal) {
  return reinterpret_cast<const void*>(uintptr_t{2} * ordinal + 2);
}
inline const void* object_of_end(uint32_t ordinal) { return reinterpret_cast<const void*>(uintptr_t{2} * ordinal + 3); }

/// What a lane of a kernel has copied beside its block. (PTX ISA, "cp.async.bulk".)
struct bulk_copy {
  void* to = nullptr;
  const void* from = nullptr;
  uint32_t size_bytes = 0;
  bool loads = false;       ///< into the memory of the block; otherwise out of it
  void* barrier = nullptr;  ///< told of the end by `complete`; null: the copy is one of a group
  void (*complete)(void* barrier, uint32_t size_bytes) = nullptr;
  const void* place = nullptr;  ///< where it was issued, in the code under test
};

/// Where work stands: in which stream, behind which work.
struct place_in_stream {
  uint32_t stream = 0;
  uint32_t ordinal = 0;         ///< its own number among launches
  std::vector<uint32_t> after;  ///< the numbers of what must have ended before it begins
};

/// The state of a block of a kernel.
struct block_state {
  /// A block's own copy of a `__shared__` variable.
  struct variable {
    const void* key = nullptr;
    void* copy = nullptr;
  };
  std::vector<variable> shared;
  uint32_t at_barrier = 0;  ///< lanes that wait at the block's barrier
};

struct launched_kernel {
  grid_shape shape;
  uint32_t blocks = 0;
  uint32_t waves_per_block = 0;
  uint32_t come_blocks =
      0;  ///< that the driver has brought to their devices: all from the beginning, but where its commands are stepped
  uint32_t started_blocks = 0;
  /// The blocks [next, end) that a GPU has yet to start.
  struct share {
    uint32_t gpu = 0;
    uint32_t next = 0;
    uint32_t end = 0;
    std::vector<uint32_t> others = {};  ///< these, where they need not start in order
  };
  share whole;               ///< of a launch on one GPU
  std::vector<share> parts;  ///< otherwise
  uint32_t device = 0;
  uint32_t live_waves = 0;
  uint32_t bulk_copies = 0;   ///< that have not ended: until then it has not, either
  uint32_t placed_waves = 0;  ///< that have a place, where all of them are evicted at once
  size_t first_wave = 0;      ///< among the waves of the run
  uint32_t ordinal = 0;       ///< among the launches of the run
  int32_t priority = 0;       ///< of its stream; the higher comes first
  place_turn place;  ///< of the kernel, where all of it is evicted at once; else of its blocks that have not started
  std::vector<uint32_t> after;  ///< launches that must have ended before this one begins
  fiber_body body;
  std::vector<std::byte> bytes;
  std::vector<block_state> states;  ///< by block; empty before a lane asks for one

  template <typename Visit>
  void for_each_share(Visit&& visit) {
    if (parts.empty()) return visit(whole);
    for (share& each : parts) visit(each);
  }
  template <typename Visit>
  void for_each_share(Visit&& visit) const {
    if (parts.empty()) return visit(whole);
    for (const share& each : parts) visit(each);
  }

  uint32_t lanes_of(uint32_t wave_in_block) const {
    const auto before = wave_in_block * shape.wave_lanes;
    const auto left = static_cast<uint32_t>(shape.block.count()) - before;
    return left < shape.wave_lanes ? left : shape.wave_lanes;
  }
  block_state& state_of(uint32_t block) {
    if (states.empty()) states.resize(blocks);
    return states[block];
  }
};

}  // namespace heddle::sim
