// The lanes that are enabled: that can take the next step.
#pragma once

#include <heddle/scheduler/append.h>
#include <heddle/sim/core/fair_set.h>
#include <heddle/sim/core/turn_order.h>

#include <cstdint>
#include <vector>

namespace heddle::sim {

struct enabled_set {
  /// In no order; lane::candidate_slot points back. Of lanes that take their next step together, one.
  std::vector<lane*> lanes;
  fair_set fair;
  uint32_t highest = 0;      ///< the highest id of a lane that has been enabled
  uint64_t next_limit = 0;   ///< the step from which on the run is to come to its end
  uint64_t first_limit = 0;  ///< what that becomes when operations begin to be steps
  uint64_t asks_until = 0;   ///< the step from which on a choice is more than one among all enabled lanes; 0: it is now
  /// By lane: turns of others in the fair tail since it could have had one. Kept under self checks.
  std::vector<uint32_t> passed_over;

  [[gnu::hot]] void reset(progress_model model, bool places_take_turns) {
    lanes.clear();
    highest = 0;
    fair.reset(model, places_take_turns);
    if (keeps_order_) [[unlikely]]
      forget_order();
    passed_over.clear();
  }
  void add(lane& added) {
    added.state = lane_state::candidate;
    fair.candidate_added(*added.of);
    list(added);
  }
  void remove(lane& removed) {
    unlist(removed);
    fair.candidate_removed(*removed.of);
  }
  /// The enabled lane is part of choices from now on; fair_set::candidate_added() or list_changed() has been called.
  void list(lane& added) {
    added.candidate_slot = static_cast<uint32_t>(lanes.size());
    if (added.id > highest) highest = added.id;
    if (keeps_order_) [[unlikely]]
      order_.add(added.id);
#ifdef HEDDLE_SELF_CHECKS
    if (added.id < passed_over.size()) passed_over[added.id] = 0;
#endif
    scheduler::append(lanes, &added);
  }
  /// Takes a lane out that is listed, and stays enabled or is to be removed from the fair set.
  void unlist(lane& removed) {
    lane* const last = lanes.back();
    lanes[removed.candidate_slot] = last;
    last->candidate_slot = removed.candidate_slot;
    lanes.pop_back();
    if (keeps_order_) [[unlikely]]
      order_.remove(removed.id);
    removed.candidate_slot = lane::unlisted;
  }

  /// The id of the enabled lane of the next higher id, or of the lowest. There must be one.
  uint32_t next_in_turn(uint32_t after) const;
  /// Whether minimal progress requires that a lane of the device start, and one can: an enabled lane whose wave has never stepped. A wave of a
  /// kernel that is queued behind another one in its stream cannot.
  bool owes_a_start() const;
  /// Ends the program where what is known of the enabled lanes twice is not the same.
  void check_invariants() const;

 private:
  [[gnu::cold]] void forget_order();

  // Maintained from the first next_in_turn() of a run on: most strategies never call it.
  mutable turn_order order_;
  mutable bool keeps_order_ = false;
};

}  // namespace heddle::sim
