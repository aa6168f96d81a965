// What all parts of a run share: its memory map, lanes, history and phase, the strategy that is asked, the observers, and how the run ends.
//
// Parts get a run_core& and never the execution that owns them: they change state and answer. Only execution enters another lane.
#pragma once

#include <heddle/sim/base/lasso.h>
#include <heddle/sim/core/enabled_set.h>
#include <heddle/sim/core/frame_sharing.h>
#include <heddle/sim/core/hidden_stores.h>
#include <heddle/sim/core/issues.h>
#include <heddle/sim/core/run_parts.h>
#include <heddle/sim/core/thread_table.h>
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/memory/load_times.h>
#include <heddle/sim/settings.h>
#include <heddle/sim/space/lane_heap.h>
#include <heddle/sim/space/memory_map.h>

#include <string>

namespace heddle::sim {

struct run_core {
  run_core();
  run_core(const run_core&) = delete;
  run_core& operator=(const run_core&) = delete;

  settings machine;
  allowance allowed;            ///< by the settings
  late_memory* late = nullptr;  ///< null: one memory for all, every access takes effect at once
  bool link_delivers = false;   ///< what crosses the link may arrive before each access
  bool assumes = false;         ///< operations are not as the program has them (run/assumptions.h)
  bool looks_at_each = false;   ///< operation that a lane publishes (run/published.h)
  load_times* times = nullptr;  ///< null: the run keeps no virtual time
  memory_map map;
  root_stack stack;
  thread_table threads;
  frame_sharing frames{*this};
  fiber::entry lane_entry = nullptr;
  enabled_set enabled;
  sim::issues issues{*this};
  chooser choices;
  scheduler::candidate_list view;  ///< of the enabled lanes, for strategies
  bool enables_with_care = false;  ///< something is to be done beside that when a lane is enabled
  run_history history;
  program_clock clock;
  run_phase phase;
  lasso states;  ///< through which the fair tail has come
  sim::observers observers;
  sim::ending ending;
  hidden_stores hidden;           ///< of a run that is part of a search
  search_notes* notes = nullptr;  ///< of that search; null: there is none

  /// A new run of these choices. The memory of containers is kept.
  [[gnu::always_inline]] void reset(scheduler::choice_source& source) {
    map.heap.reset();
    map.ranges.reset();
    threads.reset();
    frames.reset();
    enabled.reset(machine.progress, machine.places_take_turns());
    choices.source = &source;
    choices.stopped = false;
    history.reset();
    clock.reset();
    phase = {};
    phase.in_rounds = phase.after_each = machine.convergence == convergence::lockstep;
    enables_with_care = observers.records || machine.evict != eviction::off;
    issues.reset(waves_step(), machine.partings);
    stack.task = nullptr;
    observers.headway.reset(source.looks_at_headway());
    observers.behaviour.reset(machine.watch.behaviour);
    observers.tells_steps = source.looks_at_steps();
    if (!hidden.empty()) [[unlikely]]
      hidden.clear();
  }

  // -- lanes ------------------------------------------------------------------------------------------------------------------------

  [[gnu::hot]] lane& new_lane(wave& of, uint32_t index);
  [[gnu::hot]] wave& new_wave() { return threads.new_wave(history.steps); }
  /// Whether lanes that stand together take steps together. In a search each takes its own: there every order counts.
  bool waves_step() const { return machine.step == wave_step::wave && notes == nullptr; }
  /// Whether another lane may run before a plain access there.
  [[gnu::always_inline]] bool is_plain_point(const void* address) const {
    return machine.points == plain_points::all ||
           (machine.points == plain_points::unchecked && !map.heap.contains(address));
  }
  /// Puts the lane's body on a stack of its own; the first switch to it runs `lane_entry(&self)`.
  [[gnu::hot]] void begin(lane& self);
  /// Ends the run when all stacks of host threads and copies are in use.
  void check_host_stacks(lane& self) {
    if (threads.host_stacks.is_used_up(map.host_stacks->capacity())) [[unlikely]]
      no_host_stack_left(self);
  }
  void first_step(wave& who) {
    who.stepped = true;
    enabled.fair.stepped(who);
  }
  /// From now on the lane is enabled.
  void enable(lane& self) {
    if (enables_with_care && !may_enable(self)) [[unlikely]]
      return;
    if (issues.on() && self.of->lanes.size() > 1) return issues.enable(self);
    enabled.add(self);
  }
  void disable(lane& self) {
    if (issues.on() && self.of->lanes.size() > 1) return issues.disable(self);
    enabled.remove(self);
  }
  /// As enable(), of a lane for whose collective the lane that runs was the last.
  void run_on(lane& self) {
    if (!issues.on() || self.of->lanes.size() == 1) return enable(self);
    if (enables_with_care && !may_enable(self)) [[unlikely]]
      return;
    issues.run_on(self);
  }
  /// The lane has made progress: its reads and operations before count towards no spin.
  void note_progress(lane& self) const {
    self.operations_judged = self.operations;
    self.reads.clear();
    self.fruitless_reads = 0;
    self.at_clock.reads = 0;
    self.left = allowed;
    self.spin.forget();
    self.circles = 0;
  }

  // -- steps ------------------------------------------------------------------------------------------------------------------------

  /// The lane has performed its pending operation and saw or wrote `value`.
  void performed(lane& self, uint64_t value) {
    const operation& done = self.pending;
    if (done.address == nullptr)
      history.digest.add(count_step(self), value);
    else
      add_to_digest(count_step(self), done.address, done.size_bytes, value);
    if (observers.on) [[unlikely]]
      observe(self, value);
  }
  /// As performed(), for a store to many bytes of the heap that has left this byte in all of them.
  void performed_fill(lane& self, std::byte byte);
  /// As performed(), for a plain store to the C++ heap that no other lane can have noticed.
  void performed_unnoticed(lane& self) {
    history.digest.add(count_step(self));
    note_progress(self);
  }
  /// As performed(), for an access to `address`.
  void performed_at(lane& self, const void* address, uint32_t size_bytes, uint64_t value) {
    if (!map.heap.contains(address) || size_bytes > sizeof value) [[unlikely]]
      return performed_elsewhere(self, value);
    performed_in_heap(self, address, value);
  }
  void performed_in_heap(lane& self, const void* address, uint64_t value) {
    history.digest.add(count_step(self), memory_map::in_heap(map.heap.offset_of(address)), map.stable_value(value));
    if (observers.on) [[unlikely]]
      observe(self, value);
  }
  /// Adds a step, its location and the location's contents: `value`, or words from memory where the access is longer.
  void add_to_digest(uint64_t what, const void* address, uint32_t size_bytes, uint64_t value);
  [[gnu::cold]] void observe_change(lane& self, const void* address, size_t size_bytes);
  /// A wait of the lane has ended. Ends the run, verdict `starvation`, when this bypasses a lane once too often.
  void note_bypass(lane& self);

  // -- choices ----------------------------------------------------------------------------------------------------------------------

  [[gnu::hot]] uint32_t pick(lane& self, uint32_t count, scheduler::choice_kind kind) {
    choices.asks = &self;
    uint32_t picked = 0;
    if (count > 1 && choices.source->try_pick(count, kind, picked)) [[likely]]
      return picked;
    return pick_slowly(self, count, kind);
  }
  /// Asks the strategy which of the enabled lanes goes next.
  lane& ask(lane& self);
  scheduler::candidate look_at(const lane& who) const;
  /// Whether the lane may still read a stale value. Not under the quiescence check, nor in the fair tail: there all stores have
  /// arrived.
  bool may_be_late(const lane& self) const { return self.left.late != 0 && phase.is_open(); }
  /// Whether the lane's weak compare-exchange, which would succeed, fails spuriously. Between two steps of progress only as often as settings allow.
  bool fails_spuriously(lane& self) {
    if (self.left.spurious == 0 || !phase.is_open() || pick(self, 2, scheduler::choice_kind::spurious) == 0)
      return false;
    --self.left.spurious;
    if (observers.recorder) observers.recorder->fails_for_no_reason(self);
    return true;
  }
  /// Under the progress model `cuda` only calls into the driver let kernels start.
  bool only_calls_start_kernels() const { return machine.progress == progress_model::cuda; }

  // -- the end ----------------------------------------------------------------------------------------------------------------------

  /// Ends the run with this verdict about the lane's pending operation. Does not return.
  [[noreturn]] void end(lane& about, scheduler::verdict verdict, const std::string& message);
  /// As end(), about where these calls have led the lane.
  [[noreturn]] void end_at(lane& about, scheduler::verdict verdict, const std::string& message,
                           const call_chain& calls);
  /// Ends the run with the verdict that has been noted.
  [[noreturn]] void leave(lane& self) { stack.leave(self); }
  /// Ends the run without a verdict: the choice source has no answer.
  [[noreturn]] void stop(lane& self) {
    choices.stopped = true;
    stack.leave(self);
  }
  /// Runs work that may need more stack than a lane has on the stack of the OS thread.
  void aside(lane& self, const std::function<void()>& work) { stack.run(self, work); }

  // -- explained runs ---------------------------------------------------------------------------------------------------------------

  /// Whether anything asks which store each load has found.
  bool explains() const { return observers.recorder != nullptr || times != nullptr; }
  /// Whether what would have ordered two accesses counts, or is to be told.
  bool asks_what_would_order() const {
    return explains() || machine.races == race_effect::weigh || machine.excused.any();
  }
  // What a picture of an explained run shows, and what virtual time depends on; to be called where explains().
  void found(const lane& self, uint64_t store_step, bool is_newest, uint64_t newest_step) {
    if (observers.recorder) observers.recorder->found(self, store_step, is_newest, newest_step);
    if (times != nullptr) times->found(store_step);
  }
  /// So many bytes that were stored in that step are in memory.
  void store_arrived(uint64_t store_step, uint64_t size_bytes) {
    if (observers.recorder) observers.recorder->arrived(store_step, size_bytes, history.steps);
  }
  /// The store of `store_step` precedes that of `newer_step` in modification order, though it was performed later.
  void stands_behind(uint64_t store_step, uint64_t newer_step) {
    if (observers.recorder) observers.recorder->stands_behind(store_step, newer_step);
  }
  /// A step of an explained run in words, with its source line.
  std::string describe_step(uint64_t step) const;

  /// In a search: a lane asks whether work has ended, and goes on either way. What was left out because nothing did so has to be gone through.
  void note_question_of_end() {
    if (notes != nullptr && !notes->asks_for_ends) notes->asks_for_ends = notes->grown = true;
  }
  /// In a search: the lane is about to change memory of the C++ heap, or has just done so.
  void note_hidden_store(lane& self, const void* address, size_t size_bytes, hidden_stores::from what) {
    if (map.may_vanish(address) && !notes->lanes_allocate->contains(address))
      hidden.note(self, address, size_bytes, what);
  }

  /// Ends the program where an invariant of the core does not hold.
  void check_invariants() const;

 private:
  /// Counts the pending operation, which the lane has performed; the word of it that enters the digest.
  uint64_t count_step(lane& self) {
    history.steps += history.counted;
    self.operations += history.counted;
    const operation& done = self.pending;
    return uint64_t{self.id} << 40 | uint64_t{done.size_bytes} << 8 | static_cast<uint64_t>(done.kind);
  }
  // Of the C++ heap, a variable or a large object.
  [[gnu::noinline]] void performed_elsewhere(lane& self, uint64_t value) { performed(self, value); }
  void add_words_to_digest(const void* address, uint32_t size_bytes);
  void observe(lane& self, uint64_t value);
  void note_behaviour(const lane& self, uint64_t value);
  /// Of an address on a stack: which frame it lies in, for the recorder.
  void note_frame(const void* address);
  [[gnu::hot]] uint32_t pick_slowly(lane& self, uint32_t count, scheduler::choice_kind kind);
  [[gnu::cold]] bool may_enable(lane& self);
  [[noreturn, gnu::cold]] void no_stack_left(lane& self);
  [[noreturn, gnu::cold]] void no_host_stack_left(lane& self);
  static scheduler::candidate look_at(const void* self, uint32_t index);
  static std::string frame_at(const void* context, const void* address);
  static uint32_t next_in_turn(const void* self, uint32_t actor);
};

}  // namespace heddle::sim
