// What the lanes of a wave, or of a block, do together: collectives, masks of active lanes, and the block's barrier.
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/machine/kernel.h>

#include <cstdint>
#include <vector>

namespace heddle::sim {

class collectives {
 public:
  explicit collectives(run_core& core) : core_(core) {}

  void reset() { opened_ = 0; }

  /// The answer to a lane that arrives.
  enum class arrival : uint8_t {
    complete,  ///< all have arrived: lane::result is what the collective gives
    blocks,    ///< it waits for others: lane_state::at_collective
  };

  /// The lane arrives at its pending collective with `value`. Ends the run where the mask is wrong.
  arrival arrive(lane& self, uint64_t value);
  /// All lanes of the arm of a lockstep wave have arrived at one collective, whose mask is `named`.
  void complete_arm(wave& of, operation_kind kind, uint64_t named, uint64_t arm);
  /// The active mask of this lane: itself and those at the same place that the strategy has converge with it. Answers them, too.
  uint64_t mask_of_active(lane& self);
  /// Whether a sibling has arrived at a collective with the lane since the last such call. Of a lane that is about to block in the fair tail or
  /// under the quiescence check.
  [[gnu::hot]] bool is_awaited(lane& self) const { return !core_.phase.is_open() && is_awaited_now(self); }
  /// A lane has ended: completes collectives that waited for it alone, ends the run where one can never complete.
  void leave(const lane& ended);

  /// The lane arrives at the barrier of its block, its pending operation; the mask of that says what else is asked for, and must be the same for
  /// all. When it is complete, lane::result is how many lanes arrived and, from bit 32 on, how many of them gave a `value` other than 0.
  arrival arrive_at_barrier(lane& self, uint64_t value);
  /// A lane of the wave has ended: it is not waited for. (PTX ISA, "bar"; CUDA C++ Programming Guide, "Synchronization Functions".)
  void leave_barrier(wave& of) {
    if (!of.runs->states.empty()) [[unlikely]]
      leave_used_barrier(of);
  }

  void check_invariants() const;

 private:
  bool is_awaited_now(lane& self) const;
  static uint64_t tell_mask(const lane& self, uint64_t mask);
  [[gnu::noinline]] void check(lane& self) const;
  void complete(wave& of, size_t open, operation_kind kind);
  void order(wave& of, uint64_t mask, operation_kind kind);
  static uint64_t awaited(const wave& of, const open_collective& open);
  uint32_t live_lanes_of_block(const wave& of) const;
  void leave_used_barrier(wave& of);
  void complete_barrier(const wave& of, block_state& block);
  wave& wave_of_block(const wave& of, uint32_t n) const {
    const launched_kernel& runs = *of.runs;
    return core_.threads.waves[runs.first_wave + size_t{of.block} * runs.waves_per_block + n];
  }

  run_core& core_;
  uint64_t opened_ = 0;
  std::vector<lane*> meeting_;  ///< of the barrier that completes
};

}  // namespace heddle::sim
