// Judges a run that does not end by itself: the fair tail, proven cycles, the check for quiescence, and the verdict of a hang.
//
// It decides which lane goes next once the strategy is asked no longer. It changes phases and answers; another lane is entered by execution
// alone.
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/judge/tail.h>
#include <heddle/sim/launch/launches.h>
#include <heddle/sim/sync/host_objects.h>
#include <heddle/sim/wait/waits.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>

namespace heddle::sim {

// When a run's fair tail begins, where a strategy draws that (judge::draw_end_game).

/// After 2^n steps and some, of which the second draw says how many, below 2^n: the first draw is the place of n in here. Programs of a few
/// steps have ended by chance after a few more, so that short stretches are the likelier.
inline constexpr std::array<uint8_t, 16> end_game_octaves = {0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 8, 10, 13};

class judge {
 public:
  judge(run_core& core, const host_objects& hosts, waits& waiting, const lockstep_waves& lockstep,
        const device_allocations& memory, launches& launched)
      : core_(core), hosts_(hosts), waits_(waiting), lockstep_(lockstep), memory_(memory), launches_(launched) {}

  /// A new run. `had_tail`: the run before came to its fair tail.
  [[gnu::hot]] void reset(bool had_tail) {
    tail_.forget(had_tail);
    core_.states.reset();
    last_in_check_ = turn_order::none;
  }
  /// Writes the report of a hang, as things stand; to be set before a recorded run.
  std::function<void()> write_report = [] {};

  // -- the fair tail ----------------------------------------------------------------------------------------------------------------

  /// A strategy that draws the fair tail says when it begins, and in what rhythm. False when it had no answer.
  [[gnu::hot]] bool draw_end_game();
  /// Steps before the fair tail, and again before the run is given up: the setting, and more of it where there are many lanes.
  uint64_t budget() const;
  /// The run has reached its next limit: the fair tail begins, or the run is given up.
  void pass_limit(lane& self);
  /// In the fair tail: has blocked loops run one more iteration, at growing distances; whether it did.
  bool looks_again();
  /// In the fair tail: whether the run is back in an earlier state.
  bool has_come_back(const lane& self);
  /// In the fair tail: the lane whose turn it is; null when none that takes part is enabled.
  lane* next_in_tail(const lane& self);
  /// Under the check for quiescence: the lane whose turn it is; null when none that is checked is enabled.
  lane* next_in_check();
  const cycle& seen() const { return tail_.seen; }

  // -- verdicts ---------------------------------------------------------------------------------------------------------------------

  /// A cycle has been proven, and with it a hang: ends the run, or has it go on to learn whether another model avoids the hang.
  void judge_cycle(lane& self);
  /// Every lane that counts is blocked for ever: ends the run or has it go on, like judge_cycle().
  void judge_quiescence(lane& self);
  /// Models that promise a turn to a lane that is enabled now: under them, things cannot stay as they are.
  std::string models_without_this_hang() const;
  /// Whether a host thread waits in a call into the driver, or in a loop that makes one.
  bool any_host_calls() const;

  void check_invariants() const;

 private:
  void begin_tail();
  uint32_t turns_in_a_row(const lane& who) const;
  bool goes_on_filling(const lane& self);
  lane* next_above();
  lane* next_below();
  bool visit_state(state_reader& to, const lane& self) const;
  /// One of the enabled lanes was chosen: under self checks, none of the others is passed over for ever.
  void given_turn(const lane& next);

  void deny(lane& self, std::string why);
  /// Has all blocks start, to learn whether that ends the hang.
  void lift_places(lane& self);
  bool may_lift_places() const { return core_.machine.lifts_places && !core_.phase.places_lifted; }
  void take_stock(lane& self, std::string why);
  void note_waiting();
  const lane* most_telling_waiter() const;
  [[noreturn]] void end_deadlock(lane& self);
  [[noreturn]] void end_inconclusive(lane& self);
  std::string what_took_the_steps(lane& self);

  run_core& core_;
  const host_objects& hosts_;
  waits& waits_;
  const lockstep_waves& lockstep_;
  const device_allocations& memory_;
  launches& launches_;
  tail tail_;
  uint32_t last_in_check_ = turn_order::none;  ///< the lane of the last turn under the check for quiescence
};

}  // namespace heddle::sim
