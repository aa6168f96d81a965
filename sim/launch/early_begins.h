// Kernels that begin before the end of the one in front of them. (CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization".)
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/machine/kernel.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace heddle::sim {

class early_begins {
 public:
  void forget() {
    let_.clear();
    held_back_.clear();
  }

  /// The lane's block lets what comes behind its kernel begin; false when it has done so before.
  bool let(const lane& by) {
    launched_kernel& runs = *by.of->runs;
    if (runs.lets_begin.empty()) {
      runs.lets_begin.resize(runs.blocks);
      let_.push_back(runs.ordinal);
    }
    return std::exchange(runs.lets_begin[by.of->block], uint8_t{1}) == 0;
  }
  /// Whether a block of this launch has.
  bool has_let(uint32_t ordinal) const { return std::find(let_.begin(), let_.end(), ordinal) != let_.end(); }
  /// Whether all blocks of this launch, which has not ended, have or have ended.
  static bool all_let(const run_core& core, const std::deque<launched_kernel>& kernels, uint32_t ordinal) {
    const auto runs = std::find_if(kernels.begin(), kernels.end(),
                                   [&](const launched_kernel& each) { return each.ordinal == ordinal; });
    if (runs == kernels.end()) return true;
    const auto lets = [&](uint32_t block) {
      if (!runs->lets_begin.empty() && runs->lets_begin[block] != 0) return true;
      const size_t first = runs->first_wave + size_t{block} * runs->waves_per_block;
      for (size_t n = 0; n < runs->waves_per_block; ++n)
        if (core.threads.waves[first + n].live()) return false;
      return true;
    };
    for (uint32_t block = 0; block < runs->blocks; ++block)
      if (!lets(block)) return false;
    return true;
  }

  /// The launch has not ended before the one in front of it has, behind which it began early.
  void hold_back(uint32_t ordinal, uint32_t behind) { held_back_.push_back({.ordinal = ordinal, .behind = behind}); }
  /// A launch whose end was held back until the end of this one; it is not any more. None: launched_kernel::none.
  uint32_t take_held_back(uint32_t behind) {
    const auto found =
        std::find_if(held_back_.begin(), held_back_.end(), [&](const held& each) { return each.behind == behind; });
    if (found == held_back_.end()) return launched_kernel::none;
    const uint32_t ordinal = found->ordinal;
    held_back_.erase(found);
    return ordinal;
  }

  void visit_state(state_reader& to) const {
    for (const uint32_t each : let_) to.fact(each);
    for (const held& each : held_back_) to.fact(each.ordinal);
  }

 private:
  struct held {
    uint32_t ordinal = 0;
    uint32_t behind = 0;
  };
  std::vector<uint32_t> let_;  ///< launches
  std::vector<held> held_back_;
};

}  // namespace heddle::sim
