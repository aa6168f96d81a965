// Who goes next, who waits for what, and when waiting is over.
#include <heddle/sim/report/wait_graph.h>
#include <heddle/sim/run/world.h>

#include <cerrno>

namespace heddle::sim {

using scheduler::choice_kind;
using scheduler::verdict;

namespace {

// Equal bytes, equal digest; the two halves of a 128-bit product mix well and cost one multiplication (the idea of wyhash).
#if defined(__GNUC__)
__attribute__((no_sanitize("address")))
#endif
uint64_t
digest_of(const std::byte* low, const std::byte* high) {
  uint64_t state = 0x9e3779b97f4a7c15u;
  for (; low + sizeof(uint64_t) <= high; low += sizeof(uint64_t)) {
    uint64_t word = *reinterpret_cast<const volatile uint64_t*>(low);
    __extension__ using wide = unsigned __int128;
    const wide product = static_cast<wide>(word ^ state) * 0xa0761d6478bd642fu;
    state = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ word;
  }
  return state;
}

}  // namespace

uint64_t world::digest_of_private_state(const lane& who) {
  return digest_of(who.private_state, who.runs.stack().high());
}

void world::add_candidate(lane& who) {
  who.state = lane_state::candidate;
  who.candidate_slot = static_cast<uint32_t>(candidates_.size());
  fair_.candidate_added(*who.of);
#ifdef HEDDLE_SELF_CHECKS
  became_candidate(who);
#endif
  if (keeps_turns_ || records_) [[unlikely]]
    note_candidate(who);
  scheduler::append(candidates_, &who);
}

void world::note_candidate(const lane& who) {
  if (keeps_turns_) turns_.add(who.id);
  if (records_) recorder_->goes_on(who, steps_);
}

void world::remove_candidate(lane& who) {
  lane* const last = candidates_.back();
  candidates_[who.candidate_slot] = last;
  last->candidate_slot = who.candidate_slot;
  candidates_.pop_back();
  if (keeps_turns_) turns_.remove(who.id);
  fair_.candidate_removed(*who.of);
}

scheduler::candidate world::look_at(const void* self, uint32_t index) {
  const auto& here = *static_cast<const world*>(self);
  return here.look_at(*here.candidates_[index]);
}

scheduler::candidate world::look_at(const lane& who) const {
  const operation_kind kind = who.pending.kind;
  const bool of_mutex = kind == operation_kind::lock_mutex || kind == operation_kind::unlock_mutex;
  const uint64_t address = of_mutex ? who.operands[0] : reinterpret_cast<uintptr_t>(who.pending.address);
  const uint64_t location = address == 0 ? 0 : stable(address);
  return {.actor = who.id,
          .group = who.of->id,
          .member = who.index,
          .guaranteed = who.of->guaranteed,
          .writes = may_write(kind) || of_mutex,
          .location = location == unstable ? 0 : location,
          .operations = who.operations,
          .fruitless = who.fruitless,
          .headway = headway_.of(who)};
}

lane& world::choose_with_care(lane& self) {
  if (self.of->together != nullptr) left(self);
  go_on_together(self);
  if (steps_ >= next_limit_) pass_limit(self);
  let_rings_arrive(tail_.begun ? doorbell_line::never : steps_);
  while (true) {
    go_on_together(self);
    if (proving_ != proof::none && changes_ != proof_changes_) proving_ = proof::none;
    if (proving_ != proof::none)
      if (lane* const next = next_in_proof()) return *next;
    if (tail_.begun) {
      // Nothing is late any more.
      if (late_ != nullptr && late_->all_arrives(self)) continue;
      if (tail_.turns >= tail_.looks_again_at && !tail_.all_take_turns) {
        tail_.looks_again_at = tail_.turns + (tail_.looks_again_after *= 2);
        if (have_waiting_look_again()) continue;
      }
      if (has_come_back(self)) {
        judge_cycle(self);
        continue;
      }
      if (lane* const next = next_in_tail(self)) {
        proving_ = proof::none;
        return *next;
      }
    } else if (!candidates_.empty() && (fair_.candidates() != 0 || (is_start_owed() && !only_calls_start_kernels()))) {
      proving_ = proof::none;
      return ask(self);
    }
    if (rings_.next_due() != doorbell_line::never) {
      let_rings_arrive(doorbell_line::never);
      continue;
    }
    // Nothing stays under way for ever: nobody waits in vain before all of it has arrived.
    if (late_ != nullptr && late_->all_arrives(self)) continue;
    proving_ = candidates_.empty() ? proof::of_all : proof::of_guaranteed;
    if (!all_waits_proven()) continue;
    // What each waits for is certain now.
    if (proving_ == proof::of_guaranteed && is_start_owed() && somebody_calls()) {
      proving_ = proof::none;
      if (tail_.begun) continue;
      return ask(self);
    }
    if (proving_ == proof::of_guaranteed)
      judge_denied(self, std::string("everybody whom the progress model '") + to_string(machine_.progress) +
                             "' guarantees a turn waits for somebody whom it does not");
    else if (some_have_no_place() && may_lift_places())
      lift_places(self);
    else
      end_deadlock(self);
  }
}

lane& world::ask(lane& self) {
  asking_ = &self;
  const auto count = static_cast<uint32_t>(candidates_.size());
  const uint32_t picked = choices_->pick(count, choice_kind::actor, view_);
  if (picked >= count) stop(self);
  return *candidates_[picked];
}

uint32_t world::pick_slowly(lane& self, uint32_t count, choice_kind kind) {
  const uint32_t picked = choices_->pick(count, kind);
  if (picked >= count) stop(self);
  if (recorder_ && picked != 0) [[unlikely]]
    recorder_->odd_answer(self, kind);
  return picked;
}

// Somebody is promised a start, and there is one who can be given it: a wave of a kernel that comes behind another one in its stream cannot.
bool world::is_start_owed() const {
  return fair_.owes_a_start() && std::any_of(candidates_.begin(), candidates_.end(),
                                             [](const lane* who) { return !who->is_host() && !who->of->stepped; });
}

// Only a call into the driver that goes on, or that is made again and again, lets the device go on. (CUDA's execution model, on
// progress of API calls.)
bool world::somebody_calls() const {
  for (size_t n = 0; n < lanes_used_; ++n) {
    const lane& who = lanes_[n];
    if (!who.is_host() || who.state == lane_state::ended) continue;
    if (who.called || (who.state == lane_state::waiting && who.pending.kind == operation_kind::synchronize))
      return true;
  }
  return false;
}

// Everybody who has a place waits. Whether a larger device would end this is seen by letting all the others start.
void world::lift_places(lane& self) {
  if (!denied_)
    judge_denied(self, "everybody who has a place on the device waits for somebody who has none (resident=" +
                           std::to_string(machine_.resident) + ")");
  places_lifted_ = true;
  begin_tail();
  proving_ = proof::none;
  start_blocks(self);
}

// A hang that this model allows has been found. Whether a stronger one would avoid it is seen by letting everybody run on in turn:
// when the run ends, this hang is the model's, and the verdict `progress`; when they all get stuck, it is a deadlock.
void world::judge_denied(lane& self, std::string why) {
  denied_ = true;
  take_stock(self, std::move(why));
  begin_tail();
  proving_ = proof::none;
}

// The number of the candidate of the next higher number, or of the lowest.
uint32_t world::next_in_turn(uint32_t after) const {
  if (!keeps_turns_) [[unlikely]] {
    keeps_turns_ = true;
    for (const lane* each : candidates_) turns_.add(each->id);
  }
  const uint32_t next = after == turn_order::none ? turn_order::none : turns_.next(after + uint64_t{1});
  return next != turn_order::none ? next : turns_.next(0);
}

// Lanes whose waits are put to the proof may make each other go on, as two do that poll through a shuffle: all have turns, so that one that
// would change memory comes to it.
lane* world::next_in_proof() {
  if (tail_.begun && ++tail_.turns_in_proof > tail_.most_turns_in_proof(lanes_used_)) {
    // They may go on like this for ever. Whether they do is told by the whole state: all go round.
    proving_ = proof::none;
    tail_.all_take_turns = true;
    tail_.states.forget();
    have_waiting_look_again();
    return nullptr;
  }
  for (size_t tried = 0; tried < candidates_.size(); ++tried) {
    proof_last_ = next_in_turn(proof_last_);
    lane& next = lanes_[proof_last_];
    if (proving_ == proof::of_all || next.of->guaranteed) {
      given_turn(next);
      return &next;
    }
  }
  return nullptr;
}

uint32_t world::next_in_turn(const void* self, uint32_t actor) {
  const auto& here = *static_cast<const world*>(self);
  return here.lanes_[here.next_in_turn(actor)].candidate_slot;
}

// Everybody who goes round in a proven cycle waits, too; who could run and is promised nothing does not.
void world::note_who_waits() {
  waiting_.clear();
  for (size_t n = 0; n < waves_used_; ++n) {
    const wave& each = waves_[n];
    uint64_t lanes = 0;
    for (const lane* who : each.lanes) {
      const bool goes_round = tail_.seen.found && who->last_turn > tail_.seen.from.turns;
      if (who->state != lane_state::ended && (who->state != lane_state::candidate || goes_round))
        lanes |= lane_bit(*who);
    }
    if (lanes != 0) waiting_.push_back(each.host ? name_of(each) : name_of(each) + ' ' + lanes_in(lanes));
  }
}

// Notes what the verdict is about, and has the report written, as things stand now.
void world::take_stock(lane& self, std::string why) {
  if (tail_.seen.found)
    about_ = tail_.telling;
  else if (const lane* waiter = most_telling_waiter())
    about_ = calls_of(*waiter);
  message_ = std::move(why);
  note_who_waits();
  if (recorder_ == nullptr) return;
  recorder_->judged(steps_);
  aside(self, [this] { write_report(); });
}

// Models that promise a turn to somebody who can move now: under them, things cannot stay as they are.
std::string world::models_without_this_hang() const {
  std::string names;
  for (const progress_model model : progress_models())
    if (std::any_of(candidates_.begin(), candidates_.end(), [&](const lane* who) {
          const bool goes_round = tail_.seen.found && who->last_turn > tail_.seen.from.turns;
          return !goes_round && fair_.would_hold(model, *who->of);
        }))
      names += (names.empty() ? "" : ", ") + std::string(to_string(model));
  return names;
}

// Everybody who counts waits. Whether they wait for ever is certain when each of them, run again on memory that does not change,
// comes back to the very state in which it waited: equal state and equal memory have an equal future. Whoever does not is run
// again. (The condition of GenMC's liveness check, for code instead of graphs.)
bool world::all_waits_proven() {
  const bool of_all = proving_ == proof::of_all;
  if (proof_changes_ != changes_) {
    proof_changes_ = changes_;
    tail_.turns_in_proof = 0;
    for (size_t n = 0; n < lanes_used_; ++n) {
      lanes_[n].proof.forget();
      lanes_[n].proven = false;
      lanes_[n].called = false;
      lanes_[n].wait_digest = 0;
    }
    for (size_t n = 0; n < together_used_; ++n) {
      together_[n].proof.forget();
      together_[n].proven = false;
    }
  }
  bool all = true;
  const auto counts = [&](const lane& who) {
    return who.state == lane_state::waiting && who.private_state != nullptr && who.of->together == nullptr &&
           (of_all || who.of->guaranteed);
  };
  for (size_t n = 0; n < lanes_used_; ++n) {
    lane& who = lanes_[n];
    if (!counts(who) || who.proven) continue;
    who.proven = who.proof.returns_to_anchor(digest_of(who.private_state, who.runs.stack().high()));
    all = all && who.proven;
  }
  all = waits_of_rounds_proven(of_all) && all;
  if (all) return true;
  for (size_t n = 0; n < lanes_used_; ++n)
    if (counts(lanes_[n]) && !lanes_[n].proven) add_candidate(lanes_[n]);
  return false;
}

void world::end_deadlock(lane& self) {
  verdict_ = verdict::deadlock;
  message_ = "nobody can ever move again";
  if (in_lockstep()) aside(self, [this] { message_ += masked_off_text(); });
  if (const lane* waiter = most_telling_waiter()) about_ = calls_of(*waiter);
  note_who_waits();
  report_.clear();
  leave(self);
}

// The one whose source line names the hang: a lane in a loop of the code under test before a collective that waits for it, the
// device before the host.
const lane* world::most_telling_waiter() const {
  const bool of_all = proving_ == proof::of_all;
  const lane* best = nullptr;
  int best_rank = 0;
  for (size_t n = 0; n < lanes_used_; ++n) {
    const lane& who = lanes_[n];
    if (who.state == lane_state::ended || who.state == lane_state::candidate) continue;
    if (who.of->together != nullptr && (masked_off(*who.of) & lane_bit(who)) != 0) continue;
    if (!of_all && !who.of->guaranteed) continue;
    const bool loops = who.state == lane_state::waiting && who.private_state != nullptr;
    // Whoever only waits for others to end tells nothing.
    const bool last_in_line =
        who.pending.kind == operation_kind::join || who.pending.kind == operation_kind::synchronize;
    const int rank = 1 + (last_in_line ? 0 : 4) + (loops ? 2 : 0) + (who.is_host() ? 0 : 1);
    if (rank > best_rank) {
      best = &who;
      best_rank = rank;
    }
  }
  return best;
}

void world::pass_limit(lane& self) {
  if (!tail_.begun) return begin_tail();
  if (!tail_.is_spent(steps_, library_steps_, machine_.budget)) return;
  if (denied_) {
    // The hang under this model is certain; only whether another would end it has not been seen.
    verdict_ = verdict::progress;
    leave(self);
  }
  end_inconclusive(self);
}

void world::first_step(wave& who) {
  who.stepped = true;
  fair_.stepped(who);
}

// -- waiting ----------------------------------------------------------------------------------------------------------------------

// Loops that give up after some turns must be seen to do so: each wait may end a few times although nothing has changed. Not
// while waits are put to the proof, nor when the run is to come to its end.
bool world::ends_for_no_reason(lane& self) {
  if (self.left.wakes == 0 || proving_ != proof::none || tail_.begun) return false;
  --self.left.wakes;
  if (pick(self, 2, choice_kind::wake) == 0) return false;
  if (recorder_) [[unlikely]]
    recorder_->wakes_for_no_reason(self);
  return true;
}

void world::end_turn(lane& self, const std::byte* private_state) {
  went_round(self, 1);
  if (recorder_ && private_state != nullptr) [[unlikely]]
    recorder_->turn_ended(self, digest_of(private_state, self.runs.stack().high()));
  // Who has looked at nothing since it changed something waits for nothing: it goes round.
  const bool goes_round =
      tail_.begun && private_state != nullptr && (tail_.all_take_turns || self.reads.entries().empty());
  if (goes_round) {
    self.reads.clear();
  } else if (!self.reads.unchanged(watches_) || self.reads.saw_change() || is_awaited(self)) {
    // Something that it read has changed already, or changed while it looked, or a sibling waits for it: it has reason to look again.
    self.reads.clear();
    self.left.wakes = machine_.wakes;
    self.circles = 0;
  } else if (ends_for_no_reason(self)) {
    if (starvation_.on()) starvation_.waits(self, steps_);
  } else {
    begin_waiting(self, private_state, true);
  }
}

void world::begin_waiting(lane& self, const std::byte* private_state, bool next) {
  if (starvation_.on()) starvation_.waits(self, steps_);
  self.private_state = private_state;
  self.fruitless_reads = 0;
  if (!next) went_round(self);
  watches_.enrol(self);
  remove_candidate(self);
  self.state = lane_state::waiting;
  if (records_) [[unlikely]]
    recorder_->waits(self, steps_);
  if (self.of->together != nullptr) waits_together(self, private_state, next);
}

void world::wake(lane& waiter) {
  if (waiter.of->together != nullptr) wake_together(waiter);
  if (waiter.state != lane_state::waiting) return;
  waiter.reads.clear();
  waiter.left = allowed_;
  waiter.spin.forget();
  if (waiter.of->together == nullptr || (waiter.of->together->moving & lane_bit(waiter)) != 0)
    add_candidate(waiter);
  else
    waiter.state = lane_state::held;
}

void world::look_for_spin(lane& self, const std::byte* private_state) {
  if (tail_.all_take_turns) return;
  // A loop is back where it was when it reads the same from the same place, in the same private state.
  const operation& read = self.pending;
  const auto state = [&] { return digest_of(private_state, self.runs.stack().high()); };
  if (!self.spin.returns_to_anchor(read.place, read.address, state)) {
    if (self.spin.at_anchor()) self.reads.begin_turn();
    return;
  }
  // What the loop depends on is what it reads from the anchor to the anchor. What it has read before may only go now: a turn that ends at
  // a pause instead depends on all of it.
  self.reads.keep_turn();
  self.reads.begin_turn();
  if (self.reads.unchanged(watches_) && !self.reads.saw_change() && !is_awaited(self)) return wait(self, private_state);
  self.reads.clear();
  self.circles = 0;
}

void world::observe(lane& self, uint64_t value) {
  if (counted_ == 0) {
    if (recorder_) recorder_->performed_before_steps(self);
    return;
  }
  if (recorder_) {
    const void* const address = self.pending.address;
    const bool readable = address != nullptr && !may_vanish(address);
    recorder_->performed(self, value, steps_, link_delivers_ && readable, readable);
  }
  if (starvation_.on()) starvation_.performed(self);
  if (headway_.on()) headway_.performed(self, value);
  if (tells_steps_) choices_->performed(look_at(self));
}

void world::observe_change(lane& self, const void* address, size_t size_bytes) {
  if (recorder_) recorder_->changed(self, address, size_bytes, true, !may_vanish(address));
  if (counted_ == 0) return;
  if (headway_.on()) headway_.changed(self, address);
  if (starvation_.on()) got_on(self);
}

void world::got_on(lane& self) {
  const lane* const starved = starvation_.got_on(self);
  if (starved == nullptr) return;
  verdict_ = verdict::starvation;
  message_ = starvation_.message(*starved, heap_);
  about_ = starvation_.place_of(*starved);
  waiting_ = {name_of(*starved)};
  report_.clear();
  leave(self);
}

void world::request_made(lane& self, uint64_t id) {
  if (requests_.on()) requests_.made(self, id, steps_);
}

void world::request_served(lane& self, uint64_t id, const operation& how) {
  if (!requests_.on()) return;
  const std::string starved = requests_.served(id);
  if (starved.empty()) return;
  finish_plain_store(self);
  self.pending = how;
  end(self, verdict::starvation, starved);
}

// -- mutexes ----------------------------------------------------------------------------------------------------------------------

int world::lock_mutex(lane& self, const void* mutex, mutex_kind kind, const operation& how) {
  self.operands = {reinterpret_cast<uintptr_t>(mutex), static_cast<uint64_t>(kind)};
  step(self, how);
  while (true) {
    switch (mutexes_.try_lock(mutex, kind, self)) {
      case mutex_table::answer::locked:
        got_somewhere(self);
        if (late_ != nullptr) late_->acquire_object(self, mutex);
        performed(self, 0);
        if (starvation_.on()) got_on(self);
        return 0;
      case mutex_table::answer::deadlock:
        performed(self, EDEADLK);
        return EDEADLK;
      case mutex_table::answer::must_wait:
        self.reads.clear();
        self.reads.add(mutex, 1, 0);
        if (starvation_.on()) starvation_.performed(self);
        wait(self, nullptr);
    }
  }
}

int world::try_lock_mutex(lane& self, const void* mutex, mutex_kind kind, const operation& how) {
  self.operands = {reinterpret_cast<uintptr_t>(mutex), static_cast<uint64_t>(kind)};
  step(self, how);
  const bool locked = mutexes_.try_lock(mutex, kind, self) == mutex_table::answer::locked;
  performed(self, locked ? 1 : 0);
  if (locked && late_ != nullptr) late_->acquire_object(self, mutex);
  if (locked) {
    got_somewhere(self);
    if (starvation_.on()) got_on(self);
  } else {
    self.reads.add(mutex, 1, watches_.change_of(mutex, 1), true);
  }
  return locked ? 0 : EBUSY;
}

int world::unlock_mutex(lane& self, const void* mutex, const operation& how) {
  self.operands = {reinterpret_cast<uintptr_t>(mutex), 0};
  step(self, how);
  if (late_ != nullptr) late_->release_object(self, mutex);
  const bool held = mutexes_.unlock(mutex, self);
  performed(self, held ? 1 : 0);
  if (!held) return EPERM;
  // Noted as a change, so that a loop over try_lock has reason to look again.
  watches_.note_change(mutex, 1, changes_ + 1);
  wake_readers(self, mutex, 1);
  return 0;
}

// -- conditions -------------------------------------------------------------------------------------------------------------------

bool world::wait_for_notice(lane& self, const void* condition, const std::byte* private_state, const operation& how) {
  const uint64_t before = watches_.change_of(condition, 1);
  self.pending = how;
  self.reads.clear();
  self.reads.add(condition, 1, before, true);
  pause(self, private_state);
  return watches_.change_of(condition, 1) != before;
}

void world::notice(lane& self, const void* condition) {
  watches_.note_change(condition, 1, changes_ + 1);
  wake_readers(self, condition, 1);
}

}  // namespace heddle::sim
