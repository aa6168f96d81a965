// Lockstep waves, which have one program counter (convergence=lockstep): which lanes of a wave go next, and what an arm does as one.
//
// After each step every wave to which something has happened goes on: its arm moves, sleeps, or a new round begins.
#pragma once

#include <heddle/sim/code/control_flow.h>
#include <heddle/sim/convergence/lane_paths.h>
#include <heddle/sim/convergence/lockstep.h>
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/sync/collectives.h>

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::sim {

class lockstep_waves {
 public:
  lockstep_waves(run_core& core, collectives& together) : core_(core), collectives_(together) {}

  void reset() {
    together_used_ = 0;
    due_.clear();
    paths_.begin_run();
  }

  void keep_together(wave& starts);
  /// Lanes of such waves will run this function, and `self` asks for it.
  void prepare(lane& self, const void* code);
  /// Such a wave has a place again.
  void comes_back(wave& of) {
    of.together->wants_back = false;
    mark_due(of);
  }
  /// The lane has left the code under test; it does not run before its wave's next round.
  void left(lane& self);
  /// Has every wave to which something has happened go on.
  void go_on_together(lane& self) {
    if (!due_.empty()) [[unlikely]]
      go_on_all(self);
  }
  /// A waiting lane of such a wave is woken.
  void wake_together(lane& waiter);
  /// A lane of such a wave waits. `next`: before the operation that it has published, not behind one that it has taken.
  void waits_together(lane& self, const std::byte* private_state, bool next);
  /// Whether the waits of all waves that sleep are proven; the others run one more iteration. `all`: also waves that the progress model
  /// promises no turn.
  bool waits_of_rounds_proven(bool all);
  /// Forgets what has been proven of waits.
  void forget_proofs();
  /// Wakes the lane's wave where it sleeps, to see whether its wait ends by itself; false for a lane that is masked off.
  bool rouse(lane& waiter);
  /// Whether other lanes of its arm have already performed the lane's pending store, as part of one operation.
  bool is_stored_by_arm(lane& self);

  /// What of a wave's rounds can influence the future; false when the visitor has heard enough.
  static bool visit_rounds(state_reader& to, const wave& of);

  // -- in words ---------------------------------------------------------------------------------------------------------------------

  /// The lanes of a live wave that other lanes of it come before.
  static uint64_t masked_off(const wave& of);
  /// Of such a lane, the lanes that come before it.
  static uint64_t comes_before(const lane& who);
  /// "until lane 1 reaches FILE:LINE", for such a lane.
  static std::string held_until(const lane& who);
  std::string masked_off_text() const;

  void check_invariants() const;

 private:
  void go_on_all(lane& self);
  void go_on(wave& of, lane& self);
  void wants_back(const wave& of) {
    of.together->wants_back = true;
    core_.phase.want_places(true);
  }
  void begin_round(wave& of, lane& self);
  bool goes_in_circles(const wave& of) const;
  void park(const lockstep& together, wave& of);
  void let_move(wave& of);
  void mark_due(wave& of);
  void act_as_one(const wave& of, uint64_t before);
  void order_arms(lane& self, std::vector<uint32_t>& order, const std::vector<const void*>& places);
  void meet(wave& of, lane& self);
  /// Where lanes stand, in words: "lane 1, masked off at FILE:LINE; lane 2, ended".
  static std::string whereabouts(const wave& of, uint64_t lanes);

  run_core& core_;
  collectives& collectives_;
  code_map code_{[this](const std::function<void()>& work) { core_.aside(*decides_, work); }};
  lane* decides_ = nullptr;  ///< on its own stack, which lanes go next
  /// Of return addresses: the function's line, and inwards those of what is inlined there, each with the function that it belongs to.
  std::unordered_map<const void*, std::vector<std::pair<std::string, int>>> lines_;
  std::deque<lockstep> together_;  ///< [0, together_used_) belong to this run
  size_t together_used_ = 0;
  std::vector<wave*> due_;  ///< waves that something has happened to
  lane_paths paths_;
};

}  // namespace heddle::sim
