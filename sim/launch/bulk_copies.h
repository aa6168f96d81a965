// The bulk copies that lanes of kernels have issued: each is an actor of its own, beside the block. (PTX ISA, "cp.async.bulk".)
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/machine/kernel.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace heddle::sim {

class bulk_copies {
 public:
  explicit bulk_copies(run_core& core) : core_(core) {}

  void reset() {
    issued_ = 0;
    in_groups_.clear();
    if (memory_used_ != 0) [[unlikely]]
      memory_used_ = 0;
  }
  /// Starts an actor that runs `how_to_run` with these bytes. How many there were in the run.
  uint32_t issue(lane& self, const bulk_copy& what, const fiber_body& how_to_run);
  /// The waves of those that the lane has issued, in its groups below this number.
  std::vector<uint32_t> of_groups_below(const lane& issuer, uint32_t groups, bool async = false) const;
  /// The lane has waited for the end of this one.
  void forget(uint32_t id) { std::erase(in_groups_, id); }
  /// Whether the block that issued the copy has not ended.
  bool block_is_live(const wave& of) const;
  /// Memory of the lane in this run, zero the first time, by what it is for.
  void* memory_of(const lane& self, const void* key, size_t size_bytes);
  /// A search is told that its states lack what copies beside a lane wait for.
  void leave_out_of_proofs();
  /// The memory of lanes, for a search.
  void visit_state(state_reader& to) const;
  /// The copy has ended; whether its kernel has with it.
  static bool has_ended(lane& copies);

 private:
  run_core& core_;
  uint32_t issued_ = 0;
  /// In use up to `memory_used_`; what is behind that is used again.
  struct lane_memory {
    uint32_t lane = 0;
    const void* key = nullptr;
    std::vector<std::byte> bytes;
  };
  std::deque<lane_memory> memory_;
  size_t memory_used_ = 0;
  std::vector<uint32_t> in_groups_;  ///< those that a lane may still wait for, by id
};

}  // namespace heddle::sim
