// The end game: after the budget, or where the strategy begins it, only those take turns whom the progress model guarantees some. When
// the whole state comes back and each of them has stepped meanwhile, the same happens again for ever: a hang, and proof of it.
// ("Lasso": the stem leads to a cycle. Weak fairness asks no more of a cycle than a step of each who is always in the fair set.)
#include <heddle/sim/judge/end_game.h>
#include <heddle/sim/report/cycle_report.h>
#include <heddle/sim/run/world.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace heddle::sim {

using scheduler::choice_kind;
using scheduler::verdict;

namespace {

// Calls whose arguments the pending operation does not tell: only their own frame knows them.
bool hides_operands(const lane& who) {
  switch (who.pending.kind) {
    case operation_kind::wait:
    case operation_kind::synchronize:
    case operation_kind::query:
    case operation_kind::join:
    case operation_kind::launch:
    case operation_kind::spawn:
    case operation_kind::copy:
      return true;
    default:
      return who.hides_operands;
  }
}

// In the order in which a person would look: who writes, the device, the host.
uint32_t rank_of(const lane& who) { return (may_write(who.pending.kind) ? 0u : 2u) + (who.is_host() ? 1u : 0u); }

}  // namespace

// A strategy that draws its end game says when it begins, and in what rhythm. False when it had no answer.
bool world::draw_end_game() {
  if (!choices_->draws_end_game()) return true;
  // Short rhythms find most.
  constexpr std::array<uint8_t, 8> turns = {0, 1, 1, 1, 2, 2, 2, 3};
  bool answered = true;
  const auto draw = [&](uint32_t count) {
    const uint32_t drawn = answered ? choices_->pick(count, choice_kind::end) : 0;
    answered = answered && drawn < count;
    return answered ? drawn : 0;
  };
  const uint32_t first = uint32_t{1} << end_game_octaves[draw(end_game_octaves.size())];
  next_limit_ = std::min<uint64_t>(machine_.budget, first + draw(first));
  tail_.plays.downwards = draw(2) == 1;
  tail_.plays.starves = draw(4) == 1;
  for (uint8_t& each : tail_.plays.turns) each = turns[draw(turns.size())];
  for (uint8_t& each : tail_.plays.first) each = turns[draw(turns.size())];
  return answered;
}

void world::begin_tail() {
  if (!tail_.begun)
    for (size_t n = 0; n < lanes_used_; ++n) lanes_[n].called = false;
  if (!tail_.begun) {
    tail_.operations_before.clear();
    for (size_t n = 0; n < lanes_used_; ++n) scheduler::append(tail_.operations_before, lanes_[n].operations);
  }
  tail_.begun = true;
  // A proof that goes on is not waited for: whether its lanes go round for ever is seen like all else, from here on.
  proving_ = proof::none;
  tail_.began_at = steps_;
  tail_.library_before = library_steps_;
  tail_.states.forget();
  tail_.seen = {};
  next_limit_ = 0;  // from now on each choice is made with care
}

void world::changed_elsewhere(const void* address, size_t size_bytes) {
  if (may_vanish(address)) {
    watches_.note_change(address, size_bytes, changes_ + 1);
    tail_.states.blind();
  } else {
    if (tail_.begun) tail_.states.include(address, size_bytes);
    if (notes_ != nullptr) {
      size_t& known = notes_->variables[address];
      known = std::max(known, size_bytes);
    }
  }
}

uint32_t world::turns_in_a_row(const lane& who) const {
  if (denied_) return 1;
  const bool takes_part = who.of->guaranteed || (tail_.start_owed && !who.of->stepped);
  // What one that starts does first is to come to its first operation.
  const uint32_t turns = tail_.plays.turns_of(who.id, takes_part, who.last_turn == 0);
  return turns == 0 || who.begun ? turns : turns + 1;
}

// Of those who take part, the one that follows the last one.
lane* world::next_above() {
  uint32_t number = tail_.last;
  for (size_t tried = 0; tried < candidates_.size(); ++tried) {
    number = next_in_turn(number);
    if (turns_in_a_row(lanes_[number]) != 0) return &lanes_[number];
  }
  return nullptr;
}

lane* world::next_below() {
  lane* next = nullptr;
  // Wraps round on purpose: the one below the last is at distance 0, the last itself is the farthest.
  uint32_t nearest = 0;
  for (lane* who : candidates_) {
    const uint32_t distance = tail_.last - who->id - 1;
    if ((next != nullptr && distance >= nearest) || turns_in_a_row(*who) == 0) continue;
    next = who;
    nearest = distance;
  }
  return next;
}

// A buffer of the C++ heap that is filled word by word is filled in one turn, or in few.
bool world::goes_on_filling(const lane& self) {
  constexpr uint32_t most_in_a_turn = 1 << 16;
  const bool fills = self.id == tail_.last && self.state == lane_state::candidate &&
                     self.pending.kind == operation_kind::plain_store && may_vanish(self.pending.address) &&
                     turns_in_a_row(self) != 0 && tail_.filled_in_turn < most_in_a_turn;
  tail_.filled_in_turn = fills ? tail_.filled_in_turn + 1 : 0;
  return fills;
}

// Whose turn it is; null when nobody takes part who can.
lane* world::next_in_tail(const lane& self) {
  if (goes_on_filling(self)) {
    tail_.spends(self.pending.place, [&] { return calls_of(self); });
    return &lanes_[self.id];
  }
  // Minimal progress, in the form that ends a run soonest: who is owed a start gets it with the next round.
  tail_.start_owed = fair_.owes_a_start() && (!only_calls_start_kernels() || somebody_calls());
  lane* next = nullptr;
  if (tail_.left != 0 && self.id == tail_.last && self.state == lane_state::candidate && turns_in_a_row(self) != 0)
    next = &lanes_[self.id];
  if (next != nullptr) {
    --tail_.left;
  } else {
    next = tail_.plays.downwards && !denied_ ? next_below() : next_above();
    if (next == nullptr) return nullptr;
    tail_.last = next->id;
    tail_.left = turns_in_a_row(*next) - 1;
  }
  next->last_turn = ++tail_.turns;
  given_turn(*next);
  tail_.spends(next->pending.place, [&] { return calls_of(*next); });
  const uint32_t rank = rank_of(*next);
  if (rank < tail_.telling_rank || (rank == tail_.telling_rank && next->pending.place < tail_.telling_place)) {
    tail_.telling_rank = rank;
    tail_.telling_place = next->pending.place;
    tail_.telling = calls_of(*next);
  }
  return next;
}

// All that can influence what happens next. What is not in it does not: loads see the newest value and nothing is under way, waits are
// not ended by a choice, and memory that is neither the device's nor a variable's makes the comparison blind when it changes.
bool world::tell_state(state_reader& to, const lane& self) const {
  const bool counts = to.fact(uint64_t{tail_.last} << 32 | tail_.left) && to.fact(tail_.filled_in_turn) &&
                      to.fact(self.id) && tell_lane(to, self, true) && to.fact(lanes_used_) && to.fact(waves_used_) &&
                      to.fact(kernels_launched_) && to.fact(kernels_running_) && to.fact(resident_waves_) &&
                      to.fact(cache_.revision()) && to.fact(heap_.frees()) && to.fact(heap_.allocations().size()) &&
                      to.fact(mutexes_.holders().size()) && to.fact(tail_.all_take_turns ? 1 : 0) && to.fact(clock_) &&
                      tell_streams(to);
  if (!counts) return false;
  for (size_t n = 0; n < waves_used_; ++n) {
    const wave& each = waves_[n];
    const uint64_t flags = (each.resident ? 1u : 0u) | (each.stepped ? 2u : 0u) | (each.guaranteed ? 4u : 0u);
    if (!to.fact(uint64_t{each.live_lanes} << 3 | flags) || !to.fact(each.ended_mask)) return false;
    if (!tell_rounds(to, each)) return false;
    for (const open_collective& open : each.collectives)
      if (!to.fact(static_cast<uint64_t>(open.kind)) || !to.fact(open.mask) || !to.fact(open.arrived)) return false;
  }
  for (size_t n = 0; n < lanes_used_; ++n)
    if (&lanes_[n] != &self && !tell_lane(to, lanes_[n], false)) return false;
  for (const allocation& each : heap_.allocations())
    if (!each.freed && !to.bytes(each.base, each.size_bytes)) return false;
  return tell_mutexes(to);
}

bool world::tell_streams(state_reader& to) const {
  const auto tell = [&](const std::vector<uint32_t>& launches) {
    return to.fact(launches.size()) &&
           std::all_of(launches.begin(), launches.end(), [&](uint32_t launch) { return to.fact(launch); });
  };
  return to.fact(streams_.size()) && to.fact(events_.size()) &&
         std::all_of(streams_.begin(), streams_.end(),
                     [&](const stream_state& each) {
                       return to.fact(each.destroyed ? 1 : 0) && tell(each.last) && tell(each.waits);
                     }) &&
         std::all_of(events_.begin(), events_.end(), tell);
}

bool world::tell_mutexes(state_reader& to) const {
  std::vector<std::pair<const void*, const mutex_table::holder*>> sorted;
  for (const auto& [mutex, holder] : mutexes_.holders()) sorted.emplace_back(mutex, &holder);
  std::sort(sorted.begin(), sorted.end());
  return std::all_of(sorted.begin(), sorted.end(), [&](const auto& each) {
    return to.fact(reinterpret_cast<uintptr_t>(each.first)) && to.fact(reinterpret_cast<uintptr_t>(each.second->who)) &&
           to.fact(each.second->depth);
  });
}

bool world::tell_lane(state_reader& to, const lane& who, bool is_running) const {
  const operation& next = who.pending;
  const uint64_t flags = static_cast<uint64_t>(who.state) | (who.begun ? 8u : 0u) | (who.resolved ? 16u : 0u) |
                         (who.hides_operands ? 32u : 0u);
  const bool facts = to.fact(flags) && to.fact(reinterpret_cast<uintptr_t>(next.place)) &&
                     to.fact(reinterpret_cast<uintptr_t>(next.address)) &&
                     to.fact(static_cast<uint64_t>(next.kind) << 48 | static_cast<uint64_t>(next.order) << 40 |
                             static_cast<uint64_t>(next.reach) << 32 | next.size_bytes) &&
                     to.fact(next.mask) && to.fact(uint64_t{who.source} << 1 | (next.without_ended ? 1u : 0u)) &&
                     to.fact(who.operands[0]) && to.fact(who.operands[1]) && to.fact(who.result);
  if (!facts) return false;
  if (who.state == lane_state::ended || !who.begun) return true;
  const std::byte* low = next.frame == nullptr ? who.runs.top() : next.private_state;
  if (!is_running) {
    const exceptions_in_flight& thrown = who.runs.exceptions();
    if (!to.fact(reinterpret_cast<uintptr_t>(thrown.caught)) || !to.fact(thrown.uncaught)) return false;
    if (hides_operands(who)) low = who.runs.left_at();
  }
  return to.bytes(low, static_cast<size_t>(who.runs.stack().high() - low));
}

// All that wait in a loop go round once more; whether there are any. What one waits for may be less than what its loop depends on: one that
// reads another word in every other turn knows only what it has read since it was woken.
bool world::have_waiting_look_again() {
  bool any_waits = false;
  for (size_t n = 0; n < lanes_used_; ++n) {
    lane& who = lanes_[n];
    if (who.state != lane_state::waiting || who.private_state == nullptr) continue;
    if (!denied_ && !who.of->guaranteed) continue;
    if (who.of->together != nullptr) {
      any_waits = rouse(who) || any_waits;
      continue;
    }
    any_waits = true;
    add_candidate(who);
  }
  return any_waits;
}

// Whether the run is back in a state in which it was. When it is, but some of those who are guaranteed a turn wait in a loop and took none, all of them
// are made to go round first: such a loop may be one that gives up.
bool world::has_come_back(const lane& self) {
  if (self.state == lane_state::ended || hides_operands(self)) return false;
  tail& end = tail_;
  bool fresh = false;
  const lasso::moment now = {.turns = end.turns, .steps = steps_, .changes = changes_};
  const bool again = end.states.returns(now, [&](state_reader& to) { return tell_state(to, self); }, fresh);
  if (fresh) end.telling_rank = ~uint32_t{0};
  if (!again) return false;
  const uint64_t since = end.states.anchor().turns;
  for (const lane* who : candidates_)
    if ((denied_ || who->of->guaranteed) && who->last_turn <= since) return false;
  // Whoever only reads will wait of himself, and be told in the report as one who waits: that needs some more rounds.
  constexpr uint32_t rounds_to_wait = 64;
  if (!end.all_take_turns && now.changes == end.states.anchor().changes && ++end.still_rounds < rounds_to_wait) {
    end.states.forget();
    return false;
  }
  if (have_waiting_look_again()) {
    end.all_take_turns = true;
    end.states.forget();
    return false;
  }
  end.seen = {.from = end.states.anchor(), .to = now, .found = true};
  return true;
}

// A cycle has been proven, and with it a hang: of the model when somebody whom it promises nothing took no part, else of the program.
void world::judge_cycle(lane& self) {
  const cycle seen = tail_.seen;
  const std::string steps = "the same " + std::to_string(seen.steps()) + (seen.steps() == 1 ? " step" : " steps");
  bool somebody_left = false;
  for (size_t n = 0; n < lanes_used_; ++n) {
    const lane& who = lanes_[n];
    if ((masked_off(*who.of) & lane_bit(who)) != 0) continue;
    const bool could =
        who.state == lane_state::candidate || (who.state == lane_state::waiting && who.private_state != nullptr);
    somebody_left = somebody_left || (could && who.last_turn <= seen.from.turns);
  }
  if (!denied_ && somebody_left)
    return judge_denied(self, "everybody whom the progress model '" + std::string(to_string(machine_.progress)) +
                                  "' guarantees a turn repeats " + steps +
                                  " for ever, and waits for somebody whom it does not");
  if (some_have_no_place() && may_lift_places()) return lift_places(self);
  verdict_ = seen.changes_memory() ? verdict::livelock : verdict::deadlock;
  message_ = seen.changes_memory()
                 ? "everybody who can move repeats " + steps + " for ever: memory changes, and nothing is ever done"
                 : "nobody can ever move again: " + steps + " are repeated for ever, and change nothing";
  about_ = tail_.telling;
  note_who_waits();
  report_.clear();
  leave(self);
}

std::string world::cycle_text() const {
  if (!tail_.seen.found || recorder_ == nullptr) return {};
  std::string text = cycle_report(recorder_->steps_between(heap_, tail_.seen.from.steps, tail_.seen.to.steps));
  // Everybody who can step does, in every round: no model asks for more.
  if (verdict_ == verdict::livelock || verdict_ == verdict::deadlock)
    text += "progress models that rule this hang out: none; everybody who can move has turns again and again\n";
  return text;
}

// Turns go round: between two turns of one that can go on, each other one has a few. `passed_over` counts how many there were.
void world::given_turn([[maybe_unused]] const lane& next) {
#ifdef HEDDLE_SELF_CHECKS
  constexpr uint32_t turns_of_each = 8;  // by a rhythm, and by a proof that comes in between
  const uint32_t most = turns_of_each * static_cast<uint32_t>(lanes_used_ + 1);
  tail_.passed_over.resize(lanes_used_, 0);
  for (const lane* who : candidates_) {
    if (!tail_.begun || !(denied_ || proving_ == proof::of_all || who->of->guaranteed)) continue;
    if (++tail_.passed_over[who->id] <= most) continue;
    std::fprintf(stderr, "heddle: %s can go on, but was passed over %u times in the fair tail\n", name_of(*who).c_str(),
                 tail_.passed_over[who->id]);
    std::abort();
  }
  tail_.passed_over[next.id] = 0;
#endif
}

void world::became_candidate([[maybe_unused]] const lane& who) {
  if (who.id < tail_.passed_over.size()) tail_.passed_over[who.id] = 0;
}

// What the budget was spent on: one that fills memory word by word may take it all.
std::string world::who_took_the_steps(lane& self) {
  const lane* most = &lanes_[0];
  for (size_t n = 1; n < lanes_used_; ++n)
    if (lanes_[n].operations > most->operations) most = &lanes_[n];
  const uint32_t before = most->id < tail_.operations_before.size() ? tail_.operations_before[most->id] : 0;
  std::string text = "; " + name_of(*most) + " took " + std::to_string(most->operations) + " of all steps, " +
                     std::to_string(most->operations - before) + " of the fair ones";
  if (tail_.spent_at_one_place() && tail_.spent_calls.front() != nullptr)
    aside(self,
          [&] { text += "; more than half of the fair ones were taken at " + source_of(tail_.spent_calls).where(); });
  return text;
}

void world::end_inconclusive(lane& self) {
  const lane& about = self.state == lane_state::ended && !candidates_.empty() ? *candidates_.front() : self;
  verdict_ = verdict::budget;
  if (lanes_used_ == 1) {
    message_ =
        "the host's main thread is still on its own after " + std::to_string(uncounted_ + steps_) +
        " operations: it has launched and spawned nothing that could run; a loop of its own does not end, or the "
        "budget is too small for it; inconclusive (raise it with --set budget=N)";
    about_ = tail_.spent_at_one_place() ? tail_.spent_calls : calls_of(about);
    leave(self);
  }
  std::string reason = tail_.states.reason();
  if (reason.empty()) reason = "no state came back in which it had been before";
  message_ = "no end after " + std::to_string(steps_) + " steps, the last " + std::to_string(steps_ - tail_.began_at) +
             " of them fair, and no proof of a hang: " + reason + who_took_the_steps(self) +
             "; inconclusive (raise it with --set budget=N)";
  about_ = tail_.spent_at_one_place() ? tail_.spent_calls : calls_of(about);
  leave(self);
}

}  // namespace heddle::sim
