// A launch as the simulator keeps it, and what the lanes of one of its blocks share.
#pragma once

#include <heddle/sim/base/grid.h>
#include <heddle/sim/fiber/fiber_body.h>
#include <heddle/sim/machine/lane.h>

#include <array>
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
  call_chain calls = {};  ///< where the stream was given it, in the code under test
  const char* named =
      nullptr;  ///< "copy" or "host function" where that is null; of something else that the stream does on the host
  bool by_gpu = false;  ///< rather than by the host
  /// Of a word that the stream writes, or waits for.
  struct {
    uint64_t value = 0;
    uint64_t mask = 0;        ///< of what is found, what counts
    bool is_ordered = false;  ///< what comes before is visible before
    bool (*holds)(uint64_t found, uint64_t value) = nullptr;
  } word = {};
};

/// Names of what orders a launch before its lanes, and the end of work before what waits for it; by its number among launches.
inline const void* object_of_launch(uint32_t ordinal) {
  return reinterpret_cast<const void*>(uintptr_t{2} * ordinal + 2);
}
inline const void* object_of_end(uint32_t ordinal) { return reinterpret_cast<const void*>(uintptr_t{2} * ordinal + 3); }

/// Likewise of what lanes that arrive at the barrier of a cluster have done, in phases of one parity; and of what the lanes of a block have done
/// when they end.
inline const void* object_of_cluster(uint32_t ordinal, uint32_t cluster, uint64_t phase) {
  return reinterpret_cast<const void*>(uintptr_t{1} << 62 | uintptr_t{ordinal} << 32 | uintptr_t{2} * cluster |
                                       (phase & 1));
}
/// Likewise of what lanes that arrive at the barrier of a block, and do not wait there, have done.
inline const void* object_of_block_barrier(uint32_t ordinal, uint32_t block) {
  return reinterpret_cast<const void*>(uintptr_t{1} << 60 | uintptr_t{ordinal} << 32 | block);
}
inline const void* object_of_block_end(uint32_t ordinal, uint32_t block) {
  return reinterpret_cast<const void*>(uintptr_t{1} << 61 | uintptr_t{ordinal} << 32 | block);
}

/// What a lane of a kernel has copied beside its block. (PTX ISA, "cp.async.bulk".)
struct bulk_copy {
  void* to = nullptr;
  const void* from = nullptr;
  uint32_t size_bytes = 0;
  bool loads = false;       ///< into the memory of the block; otherwise out of it
  void* barrier = nullptr;  ///< told of the end by `complete`; null: the copy is one of a group
  void (*complete)(void* barrier, uint32_t size_bytes) = nullptr;
  const void* place = nullptr;  ///< where it was issued, in the code under test
  bool async = false;           ///< by cp.async: of the proxy that its lane's accesses are of
  uint32_t group = 0;           ///< then: of the lane's copies by cp.async
};

/// What a lane has copied by cp.async, at any time from its issue on until the lane waits for it. (PTX ISA, "cp.async".)
struct async_copy {
  void* to = nullptr;
  const void* from = nullptr;
  uint32_t size_bytes = 0;
  uint32_t given = 0;  ///< of them, that are read; the others become 0
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
    size_t size_bytes = 0;
    const char* name = nullptr;

    bool holds(const void* address) const {
      const auto* const at = static_cast<const std::byte*>(address);
      const auto* const begin = static_cast<const std::byte*>(copy);
      return at >= begin && at <= begin + size_bytes;
    }
  };
  std::vector<variable> shared;
  uint32_t at_barrier = 0;     ///< lanes that wait at the block's barrier
  uint32_t arrivals = 0;       ///< of lanes that have come there in this phase, and do not wait
  std::vector<uint64_t> came;  ///< these lanes, a bit each, by wave of the block; empty where none ever has
  /// The lane that has begun a phase of a barrier of some lanes, and where.
  struct arrival {
    uint32_t lane = 0;
    const void* place = nullptr;
  };
  std::array<arrival, 16> first_of_part;  ///< for reports
  /// Of each wave, the lane that has come first to the phase of such a barrier and waits there; of none in a wave, no place.
  std::array<std::vector<arrival>, 16> first_of_wave;
};

/// The barrier of a cluster, to which a lane comes in two steps. (PTX ISA, "barrier.cluster".)
struct cluster_state {
  /// Lanes of a wave, a bit each.
  struct lanes {
    uint64_t came = 0;     ///< have arrived, and not yet waited
    uint64_t pending = 0;  ///< of those, in the phase that is not over
  };
  std::vector<lanes> waves;  ///< by block in the cluster, then by wave
  uint32_t live = 0;         ///< lanes that have not ended
  uint32_t arrived = 0;      ///< those of them that are pending
  uint64_t phases = 0;       ///< that are over
};

/// Which cluster a block is in, and as which of its blocks.
struct place_in_cluster {
  uint32_t cluster = 0;
  uint32_t rank = 0;
};

struct launched_kernel {
  grid_shape shape;
  uint32_t blocks = 0;
  uint32_t cluster_blocks = 1;
  uint32_t waves_per_block = 0;
  uint32_t come_blocks =
      0;  ///< that the driver has brought to their devices: all from the beginning, but where its commands are stepped
  uint32_t started_blocks = 0;
  /// The blocks that a GPU has yet to start, numbered cluster by cluster: [next, end).
  struct share {
    uint32_t gpu = 0;
    uint32_t next = 0;
    uint32_t end = 0;
    std::vector<uint32_t> others = {};  ///< the first ones of these clusters, where they need not start in order
  };
  share whole;               ///< of a launch on one GPU
  std::vector<share> parts;  ///< otherwise
  uint32_t device = 0;
  uint32_t live_waves = 0;
  uint32_t bulk_copies = 0;   ///< that have not ended
  uint32_t placed_waves = 0;  ///< that have a place, where all of them are evicted at once
  size_t first_wave = 0;      ///< among the waves of the run
  uint32_t ordinal = 0;       ///< among the launches of the run
  int32_t priority = 0;       ///< of its stream; the higher comes first
  place_turn place;  ///< of the kernel, where all of it is evicted at once; else of its blocks that have not started
  std::vector<uint32_t> after;  ///< launches that must have ended before this one begins
  static constexpr uint32_t none = ~uint32_t{0};
  uint32_t early_behind = none;     ///< of those, the one that may let it begin earlier
  std::vector<uint8_t> lets_begin;  ///< by block: whether it lets what comes behind begin; empty: none has yet
  fiber_body body;
  std::vector<std::byte> bytes;
  std::vector<block_state> states;        ///< by block; empty before a lane asks for one
  std::vector<cluster_state> clusters;    ///< likewise, of clusters of several blocks
  std::vector<uint32_t> come_of_cluster;  ///< blocks that the driver has brought, of clusters of several

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

  bool has_ended() const { return live_waves == 0 && bulk_copies == 0; }
  uint32_t lanes_of(uint32_t wave_in_block) const {
    const auto before = wave_in_block * shape.wave_lanes;
    const auto left = static_cast<uint32_t>(shape.block.count()) - before;
    return left < shape.wave_lanes ? left : shape.wave_lanes;
  }
  uint32_t waves_of_cluster() const { return cluster_blocks * waves_per_block; }
  place_in_cluster place_of(uint32_t block) const {
    if (cluster_blocks == 1) return {.cluster = block, .rank = 0};
    const grid_position at = {.thread = {},
                              .block = shape.grid.at(block),
                              .block_size = {},
                              .grid_size = shape.grid,
                              .cluster_size = shape.cluster};
    return {.cluster = static_cast<uint32_t>(number_of(at.cluster(), at.clusters())), .rank = at.cluster_rank()};
  }
  /// The block of this place.
  uint32_t block_of(place_in_cluster wanted) const {
    if (cluster_blocks == 1) return wanted.cluster;
    const extent all = {shape.grid.x / shape.cluster.x, shape.grid.y / shape.cluster.y, shape.grid.z / shape.cluster.z};
    const extent cluster = all.at(wanted.cluster);
    const extent within = shape.cluster.at(wanted.rank);
    return static_cast<uint32_t>(
        number_of({cluster.x * shape.cluster.x + within.x, cluster.y * shape.cluster.y + within.y,
                   cluster.z * shape.cluster.z + within.z},
                  shape.grid));
  }
  cluster_state& state_of_cluster(uint32_t cluster) {
    if (clusters.empty()) clusters.resize(blocks / cluster_blocks);
    return clusters[cluster];
  }
  block_state& state_of(uint32_t block) {
    if (states.empty()) states.resize(blocks);
    return states[block];
  }
};

}  // namespace heddle::sim
