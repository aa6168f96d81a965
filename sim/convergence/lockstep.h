// The state of a lockstep wave: its reconvergence stack, and its rounds.
#pragma once

#include <heddle/sim/convergence/divergence_stack.h>
#include <heddle/sim/machine/lane.h>

#include <array>
#include <vector>

namespace heddle::sim {

/// A wave goes from round to round: in each, every lane of the arm performs one visible operation and runs on to its next one.
struct lockstep {
  explicit lockstep(code_map& code) : stack(code) {}

  divergence_stack stack;
  /// Where each lane was last seen. Equal ones are one and the same (lane_paths.h).
  std::array<const call_path*, 64> paths{};
  /// What the branches have told that it took since its last operation, by lane.
  std::array<branch_log, 64> logs;
  uint64_t arm = 0;         ///< the lanes of this round
  uint64_t moving = 0;      ///< those that are not at their next operation yet
  uint64_t round = 0;       ///< its number
  uint64_t waited = 0;      ///< lanes that may be spinning
  bool asleep = false;      ///< all of them spin: blocked until something that they read changes
  bool wants_back = false;  ///< something has happened to its lanes while it was off the device
  bool due = false;         ///< something has happened to its lanes since it was last looked at
  cycle_finder proof;       ///< of the arm's wait, under the quiescence check
  bool proven = false;      ///< that wait is certain to repeat itself until memory changes

  // What the arm does as one (late_memory::arm).
  bool acquires = false;  ///< the operation of this round does
  struct store {
    const void* address = nullptr;
    uint32_t size_bytes = 0;
    const lane* by = nullptr;
  };
  std::vector<store> stores;  ///< atomic ones of this round
};

}  // namespace heddle::sim
