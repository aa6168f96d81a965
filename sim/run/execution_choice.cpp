// Chooses the next lane: mostly one choice among all enabled lanes, and more in the fair tail, when all lanes block, in lockstep waves.
#include <heddle/sim/base/invariant.h>
#include <heddle/sim/run/execution.h>

namespace heddle::sim {

void execution::check_now_and_then() {
  // A prime number, so that loops are not met at one place of theirs.
  constexpr uint64_t every = 61;
  if (++choices_unchecked_ < every) return;
  choices_unchecked_ = 0;
  check_invariants();
  must_hold(core_.history.uncounted <= budgets_alone * core_.machine.budget,
            "history: the main thread alone keeps to its limit");
}

lane& execution::choose(lane& self) {
  if (core_.enabled.fair.candidates() == 0 || core_.history.steps >= core_.enabled.asks_until) [[unlikely]]
    return choose_specially(self);
  core_.choices.asks = &self;
  const auto count = static_cast<uint32_t>(core_.enabled.lanes.size());
  uint32_t picked = 0;
  if (count != 1 && !core_.choices.source->try_pick(count, scheduler::choice_kind::actor, picked)) [[unlikely]]
    return first_of(core_.ask(self), self);
  return first_of(*core_.enabled.lanes[picked], self);
}

lane& execution::choose_specially(lane& self) {
  if (core_.issues.under_way()) {
    if (self.of->together != nullptr) lockstep_.left(self);
    if (lane* const next = core_.issues.go_on(self)) return *next;
    look_how_to_choose();
  }
#ifdef HEDDLE_SELF_CHECKS
  check_now_and_then();
#endif
  if (core_.history.counted == 0 && goes_on_alone(self)) return self;
  lane& next = choose_with_care(self);
  look_how_to_choose();
  return next;
}

lane* execution::choose_in_tail(lane& self, bool& again) {
  // In the fair tail no store stays in flight.
  again = core_.late != nullptr && core_.late->all_arrives(self);
  if (again) return nullptr;
  again = judge_.looks_again();
  if (again) return nullptr;
  again = judge_.has_come_back(self);
  if (again) {
    judge_.judge_cycle(self);
    return nullptr;
  }
  return judge_.next_in_tail(self);
}

lane& execution::choose_with_care(lane& self) {
  run_phase& phase = core_.phase;
  if (phase.after_each) {
    if (self.of->together != nullptr) lockstep_.left(self);
    lockstep_.go_on_together(self);
    if (phase.places_wanted) launches_.turns().take_turns(self);
  }
  if (core_.history.steps >= core_.enabled.next_limit) judge_.pass_limit(self);
  doorbells_.let_arrive(phase.in_tail ? doorbell_line::never : core_.history.steps);
  while (true) {
    lockstep_.go_on_together(self);
    if (phase.is_checking() && waits_.has_changed_since_check()) phase.checks = quiescence_check::none;
    look_whether_together();
    if (phase.is_checking())
      if (lane* const next = judge_.next_in_check()) return *next;
    if (phase.in_tail) {
      bool again = false;
      lane* const next = choose_in_tail(self, again);
      if (again) continue;
      if (next != nullptr) {
        phase.checks = quiescence_check::none;
        return first_of(*next, self);
      }
    } else if (!core_.enabled.lanes.empty() && (core_.enabled.fair.candidates() != 0 ||
                                                (core_.enabled.owes_a_start() && !core_.only_calls_start_kernels()))) {
      return ask_openly(self);
    }
    if (doorbells_.next_due() != doorbell_line::never) {
      doorbells_.let_arrive(doorbell_line::never);
      continue;
    }
    // Stores are delivered eventually: all that is under way arrives before the run counts as quiescent.
    if (core_.late != nullptr && core_.late->all_arrives(self)) continue;
    if (launches_.turns().take_turns_when_idle(self)) continue;
    phase.checks = core_.enabled.lanes.empty() ? quiescence_check::of_all : quiescence_check::of_guaranteed;
    if (!waits_.all_waits_proven()) continue;
    // Each lane that was checked is now proven to wait for ever, unless another lane changes memory.
    if (phase.checks == quiescence_check::of_guaranteed && core_.enabled.owes_a_start() && judge_.any_host_calls()) {
      phase.checks = quiescence_check::none;
      if (phase.in_tail) continue;
      return ask_openly(self);
    }
    judge_.judge_quiescence(self);
  }
}

}  // namespace heddle::sim
