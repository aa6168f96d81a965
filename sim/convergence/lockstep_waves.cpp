// Lockstep waves: which lanes of a wave go next, and what its lanes do together.
#include <heddle/sim/base/invariant.h>
#include <heddle/sim/convergence/lockstep_waves.h>

#include <algorithm>
#include <bit>

namespace heddle::sim {

using scheduler::choice_kind;
using scheduler::verdict;

namespace {

uint64_t all_lanes_of(const wave& of) {
  return of.lanes.size() == 64 ? ~uint64_t{0} : (uint64_t{1} << of.lanes.size()) - 1;
}

template <typename Each>
void for_each_lane_of(const wave& of, uint64_t mask, Each&& each) {
  for (; mask != 0; mask &= mask - 1) each(*of.lanes[static_cast<size_t>(std::countr_zero(mask))]);
}

}  // namespace

void lockstep_waves::keep_together(wave& starts) {
  if (together_used_ == together_.size()) together_.emplace_back(code_);
  lockstep& fresh = together_[together_used_++];
  fresh.arm = fresh.moving = all_lanes_of(starts);
  fresh.asleep = fresh.due = fresh.proven = fresh.wants_back = false;
  fresh.waited = fresh.round = 0;
  fresh.acquires = false;
  fresh.stores.clear();
  fresh.proof.forget();
  fresh.stack.begin(fresh.arm);
  fresh.paths.fill(paths_.empty_one());
  for (branch_log& each : fresh.logs) each.clear();
  for (lane* each : starts.lanes) each->tells = &fresh.logs[each->index];
  starts.together = &fresh;
}

void lockstep_waves::prepare(lane& self, const void* code) {
  decides_ = &self;
  if (code_.prepare(code)) return;
  core_.end(
      self, verdict::unsupported,
      "where lanes reconverge is read from the program's code, and its kernels have no symbols: link it without -s and "
      "--strip-debug, or set convergence=independent");
}

void lockstep_waves::mark_due(wave& of) {
  if (of.together->due) return;
  of.together->due = true;
  due_.push_back(&of);
}

void lockstep_waves::left(lane& self) {
  lockstep& together = *self.of->together;
  mark_due(*self.of);
  // A lane that blocks within an operation is not at its next one.
  if (self.state == lane_state::waiting) return;
  if (self.state == lane_state::at_collective && is_barrier(self.pending.kind)) return;
  if (self.state == lane_state::candidate) {
    core_.disable(self);
    self.state = lane_state::held;
  }
  together.moving &= ~lane_bit(self);
}

void lockstep_waves::go_on_all(lane& self) {
  while (!due_.empty()) {
    wave& of = *due_.back();
    due_.pop_back();
    of.together->due = false;
    // One that is off the device goes on when it has a place again.
    if (of.is_evicted()) [[unlikely]]
      wants_back(of);
    else
      go_on(of, self);
  }
}

void lockstep_waves::go_on(wave& of, lane& self) {
  lockstep& together = *of.together;
  if (!of.live()) return;
  if (together.moving == 0) begin_round(of, self);
  if (goes_in_circles(of)) {
    park(together, of);
    together.asleep = true;
  } else {
    together.asleep = false;
    let_move(of);
  }
}

// Whether all lanes of the arm spin, until something that one of them reads changes. Under the quiescence check this must be
// proven.
bool lockstep_waves::goes_in_circles(const wave& of) const {
  const lockstep& together = *of.together;
  const uint64_t arm = together.arm & ~of.ended_mask;
  if (arm == 0 || (arm & ~together.waited) != 0) return false;
  bool all = true;
  uint64_t since = together.round;
  for_each_lane_of(of, arm, [&](const lane& who) {
    all = all && who.circles == lane::sure_of_circle;
    since = std::min(since, who.circles_since);
  });
  // Lanes that the arm has met on its way must spin, too.
  for_each_lane_of(of, all_lanes_of(of) & ~arm & ~of.ended_mask, [&](const lane& who) {
    all = all && (who.moved_in < since || who.circles == lane::sure_of_circle);
  });
  const bool counts = core_.phase.checks == quiescence_check::of_all ||
                      (core_.phase.checks == quiescence_check::of_guaranteed && of.guaranteed);
  return all && (!counts || together.proven);
}

void lockstep_waves::park(const lockstep& together, wave& of) {
  for_each_lane_of(of, together.moving, [&](lane& who) {
    if (who.state != lane_state::candidate) return;
    core_.disable(who);
    who.state = lane_state::held;
  });
}

// One program counter: as long as one lane of the arm makes progress, the others iterate with it.
void lockstep_waves::let_move(wave& of) {
  for_each_lane_of(of, of.together->moving, [&](lane& who) {
    const bool in_loop = who.state == lane_state::waiting && who.private_state != nullptr;
    if (!in_loop && who.state != lane_state::held) return;
    // The search for its spin goes on at once, so that its next iteration is recognised.
    if (in_loop && who.pending.kind != operation_kind::pause) who.fruitless_reads = lane::fruitless_reads_allowed;
    core_.enable(who);
  });
}

void lockstep_waves::wake_together(lane& waiter) {
  lockstep& together = *waiter.of->together;
  // What the other lanes of the arm do may depend on what this one does now.
  for_each_lane_of(*waiter.of, together.arm | lane_bit(waiter), [](lane& who) { who.circles = 0; });
  mark_due(*waiter.of);
}

// Waits of waves that sleep must be proven anew.
void lockstep_waves::forget_proofs() {
  for (size_t n = 0; n < together_used_; ++n) {
    together_[n].proof.forget();
    together_[n].proven = false;
  }
}

bool lockstep_waves::rouse(lane& waiter) {
  lockstep& together = *waiter.of->together;
  if ((together.arm & lane_bit(waiter)) == 0) return false;
  wake_together(waiter);
  return true;
}

bool lockstep_waves::visit_rounds(state_reader& to, const wave& of) {
  if (of.together == nullptr) return true;
  const lockstep& together = *of.together;
  if (!to.fact(together.acquires ? 1 : 0) || !to.fact(together.stores.size())) return false;
  for (const lockstep::store& one : together.stores)
    if (!to.fact(reinterpret_cast<uintptr_t>(one.address)) || !to.fact(one.by->id)) return false;
  for (const lane* who : of.lanes)
    if (together.logs[who->index].any() && !(to.fact(who->index) && to.fact(together.logs[who->index].digest())))
      return false;
  return to.fact(together.stack.digest()) && to.fact(together.arm) && to.fact(together.moving);
}

void lockstep_waves::waits_together(lane& self, const std::byte* private_state, bool next) {
  wave& of = *self.of;
  lockstep& together = *of.together;
  if (next) together.moving &= ~lane_bit(self);
  if (private_state != nullptr) {
    const uint64_t shape = together.stack.digest();
    together.waited |= lane_bit(self);
    if (self.circles == 0 || self.circle != shape) {
      self.circle = shape;
      self.circles = 1;
      self.circles_since = together.round;
    } else {
      self.circles = lane::sure_of_circle;
    }
  }
  if (core_.phase.checks == quiescence_check::none || private_state == nullptr) return;
  self.wait_digest = (digest_of_private_state(self) + core_.clock.driven_by(self)) | 1;
  const uint64_t arm = together.arm & ~of.ended_mask;
  // Once a round, at the first lane: the state of the arm is where each of its lanes last waited, and how they have diverged.
  if ((arm & (lane_bit(self) - 1)) != 0) return;
  uint64_t state = together.stack.digest();
  bool all = true;
  for_each_lane_of(of, arm, [&](const lane& who) {
    all = all && who.wait_digest != 0;
    state = (state ^ who.wait_digest) * 0x9e3779b97f4a7c15u + (state >> 29);
  });
  if (all) together.proven = together.proof.returns_to_anchor(state);
}

// Runs one more iteration of each wave whose wait is not proven.
bool lockstep_waves::waits_of_rounds_proven(bool of_all) {
  bool all = true;
  if (core_.machine.convergence != convergence::lockstep) return all;
  for (size_t n = 0; n < core_.threads.waves_used; ++n) {
    wave& of = core_.threads.waves[n];
    if (of.together == nullptr || !of.live() || !(of_all || of.guaranteed)) continue;
    if (!of.together->asleep || of.together->proven) continue;
    mark_due(of);
    all = false;
  }
  return all;
}

void lockstep_waves::begin_round(wave& of, lane& self) {
  decides_ = &self;
  lockstep& together = *of.together;
  paths_.find(of, together.arm & ~of.ended_mask, together.paths);
  uint64_t same_call = 0;
  for_each_lane_of(of, together.arm & ~of.ended_mask, [&](const lane& who) {
    if (who.in_same_call || who.assumed.in_same_call) same_call |= lane_bit(who);
  });
  together.stack.advance(
      together.paths, of.ended_mask, same_call, together.logs,
      [&](std::vector<uint32_t>& order, const std::vector<const void*>& places) { order_arms(self, order, places); });
  const uint64_t before = together.arm;
  together.arm = together.moving = together.stack.running() & ~of.ended_mask;
  ++together.round;
  together.stores.clear();
  if (core_.late != nullptr) act_as_one(of, before);
  if (core_.observers.records) core_.observers.recorder->has_counter(of, together.arm, core_.history.steps);
  for_each_lane_of(of, together.arm, [&](lane& who) {
    who.moved_in = together.round;
    together.logs[who.index].clear();
    if (who.circles == 0) together.waited &= ~lane_bit(who);
  });
  const lane& first = *of.lanes[static_cast<size_t>(std::countr_zero(together.arm))];
  if (first.state == lane_state::at_collective && is_collective(first.pending.kind)) meet(of, self);
}

// Tells the memory that the last round was, and this one will be, one operation of all lanes of the arm.
void lockstep_waves::act_as_one(const wave& of, uint64_t before) {
  lockstep& together = *of.together;
  const uint64_t now = together.arm;
  const auto happens = [&](arm_event what, uint64_t mask) {
    std::array<lane*, 64> lanes{};
    size_t count = 0;
    for_each_lane_of(of, mask, [&](lane& who) { lanes[count++] = &who; });
    core_.late->arm(what, lanes.data(), count);
  };
  if (together.acquires) happens(arm_event::acquired, before);
  // Lanes that have ended have left the arm, too.
  if ((before & now) != 0 && (before & ~now) != 0) happens(arm_event::parts, before);
  if ((now & ~before) != 0) happens(arm_event::meets, now);
  bool acquiring = false;
  bool releasing = false;
  for_each_lane_of(of, now, [&](const lane& who) {
    acquiring = acquiring || acquires(who.pending.order);
    releasing = releasing || releases(who.pending.order);
  });
  together.acquires = acquiring;
  if (releasing) happens(acquiring ? arm_event::acquires_and_releases : arm_event::releases, now);
}

// Lanes of an arm that store to one word in one operation: the word is written once. No GPU specifies by which of them; here it is the one that
// stores first, and the order is a choice.
bool lockstep_waves::is_stored_by_arm(lane& self) {
  if (self.of->together == nullptr) return false;
  lockstep& together = *self.of->together;
  const operation& how = self.pending;
  for (const lockstep::store& one : together.stores)
    if (one.address == how.address && one.size_bytes == how.size_bytes)
      return core_.late == nullptr || core_.late->is_part_of_store(self, how, *one.by);
  together.stores.push_back({how.address, how.size_bytes, &self});
  return false;
}

void lockstep_waves::order_arms(lane& self, std::vector<uint32_t>& order, const std::vector<const void*>& places) {
  const auto lines_of = [&](uint32_t number) -> const auto& {
    const void* const place = places[number];
    const auto [entry, fresh] = lines_.try_emplace(place);
    if (fresh && place != nullptr)
      core_.aside(self, [place, &all = entry->second] {
        for (const source_line& line : inlined_at(place)) all.insert(all.begin(), {line.function, line.line});
      });
    return entry->second;
  };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return lines_of(a) != lines_of(b) ? lines_of(a) < lines_of(b) : places[a] < places[b];
  });
  if (core_.machine.diverging.arms == arms::else_first) std::reverse(order.begin(), order.end());
  if (!core_.phase.is_open()) return;
  // Of arms on one line the source does not say here which stands first.
  const auto is_same = [&](uint32_t a, uint32_t b) {
    const auto &first = lines_of(a), &second = lines_of(b);
    const auto [one, other] = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
    const bool lie_apart = one != first.end() && other != second.end() && one->first == other->first;
    return core_.machine.diverging.arms == arms::any || (one != first.begin() && !lie_apart);
  };
  for (auto next = order.begin(); order.end() - next > 1; ++next) {
    const auto end = std::find_if_not(next, order.end(), [&](uint32_t other) { return is_same(*next, other); });
    if (end - next > 1) std::swap(*next, next[core_.pick(self, static_cast<uint32_t>(end - next), choice_kind::arm)]);
  }
}

// -- collectives ------------------------------------------------------------------------------------------------------------------

// All lanes of the arm have arrived. The mask only says which lanes the program expects. Those with different masks, as tiles are, meet apart.
void lockstep_waves::meet(wave& of, lane& self) {
  for (uint64_t left = of.together->arm; left != 0;) {
    uint64_t meeting = 0;
    lane& first = *of.lanes[static_cast<size_t>(std::countr_zero(left))];
    const operation how = first.pending;
    for_each_lane_of(of, left, [&](const lane& who) { meeting |= who.pending.mask == how.mask ? lane_bit(who) : 0; });
    const uint64_t asked = how.without_ended ? how.mask & all_lanes_of(of) & ~of.ended_mask : how.mask;
    if (const uint64_t absent = asked & ~meeting; absent != 0) {
      std::string where;
      core_.aside(self, [&] { where = whereabouts(of, absent); });
      core_.end(first, verdict::mask,
                std::string("the mask of a ") + to_string(how.kind) + " names lanes that are not there: " + where);
    }
    collectives_.complete_arm(of, how.kind, meeting | how.mask, meeting);
    left &= ~meeting;
  }
}

// -- what people read ----------------------------------------------------------------------------------------------------------------

std::string lockstep_waves::whereabouts(const wave& of, uint64_t lanes) {
  std::vector<std::pair<std::string, uint64_t>> found;
  for (uint32_t index = 0; index < 64; ++index) {
    const uint64_t bit = uint64_t{1} << index;
    if ((lanes & bit) == 0) continue;
    std::string where;
    if (index >= of.lanes.size())
      where = "which the wave does not have";
    else if ((of.ended_mask & bit) != 0)
      where = "ended";
    else
      where = (of.together->arm & bit) != 0 ? "with another mask"
                                            : "masked off at " + source_of(calls_of(*of.lanes[index])).where();
    const auto same = std::find_if(found.begin(), found.end(), [&](const auto& one) { return one.first == where; });
    if (same == found.end())
      found.emplace_back(where, bit);
    else
      same->second |= bit;
  }
  std::string text;
  for (const auto& [where, mask] : found) text += (text.empty() ? "" : "; ") + lanes_in(mask) + ", " + where;
  return text;
}

uint64_t lockstep_waves::masked_off(const wave& of) {
  return of.together == nullptr || !of.live() || !of.started() ? 0
                                                               : all_lanes_of(of) & ~of.ended_mask & ~of.together->arm;
}

uint64_t lockstep_waves::comes_before(const lane& who) {
  return who.of->together->stack.hold_of(who.index, who.of->ended_mask).runs;
}

std::string lockstep_waves::held_until(const lane& who) {
  const divergence_stack::hold why = who.of->together->stack.hold_of(who.index, who.of->ended_mask);
  const bool one = std::has_single_bit(why.runs);
  const std::string text = "until " + lanes_in(why.runs);
  if (why.until != nullptr) return text + (one ? " reaches " : " reach ") + source_of(why.until).where();
  return text + (one ? " returns" : " return") + (why.in == nullptr ? "" : " from " + why.in->name());
}

std::string lockstep_waves::masked_off_text() const {
  for (size_t n = 0; n < core_.threads.waves_used; ++n) {
    const wave& of = core_.threads.waves[n];
    const uint64_t masked = masked_off(of);
    if (masked == 0) continue;
    const lane& first = *of.lanes[static_cast<size_t>(std::countr_zero(masked))];
    return ": " + lanes_in(masked) + " of " + name_of(of) + (std::has_single_bit(masked) ? " is" : " are") +
           " masked off " + held_until(first);
  }
  return {};
}

void lockstep_waves::check_invariants() const {
  must_hold(together_used_ <= together_.size(), "lockstep: waves of this run are there");
  size_t due = 0;
  for (size_t n = 0; n < core_.threads.waves_used; ++n) {
    const wave& of = core_.threads.waves[n];
    if (of.together == nullptr) continue;
    const lockstep& together = *of.together;
    must_hold(core_.phase.in_rounds, "lockstep: there are rounds");
    must_hold((together.arm & ~all_lanes_of(of)) == 0, "lockstep: an arm is of lanes that are there");
    must_hold((together.moving & ~together.arm) == 0 || together.round == 0,
              "lockstep: lanes that move are of the arm");
    must_hold(!together.proven || together.waited != 0 || !of.live(), "lockstep: a proven wait has lanes that wait");
    due += together.due ? 1 : 0;
    for (const lane* each : of.lanes)
      must_hold(each->moved_in <= together.round, "lockstep: no lane has moved in a round to come");
  }
  must_hold(due == due_.size(), "lockstep: each wave that is due is so once");
  for (const wave* each : due_) must_hold(each->together->due, "lockstep: a wave that is due knows it");
}

}  // namespace heddle::sim
