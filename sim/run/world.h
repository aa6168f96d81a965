// One simulation: who there is, who goes next, and when it is over. Lives on one OS thread.
#pragma once

#include <heddle/rpc/launch.h>
#include <heddle/scheduler/choice.h>
#include <heddle/scheduler/digest.h>
#include <heddle/sim/base/reused_list.h>
#include <heddle/sim/cached.h>
#include <heddle/sim/convergence/lockstep.h>
#include <heddle/sim/core/turn_order.h>
#include <heddle/sim/fiber/fiber_body.h>
#include <heddle/sim/judge/tail.h>
#include <heddle/sim/launch/devices.h>
#include <heddle/sim/machine/kernel.h>
#include <heddle/sim/machine/lane.h>
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/memory/race.h>
#include <heddle/sim/memory/timed/timed_memory.h>
#include <heddle/sim/observe/headway.h>
#include <heddle/sim/observe/recorder.h>
#include <heddle/sim/observe/starvation.h>
#include <heddle/sim/settings.h>
#include <heddle/sim/simulation.h>
#include <heddle/sim/space/heap.h>
#include <heddle/sim/space/unflushed.h>
#include <heddle/sim/sync/doorbell.h>
#include <heddle/sim/sync/mutex.h>

#include <bit>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// Where this cannot become part of a shared object, a thread's variables are at a fixed distance from its thread pointer: every entry from
// code under test asks for two of them.
#if defined(__PIC__) && !defined(__PIE__)
#define HEDDLE_SIM_NOT_SHARED
#else
#define HEDDLE_SIM_NOT_SHARED [[gnu::tls_model("local-exec")]]
#endif

namespace heddle::sim {

class world {
 public:
  world();
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  [[gnu::hot]] const outcome& run(const parameters& values, const std::function<void()>& body,
                                  scheduler::choice_source& choices, bool explain, run_record* record);

  // -- entries of the runtime; the caller is a lane that has left the code under test ------------------------------------------

  /// Lets somebody be chosen; returns when it is this lane, which then performs its pending operation. It, and what calls it, is part
  /// of the entry point: each return behind a switch is one that the processor predicts wrongly.
  [[gnu::always_inline]] void yield(lane& self) {
    lane& next = choose(self);
    if (&next != &self) enter(self, next);
  }

  /// The same; whether memory has been given back meanwhile.
  [[gnu::always_inline]] bool yield_and_watch_frees(lane& self) {
    lane& next = choose(self);
    if (&next == &self) return false;
    const uint64_t frees = heap_.frees();
    enter(self, next);
    return frees != heap_.frees();
  }

  /// Publishes what the lane does next, and yields.
  void step(lane& self, const operation& next) {
    finish_plain_store(self);
    self.pending = next;
    yield(self);
  }

  /// The lane has performed its pending operation and saw or wrote `value`.
  void performed(lane& self, uint64_t value) {
    const operation& done = self.pending;
    if (done.address == nullptr)
      digest_.add(count_step(self), value);
    else
      add_to_digest(count_step(self), done.address, done.size_bytes, value);
    if (observed_) [[unlikely]]
      observe(self, value);
  }
  /// The same for an access to `address`.
  void performed_at(lane& self, const void* address, uint32_t size_bytes, uint64_t value) {
    if (!heap_.contains(address) || size_bytes > sizeof value) [[unlikely]]
      return performed_elsewhere(self, value);
    digest_.add(count_step(self), in_heap(heap_.offset_of(address)), stable_value(value));
    if (observed_) [[unlikely]]
      observe(self, value);
  }
  /// The same for one that has read `address` and found `value`; the lane's loop waits for it to be something else than `watched_for`. A
  /// loop that reads and reads without a pause is looked at more closely.
  [[gnu::hot]] void read(lane& self, const void* address, uint32_t size_bytes, uint64_t value, uint64_t watched_for) {
    if (!heap_.contains(address) || size_bytes > sizeof value) [[unlikely]]
      return read_elsewhere(self, address, size_bytes, value, watched_for);
    ++self.fruitless_reads;
    self.reads.add(address, size_bytes, watched_for, false);
    digest_.add(count_step(self), in_heap(heap_.offset_of(address)), stable_value(value));
    if (observed_) [[unlikely]]
      observe(self, value);
  }

  /// The lane has read this, in an operation that it has not performed yet.
  void has_read(lane& self, const void* address, uint32_t size_bytes, uint64_t value) {
    ++self.fruitless_reads;
    if (heap_.contains(address) || !may_vanish(address)) [[likely]]
      return self.reads.add(address, size_bytes, value, false);
    self.reads.add(address, size_bytes, watches_.change_of(address, size_bytes), true);
  }
  static bool may_spin(const lane& self) { return self.fruitless_reads >= fruitless_reads_allowed; }
  /// Called when may_spin, with the low end of the lane's private state: lets it wait if it only repeats itself.
  void look_for_spin(lane& self, const std::byte* private_state);
  /// Whether the lane must let others in wherever it is: it reads and reads in vain, or the run has become too long.
  /// One of a wave with one program counter must wherever it touches memory: the others come to the same place before any goes on.
  bool must_yield(const lane& self) const {
    return may_spin(self) || steps_ >= next_limit_ || self.of->together != nullptr;
  }

  /// Whether other lanes of its arm have made the lane's pending store, as part of one operation.
  bool is_stored(lane& self) { return in_rounds_ && is_stored_by_arm(self); }
  /// The lane has changed these bytes: it got somewhere, and whoever waits for them may go on.
  void changed(lane& self, const void* address, size_t size_bytes) {
    if (!heap_.contains(address)) [[unlikely]] {
      changed_elsewhere(address, size_bytes);
      if (self.is_explored && self.pending.address == address) note_hidden_store(self, address);
    }
    wake_readers(self, address, size_bytes);
  }
  /// The same for a word of the simulator's own.
  void wake_readers(lane& self, const void* address, size_t size_bytes) {
    got_somewhere(self);
    ++changes_;
    watches_.changed(address, size_bytes, [&](lane& waiter) {
      if (waiter.state != lane_state::waiting && waiter.circles == 0) return;
      if (waiter.reads.covers(address, size_bytes)) wake(waiter);
    });
    if (observed_) [[unlikely]]
      observe_change(self, address, size_bytes);
  }

  /// Lets the memory take up what the lane has stored plainly, or seen through a window.
  void settle(lane& self) {
    if (!self.unsettled) return;
    self.unsettled = false;
    late_->after_plain(self);
  }
  /// Remembers the bytes that a plain store of the code under test is about to replace.
  void begin_plain_store(lane& self, void* address, uint32_t size_bytes) {
    self.storing.address = address;
    self.storing.size_bytes = size_bytes;
    self.storing.before = watched::value_at(address, size_bytes);
    if (self.is_explored) [[unlikely]]
      note_hidden_store(self, address);
  }
  /// The same for a store that is too long to remember: it counts as a change.
  void begin_object_store(lane& self, void* address, uint32_t size_bytes) {
    self.storing.address = address;
    self.storing.size_bytes = size_bytes;
    if (self.is_explored) [[unlikely]]
      note_hidden_store(self, address);
  }
  void finish_plain_store(lane& self) {
    if (self.storing.size_bytes != 0 || self.unsettled) look_at_plain_store(self);
  }

  /// The end of a turn in a loop that waits for memory to change, which the lane has published. `private_state` as for look_for_spin;
  /// null: the wait is the simulator's own and repeats itself exactly.
  [[gnu::always_inline]] void pause(lane& self, const std::byte* private_state) {
    end_turn(self, private_state);
    yield(self);
    performed(self, 0);
  }

  /// As the C library's functions on mutexes, with their results: 0, EBUSY, EDEADLK, EPERM.
  int lock_mutex(lane& self, const void* mutex, mutex_kind kind, const operation& how);
  int try_lock_mutex(lane& self, const void* mutex, mutex_kind kind, const operation& how);
  int unlock_mutex(lane& self, const void* mutex, const operation& how);

  /// Waits until every lane of the operation's mask has come, and returns what the collective gives this lane.
  uint64_t collective(lane& self, const operation& how, uint64_t value);
  uint64_t active_mask(lane& self, const operation& how);

  /// Whether the lane may touch these bytes, its own stack aside; ends the run when not. `is_private` when it is its own stack.
  static bool is_private(const lane& self, const void* address) {
    return static_cast<size_t>(static_cast<const std::byte*>(address) - self.private_low) < self.private_bytes;
  }
  static bool is_on_stack(const lane& of, const void* address) {
    const auto& stack = of.runs.stack();
    return static_cast<size_t>(static_cast<const std::byte*>(address) - stack.low) < stack.size_bytes;
  }
  /// A variable of a host thread's frame is, or may be, known to another too: from now on the thread's own accesses to it are seen. So are those
  /// to all frames further out, for nothing says where the variable ends.
  static void share_frames(lane& owner, const void* from);
  /// Whether a read of these bytes is no step: they never change.
  bool is_constant(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) - variable_low_ >= variable_bytes_ && look_whether_constant(address);
  }
  void check_access(lane& self) {
    const operation& how = self.pending;
    if (!heap_.contains(how.address)) [[unlikely]]
      return check_access_elsewhere(self);
    if (const char* wrong = heap_.check(how.address, how.size_bytes)) [[unlikely]]
      look_closer(self, wrong);
  }

  /// The same for an atomic access, which must be aligned to its size. A misaligned one is taken for one elsewhere, by the comparison that is
  /// made anyway: turned by the bits that must be zero, its place in the heap is beyond all that is in it.
  void check_atomic_access(lane& self) {
    const operation& how = self.pending;
    const auto bits = static_cast<int>(std::countr_zero(how.size_bytes));
    if (std::rotr(heap_.offset_of(how.address), bits) >= heap::capacity_bytes >> bits) [[unlikely]]
      return check_atomic_access_elsewhere(self);
    if (const char* wrong = heap_.check(how.address, how.size_bytes)) [[unlikely]]
      look_closer(self, wrong);
  }

  /// Ends the run with this verdict about the lane's pending operation. Does not return.
  [[noreturn]] void end(lane& about, scheduler::verdict verdict, const std::string& message);
  /// The same about where these calls have led the lane.
  [[noreturn]] void end_at(lane& about, scheduler::verdict verdict, const std::string& message,
                           const call_chain& calls);

  // -- for a run that is interrupted where it stands (crash.h); the first ones may be called in a signal handler -----------------------

  /// The lane on whose stack, or in whose guard page, the address lies; null when no lane runs there.
  lane* lane_on(const std::byte* address);
  uint64_t choices_made() const { return choices_ == nullptr ? 0 : choices_->recorded().size(); }
  uint64_t digest_so_far() const { return digest_.value(); }
  /// Ends the run, which says nothing.
  [[noreturn]] void abandon(lane& self) { stop(self); }

  // -- entries of the device ------------------------------------------------------------------------------------------------------

  /// Null where memory of a device has come to its end.
  /// `moves`: its pages move to the GPU whose lanes use them first.
  void* try_allocate(lane& self, size_t size_bytes, memory_kind kind, const char* name, uint32_t device,
                     const void* owner, bool moves = false);
  /// The same ends the run.
  [[gnu::hot]] void* allocate(lane& self, size_t size_bytes, memory_kind kind, const char* name, uint32_t device,
                              const void* owner, const operation& how);
  /// Ends the run, verdict `unsupported`, where a lane of a kernel does what only a host thread can do here.
  void require_host(lane& self, const char* what, const operation& how) {
    if (!self.is_host()) [[unlikely]]
      refuse_in_kernel(self, what, how);
  }
  void release(lane& self, void* pointer, const operation& how);
  /// Releases what the object that ends has allocated. Not while launches run: hardware would wait for them here.
  void release_all_of(lane& self, const void* owner);
  void launch(lane& self, const grid_shape& shape, const fiber_body& kernel, const void* bytes, const operation& how);
  /// Gives the stream a copy, which does not wait. An engine of its own performs it, as `how_to_run` says.
  void copy_in_stream(lane& self, const stream_copy& what, uint32_t stream, const fiber_body& how_to_run,
                      const operation& how);
  /// The copy waits until everything has ended that it comes after.
  void begin_copy(lane& engine, const operation& how) { wait_for_launches(engine, engine.of->after, how); }
  /// As the lane has published it.
  [[gnu::hot]] const wave& spawn_host(lane& self, const char* name, const fiber_body& body, void* from);
  /// Waits, as the lane has published it, until the word, which the simulator changes, is `wanted`.
  [[gnu::always_inline]] void wait_for(lane& self, const uint64_t& word, uint64_t wanted) {
    self.awaits = &word;
    self.awaited = wanted;
    yield(self);
    while (word != wanted) {
      self.reads.clear();
      self.reads.add(&word, sizeof word, word);
      wait(self, nullptr);
    }
    self.awaits = nullptr;
    got_somewhere(self);
    performed(self, wanted);
  }
  /// The lane has seen that the device is idle: all that its kernels did comes before what it does next.
  void acquire_kernels(lane& self, uint32_t device);
  /// Launches of the device that have not ended.
  const uint64_t& kernels_running(uint32_t device) const {
    return devices_.size() == 1 ? kernels_running_ : devices_[device].running;
  }
  device_set& devices() { return devices_; }
  device_memory memory_of(uint32_t device) const;
  /// The GPU as another process has it; an error where there is no such GPU.
  result<uint32_t> open_process(uint32_t gpu);
  /// An error unless all the bytes that lie in device memory are the process's of this device.
  result<void> check_process(const char* call, uint32_t device, const void* address, size_t size_bytes) const;
  /// The same, and ends the run with it.
  void require_process(lane& self, const char* call, uint32_t device, const void* address, size_t size_bytes,
                       const operation& how);
  result<device_page> page_of(uint32_t device, const void* address);
  result<void*> at(uint32_t device, uint64_t address);
  /// A device of these GPUs, with a default stream of its own.
  result<uint32_t> unify(std::span<const uint32_t> gpus);
  /// Pieces of a copy that lie in the memory of one GPU each: the bytes of `size_bytes` behind `at_byte` that belong together.
  size_t piece_of_copy(const void* to, const void* from, size_t at_byte, size_t size_bytes);
  unflushed_memory& unflushed() { return unflushed_; }

  /// A host thread calls into the driver, which lets it go on when it may (settings::driver); a launch does not wait for the device.
  void enter_driver(lane& self, bool is_launch, operation how);
  /// The call returns.
  void leave_driver(lane& self, operation how);

  // -- entries of GPU runtimes ---------------------------------------------------------------------------------------------------

  // Streams and events are named by numbers from 0; a number that is not one ends the run.
  uint32_t create_stream(bool blocking, uint32_t device = 0);
  void destroy_stream(lane& self, uint32_t stream, const operation& how);
  /// Of a number that is no stream: 0.
  uint32_t device_of_stream(uint32_t stream) const { return stream < streams_.size() ? streams_[stream].device : 0; }
  uint32_t create_event();
  /// The launches that somebody who waits for the stream waits for.
  std::vector<uint32_t> work_of(lane& self, uint32_t stream, const operation& how);
  std::vector<uint32_t>& event(lane& self, uint32_t event, const operation& how);
  /// The stream's later launches wait for these.
  void delay_stream(lane& self, uint32_t stream, const std::vector<uint32_t>& launches, const operation& how);
  void wait_for_launches(lane& self, const std::vector<uint32_t>& launches, const operation& how);
  /// Whether all of them have ended.
  bool have_ended(lane& self, const std::vector<uint32_t>& launches, const operation& how);

  /// Waits until each live lane of the block has come. `how.mask` says what they ask for beside that, and must be the same for all.
  /// Returns how many lanes came, and above bit 32, how many of them gave a `value` other than 0.
  uint64_t block_barrier(lane& self, const operation& how, uint64_t value);
  /// The block's own copy of the variable that `key` stands for; made, and filled with what no program put there, when first asked for.
  void* shared_variable(lane& self, const void* key, size_t size_bytes, const char* name);
  /// The time now, in cycles. Who looks at nothing but the clock sees it run away: loops that wait for a time come to their end.
  uint64_t pass_time(lane& self);
  /// A thread sleeps for so long, or until then. Where no clock was read in this run, it makes no difference.
  void let_time_pass(uint64_t cycles) {
    if (clock_ != 0) clock_ += cycles;
  }
  void let_time_pass_until(uint64_t cycle) {
    if (clock_ != 0 && clock_ < cycle) clock_ = cycle;
  }
  /// Waits for notice of the condition, or for no reason; whether notice was given.
  bool wait_for_notice(lane& self, const void* condition, const std::byte* private_state, const operation& how);
  void notice(lane& self, const void* condition);
  grid_position position_of(const lane& self) const;
  /// A name with a number: "cudaMalloc 2" for the second of its kind.
  const char* numbered_name(const char* kind);

  // -- entries of memory that arrives late -------------------------------------------------------------------------------------

  /// The memory of this run; null when there is one memory for all.
  late_memory* late() { return late_; }
  /// What is under way may arrive before the lane makes its access.
  void let_arrive(lane& self) {
    if (link_delivers_) late_->let_arrive(self);
  }
  [[gnu::hot]] uint32_t pick(lane& self, uint32_t count, scheduler::choice_kind kind) {
    asking_ = &self;
    uint32_t picked = 0;
    if (count > 1 && choices_->try_pick(count, kind, picked)) [[likely]]
      return picked;
    return pick_slowly(self, count, kind);
  }
  /// Whether the lane may still see something that is not the newest. Not when waits are put to the proof or the run is to come
  /// to its end: there all stores have arrived.
  bool may_be_late(const lane& self) const { return self.left.late != 0 && is_open(); }
  /// Whether the lane's weak compare-exchange, which would succeed, fails. As seldom as loads are late, and for the same reason.
  bool fails_spuriously(lane& self) {
    if (self.left.spurious == 0 || !is_open() || pick(self, 2, scheduler::choice_kind::spurious) == 0) return false;
    --self.left.spurious;
    if (recorder_) recorder_->fails_for_no_reason(self);
    return true;
  }
  /// Whether what the machine leaves open is chosen. When it is not, each choice is answered by 0, what the machine does by default.
  bool is_open() const { return proving_ == proof::none && !tail_.begun; }
  uint64_t steps() const { return steps_; }
  /// The number of the step that is being taken; 0 where it is none.
  uint64_t this_step() const { return steps_ + counted_; }
  /// Whether somebody wants to know which store each load has found.
  bool explains() const { return recorder_ != nullptr || timed() != nullptr; }
  /// What was under way has changed these bytes; `issuer` had stored them, in that step of an explained run.
  void arrived(const lane& issuer, const void* address, size_t size_bytes, uint64_t stored_in);
  // What a picture of an explained run shows, and what virtual time depends on; to be called where explains().
  void found(const lane& self, uint64_t store_step, bool is_newest, uint64_t newest_step) {
    if (recorder_) recorder_->found(self, store_step, is_newest, newest_step);
    if (timed_memory* const time = timed()) time->found(store_step);
  }
  /// So many bytes that were stored in that step are in memory.
  void store_arrived(uint64_t store_step, uint64_t size_bytes) {
    if (recorder_) recorder_->arrived(store_step, size_bytes, steps_);
  }
  /// The store of the step counts as older than that of the other one, which was made before.
  void stands_behind(uint64_t store_step, uint64_t newer_step) {
    if (recorder_) recorder_->stands_behind(store_step, newer_step);
  }
  /// Also in others, where it does nothing.
  void name_slots(const runtime::named_slots& where) {
    if (recorder_) recorder_->name(where);
  }
  /// The lane's pending operation races with an earlier access. Does not return when races end runs.
  void found_race(lane& self, const access_record& earlier, bool scope_race, const race_finder::edge* missing,
                  const lane* knows);
  /// A step of an explained run in words, with its source line.
  std::string describe_step(uint64_t step) const;
  bool is_on_host_stack(const void* address) const { return host_stacks_->contains(address); }
  /// Whether the memory is on the C++ heap, or mapped by somebody else, and may be gone by the time that one looks at it.
  bool may_vanish(const void* address) const {
    return !heap_.contains(address) && stable(reinterpret_cast<uintptr_t>(address)) == unstable;
  }

  // -- virtual time --------------------------------------------------------------------------------------------------------------

  /// Every run from the next one on keeps virtual time, and tells what its calls took; null: none does.
  void time_calls(call_times* into) { call_times_ = into; }
  void tell_of_others(const other_schedules* known) { others_ = known; }
  /// Null where this run keeps none.
  timed_memory* timed() const { return call_times_ == nullptr ? nullptr : timed_.get(); }

  // -- doorbells ---------------------------------------------------------------------------------------------------------------

  /// What becomes of a ring that the lane is about to send.
  doorbell_line::fate fate_of_ring(lane& self, const void* bell);
  /// Puts the ring that the lane sends in its pending operation under way, for so many steps.
  void send_ring(lane& self, void* bell, uint64_t steps);

  // -- for who goes through all runs (verify/search.h), while it is asked -------------------------------------------------------

  /// Every run from the next one on is part of a search, which is told what it must know; null: none is.
  void explore(search_notes* notes) { notes_ = notes; }
  /// Null: where everybody does.
  lane_heap* lanes_allocate_in() const { return notes_ == nullptr ? nullptr : notes_->lanes_allocate; }
  /// All that can influence what happens next, except what only decides how soon a wait is recognised as one. False where the state of
  /// this run cannot be told. To be called on the OS thread's own stack (aside): then every lane has been left.
  bool tell_all(state_reader& to);
  /// The lane that has come to the choice.
  lane& asks() { return *asking_; }
  size_t lane_count() const { return lanes_used_; }
  lane* lane_of(uint32_t id) { return &lanes_[id]; }
  const std::vector<lane*>& candidates() const { return candidates_; }
  /// Whether a fence has others see something: what is on its way to them.
  bool fences_deliver() const { return link_delivers_; }
  /// Whether stores are under way that arrive when time passes.
  bool is_under_way() const { return late_ != nullptr && late_->is_under_way(); }
  /// Whether the lane's pending load, or read-modify-write that leaves what it finds, can find one value alone, from which it learns nothing.
  bool finds_nothing_new(const lane& who) { return late_ == nullptr || late_->finds_nothing_new(who); }
  /// Whether somebody who has never stepped must start some time, although nobody promises a turn to anyone on the device.
  bool owes_a_start() const { return is_start_owed() && !only_calls_start_kernels(); }
  /// Where the lane stands in its loop with its private state, and what it has read since it last got anywhere.
  void tell_wait(const lane& who, state_reader& stands, state_reader& has_read) const;
  /// Does what may need more stack than a lane has, on the OS thread's own.
  void aside(lane& self, const std::function<void()>& work);

  const settings& machine() const { return machine_; }
  device_cache& cache() { return cache_; }
  void map_cached(lane& self, void* memory, const operation& how);
  void request_made(lane& self, uint64_t id);
  void request_served(lane& self, uint64_t id, const operation& how);
  heap& memory() { return heap_; }
  /// Whose stack ends at this page, which guards stacks; null when no lane runs there.
  const lane* owner_of_guard(const void* address) const;
  /// Whether the address lies in the program itself, and in none of its libraries.
  bool is_in_image(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) - image_low_ < image_high_ - image_low_;
  }
  bool guards(const void* address) const {
    return device_stacks_->is_guard(address) || host_stacks_->is_guard(address);
  }

  /// The lane that runs on this OS thread now; null inside the simulator and outside of runs.
  HEDDLE_SIM_NOT_SHARED static constinit thread_local lane* current;
  /// The simulation of this OS thread; null when there is none.
  HEDDLE_SIM_NOT_SHARED static constinit thread_local world* instance;

 private:
  friend class hang_report;

  static constexpr uint32_t fruitless_reads_allowed = 64;
  static constexpr uintptr_t lowest_address = 65536;
  static constexpr uint64_t unstable = ~uint64_t{0};

  [[gnu::hot]] void prepare(scheduler::choice_source& choices, bool explain);
  [[gnu::cold]] void take_settings(const parameters& values);
  [[gnu::cold]] void look_on(bool explain);
  // Of what the run before has left, where it has: most runs leave none of it.
  [[gnu::cold]] void forget_rest();
  [[gnu::cold]] void forget_finding();
  [[gnu::cold]] void tell_more(run_record* record);
  run_record tell_record(size_t most_steps) const;
  [[gnu::hot]] void choose_memory();
  /// As yield, for a lane that is no candidate; it may have become one again by the time that somebody is chosen.
  [[gnu::always_inline]] void block(lane& self) { yield(self); }
  [[gnu::always_inline]] void enter(lane& self, lane& next) {
    if (!next.begun) [[unlikely]]
      begin(next);
    ++switches_;
    fiber::switch_to(self.runs, next.runs, *exceptions_);
  }
  [[gnu::hot]] void begin(lane& self);
  [[noreturn, gnu::cold]] void no_stack_left(lane& self);
  [[gnu::hot]] static void run_lane(void* argument);
  [[gnu::hot]] void lane_ended(lane& self);

  // One function for all operations, that needs no registers of its caller's: what they take of the processor's cache counts for more
  // than a call.
  [[gnu::noinline, gnu::hot]] lane& choose(lane& self) {
    if (fair_.candidates() == 0 || steps_ >= asks_until_) [[unlikely]]
      return choose_specially(self);
    asking_ = &self;
    const auto count = static_cast<uint32_t>(candidates_.size());
    if (count == 1) return *candidates_.front();
    uint32_t picked = 0;
    if (!choices_->try_pick(count, scheduler::choice_kind::actor, picked)) [[unlikely]]
      return ask(self);
    return *candidates_[picked];
  }
  [[gnu::noinline]] lane& choose_specially(lane& self) {
    if (counted_ == 0 && goes_on_alone(self)) return self;
    lane& next = choose_with_care(self);
    look_how_to_choose();
    return next;
  }
  lane& choose_with_care(lane& self);
  /// Before any other actor exists, nothing that the main thread does is a step. False where it waits, or seems to go on for ever: then its
  /// steps count from now on.
  bool goes_on_alone(const lane& self) {
    if (self.state == lane_state::candidate && uncounted_ < machine_.budget) {
      ++uncounted_;
      return true;
    }
    begin_counting();
    return false;
  }
  /// From now on operations are steps, whom others may come before.
  void begin_counting() {
    counted_ = 1;
    next_limit_ = first_limit_;
    link_delivers_ = machine_.fidelity == fidelity::link;
    look_how_to_choose();
  }
  void look_how_to_choose() {
    asks_until_ = proving_ != proof::none || in_rounds_ ? 0 : std::min(next_limit_, rings_.next_due());
  }
  lane& ask(lane& self);
  /// All rings that are due by this step count.
  void let_rings_arrive(uint64_t step);
  void count_rings(const std::vector<doorbell_line::ring>& arriving);
  bool all_waits_proven();
  void judge_denied(lane& self, std::string why);
  /// Waves of the device that have no place on it yet.
  bool some_have_no_place() const;
  /// Whether everything that the launch comes after has ended.
  bool may_begin(const launched_kernel& runs) const;
  void start_blocks_of(lane& self, launched_kernel& runs, launched_kernel::share& of);
  void start_block(launched_kernel& runs, uint32_t block);
  void deal_out(launched_kernel& added) const;
  /// Whether the lane waits for the end of this work: of a kernel or a copy, or of a host thread.
  bool waits_for_end_of(const lane& who, const wave& work) const;
  void more_or_less_runs(lane& self, uint32_t device, uint64_t change);
  /// Takes the next number among launches, at the end of the stream: what it comes after.
  std::vector<uint32_t> take_place_in(uint32_t stream, lane& self);
  void kernel_ended(lane& self);
  /// What has this number among launches has ended: others may begin.
  void work_ended(lane& self, uint32_t ordinal);
  std::vector<uint32_t> work_before(uint32_t stream) const;
  void check_stream(lane& self, uint32_t stream, const operation& how);
  uint32_t live_lanes_of_block(const wave& of) const;
  void leave_block(wave& of);
  void complete_barrier(const wave& of, block_state& block);
  std::vector<lane*> meeting_;  ///< of the barrier that completes
  bool is_start_owed() const;
  bool only_calls_start_kernels() const { return machine_.progress == progress_model::cuda; }
  /// Whether a host thread waits in a call into the driver, or in a loop that makes one.
  bool somebody_calls() const;
  /// Lets go on everybody who has a place or none: to see whether that ends the hang.
  bool may_lift_places() const { return machine_.lifts_places && !places_lifted_; }
  void lift_places(lane& self);
  std::string models_without_this_hang() const;
  uint32_t next_in_turn(uint32_t after) const;
  [[noreturn]] void end_deadlock(lane& self);

  // The end game (world_tail.cpp).
  [[gnu::hot]] bool draw_end_game();
  void begin_tail();
  void changed_elsewhere(const void* address, size_t size_bytes);
  uint32_t turns_in_a_row(const lane& who) const;
  bool goes_on_filling(const lane& self);
  lane* next_in_tail(const lane& self);
  lane* next_in_proof();
  bool have_waiting_look_again();
  /// One of those that can go on was chosen: none of the others is passed over for ever.
  void given_turn(const lane& next);
  void became_candidate(const lane& who);
  std::string who_took_the_steps(lane& self);
  lane* next_above();
  lane* next_below();
  bool tell_state(state_reader& to, const lane& self) const;
  bool tell_lane(state_reader& to, const lane& who, bool is_running) const;
  bool tell_mutexes(state_reader& to) const;
  bool tell_streams(state_reader& to) const;
  bool has_come_back(const lane& self);
  void judge_cycle(lane& self);
  [[noreturn]] void end_inconclusive(lane& self);
  std::string cycle_text() const;

  void take_stock(lane& self, std::string why);
  void note_who_waits();
  static std::string roles_of(const std::vector<std::string>& waiting);
  void pass_limit(lane& self);
  [[noreturn]] void stop(lane& self);
  [[noreturn]] void leave(lane& self);
  const lane* most_telling_waiter() const;

  [[gnu::hot]] void add_candidate(lane& who);
  /// For who looks on.
  [[gnu::cold, gnu::noinline]] void note_candidate(const lane& who);
  [[gnu::hot]] void remove_candidate(lane& who);
  [[gnu::hot]] void wake(lane& waiter);
  // For who looks on: the recorder, the watches for starvation and headway.
  void observe(lane& self, uint64_t value);
  void observe_change(lane& self, const void* address, size_t size_bytes);
  void got_on(lane& self);
  [[gnu::hot]] void end_turn(lane& self, const std::byte* private_state);
  /// `next`: it waits before the operation that it has published, not behind one that it has taken.
  [[gnu::hot]] void begin_waiting(lane& self, const std::byte* private_state, bool next = false);
  [[gnu::always_inline]] void wait(lane& self, const std::byte* private_state) {
    begin_waiting(self, private_state);
    yield(self);
  }
  [[gnu::hot]] bool ends_for_no_reason(lane& self);
  /// What the lane has done since it last got anywhere, or last waited, was a turn in a loop that waits, and so are as many operations
  /// that it is about to do.
  static void went_round(lane& self, uint32_t coming = 0) {
    self.fruitless += self.operations + coming - self.operations_judged;
    self.operations_judged = self.operations + coming;
  }
  void got_somewhere(lane& self) {
    self.operations_judged = self.operations;
    self.reads.clear();
    self.fruitless_reads = 0;
    self.clock_reads = 0;
    self.left = allowed_;
    self.spin.forget();
    self.circles = 0;
  }
  [[gnu::hot]] void first_step(wave& who);
  [[gnu::hot]] void look_at_plain_store(lane& self);
  void write_report();
  std::string race_report() const;
  [[noreturn]] void bad_access(lane& self, const char* wrong);
  [[noreturn, gnu::cold]] void refuse_in_kernel(lane& self, const char* what, const operation& how);
  [[gnu::noinline]] bool look_whether_constant(const void* address) const;
  [[gnu::noinline]] void check_access_elsewhere(lane& self);
  /// The host thread that has the address in a frame that has not returned; null when none has.
  lane* owner_of_frame(const void* address);
  /// Host threads whose frames the object holds addresses of give them away with it.
  void share_captured(const void* object, size_t size_bytes);
  [[gnu::noinline]] void check_atomic_access_elsewhere(lane& self);
  /// Whether the access that the heap has something to say about may be made; ends the run when not.
  void look_closer(lane& self, const char* said);
  void move_pages(lane& self, const allocation& of);
  /// Tells all parts that keep something of memory that is about to be given back.
  void let_go(lane& self, const void* pointer);
  /// Memory of devices is placed from now on, and what there is already.
  void place_memory();
  void check_arrival(lane& self, const operation& how);
  void complete(wave& of, size_t open, operation_kind kind);
  static uint64_t awaited(const wave& of, const open_collective& open);
  /// Whether a sibling has come to a collective with the lane since that was asked last.
  [[gnu::hot]] bool is_awaited(lane& self);
  void leave_collectives(const lane& ended);

  // -- waves with one program counter (convergence=lockstep) --------------------------------------------------------------------

  bool in_lockstep() const { return machine_.convergence == convergence::lockstep; }
  void keep_together(wave& starts);
  /// The lane has left the code under test; it does not run before its wave's next round.
  void left(lane& self);
  /// Has every wave to which something has happened go on.
  void go_on_together(lane& self);
  void go_on(wave& of, lane& self);
  void begin_round(wave& of, lane& self);
  bool goes_in_circles(const wave& of) const;
  void park(const lockstep& together, wave& of);
  void let_move(wave& of);
  void wake_together(lane& waiter);
  void mark_due(wave& of);
  void waits_together(lane& self, const std::byte* private_state, bool next);
  bool waits_of_rounds_proven(bool everybody);
  bool rouse(lane& waiter);
  bool tell_rounds(state_reader& to, const wave& of) const;
  bool tell_machine(state_reader& to) const;
  bool tell_wave(state_reader& to, const wave& of) const;
  bool tell_lane_now(state_reader& to, const lane& who) const;
  bool tell_memory(state_reader& to);
  /// The lane is about to change memory of the C++ heap, or has just done so.
  void note_hidden_store(lane& self, const void* address);
  void act_as_one(const wave& of, uint64_t before);
  bool is_stored_by_arm(lane& self);
  void find_path(lane& who);
  void order_arms(lane& self, std::vector<uint32_t>& order, const std::vector<const void*>& places);
  void meet(wave& of, lane& self);
  uint64_t collective_together(lane& self, const operation& how, uint64_t value);
  uint64_t active_mask_together(lane& self, const operation& how);
  /// The lanes of a live wave that other lanes of it come before.
  static uint64_t masked_off(const wave& of);
  /// Those lanes.
  static uint64_t comes_before(const lane& who);
  /// "until lane 1 reaches FILE:LINE", for such a lane.
  static std::string held_until(const lane& who);
  std::string masked_off_text() const;
  /// Where lanes stand, in words: "lane 1, masked off at FILE:LINE; lane 2, ended".
  static std::string whereabouts(const wave& of, uint64_t lanes);
  static uint64_t digest_of_private_state(const lane& who);

  /// What orders the lanes of a launch behind who launched them, and who waits for them behind their ends.
  static const void* launch_of(uint32_t ordinal) { return reinterpret_cast<const void*>(uintptr_t{2} * ordinal + 2); }
  static const void* end_of(uint32_t ordinal) { return reinterpret_cast<const void*>(uintptr_t{2} * ordinal + 3); }
  [[gnu::hot]] wave& new_wave();
  /// Ends the run where there is no stack left for a host thread, or for a copy.
  [[gnu::hot]] void check_host_stacks(lane& self);
  static void name_wave(wave& host, const char* name);
  [[gnu::hot]] lane& new_lane(wave& of, uint32_t index);
  void start_blocks(lane& self);

  /// What the digest takes in of the lane's pending operation, which it has performed.
  uint64_t count_step(lane& self) {
    steps_ += counted_;
    self.operations += counted_;
    const operation& done = self.pending;
    return uint64_t{self.id} << 40 | uint64_t{done.size_bytes} << 8 | static_cast<uint64_t>(done.kind);
  }
  // Of the C++ heap, a variable or a large object.
  [[gnu::noinline]] void performed_elsewhere(lane& self, uint64_t value) { performed(self, value); }
  [[gnu::noinline]] void look_at_store_elsewhere(lane& self, const void* address, uint32_t size_bytes);
  [[gnu::noinline]] void read_elsewhere(lane& self, const void* address, uint32_t size_bytes, uint64_t value,
                                        uint64_t watched_for);
  [[gnu::hot]] uint32_t pick_slowly(lane& self, uint32_t count, scheduler::choice_kind kind);
  static scheduler::candidate look_at(const void* self, uint32_t index);
  scheduler::candidate look_at(const lane& who) const;
  static uint32_t next_in_turn(const void* self, uint32_t actor);
  /// Adds a step, its location and what that holds now, which is `value` where that is all of it.
  void add_to_digest(uint64_t what, const void* address, uint32_t size_bytes, uint64_t value) {
    const uint64_t where =
        heap_.contains(address) ? in_heap(heap_.offset_of(address)) : stable(reinterpret_cast<uintptr_t>(address));
    // What lies on the C++ heap has no address that another process would repeat, and may hold such addresses.
    if (where == unstable) {
      const operation_kind kind = static_cast<operation_kind>(what & 0xff);
      if (kind == operation_kind::plain_load || kind == operation_kind::plain_store) library_steps_ += counted_;
      return digest_.add(what);
    }
    // A frame may hold what an earlier call, or an earlier run, has left there.
    if (is_on_host_stack(address)) return digest_.add(what, where);
    const bool whole = size_bytes <= sizeof value;
    digest_.add(what, where, whole ? stable_value(value) : 0);
    if (!whole) add_words_to_digest(address, size_bytes);
  }
  void add_words_to_digest(const void* address, uint32_t size_bytes);
  /// Where a word points to, as every process would say it; `unstable` when it points to nothing that the simulator knows.
  uint64_t stable(uint64_t word) const;
  static constexpr uint64_t in_heap(size_t offset_bytes) { return uint64_t{1} << 60 | offset_bytes; }
  uint64_t stable_value(uint64_t value) const {
    // Numbers are small.
    if (value >> 40 == 0) return value;
    const uint64_t as_address = stable(value);
    if (as_address != unstable) return as_address;
    // What may be an address of something else says nothing that another process would repeat.
    const bool in_user_space = value >> 44 != 0 && value >> 47 == 0;
    return in_user_space ? unstable : value;
  }

  settings machine_;
  allowance allowed_;  ///< by them
  std::unique_ptr<late_memory> scoped_;
  std::unique_ptr<late_memory> link_;
  std::unique_ptr<timed_memory> timed_;
  call_times* call_times_ = nullptr;
  late_memory* late_ = nullptr;     ///< one of them
  bool link_delivers_ = false;      ///< what crosses the link arrives at turns
  uint64_t settings_revision_ = 0;  ///< of the list that they were read from
  std::unique_ptr<stack_arena> device_stacks_;
  std::unique_ptr<stack_arena> host_stacks_;
  heap heap_;
  exceptions_in_flight* exceptions_ = nullptr;  ///< of the OS thread
  fiber root_;                                  ///< the OS thread's own stack, from which run() was called

  reused_list<lane> lanes_;  ///< [0, lanes_used_) belong to this run
  reused_list<wave> waves_;
  size_t lanes_used_ = 0;
  size_t waves_used_ = 0;
  std::vector<size_t> free_stacks_;  ///< of ended lanes
  size_t stacks_used_ = 0;
  std::vector<size_t> free_host_stacks_;  ///< of copies that have ended
  size_t host_stacks_used_ = 0;
  size_t stack_to_free_ = no_stack;       ///< of the lane that ended last, which may still stand on it
  size_t host_stack_to_free_ = no_stack;  ///< of the copy that ended last
  uint32_t hosts_spawned_ = 0;            ///< without the main thread
  uint32_t copies_given_ = 0;             ///< to streams
  static constexpr size_t no_stack = ~size_t{0};

  std::deque<launched_kernel> kernels_;  ///< launched; the first has not ended, others may have
  std::deque<uint64_t> kernel_ends_;     ///< by launch: 1 when it has ended; watched by those who wait for it
  struct stream_state {
    bool blocking = true;  ///< takes part in the order of the default stream
    bool destroyed = false;
    uint32_t device = 0;
    std::vector<uint32_t> last;   ///< its latest launch, if any
    std::vector<uint32_t> waits;  ///< launches that its next one must wait for

    void forget() {
      blocking = true;
      destroyed = false;
      device = 0;
      last.clear();
      waits.clear();
    }
  };
  std::vector<stream_state> streams_;          ///< the first is the default stream
  bool streams_used_ = false;                  ///< in this run
  std::vector<std::vector<uint32_t>> events_;  ///< the launches that each waits for
  std::deque<std::string> names_;              ///< of allocations that have none of their own
  std::vector<std::pair<std::string, uint32_t>> name_counts_;
  uint64_t kernels_running_ = 0;          ///< on all devices
  std::vector<uint32_t> launch_devices_;  ///< by launch
  device_set devices_;
  unflushed_memory unflushed_;
  uint64_t clock_ = 0;  ///< in cycles
  uint32_t kernels_launched_ = 0;
  uint32_t device_waves_ = 0;
  uint32_t resident_waves_ = 0;
  const std::function<void()>* main_body_ = nullptr;
  size_t live_lanes_ = 0;

  code_map code_{[this](const std::function<void()>& work) { aside(*decides_, work); }};
  lane* decides_ = nullptr;                                  ///< who goes next, on its own stack
  std::unordered_map<const void*, std::vector<int>> lines_;  ///< of return addresses: the function's, and inwards
  std::deque<lockstep> together_;                            ///< [0, together_used_) belong to this run
  size_t together_used_ = 0;
  std::vector<wave*> due_;  ///< waves that something has happened to
  bool in_rounds_ = false;  ///< waves have one program counter: whose lanes can go next is looked at after each step

  std::vector<lane*> candidates_;
  // The candidates' numbers, kept from the moment at which somebody asks in a run: most strategies never do.
  mutable turn_order turns_;
  mutable bool keeps_turns_ = false;
  mutex_table mutexes_;
  char context_ = 0;  ///< its address is that of the context's lock
  doorbell_line rings_;
  lane* ringer_ = nullptr;  ///< makes rings count that were under way; it never runs
  fair_set fair_;
  watch_table watches_;
  uint64_t changes_ = 0;        ///< of memory, ever
  uint64_t proof_changes_ = 0;  ///< when the anchors of the waits were set
  enum class proof : uint8_t { none, of_guaranteed, of_all };
  bool denied_ =
      false;  ///< a hang that the model allows has been found; all run on in turn, to see whether another would end it
  bool places_lifted_ = false;  ///< and all have a place on the device
  uint64_t collectives_opened_ = 0;
  uint32_t proof_last_ = turn_order::none;  ///< the lane of the last turn while waits are put to the proof
  proof proving_ = proof::none;  ///< these lanes run without being chosen, to see whether their waits repeat themselves

  scheduler::choice_source* choices_ = nullptr;
  lane* asking_ = nullptr;                                ///< who has come to the last choice
  search_notes* notes_ = nullptr;                         ///< of the search that this run is part of
  std::unordered_map<uint64_t, uint32_t> hidden_stores_;  ///< of a run that is explored: who wrote last, by granule
  state_key hidden_order_;  ///< of such stores to memory that somebody else had written before
  scheduler::candidate_list view_;
  scheduler::digest digest_;
  uint64_t steps_ = 0;
  uint64_t switches_ = 0;  ///< to another lane
  uint64_t library_steps_ = 0;
  uint64_t next_limit_ = 0;
  uint64_t first_limit_ = 0;  ///< what that becomes when operations begin to be steps
  uint64_t uncounted_ = 0;    ///< operations before that
  uint32_t counted_ =
      0;  ///< by how much an operation makes the number of steps grow: not at all while the main thread is alone
  uint64_t asks_until_ = 0;  ///< the step from which on a choice is more than one among all candidates; 0: it is now
  std::unique_ptr<recorder> recorder_;
  starvation_watch starvation_;
  request_watch requests_;
  device_cache cache_;
  headway_watch headway_;
  bool tells_steps_ = false;  ///< the strategy is told of each
  bool observed_ = false;     ///< somebody looks on: a recorder, the watches, the strategy

  scheduler::verdict verdict_ = scheduler::verdict::ok;
  std::string message_;
  std::vector<std::string> waiting_;  ///< when the hang was found
  call_chain about_ = {};             ///< the place in the code under test that the verdict is about
  const lane* ended_by_ = nullptr;    ///< whose operation the verdict is about, when it is about one
  std::string report_;
  std::string waits_;     ///< its graph
  bool records_ = false;  ///< somebody asks for the run's record; then these are told there
  std::vector<wait_edge> edges_;
  std::vector<unknown_wait> unknown_;
  std::vector<size_t> circle_;
  std::vector<std::string> unexplained_;
  const other_schedules* others_ = nullptr;  ///< what reports may say of other schedules
  /// What a report of a race tells.
  struct {
    access_record earlier;
    uint64_t second_step = 0;
    const lane* second = nullptr;
    std::unique_ptr<race_finder::edge> missing;
    const lane* knows = nullptr;  ///< of the second's wave: one that comes after the first access
  } race_;
  uint64_t races_ = 0;
  uint64_t scope_races_ = 0;
  const std::function<void()>* errand_ = nullptr;  ///< what run() is asked to do on its own stack
  lane* errand_for_ = nullptr;                     ///< by whom
  bool stopped_ = false;
  outcome result_;               ///< of the last run
  bool result_is_told_ = false;  ///< it holds more than numbers
  uintptr_t image_low_ = 0;      ///< of the program, which is loaded elsewhere in every process
  uintptr_t image_high_ = 0;
  // Nothing in these bytes never changes: they are between two ranges of what does not, where one has looked last.
  mutable uintptr_t variable_low_ = 0;
  mutable uintptr_t variable_bytes_ = 0;
  tail tail_;  ///< the end game; here, for few operations look at it
};

}  // namespace heddle::sim
