// One run of a program on the simulated machine: owns the parts of the machine, and alone decides when another lane is entered. Lives on one
// OS thread.
//
// Each entry from code under test comes here: the lane publishes its operation, the next lane is chosen (choose), entered (enter), and performs
// the operation that it has published. Parts change state and answer; what blocks a lane is done here.
#pragma once

#include <heddle/sim/fiber/fiber_body.h>
#include <heddle/sim/run/machine_parts.h>
#include <heddle/sim/run/published.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <vector>

// Where this cannot become part of a shared object, a thread's variables are at a fixed distance from its thread pointer: every entry from
// code under test asks for two of them.
#if defined(__PIC__) && !defined(__PIE__)
#define HEDDLE_SIM_NOT_SHARED
#else
#define HEDDLE_SIM_NOT_SHARED [[gnu::tls_model("local-exec")]]
#endif

namespace heddle::sim {

class execution : public machine_parts {
 public:
  execution();

  /// Runs the program once; the outcome is in core().ending and core().history. False when the choice source had no answer before the first
  /// step. `explain`: steps are recorded; `record`: so are waits.
  [[gnu::hot]] bool run(const parameters& values, const std::function<void()>& body, scheduler::choice_source& choices,
                        bool explain, bool record);

  // -- steps ------------------------------------------------------------------------------------------------------------------------

  /// A scheduling point: chooses the next lane; returns when this lane is chosen, which then performs its pending operation. Inlined into the
  /// entry point, as are its callers: the processor mispredicts each return that follows a switch.
  [[gnu::always_inline]] void yield(lane& self) {
    lane& next = choose(self);
    if (&next != &self) enter(self, next);
  }
  /// yield(); true when memory was released meanwhile.
  [[gnu::always_inline]] bool yield_and_watch_frees(lane& self) {
    lane& next = choose(self);
    if (&next == &self) return false;
    const uint64_t frees = core_.map.heap.frees_anywhere();
    enter(self, next);
    return frees != core_.map.heap.frees_anywhere();
  }
  /// Publishes what the lane does next, and yields.
  void step(lane& self, const operation& next) {
    finish_plain_store(self, next.frame);
    self.pending = next;
    if (core_.looks_at_each) [[unlikely]]
      look_at_published(*this, self);
    yield(self);
  }
  void performed(lane& self, uint64_t value) { core_.performed(self, value); }
  void performed_at(lane& self, const void* address, uint32_t size_bytes, uint64_t value) {
    core_.performed_at(self, address, size_bytes, value);
  }
  /// performed_at() of a load of `address` that returned `value`; a loop that spins on it waits until it differs from `watched_for`. Counts the
  /// loads since the lane's last progress: after many, lane::may_spin() holds.
  [[gnu::hot]] void read(lane& self, const void* address, uint32_t size_bytes, uint64_t value, uint64_t watched_for) {
    if (!core_.map.heap.contains(address) || size_bytes > sizeof value) [[unlikely]]
      return waits_.read_elsewhere(self, address, size_bytes, value, watched_for);
    ++self.fruitless_reads;
    self.at_clock.missed_newest = value != watched_for;
    self.reads.add(address, size_bytes, watched_for, false);
    core_.performed_in_heap(self, address, value);
  }
  void changed(lane& self, const void* address, size_t size_bytes) { waits_.changed(self, address, size_bytes); }
  [[gnu::always_inline]] void finish_plain_store(lane& self, const void* frame) {
    if (self.storing.size_bytes != 0 || self.unsettled) waits_.finish_plain_store(self, frame);
  }
  /// Called when lane::may_spin(), with the low end of the lane's private state: blocks the lane if it only spins.
  void look_for_spin(lane& self, const std::byte* private_state) {
    if (waits_.only_spins(self, private_state)) yield(self);
  }
  /// Whether the lane must yield wherever it is: it may be spinning, or the run has reached its next limit. A lane of a lockstep wave yields at
  /// each access to memory: all lanes of its arm arrive there before any goes on.
  bool must_yield(const lane& self) const {
    return self.may_spin() || core_.history.steps >= core_.enabled.next_limit || self.of->together != nullptr;
  }
  /// Whether other lanes of its arm have already performed the lane's pending store, as part of one operation.
  bool is_stored(lane& self) { return core_.phase.in_rounds && lockstep_.is_stored_by_arm(self); }
  /// Stores in flight may arrive before the lane makes its access.
  void let_arrive(lane& self) {
    if (core_.link_delivers) core_.late->let_arrive(self);
  }
  /// Ends the run when the lane may not make its pending access. Whether it may have to wait for a page, at its turn (wait_for_pages).
  [[gnu::always_inline]] bool check_access(lane& self) {
    const operation& how = self.pending;
    if (!core_.map.heap.contains(how.address)) [[unlikely]] {
      memory_.check_elsewhere(self);
      return false;
    }
    if (const char* wrong = core_.map.heap.check(how.address, how.size_bytes)) [[unlikely]]
      return memory_.look_closer(self, wrong);
    if (core_.map.heap.has_hidden()) memory_.check_reach(self);
    return false;
  }
  /// check_access() of an atomic access, which must be aligned to its size. One comparison covers bounds and alignment: rotated right by the
  /// bits that must be zero, the heap offset of a misaligned access lies beyond the heap's end, and check_atomic_elsewhere() gets it.
  [[gnu::always_inline]] bool check_atomic_access(lane& self) {
    const operation& how = self.pending;
    const auto bits = static_cast<int>(std::countr_zero(how.size_bytes));
    if (std::rotr(core_.map.heap.offset_of(how.address), bits) >= heap::capacity_bytes >> bits) [[unlikely]] {
      memory_.check_atomic_elsewhere(self);
      return false;
    }
    if (const char* wrong = core_.map.heap.check(how.address, how.size_bytes)) [[unlikely]]
      return memory_.look_closer(self, wrong);
    if (core_.map.heap.has_hidden()) memory_.check_reach(self);
    return false;
  }

  /// It is the lane's turn to make its pending access, which check_access() has said may have to wait: blocks until the driver has brought the pages.
  [[gnu::cold, gnu::noinline]] void wait_for_pages(lane& self);

  // -- what blocks ------------------------------------------------------------------------------------------------------------------

  /// The end of an iteration of a loop that waits for memory to change, which the lane has published. `private_state`: see waits::end_turn().
  [[gnu::always_inline]] void pause(lane& self, const std::byte* private_state) {
    waits_.end_turn(self, private_state);
    yield(self);
    performed(self, 0);
  }
  /// Blocks, in the operation that the lane has published, until `word`, which only the simulator changes, is `wanted`.
  [[gnu::always_inline]] void wait_for(lane& self, const uint64_t& word, uint64_t wanted) {
    self.awaits = &word;
    self.awaited = wanted;
    yield(self);
    while (word != wanted) {
      self.reads.clear();
      self.reads.add(&word, sizeof word, word);
      wait(self);
    }
    self.awaits = nullptr;
    core_.note_progress(self);
    performed(self, wanted);
  }
  /// What the clock shows the lane, which has come to its turn. For one that looks at it again and again time stands still while anything else can
  /// go on (setting `timeouts`).
  uint64_t look_at_clock(lane& self);
  /// As the C library's functions on mutexes, with their results: 0, EBUSY, EDEADLK, EPERM.
  int lock_mutex(lane& self, const void* mutex, mutex_kind kind, const operation& how);
  int try_lock_mutex(lane& self, const void* mutex, mutex_kind kind, const operation& how);
  /// Ends the run where the lane does not hold a normal mutex.
  int unlock_mutex(lane& self, const void* mutex, mutex_kind kind, const operation& how);

  /// Blocks until every lane of the operation's mask has arrived; returns this lane's result of the collective.
  uint64_t collective(lane& self, const operation& how, uint64_t value);
  uint64_t active_mask(lane& self, const operation& how);
  /// Blocks until each live lane of the block has arrived; the result is that of collectives::arrive_at_barrier().
  /// That of a block, an arrival there, or one of the two steps of that of a cluster, which take no value and give none.
  uint64_t barrier(lane& self, const operation& how, uint64_t value);

  // -- launches and host threads ----------------------------------------------------------------------------------------------------

  void launch(lane& self, const grid_shape& shape, const fiber_body& kernel, const void* bytes, const operation& how);
  /// Enqueues a copy in the stream and returns. A copy engine performs it: an actor of its own, which runs `how_to_run`.
  void copy_in_stream(lane& self, const stream_copy& what, uint32_t stream, const fiber_body& how_to_run,
                      const operation& how);
  /// Blocks the copy, or the call of the host, until all work that it comes after has ended, and the driver's thread is free.
  void begin_copy(lane& engine, const operation& how);
  void wait_for_launches(lane& self, const std::vector<uint32_t>& work, const operation& how);
  /// Whether all of them have ended. A loop that asks again and again waits for that: see look_for_spin().
  bool have_ended(lane& self, const std::vector<uint32_t>& work, const operation& how, const std::byte* private_state);
  /// Starts a host thread, as the lane has published it.
  [[gnu::hot]] const wave& spawn_host(lane& self, const char* name, const fiber_body& body, void* from);
  /// The host thread ends where it is; what lies on its stack is abandoned.
  [[noreturn]] void end_host(lane& self);
  /// A host thread enters the driver, which blocks it as settings::driver says; a launch never waits for the devices.
  void enter_driver(lane& self, bool is_launch, operation how);
  /// The driver's call returns.
  void leave_driver(lane& self, operation how);
  /// Ends the run, verdict `unsupported`, where a lane of a kernel does what only a host thread can do here.
  void require_host(lane& self, const char* what, const operation& how) {
    if (!self.is_host()) [[unlikely]]
      refuse_in_kernel(self, what, how);
  }

  // -- memory and doorbells ---------------------------------------------------------------------------------------------------------

  void release(lane& self, void* pointer, const operation& how);
  /// Releases what the ending object has allocated. Not while launches run: hardware would wait for them here.
  void release_all_of(lane& self, const void* owner);
  void map_cached(lane& self, void* memory, const operation& how);
  /// Sends the ring of the lane's pending operation: it is in flight for `steps` steps.
  void send_ring(lane& self, void* bell, uint64_t steps) {
    doorbells_.send(self, bell, steps);
    look_how_to_choose();
  }
  void request_made(lane& self, uint64_t id);
  void request_served(lane& self, uint64_t id, const operation& how);

  /// So many budgets may the main thread use up before any other actor exists: what it reads and computes there is no part of the protocol.
  static constexpr uint64_t budgets_alone = 256;

  /// The lane that runs on this OS thread now; null inside the simulator and outside of runs.
  HEDDLE_SIM_NOT_SHARED static constinit thread_local lane* current;
  /// The execution of this OS thread; null when there is none.
  HEDDLE_SIM_NOT_SHARED static constinit thread_local execution* instance;

 private:
  [[gnu::hot]] void begin_main(const std::function<void()>& body);

  /// yield() of a lane that is not enabled; it may be enabled again by the time a lane is chosen.
  [[gnu::always_inline]] void block(lane& self) { yield(self); }
  [[gnu::always_inline]] void wait(lane& self) {
    waits_.begin_waiting(self, nullptr);
    yield(self);
  }
  [[gnu::always_inline]] void enter(lane& self, lane& next) {
    if (!next.begun) [[unlikely]]
      core_.begin(next);
    ++core_.history.switches;
    if (hosts_.values.on() && next.is_host() && !next.of->copies && !next.of->drives) [[unlikely]]
      hosts_.values.enter(next.of->id);
    fiber::switch_to(self.runs, next.runs, *core_.stack.exceptions);
  }
  [[gnu::hot]] static void run_lane(void* argument);
  [[gnu::hot]] void lane_ended(lane& self);
  [[noreturn, gnu::cold]] void refuse_in_kernel(lane& self, const char* what, const operation& how);

  // One function for all operations, which needs none of its caller's registers: a copy of it in each entry point would cost more, in the
  // instruction cache, than the call. Not defined here, so that no copy comes from where code is compiled for size.
  [[gnu::noinline, gnu::hot]] lane& choose(lane& self);
  [[gnu::noinline]] lane& choose_specially(lane& self);
  lane& choose_with_care(lane& self);
  /// The lane that was chosen, or the first of those that it leads.
  [[gnu::always_inline]] lane& first_of(lane& chosen, lane& self) {
    return chosen.leads == 0 ? chosen : core_.issues.begin(chosen, self);
  }
  /// Whether lanes that stand together take steps together now.
  void look_whether_together() {
    const bool together = core_.waves_step() && !core_.phase.is_checking();
    if (together != core_.issues.on()) core_.issues.turn(together);
  }
  lane& ask_openly(lane& self) {
    core_.phase.checks = quiescence_check::none;
    look_whether_together();
    return first_of(core_.ask(self), self);
  }
  /// Under self checks: looks at all invariants, in one of many choices.
  void check_now_and_then();
  /// Chooses in the fair tail; null: another look is needed.
  lane* choose_in_tail(lane& self, bool& again);
  /// Before any other actor exists, nothing that the main thread does is a step. False when it blocks, or has used up many budgets: from then on its
  /// operations are steps.
  bool goes_on_alone(const lane& self) {
    if (self.state == lane_state::candidate && core_.history.uncounted < budgets_alone * core_.machine.budget) {
      ++core_.history.uncounted;
      return true;
    }
    begin_counting();
    return false;
  }
  /// From now on operations are steps, before which another lane may be chosen.
  void begin_counting() {
    core_.history.counted = 1;
    core_.enabled.next_limit = core_.enabled.first_limit;
    core_.link_delivers = core_.machine.fidelity == fidelity::link;
    look_how_to_choose();
  }
  void look_how_to_choose() {
#ifdef HEDDLE_SELF_CHECKS
    core_.enabled.asks_until = 0;
#else
    core_.enabled.asks_until = core_.phase.is_checking() || core_.phase.after_each || core_.issues.under_way()
                                   ? 0
                                   : std::min(core_.enabled.next_limit, doorbells_.next_due());
#endif
  }

  const std::function<void()>* main_body_ = nullptr;
  uint64_t choices_unchecked_ = 0;
  char context_ = 0;  ///< its address is that of the context's lock
};

/// The lane's turn has come for a call on a mutex, a condition or the like: ends the run where the object's memory is gone.
void check_object(execution& here, lane& self, const void* object);

}  // namespace heddle::sim
