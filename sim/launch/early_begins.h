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

/// The end of a launch comes at any time behind the last step of its lanes, though these end in that step: as long as nothing has seen it, a query
/// may find that it is yet to come.
class seen_ends {
 public:
  void forget() { ends_.clear(); }
  void launched(uint32_t device) { ends_.push_back({.device = device}); }
  void ended(uint32_t launch) { ends_[launch].has_come = true; }
  void see(uint32_t launch) { ends_[launch].is_seen = ends_[launch].has_come; }
  void see_all(uint32_t device) {
    for (uint32_t n = 0; n < ends_.size(); ++n)
      if (ends_[n].device == device) see(n);
  }
  /// A wave has begun: what its kernel comes behind has ended for all to see. A copy waits for that itself.
  void see_before(const wave& begun) {
    if (begun.host) return;
    for (const uint32_t earlier : begun.runs->after) see(earlier);
  }
  bool is_seen(uint32_t launch) const { return ends_[launch].is_seen; }
  bool any_unseen(uint32_t device) const {
    return std::any_of(ends_.begin(), ends_.end(),
                       [&](const end& each) { return each.device == device && each.has_come && !each.is_seen; });
  }
  /// Whether the query of the lane comes before an end that nothing has seen. A memory that is late bounds how often in a row (settings::late).
  static bool is_missed(run_core& core, lane& by) {
    const bool may = core.late == nullptr ? core.phase.is_open() : core.may_be_late(by);
    if (!may || core.pick(by, 2, scheduler::choice_kind::visible) == 0) return false;
    if (core.late != nullptr) --by.left.late;
    return true;
  }
  void visit_state(state_reader& to) const {
    for (const end& each : ends_) to.fact(each.is_seen ? 1 : 0);
  }

 private:
  struct end {
    uint32_t device = 0;
    bool has_come = false;
    bool is_seen = false;
  };
  std::vector<end> ends_;  ///< by launch
};

class early_begins {
 public:
  void forget() {
    seen_.forget();
    let_.clear();
    held_back_.clear();
    in_front_.clear();
    waited_.clear();
  }

  seen_ends& seen() { return seen_; }
  const seen_ends& seen() const { return seen_; }

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

  /// A launch that another one may begin in front of the end of: what it begins behind is kept, for it may be gone by then.
  void keep(const launched_kernel& runs) {
    in_front_.push_back({.ordinal = runs.ordinal, .early_behind = runs.early_behind, .after = runs.after});
  }
  /// The lane has waited for the kernel before. Where its block has not let the next one begin yet, that one begins behind the end of the other too.
  void has_waited(const lane& who) {
    const launched_kernel& runs = *who.of->runs;
    const bool has_let = !runs.lets_begin.empty() && runs.lets_begin[who.of->block] != 0;
    if (!has_let && std::find(waited_.begin(), waited_.end(), runs.ordinal) == waited_.end())
      waited_.push_back(runs.ordinal);
  }
  /// Calls `each` with the launches whose ends come before all that a launch does which begins in front of the end of `ordinal`: it begins behind the
  /// begin of that one.
  template <typename Each>
  void for_each_before(uint32_t ordinal, const Each& each) const {
    while (ordinal != launched_kernel::none) {
      const auto runs =
          std::find_if(in_front_.begin(), in_front_.end(), [&](const kept& one) { return one.ordinal == ordinal; });
      if (runs == in_front_.end()) return;
      ordinal = launched_kernel::none;
      for (const uint32_t earlier : runs->after) {
        if (earlier != runs->early_behind || !has_let(earlier)) {
          each(earlier);
        } else {
          if (std::find(waited_.begin(), waited_.end(), runs->ordinal) != waited_.end()) each(earlier);
          ordinal = earlier;
        }
      }
    }
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
    for (const uint32_t each : waited_) to.fact(each);
  }

 private:
  seen_ends seen_;
  struct held {
    uint32_t ordinal = 0;
    uint32_t behind = 0;
  };
  struct kept {
    uint32_t ordinal = 0;
    uint32_t early_behind = launched_kernel::none;
    std::vector<uint32_t> after;
  };
  std::vector<uint32_t> let_;  ///< launches
  std::vector<held> held_back_;
  std::vector<kept> in_front_;
  std::vector<uint32_t> waited_;  ///< launches
};

}  // namespace heddle::sim
