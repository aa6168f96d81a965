// The fair tail: after the budget, or where the strategy begins it, only lanes take turns that the progress model guarantees turns. When the
// whole state comes back and each of them has stepped meanwhile, the run repeats itself for ever: this proves a hang.
// ("Lasso": the stem leads to a cycle. Weak fairness asks no more of a cycle than a step of each that is always in the fair set.)
#include <heddle/scheduler/own_errors.h>
#include <heddle/sim/judge/judge.h>
#include <heddle/sim/judge/visit_threads.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace heddle::sim {

using scheduler::choice_kind;

namespace {

// In the order in which a reader would look: what writes, the device, the host.
uint32_t rank_of(const lane& who) { return (may_write(who.pending.kind) ? 0u : 2u) + (who.is_host() ? 1u : 0u); }

}  // namespace

// A strategy that draws the fair tail says when it begins, and in what rhythm. False when it had no answer.
bool judge::draw_end_game() {
  if (!core_.choices.source->draws_end_game()) return true;
  // Short rhythms find most.
  constexpr std::array<uint8_t, 8> turns = {0, 1, 1, 1, 2, 2, 2, 3};
  bool answered = true;
  const auto draw = [&](uint32_t count) {
    const uint32_t drawn = answered ? core_.choices.source->pick(count, choice_kind::end) : 0;
    answered = answered && drawn < count;
    return answered ? drawn : 0;
  };
  const uint32_t first = uint32_t{1} << end_game_octaves[draw(end_game_octaves.size())];
  core_.enabled.next_limit = std::min<uint64_t>(core_.machine.budget, first + draw(first));
  tail_.plays.downwards = draw(2) == 1;
  tail_.plays.starves = draw(4) == 1;
  for (uint8_t& each : tail_.plays.turns) each = turns[draw(turns.size())];
  for (uint8_t& each : tail_.plays.first) each = turns[draw(turns.size())];
  return answered;
}

void judge::begin_tail() {
  if (!core_.phase.in_tail)
    for (size_t n = 0; n < core_.threads.lanes_used; ++n) core_.threads.lanes[n].called = false;
  if (!core_.phase.in_tail) {
    tail_.operations_before.clear();
    for (size_t n = 0; n < core_.threads.lanes_used; ++n)
      scheduler::append(tail_.operations_before, core_.threads.lanes[n].operations);
  }
  core_.phase.in_tail = core_.looks_at_each = true;
  // A quiescence check in progress is dropped: from here on, comparing states shows whether its lanes spin for ever.
  core_.phase.checks = quiescence_check::none;
  tail_.began_at = core_.history.steps;
  tail_.library_before = core_.history.library_steps;
  core_.states.forget();
  // What changes these is not seen.
  for (const variable_block& each : core_.map.unseen) core_.states.include(each.first, each.size_bytes());
  tail_.seen = {};
  core_.enabled.next_limit = 0;  // each choice goes through choose_with_care() from now on
}

uint32_t judge::turns_in_a_row(const lane& who) const {
  if (core_.phase.denied) return 1;
  const bool takes_part = who.of->guaranteed || (tail_.start_owed && !who.of->stepped);
  // A lane that starts takes a turn to reach its first operation.
  const uint32_t turns = tail_.plays.turns_of(who.id, takes_part, who.last_turn == 0);
  return turns == 0 || who.begun ? turns : turns + 1;
}

bool judge::looks_again() {
  if (tail_.turns < tail_.looks_again_at || core_.phase.all_take_turns) return false;
  tail_.looks_again_at = tail_.turns + (tail_.looks_again_after *= 2);
  return waits_.have_waiting_look_again();
}

// Of those that take part, the one that follows the last one.
lane* judge::next_above() {
  uint32_t number = tail_.last;
  for (size_t tried = 0; tried < core_.enabled.lanes.size(); ++tried) {
    number = core_.enabled.next_in_turn(number);
    if (turns_in_a_row(core_.threads.lanes[number]) != 0) return &core_.threads.lanes[number];
  }
  return nullptr;
}

lane* judge::next_below() {
  lane* next = nullptr;
  // Wraps round on purpose: the one below the last is at distance 0, the last itself is the farthest.
  uint32_t nearest = 0;
  for (lane* who : core_.enabled.lanes) {
    const uint32_t distance = tail_.last - who->id - 1;
    if ((next != nullptr && distance >= nearest) || turns_in_a_row(*who) == 0) continue;
    next = who;
    nearest = distance;
  }
  return next;
}

// A buffer of the C++ heap that is filled word by word is filled in one turn, or in few.
bool judge::goes_on_filling(const lane& self) {
  constexpr uint32_t most_in_a_turn = 1 << 16;
  const bool fills = self.id == tail_.last && self.state == lane_state::candidate &&
                     self.pending.kind == operation_kind::plain_store && core_.map.may_vanish(self.pending.address) &&
                     turns_in_a_row(self) != 0 && tail_.filled_in_turn < most_in_a_turn;
  tail_.filled_in_turn = fills ? tail_.filled_in_turn + 1 : 0;
  return fills;
}

// The lane that has the next turn; null when no lane that takes part is enabled.
lane* judge::next_in_tail(const lane& self) {
  if (goes_on_filling(self)) {
    tail_.spends(self.pending.place, [&] { return calls_of(self); });
    return &core_.threads.lanes[self.id];
  }
  // Minimal progress, in the form that ends a run soonest: a lane that is owed a start gets it with the next round.
  tail_.start_owed = core_.enabled.fair.owes_a_start() && (!core_.only_calls_start_kernels() || any_host_calls());
  lane* next = nullptr;
  if (tail_.left != 0 && self.id == tail_.last && self.state == lane_state::candidate && turns_in_a_row(self) != 0)
    next = &core_.threads.lanes[self.id];
  if (next != nullptr) {
    --tail_.left;
  } else {
    next = tail_.plays.downwards && !core_.phase.denied ? next_below() : next_above();
    if (next == nullptr) return nullptr;
    tail_.last = next->id;
    tail_.left = turns_in_a_row(*next) - 1;
  }
  next->last_turn = ++tail_.turns;
  // It takes the lanes along that it leads.
  for (uint64_t rest = next->leads; rest != 0; rest &= rest - 1)
    next->of->lanes[static_cast<size_t>(__builtin_ctzll(rest))]->last_turn = tail_.turns;
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

// All that can influence what happens next. The rest cannot: loads return the newest value and nothing is in flight, no wait ends by a choice,
// and memory that is neither the device's nor a variable's makes the comparison blind when it changes.
bool judge::visit_state(state_reader& to, const lane& self) const {
  const heap& heap = core_.map.heap;
  const thread_table& threads = core_.threads;
  const bool counts = to.fact(uint64_t{tail_.last} << 32 | tail_.left) && to.fact(tail_.filled_in_turn) &&
                      to.fact(self.id) && visit_lane(to, self, true) && to.fact(threads.lanes_used) &&
                      to.fact(threads.waves_used) && to.fact(memory_.cache().revision()) && to.fact(heap.frees()) &&
                      to.fact(heap.allocations().size()) && to.fact(core_.phase.all_take_turns ? 1 : 0) &&
                      to.fact(core_.clock.cycle()) && launches_.visit_state(to);
  if (!counts) return false;
  for (size_t n = 0; n < threads.waves_used; ++n)
    if (!visit_wave(to, threads.waves[n], comparison::of_one_run)) return false;
  for (size_t n = 0; n < threads.lanes_used; ++n)
    if (&threads.lanes[n] != &self && !visit_lane(to, threads.lanes[n], false)) return false;
  for (const allocation& each : heap.allocations())
    if (!each.freed && !core_.states.tell_but_counts(to, each.base, each.size_bytes)) return false;
  return hosts_.visit_state(to);
}

// Whether the run is back in an earlier state. When it is, but lanes that are guaranteed turns are blocked in loops and took none, they run one
// more iteration first: such a loop may give up.
bool judge::has_come_back(const lane& self) {
  if (self.state == lane_state::ended || hides_operands(self)) return false;
  tail& end = tail_;
  bool fresh = false;
  const lasso::moment now = {.turns = end.turns, .steps = core_.history.steps, .changes = waits_.changes()};
  const bool again = core_.states.returns(now, [&](state_reader& to) { return visit_state(to, self); }, fresh);
  if (fresh) end.telling_rank = ~uint32_t{0};
  if (!again) return false;
  const uint64_t since = core_.states.anchor().turns;
  for (size_t n = 0; n < core_.threads.lanes_used; ++n) {
    const lane& who = core_.threads.lanes[n];
    if (who.state == lane_state::candidate && (core_.phase.denied || who.of->guaranteed) && who.last_turn <= since)
      return false;
  }
  // A lane that only reads will block by itself, and is then reported as waiting: that needs some more rounds.
  constexpr uint32_t rounds_to_wait = 64;
  if (!core_.phase.all_take_turns && now.changes == core_.states.anchor().changes &&
      ++end.still_rounds < rounds_to_wait) {
    core_.states.forget();
    return false;
  }
  if (waits_.have_waiting_look_again()) {
    core_.phase.all_take_turns = true;
    core_.states.forget();
    return false;
  }
  end.seen = {.from = core_.states.anchor(), .to = now, .found = true};
  return true;
}

// Turns are fair: between two turns of an enabled lane, each other lane has a few. `passed_over` counts how many there were.
void judge::given_turn([[maybe_unused]] const lane& next) {
#ifdef HEDDLE_SELF_CHECKS
  constexpr uint32_t turns_of_each = 8;  // by a rhythm, and by a quiescence check in between
  const uint32_t most = turns_of_each * static_cast<uint32_t>(core_.threads.lanes_used + 1);
  core_.enabled.passed_over.resize(core_.threads.lanes_used, 0);
  for (const lane* who : core_.enabled.lanes) {
    if (!core_.phase.in_tail ||
        !(core_.phase.denied || core_.phase.checks == quiescence_check::of_all || who->of->guaranteed))
      continue;
    if (++core_.enabled.passed_over[who->id] <= most) continue;
    dprintf(scheduler::own_errors, "heddle: %s can go on, but was passed over %u times in the fair tail\n",
            name_of(*who).c_str(), core_.enabled.passed_over[who->id]);
    std::abort();
  }
  core_.enabled.passed_over[next.id] = 0;
#endif
}

}  // namespace heddle::sim
