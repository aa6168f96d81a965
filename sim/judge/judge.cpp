// Judges a hang: which verdict it gets, and what is told of it.
#include <heddle/sim/base/invariant.h>
#include <heddle/sim/judge/judge.h>

#include <algorithm>

namespace heddle::sim {

using scheduler::verdict;

// Only a call into the driver that has not returned, or is made again and again, lets the device make progress. (CUDA's execution
// model, on progress of API calls.)
bool judge::any_host_calls() const {
  for (size_t n = 0; n < core_.threads.lanes_used; ++n) {
    const lane& who = core_.threads.lanes[n];
    if (!who.is_host() || who.state == lane_state::ended) continue;
    if (who.called || (who.state == lane_state::waiting && who.pending.kind == operation_kind::synchronize))
      return true;
  }
  return false;
}

// Every wave that has a place is blocked. All others start, to learn whether a larger device avoids this.
void judge::lift_places(lane& self) {
  if (!core_.phase.denied)
    deny(self, "all that has a place on the device waits for what has none (resident=" +
                   std::to_string(core_.machine.resident) + ")");
  core_.phase.places_lifted = true;
  begin_tail();
  core_.phase.checks = quiescence_check::none;
  launches_.start_blocks(self);
}

// A hang that this model allows has been found. All lanes run on in turn, to learn whether a stronger model avoids it:
// when the run ends, this hang is the model's, and the verdict `progress`; when all of them get stuck, it is a deadlock.
void judge::deny(lane& self, std::string why) {
  core_.phase.denied = true;
  take_stock(self, std::move(why));
  begin_tail();
  core_.phase.checks = quiescence_check::none;
}

// Lanes under the quiescence check may make each other go on, as two do that poll through a shuffle: all of them have turns, so that a lane
// that would change memory gets there.
lane* judge::next_in_check() {
  if (core_.phase.in_tail && waits_.count_turn_in_check() > tail_.most_turns_in_proof(core_.threads.lanes_used)) {
    // They may go on like this for ever. Comparing whole states tells whether they do: no spin loop blocks from now on.
    core_.phase.checks = quiescence_check::none;
    core_.phase.all_take_turns = true;
    core_.states.forget();
    waits_.have_waiting_look_again();
    return nullptr;
  }
  for (size_t tried = 0; tried < core_.enabled.lanes.size(); ++tried) {
    last_in_check_ = core_.enabled.next_in_turn(last_in_check_);
    lane& next = core_.threads.lanes[last_in_check_];
    if (core_.phase.checks == quiescence_check::of_all || next.of->guaranteed) {
      given_turn(next);
      return &next;
    }
  }
  return nullptr;
}

// Notes the lanes that wait: blocked ones, and those that iterate in a proven cycle; not enabled lanes that are promised no turn.
void judge::note_waiting() {
  core_.ending.waiting.clear();
  for (size_t n = 0; n < core_.threads.waves_used; ++n) {
    const wave& each = core_.threads.waves[n];
    uint64_t lanes = 0;
    for (const lane* who : each.lanes) {
      const bool goes_round = tail_.seen.found && who->last_turn > tail_.seen.from.turns;
      if (who->state != lane_state::ended && (who->state != lane_state::candidate || goes_round))
        lanes |= lane_bit(*who);
    }
    if (lanes != 0) core_.ending.waiting.push_back(each.host ? name_of(each) : name_of(each) + ' ' + lanes_in(lanes));
  }
}

// Notes what the verdict is about, and has the report written, as things stand now.
void judge::take_stock(lane& self, std::string why) {
  if (tail_.seen.found)
    core_.ending.about = tail_.telling;
  else if (const lane* waiter = most_telling_waiter())
    core_.ending.about = calls_of(*waiter);
  core_.ending.message = std::move(why);
  note_waiting();
  if (core_.observers.recorder == nullptr) return;
  core_.observers.recorder->judged(core_.history.steps);
  core_.aside(self, write_report);
}

// Models that promise a turn to a lane that is enabled now: under them, things cannot stay as they are.
std::string judge::models_without_this_hang() const {
  std::string names;
  for (const progress_model model : progress_models())
    if (std::any_of(core_.enabled.lanes.begin(), core_.enabled.lanes.end(), [&](const lane* who) {
          const bool goes_round = tail_.seen.found && who->last_turn > tail_.seen.from.turns;
          return !goes_round && core_.enabled.fair.would_hold(model, *who->of);
        }))
      names += (names.empty() ? "" : ", ") + std::string(to_string(model));
  return names;
}

void judge::judge_quiescence(lane& self) {
  if (core_.phase.checks == quiescence_check::of_guaranteed)
    deny(self, std::string("all that the progress model '") + to_string(core_.machine.progress) +
                   "' guarantees a turn waits for what it does not");
  else if (launches_.some_have_no_place(~uint64_t{0}) && may_lift_places())
    lift_places(self);
  else
    end_deadlock(self);
}

void judge::end_deadlock(lane& self) {
  core_.ending.verdict = verdict::deadlock;
  core_.ending.message = "nothing can ever move again";
  if (core_.machine.convergence == convergence::lockstep)
    core_.aside(self, [this] { core_.ending.message += lockstep_.masked_off_text(); });
  if (const lane* waiter = most_telling_waiter()) core_.ending.about = calls_of(*waiter);
  note_waiting();
  core_.ending.report.clear();
  core_.leave(self);
}

// The one whose source line names the hang: a lane in a loop of the code under test before a collective that waits for it, the
// device before the host.
const lane* judge::most_telling_waiter() const {
  const bool of_all = core_.phase.checks == quiescence_check::of_all;
  const lane* best = nullptr;
  int best_rank = 0;
  for (size_t n = 0; n < core_.threads.lanes_used; ++n) {
    const lane& who = core_.threads.lanes[n];
    if (who.state == lane_state::ended || who.state == lane_state::candidate) continue;
    if (who.of->together != nullptr && (lockstep_waves::masked_off(*who.of) & lane_bit(who)) != 0) continue;
    if (!of_all && !who.of->guaranteed) continue;
    const bool loops = who.state == lane_state::waiting && who.private_state != nullptr;
    // A lane that only waits for others to end tells nothing.
    const bool last_in_line = who.pending.kind == operation_kind::join ||
                              who.pending.kind == operation_kind::synchronize ||
                              who.pending.kind == operation_kind::drive;
    const int rank = 1 + (last_in_line ? 0 : 4) + (loops ? 2 : 0) + (who.is_host() ? 0 : 1);
    if (rank > best_rank) {
      best = &who;
      best_rank = rank;
    }
  }
  return best;
}

// Of many lanes that wait for few places each looks at all of them whenever one is given back: what they take in all grows with the square of
// their number.
uint64_t judge::budget() const {
  constexpr uint64_t of_one_budget = 256;
  constexpr uint64_t most = 64;
  const uint64_t lanes = core_.threads.lanes_used;
  if (lanes <= of_one_budget) return core_.machine.budget;
  return core_.machine.budget * std::min(most, lanes * lanes / (of_one_budget * of_one_budget));
}

void judge::pass_limit(lane& self) {
  if (!core_.phase.in_tail) {
    // Not where the strategy has drawn when the end begins.
    const bool is_budget = core_.enabled.next_limit >= core_.machine.budget;
    if (!is_budget || core_.history.steps >= budget()) return begin_tail();
    core_.enabled.next_limit = budget();
    return;
  }
  if (!tail_.is_spent(core_.history.steps, core_.history.library_steps, budget())) return;
  if (core_.phase.denied) {
    // The hang under this model is certain; whether another model avoids it is not known.
    core_.ending.verdict = verdict::progress;
    core_.leave(self);
  }
  end_inconclusive(self);
}

// A cycle has been proven, and with it a hang: the model's when a lane that could go on, and is promised no turn, took no part; else the program's.
void judge::judge_cycle(lane& self) {
  const cycle seen = tail_.seen;
  const std::string steps = "the same " + std::to_string(seen.steps()) + (seen.steps() == 1 ? " step" : " steps");
  bool any_left = false;
  for (size_t n = 0; n < core_.threads.lanes_used; ++n) {
    const lane& who = core_.threads.lanes[n];
    if ((lockstep_waves::masked_off(*who.of) & lane_bit(who)) != 0) continue;
    const bool could =
        who.state == lane_state::candidate || (who.state == lane_state::waiting && who.private_state != nullptr);
    any_left = any_left || (could && who.last_turn <= seen.from.turns);
  }
  if (!core_.phase.denied && any_left)
    return deny(self, "all that the progress model '" + std::string(to_string(core_.machine.progress)) +
                          "' guarantees a turn repeats " + steps + " for ever, and waits for what it does not");
  if (launches_.some_have_no_place(seen.from.turns) && may_lift_places()) return lift_places(self);
  core_.ending.verdict = seen.changes_memory() ? verdict::livelock : verdict::deadlock;
  core_.ending.message =
      seen.changes_memory()
          ? "all that can move repeats " + steps + " for ever: memory changes, and nothing is ever done"
          : "nothing can ever move again: " + steps + " are repeated for ever, and change nothing";
  core_.ending.about = tail_.telling;
  note_waiting();
  core_.ending.report.clear();
  core_.leave(self);
}

// What the budget was spent on: a lane that fills memory word by word may take all of it.
std::string judge::what_took_the_steps(lane& self) {
  const lane* most = &core_.threads.lanes[0];
  for (size_t n = 1; n < core_.threads.lanes_used; ++n)
    if (core_.threads.lanes[n].operations > most->operations) most = &core_.threads.lanes[n];
  const uint32_t before = most->id < tail_.operations_before.size() ? tail_.operations_before[most->id] : 0;
  std::string text = "; " + name_of(*most) + " took " + std::to_string(most->operations) + " of all steps, " +
                     std::to_string(most->operations - before) + " of the fair ones";
  if (tail_.spent_at_one_place() && tail_.spent_calls.front() != nullptr)
    core_.aside(self, [&] {
      text += "; more than half of the fair ones were taken at " + source_of(tail_.spent_calls).where();
    });
  return text;
}

void judge::end_inconclusive(lane& self) {
  const lane& about =
      self.state == lane_state::ended && !core_.enabled.lanes.empty() ? *core_.enabled.lanes.front() : self;
  core_.ending.verdict = verdict::budget;
  if (core_.threads.lanes_used == 1) {
    core_.ending.message =
        "the host's main thread is still on its own after " +
        std::to_string(core_.history.uncounted + core_.history.steps) +
        " operations: it has launched and spawned nothing that could run; a loop of its own does not end, or the "
        "budget is too small for it; inconclusive (raise it with --set budget=N)";
    core_.ending.about = tail_.spent_at_one_place() ? tail_.spent_calls : calls_of(about);
    core_.leave(self);
  }
  std::string reason = core_.states.reason();
  if (reason.empty()) reason = "no state came back in which it had been before";
  core_.ending.message = "no end after " + std::to_string(core_.history.steps) + " steps, the last " +
                         std::to_string(core_.history.steps - tail_.began_at) +
                         " of them fair, and no proof of a hang: " + reason + what_took_the_steps(self) +
                         "; inconclusive (raise it with --set budget=N)";
  core_.ending.about = tail_.spent_at_one_place() ? tail_.spent_calls : calls_of(about);
  core_.leave(self);
}

void judge::check_invariants() const {
  must_hold(tail_.turns == 0 || core_.phase.in_tail, "tail: turns are taken in it alone");
  must_hold(!core_.phase.in_tail || tail_.began_at <= core_.history.steps, "tail: it has begun");
  must_hold(!core_.phase.in_tail || tail_.library_before <= core_.history.library_steps,
            "tail: accesses before it were made");
  must_hold(tail_.votes <= tail_.seen_there, "tail: votes for a place are of turns there");
  must_hold(!tail_.seen.found || tail_.seen.from.turns <= tail_.seen.to.turns,
            "tail: a cycle ends behind its beginning");
  must_hold(!tail_.seen.found || tail_.seen.from.steps <= tail_.seen.to.steps, "tail: a cycle has steps");
  for (size_t n = 0; n < core_.threads.lanes_used; ++n)
    must_hold(core_.threads.lanes[n].last_turn <= tail_.turns, "tail: no lane's last turn is to come");
}

}  // namespace heddle::sim
