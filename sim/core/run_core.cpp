#include <heddle/scheduler/printable.h>
#include <heddle/sim/base/address_space.h>
#include <heddle/sim/base/invariant.h>
#include <heddle/sim/base/state_key.h>
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/machine/kernel.h>
#include <heddle/sim/observe/debugger.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace heddle::sim {

using scheduler::choice_kind;
using scheduler::verdict;

namespace {

// Code under test may leave bytes of a frame unwritten: what the previous run left there would then be part of this run's state. Where
// it left so many bytes untouched that the arena takes none to have come further, more is cleared here.
void clear_stack(const stack_arena::stack& on) {
  const size_t size_bytes = std::min(on.size_bytes, size_t{32} << 10);
  std::memset(on.high() - size_bytes, 0, size_bytes);
}

}  // namespace

run_core::run_core()
    : view(this, &run_core::look_at, &run_core::next_in_turn, &enabled.fair.version(), &enabled.highest) {
  map.heap.take_frames(&run_core::frame_at, this);
}

// From the stack's beginning, which is the outermost frame: so far from it a variable lies in every process.
std::string run_core::frame_at(const void* context, const void* address) {
  const thread_table& threads = static_cast<const run_core*>(context)->threads;
  const lane* const now = threads.lane_on(static_cast<const std::byte*>(address));
  const lane* const owner = now != nullptr ? now : threads.last_on(static_cast<const std::byte*>(address));
  if (owner == nullptr) return "";
  char behind[32];
  std::snprintf(behind, sizeof behind, "-0x%zx",
                static_cast<size_t>(owner->runs.stack().high() - static_cast<const std::byte*>(address)));
  return "frame of " + name_of(*owner) + behind;
}

// -- lanes --------------------------------------------------------------------------------------------------------------------------

lane& run_core::new_lane(wave& of, uint32_t index) {
  lane& fresh = threads.new_lane(of, index);
  note_progress(fresh);
  fresh.is_explored = notes != nullptr;
  if (observers.recorder) [[unlikely]]
    observers.recorder->begins(fresh, history.steps);
  return fresh;
}

// A lane whose wave is off the device is enabled once that has a place again, which it wants from now on.
bool run_core::may_enable(lane& self) {
  if (observers.records) observers.recorder->goes_on(self, history.steps);
  if (self.of->resident) return true;
  self.state = lane_state::evicted;
  phase.want_places(true);
  enabled.asks_until = 0;
  if (observers.records) observers.recorder->waits(self, history.steps);
  return false;
}

void run_core::no_stack_left(lane& self) {
  self.begun = false;
  end(self, verdict::unsupported,
      "more than " + std::to_string(map.device_stacks->capacity()) + " lanes that have not ended; " +
          more_address_space);
}

void run_core::begin(lane& self) {
  self.begun = true;
  const size_t bytes = self.how_to_run->size_bytes;
  stack_arena& arena = self.is_host() ? *map.host_stacks : *map.device_stacks;
  self.stack_slot = (self.is_host() ? threads.host_stacks : threads.device_stacks).take(arena.capacity());
  if (self.stack_slot == stack_pool::none) [[unlikely]]
    no_stack_left(self);
  const stack_arena::stack on = arena.at(self.stack_slot);
  if (self.is_explored) [[unlikely]]
    clear_stack(on);
  self.private_low = on.low;
  self.private_bytes = on.size_bytes - (self.is_host() ? std::min(machine.host.shared_frame_bytes, on.size_bytes) : 0);
  constexpr size_t line_bytes = 64;
  self.body = on.high() - (bytes + line_bytes - 1) / line_bytes * line_bytes;
  self.runs.reset(on, self.is_host() ? 0 : static_cast<uint32_t>(self.stack_slot), bytes, lane_entry, &self);
  if (!self.is_host()) {
    const launched_kernel& of = *self.of->runs;
    std::memcpy(self.body, of.bytes.data(), of.bytes.size());
  }
}

void run_core::no_host_stack_left(lane& self) {
  const size_t capacity = map.host_stacks->capacity();
  end(self, verdict::assertion,
      "more than " + std::to_string(capacity) + " host threads, and copies that have not ended" +
          (capacity == memory_map::most_hosts ? "" : std::string("; ") + more_address_space));
}

// -- steps --------------------------------------------------------------------------------------------------------------------------

void run_core::add_to_digest(uint64_t what, const void* address, uint32_t size_bytes, uint64_t value) {
  const uint64_t where =
      map.heap.contains(address) ? memory_map::in_heap(map.heap.offset_of(address)) : map.stable(address);
  // Addresses on the C++ heap differ from process to process, and its contents may hold such addresses: neither enters the digest.
  if (where == memory_map::unstable) {
    const operation_kind kind = static_cast<operation_kind>(what & 0xff);
    if (kind == operation_kind::plain_load || kind == operation_kind::plain_store)
      history.library_steps += history.counted;
    return history.digest.add(what);
  }
  // A frame may hold what an earlier call, or an earlier run, has left there: its address enters the digest, its contents do not.
  if (map.is_on_host_stack(address)) return history.digest.add(what, where);
  const bool whole = size_bytes <= sizeof value;
  history.digest.add(what, where, whole ? map.stable_value(value) : 0);
  if (!whole) add_words_to_digest(address, size_bytes);
}

void run_core::performed_fill(lane& self, std::byte byte) {
  const void* const address = self.pending.address;
  history.digest.add(count_step(self), memory_map::in_heap(map.heap.offset_of(address)), 0);
  history.digest.add(map.stable_value(static_cast<uint64_t>(byte) * 0x0101010101010101u), self.pending.size_bytes);
  if (observers.on) [[unlikely]]
    observe(self, watched::value_at(address, self.pending.size_bytes));
}

void run_core::add_words_to_digest(const void* address, uint32_t size_bytes) {
  const auto* bytes = static_cast<const std::byte*>(address);
  if (repeats_one_word(address, size_bytes))
    return history.digest.add(map.stable_value(watched::value_at(address, sizeof(uint64_t))), size_bytes);
  for (uint32_t done = 0; done < size_bytes; done += sizeof(uint64_t)) {
    const uint32_t left = size_bytes - done;
    history.digest.add(map.stable_value(
        watched::value_at(bytes + done, left < sizeof(uint64_t) ? left : static_cast<uint32_t>(sizeof(uint64_t)))));
  }
}

void run_core::observe(lane& self, uint64_t value) {
  recorder* const record = observers.recorder.get();
  if (history.counted == 0) {
    if (record) record->performed_before_steps(self);
    return;
  }
  if (record) {
    const void* const address = self.pending.address;
    const bool readable = address != nullptr && !map.may_vanish(address);
    record->performed(self, value, history.steps, link_delivers && readable, readable);
    if (map.host_stacks->contains(address) || map.device_stacks->contains(address)) note_frame(address);
    if (const debugger_stops* const stops = stops_of_runs()) {
      bool stops_here = false;
      aside(self, [&] { stops_here = stops->tell_step(*record, map.heap, history.steps); });
      if (stops_here) stop_for_debugger();
    }
  }
  if (notes != nullptr && notes->touched.is_on()) notes->touched.add(self);
  if (observers.starvation.on()) observers.starvation.performed(self);
  if (observers.headway.on()) observers.headway.performed(self, value);
  if (observers.behaviour.on()) note_behaviour(self, value);
  if (observers.tells_steps) choices.source->performed(look_at(self));
}

// As add_to_digest() of the operation. What plain accesses find on the C++ heap and on stacks may be what an earlier run has left there.
void run_core::note_behaviour(const lane& self, uint64_t value) {
  const operation& done = self.pending;
  if (done.address == nullptr) return observers.behaviour.performed(self, 0, value);
  const bool plain = done.kind == operation_kind::plain_load || done.kind == operation_kind::plain_store;
  const uint64_t where = map.heap.contains(done.address) ? memory_map::in_heap(map.heap.offset_of(done.address))
                                                         : map.stable(done.address);
  if (plain && (where == memory_map::unstable || map.is_on_host_stack(done.address))) return;
  observers.behaviour.performed(self, where, done.size_bytes <= sizeof value ? map.stable_value(value) : 0);
}

void run_core::note_frame(const void* address) {
  const lane* const owner = threads.lane_on(static_cast<const std::byte*>(address));
  const stack_frame in = owner == nullptr ? stack_frame() : frame_around(*owner, address);
  if (in.returns_to != nullptr) observers.recorder->types.accessed(address, in, *owner);
}

void run_core::observe_change(lane& self, const void* address, size_t size_bytes) {
  if (observers.recorder) observers.recorder->changed(self, address, size_bytes, true, !map.may_vanish(address));
  if (history.counted == 0) return;
  if (observers.headway.on()) observers.headway.changed(self, address);
  if (observers.behaviour.on()) observers.behaviour.changed(self, address);
  if (observers.starvation.on()) note_bypass(self);
}

void run_core::note_bypass(lane& self) {
  const lane* const starved = observers.starvation.got_on(self);
  if (starved == nullptr) return;
  ending.verdict = verdict::starvation;
  ending.message = observers.starvation.message(*starved, map.heap);
  ending.about = observers.starvation.place_of(*starved);
  ending.waiting = {name_of(*starved)};
  ending.report.clear();
  leave(self);
}

// -- choices ------------------------------------------------------------------------------------------------------------------------

scheduler::candidate run_core::look_at(const void* self, uint32_t index) {
  const auto& core = *static_cast<const run_core*>(self);
  return core.look_at(*core.enabled.lanes[index]);
}

uint32_t run_core::next_in_turn(const void* self, uint32_t actor) {
  const auto& core = *static_cast<const run_core*>(self);
  return core.threads.lanes[core.enabled.next_in_turn(actor)].candidate_slot;
}

scheduler::candidate run_core::look_at(const lane& who) const {
  const operation_kind kind = who.pending.kind;
  const bool of_mutex = kind == operation_kind::lock_mutex || kind == operation_kind::unlock_mutex;
  const uint64_t address = of_mutex ? who.operands[0] : reinterpret_cast<uintptr_t>(who.pending.address);
  const uint64_t location = address == 0 ? 0 : map.stable(address);
  return {.actor = who.id,
          .group = who.of->id,
          .member = who.index,
          .guaranteed = who.of->guaranteed,
          .writes = may_write(kind) || of_mutex,
          .location = location == memory_map::unstable ? 0 : location,
          .operations = who.operations,
          .fruitless = who.fruitless,
          .headway = observers.headway.of(who)};
}

lane& run_core::ask(lane& self) {
  choices.asks = &self;
  const auto count = static_cast<uint32_t>(enabled.lanes.size());
  const uint32_t picked = choices.source->pick(count, choice_kind::actor, view);
  if (picked >= count) stop(self);
  return *enabled.lanes[picked];
}

uint32_t run_core::pick_slowly(lane& self, uint32_t count, choice_kind kind) {
  const uint32_t picked = choices.source->pick(count, kind);
  if (picked >= count) stop(self);
  if (observers.recorder && picked != 0) [[unlikely]]
    observers.recorder->odd_answer(self, kind);
  return picked;
}

// -- the end ------------------------------------------------------------------------------------------------------------------------

void run_core::end(lane& about, scheduler::verdict found, const std::string& message) {
  end_at(about, found, message, calls_of(about));
}

void run_core::end_at(lane& about, scheduler::verdict found, const std::string& message, const call_chain& calls) {
  ending.verdict = found;
  ending.message = scheduler::printable(message);
  ending.about = calls;
  ending.ended_by = &about;
  ending.report.clear();
  leave(about);
}

std::string run_core::describe_step(uint64_t step) const {
  if (step == 0) return "an access by host main, before any other actor existed";
  return observers.recorder == nullptr ? "step " + std::to_string(step) : observers.recorder->describe(map.heap, step);
}

void run_core::check_invariants() const {
  map.heap.check_invariants();
  threads.check_invariants();
  enabled.check_invariants();
  issues.check_invariants();
  must_hold(choices.source != nullptr, "choices: there is a source to ask");
  must_hold(choices.asks == nullptr || choices.asks == &threads.lanes[choices.asks->id],
            "choices: the lane that asked is of this machine");
  must_hold(history.counted <= 1, "history: an operation is one step, or none");
  must_hold(history.counted != 0 || history.steps == 0, "history: nothing was counted before operations were steps");
  must_hold(history.library_steps <= history.steps, "history: accesses to the C++ heap are steps");
  must_hold(!phase.all_take_turns || phase.in_tail, "phase: all take turns in the fair tail alone");
  must_hold(!phase.denied || phase.in_tail, "phase: a hang that the model allows is followed by the fair tail");
  must_hold(!phase.places_lifted || phase.denied, "phase: places are lifted behind a hang that was found");
  must_hold(phase.after_each == (phase.in_rounds || phase.places_wanted), "phase: what is decided after each step is");
  must_hold(!phase.places_wanted || machine.evict != eviction::off, "phase: places are wanted where there are turns");
  must_hold(phase.in_rounds == (machine.convergence == convergence::lockstep), "phase: rounds are for lockstep");
  must_hold(ending.ended_by == nullptr, "ending: a run that goes on has been ended by nothing");
  must_hold(ending.verdict == scheduler::verdict::ok, "ending: a run that goes on has no verdict");
  must_hold(!observers.records || observers.recorder != nullptr, "observers: a record is made of a recorded run");
  must_hold(observers.on || (observers.recorder == nullptr && !observers.tells_steps && !observers.headway.on() &&
                             !observers.behaviour.on()),
            "observers: what looks on is told");
  must_hold(!link_delivers || machine.fidelity == fidelity::link, "memory: only a link delivers");
  must_hold((late == nullptr) <= (machine.fidelity == fidelity::interleaving), "memory: a weak memory is there");
  must_hold(allowed.late == machine.late && allowed.wakes == machine.wakes && allowed.spurious == machine.spurious,
            "settings: what is allowed is what was set");
  must_hold(notes != nullptr || hidden.empty(), "search: hidden stores are kept for a search alone");
  must_hold(lane_entry != nullptr, "lanes: it is known where one begins");
}

}  // namespace heddle::sim
