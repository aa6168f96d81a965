// Lanes of a wave that stand together take their next step together (step=wave): what is chosen is the wave's next issue, not the order of
// its lanes.
//
// Of the enabled lanes of a wave that stand at one operation, one is listed in the enabled set: it leads the others. Where it is chosen, each
// of them performs that operation and runs on to its next one, before anything else is chosen; then those that stand together again have one
// leader again. What the program parts is parted. Lanes that the program keeps together are parted as often as `partings` says, by a choice.
// (A bound on what a scheduler may do out of the ordinary, as delays are in Emmi, Qadeer, Rakamaric, POPL 2011.)
//
// Under the check for quiescence each lane takes its own turns.
#pragma once

#include <heddle/scheduler/choice.h>
#include <heddle/sim/machine/lane.h>

#include <array>
#include <cstdint>

namespace heddle::sim {

struct run_core;

class issues {
 public:
  explicit issues(run_core& core) : core_(core) {}

  /// A new run. `on`: lanes that stand together take steps together.
  void reset(bool on, uint32_t partings) {
    on_ = on;
    of_ = nullptr;
    left_ = 0;
    partings_left_ = partings;
    until_parting_ = not_drawn;
  }
  bool on() const { return on_; }
  /// From now on lanes that stand together take steps together, or each by itself. Between issues.
  void turn(bool on);

  /// Whether lanes of a wave are performing an operation together.
  bool under_way() const { return of_ != nullptr; }
  /// Lanes of the wave that are still to perform the operation that is under way; 0 where none of that wave is.
  uint64_t left_of(const wave& of) const { return of_ == &of ? left_ : 0; }

  /// A lane of a wave of several is enabled, or blocked.
  void enable(lane& self);
  void disable(lane& self);
  /// A lane is enabled whose wave has come to a collective, in its last lane: it runs on as that does, before anything else is chosen.
  void run_on(lane& self);
  /// Of such a lane that is the one that runs: it is not entered once more.
  void runs_already(const lane& self) { left_ &= ~lane_bit(self); }

  /// The strategy has chosen this lane: the lane that its issue begins with. `self` has come to the choice.
  lane& begin(lane& leader, lane& self);
  /// `self`, of the issue that is under way, has come to its next operation, or blocks: the lane that goes next; null when the issue has
  /// been performed.
  lane* go_on(lane& self) {
    if (self.state == lane_state::candidate && self.of->together == nullptr) {
      stand(self);
      note_listed();
    }
    return next(self);
  }
  /// The lane that goes next where that is no choice. Null: it is to be chosen, or the issue has been performed.
  [[gnu::always_inline]] lane* next_in_order() {
    if (left_ == 0 || (in_any_order_ && (left_ & (left_ - 1)) != 0)) return nullptr;
    const uint64_t bit = left_ & (~left_ + 1);
    left_ &= ~bit;
    return of_->lanes[static_cast<size_t>(__builtin_ctzll(bit))];
  }

  /// As run_core::pick(), but lanes that perform an operation together get one answer where it is about the same thing, which `key` says.
  uint32_t pick_alike(lane& self, uint32_t count, scheduler::choice_kind kind, uint64_t key);

  void check_invariants() const;

 private:
  static bool stand_together(const lane& one, const lane& other);
  void stand(lane& self);
  void lead(lane& leader, uint64_t lanes);
  uint64_t part(lane& self, uint64_t lanes);
  bool is_time_to_part(lane& self);
  static bool touch_the_same(const wave& of, uint64_t lanes);
  lane* next(lane& self) {
    if (lane* const in_order = next_in_order()) return in_order;
    if (left_ != 0) return choose_next(self);
    of_ = nullptr;
    return nullptr;
  }
  lane* choose_next(lane& self);
  void note_listed();

  static constexpr uint32_t not_drawn = ~uint32_t{0};

  run_core& core_;
  bool on_ = false;
  bool in_any_order_ = false;  ///< of this issue: its lanes touch the same bytes
  wave* of_ = nullptr;         ///< the wave that is performing an operation
  uint64_t left_ = 0;          ///< its lanes that are still to be entered
  uint32_t partings_left_ = 0;
  uint32_t until_parting_ = not_drawn;  ///< issues of several lanes before the next parting
  struct made {
    scheduler::choice_kind kind = scheduler::choice_kind::actor;
    uint32_t count = 0;
    uint32_t picked = 0;
    uint64_t key = 0;
  };
  std::array<made, 2> made_;  ///< what the last two choices of this issue that lanes make alike were
};

}  // namespace heddle::sim
