// A lane's plain stores, its waits, and what ends them.
#include <heddle/sim/base/invariant.h>
#include <heddle/sim/base/state_key.h>
#include <heddle/sim/wait/waits.h>

#include <algorithm>
#include <utility>

namespace heddle::sim {

using scheduler::choice_kind;

void waits::read_elsewhere(lane& self, const void* address, uint32_t size_bytes, uint64_t value, uint64_t watched_for) {
  has_read(self, address, size_bytes, watched_for);
  self.at_clock.missed_newest = value != watched_for;
  core_.performed(self, value);
}

void waits::look_at_plain_store(lane& self) {
  settle(self);
  // Member by member: a copy of them all would wait for those that were written last.
  const void* const address = self.storing.address;
  const uint32_t size_bytes = std::exchange(self.storing.size_bytes, 0);
  if (size_bytes == 0) return;
  if (!core_.map.heap.contains(address) || size_bytes > sizeof self.storing.before) [[unlikely]]
    return look_at_store_elsewhere(self, address, size_bytes);
  const uint64_t value = watched::value_at(address, size_bytes);
  if (size_bytes == sizeof value) core_.frames.let_go(self, &value, size_bytes, self.came_in);
  core_.history.digest.add(0, memory_map::in_heap(core_.map.heap.offset_of(address)), core_.map.stable_value(value));
  if (value != self.storing.before) wake_readers(self, address, size_bytes);
  if (core_.observers.recorder) [[unlikely]]
    core_.observers.recorder->stored(self, value);
}

void waits::look_at_store_elsewhere(lane& self, const void* address, uint32_t size_bytes) {
  if (self.has_returned_from(address)) return;
  // A frame of a kernel or of a copy is no other lane's to know of.
  if (self.is_host() && !self.of->copies && core_.map.stays_readable(address))
    core_.frames.let_go(self, address, size_bytes, self.came_in);
  if (core_.map.may_vanish(address)) {
    // The code under test may have freed the object that it wrote last.
    changed(self, address, size_bytes);
    return;
  }
  const uint64_t value = watched::value_at(address, size_bytes);
  core_.add_to_digest(0, address, size_bytes, value);
  if (value != self.storing.before || size_bytes > plain_store_in_progress::largest_bytes)
    changed(self, address, size_bytes);
  if (core_.observers.recorder) core_.observers.recorder->stored(self, value);
}

void waits::changed_elsewhere(const void* address, size_t size_bytes) {
  if (core_.map.may_vanish(address)) {
    watches_.note_change(address, size_bytes, changes_ + 1);
    core_.states.blind();
  } else {
    if (core_.phase.in_tail) core_.states.include(address, size_bytes);
    if (core_.notes != nullptr) {
      size_t& known = core_.notes->variables[address];
      known = std::max(known, size_bytes);
    }
  }
}

void waits::arrived(const lane& issuer, const void* address, size_t size_bytes, uint64_t stored_in) {
  if (!core_.map.heap.contains(address)) changed_elsewhere(address, size_bytes);
  ++changes_;
  watches_.changed(address, size_bytes, [&](lane& waiter) {
    if (waiter.state == lane_state::waiting && waiter.reads.covers(address, size_bytes)) wake(waiter);
  });
  if (core_.observers.recorder)
    core_.observers.recorder->changed(issuer, address, size_bytes, false, !core_.map.may_vanish(address), stored_in);
}

// -- waiting ------------------------------------------------------------------------------------------------------------------------

// Tells two states of a stack apart that differ in one word, as those of a loop that counts do, and any others but for chance: in less time than
// digest_of(), which must do so where states are proven equal.
#if defined(__GNUC__)
__attribute__((no_sanitize("address")))
#endif
static uint64_t
sum_of(const std::byte* low, const std::byte* high) {
  uint64_t sum = 0;
  for (; low + sizeof(uint64_t) <= high; low += sizeof(uint64_t))
    sum = (sum ^ *reinterpret_cast<const volatile uint64_t*>(low)) * 0xa0761d6478bd642fu;
  return sum;
}

// Loops that give up after some iterations must be able to: each wait may end spuriously a few times. Not under the quiescence
// check, nor in the fair tail.
//
// Of a host thread, one such end is enough for a loop that counts, as that of std::atomic::wait before it sleeps: it goes on as long as it is in
// another state each time it comes round, for some turns, which stand above those by choice. Where as many may be chosen, as in a proof, each is.
bool waits::ends_for_no_reason(lane& self) {
  constexpr uint32_t turn = 1u << 16;
  constexpr uint32_t turns_most = 64;
  if (self.left.wakes == 0 || !core_.phase.is_open()) return false;
  const std::byte* const private_state = self.pending.private_state;
  // No state tells of it.
  const bool may_count = core_.machine.wakes < turns_most && !self.is_explored && self.is_host() &&
                         self.pending.kind == operation_kind::pause && private_state != nullptr;
  const auto state = [&] { return sum_of(private_state, self.runs.stack().high()); };
  if (self.left.wakes >= turn) {
    if (may_count) {
      const uint64_t now = state();
      if (now != std::exchange(self.wait_digest, now)) {
        self.left.wakes -= turn;
        return true;
      }
    }
    self.left.wakes %= turn;
    if (self.left.wakes == 0) return false;
  }
  --self.left.wakes;
  const bool together = core_.issues.under_way();
  const uint32_t picked =
      together ? core_.issues.pick_alike(self, 2, choice_kind::wake, 0) : core_.pick(self, 2, choice_kind::wake);
  if (picked == 0) return false;
  if (may_count) {
    self.left.wakes += turns_most * turn;
    self.wait_digest = state();
  }
  if (core_.observers.recorder) [[unlikely]]
    core_.observers.recorder->wakes_for_no_reason(self);
  return true;
}

void waits::end_turn(lane& self, const std::byte* private_state) {
  self.private_state = private_state;  // a search asks what may end the wait before it begins
  went_round(self, 1);
  if (core_.observers.recorder && private_state != nullptr) [[unlikely]]
    core_.observers.recorder->turn_ended(self, digest_of(private_state, self.runs.stack().high()));
  // A lane that has read nothing since its last change waits for nothing: it iterates.
  const bool goes_round =
      core_.phase.in_tail && private_state != nullptr && (core_.phase.all_take_turns || self.reads.entries().empty());
  if (goes_round) {
    forget_reads(self);
  } else if (!self.reads.unchanged(watches_) || self.reads.saw_change() || collectives_.is_awaited(self)) {
    // A location that it read has changed since, or while it read, or a sibling waits for it: the lane has reason to look again.
    forget_reads(self);
    self.left.wakes = core_.machine.wakes;
    self.circles = 0;
  } else if (ends_for_no_reason(self)) {
    if (core_.observers.starvation.on()) core_.observers.starvation.waits(self, core_.history.steps);
  } else {
    begin_waiting(self, private_state, true);
  }
}

void waits::begin_waiting(lane& self, const std::byte* private_state, bool next) {
  if (core_.observers.starvation.on()) core_.observers.starvation.waits(self, core_.history.steps);
  self.private_state = private_state;
  self.fruitless_reads = 0;
  if (!next) went_round(self);
  watches_.enrol(self);
  core_.disable(self);
  self.state = lane_state::waiting;
  self.of->have_waited |= lane_bit(self);
  if (core_.notes != nullptr && !core_.map.unseen.empty()) [[unlikely]]
    note_unseen(self);
  if (core_.observers.records) [[unlikely]]
    core_.observers.recorder->waits(self, core_.history.steps);
  if (self.of->together != nullptr) lockstep_.waits_together(self, private_state, next);
}

void waits::wake(lane& waiter) {
  if (waiter.of->together != nullptr) lockstep_.wake_together(waiter);
  if (waiter.state != lane_state::waiting) return;
  forget_reads(waiter);
  waiter.at_clock.to_look_again = true;
  waiter.left = core_.allowed;
  if (waiter.of->together == nullptr || (waiter.of->together->moving & lane_bit(waiter)) != 0)
    core_.enable(waiter);
  else
    waiter.state = lane_state::held;
}

bool waits::only_spins(lane& self, const std::byte* private_state) {
  if (core_.phase.all_take_turns) return false;
  // A loop is back in a state when it reads the same location at the same place in the same private state.
  const operation& read = self.pending;
  const auto state = [&] { return digest_of(private_state, self.runs.stack().high()); };
  if (!self.spin.returns_to_anchor(read.place, read.address, state)) {
    if (self.spin.at_anchor()) self.reads.begin_turn();
    return false;
  }
  // The loop depends on what it reads from the anchor to the anchor. Earlier reads may be dropped only now: an iteration that ends at
  // a pause instead depends on all of them.
  self.reads.keep_turn();
  self.reads.begin_turn();
  if (self.reads.unchanged(watches_) && !self.reads.saw_change() && !collectives_.is_awaited(self)) {
    begin_waiting(self, private_state);
    return true;
  }
  self.reads.clear();
  self.circles = 0;
  return false;
}

// -- quiescence ---------------------------------------------------------------------------------------------------------------------

// Code that heddle has not compiled is not seen to change anything. So a loop that goes by what such code keeps is taken for one that waits: it looks
// again when nothing else can go on.

uint64_t waits::state_of_unseen() const {
  key_maker made;
  for (const variable_block& each : core_.map.unseen) made.bytes(each.first, each.size_bytes());
  return made.key().low;
}

void waits::note_unseen(const lane& self) {
  if (unseen_at_wait_.size() <= self.id) unseen_at_wait_.resize(self.id + 1);
  unseen_at_wait_[self.id] = state_of_unseen();
}

void waits::look_at_unseen() {
  const uint64_t now = state_of_unseen();
  if (std::exchange(unseen_, now) != now) ++changes_;
  if (core_.notes == nullptr) return;
  // It might have gone on before, which no run of the search has it do.
  for (size_t n = 0; n < std::min(core_.threads.lanes_used, unseen_at_wait_.size()); ++n) {
    const lane& who = core_.threads.lanes[n];
    if (who.state == lane_state::waiting && who.private_state != nullptr && unseen_at_wait_[n] != now)
      core_.notes->untold =
          "a loop may wait for what code stores that heddle has not compiled, which is not seen: compile it by `heddle "
          "build`";
  }
}

// All lanes that count are blocked. They are proven to be blocked for ever when each of them, run again on memory that does not
// change, returns to the state in which it waited: equal state and equal memory have an equal future. A lane that does not is
// run again. (The condition of GenMC's liveness check, for code instead of graphs.)
bool waits::all_waits_proven() {
  const bool of_all = core_.phase.checks == quiescence_check::of_all;
  if (!core_.map.unseen.empty()) [[unlikely]]
    look_at_unseen();
  if (proof_changes_ != changes_) {
    proof_changes_ = changes_;
    turns_in_check_ = 0;
    for (size_t n = 0; n < core_.threads.lanes_used; ++n) {
      core_.threads.lanes[n].proof.forget();
      core_.threads.lanes[n].proven = false;
      core_.threads.lanes[n].called = false;
      core_.threads.lanes[n].wait_digest = 0;
    }
    lockstep_.forget_proofs();
  }
  bool all = true;
  const auto counts = [&](const lane& who) {
    return who.state == lane_state::waiting && who.private_state != nullptr && who.of->together == nullptr &&
           (of_all || who.of->guaranteed);
  };
  for (size_t n = 0; n < core_.threads.lanes_used; ++n) {
    lane& who = core_.threads.lanes[n];
    if (!counts(who) || who.proven) continue;
    who.proven = who.proof.returns_to_anchor(digest_of_private_state(who) + core_.clock.driven_by(who));
    all = all && who.proven;
  }
  all = lockstep_.waits_of_rounds_proven(of_all) && all;
  if (all) return true;
  for (size_t n = 0; n < core_.threads.lanes_used; ++n)
    if (counts(core_.threads.lanes[n]) && !core_.threads.lanes[n].proven) core_.enable(core_.threads.lanes[n]);
  return false;
}

// Each lane that is blocked in a loop runs one more iteration; whether there is any. Its watch set may be less than what its loop depends on: a
// loop that reads another word in every other iteration has only what it has read since the lane was woken.
bool waits::have_waiting_look_again() {
  bool any_waits = false;
  for (size_t n = 0; n < core_.threads.lanes_used; ++n) {
    lane& who = core_.threads.lanes[n];
    if (who.state != lane_state::waiting || who.private_state == nullptr) continue;
    if (!core_.phase.denied && !who.of->guaranteed) continue;
    if (who.of->together != nullptr) {
      any_waits = lockstep_.rouse(who) || any_waits;
      continue;
    }
    any_waits = true;
    core_.enable(who);
  }
  return any_waits;
}

void waits::check_invariants() const {
  must_hold(proof_changes_ <= changes_, "waits: changes only become more");
  for (size_t n = 0; n < core_.threads.lanes_used; ++n) {
    const lane& each = core_.threads.lanes[n];
    if (each.state != lane_state::waiting) continue;
    must_hold(each.begun, "waits: a lane that waits has begun");
    must_hold(each.reads.entries().empty() || !each.registrations.empty(),
              "waits: a lane that waits is registered on what it has read");
    must_hold(each.awaits == nullptr || each.is_host() || each.private_state == nullptr,
              "waits: a wait for a word of the simulator's is its own");
  }
}

}  // namespace heddle::sim
