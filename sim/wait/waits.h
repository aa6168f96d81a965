// What lanes wait for, and what ends their waits: reads, plain stores, changes of memory, and the check for quiescence.
//
// A lane that waits in a loop is blocked until a location changes that its loop has read. It changes state and answers here; another lane is
// entered by execution alone.
#pragma once

#include <heddle/sim/convergence/lockstep_waves.h>
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/sync/collectives.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim {

class waits final : public arrival_listener {
 public:
  waits(run_core& core, lockstep_waves& lockstep, collectives& together)
      : core_(core), lockstep_(lockstep), collectives_(together) {}

  [[gnu::hot]] void reset() {
    watches_.clear();
    changes_ = proof_changes_ = unseen_ = 0;
    unseen_at_wait_.clear();
  }

  // -- reads and changes ------------------------------------------------------------------------------------------------------------

  /// The lane has read this, in an operation that it has not performed yet.
  void has_read(lane& self, const void* address, uint32_t size_bytes, uint64_t value) {
    ++self.fruitless_reads;
    if (core_.map.heap.contains(address) || !core_.map.may_vanish(address)) [[likely]]
      return self.reads.add(address, size_bytes, value, false);
    self.reads.add(address, size_bytes, watches_.change_of(address, size_bytes), true);
  }
  /// execution::read() of the C++ heap, a variable or a large object.
  [[gnu::noinline]] void read_elsewhere(lane& self, const void* address, uint32_t size_bytes, uint64_t value,
                                        uint64_t watched_for);

  /// The lane wrote these bytes: counts it as progress, and wakes every lane whose watch set overlaps them.
  void changed(lane& self, const void* address, size_t size_bytes) {
    if (!core_.map.heap.contains(address)) [[unlikely]] {
      changed_elsewhere(address, size_bytes);
      if (self.is_explored && self.pending.address == address)
        core_.note_hidden_store(self, address, size_bytes, hidden_stores::from::lane_and_place);
    }
    wake_readers(self, address, size_bytes);
  }
  /// changed() of a word of the simulator's own.
  [[gnu::always_inline]] void wake_readers(lane& self, const void* address, size_t size_bytes) {
    core_.note_progress(self);
    ++changes_;
    watches_.changed(address, size_bytes, [&](lane& waiter) {
      if (waiter.state != lane_state::waiting && waiter.circles == 0) return;
      if (waiter.reads.covers(address, size_bytes)) wake(waiter);
    });
    if (core_.observers.on) [[unlikely]]
      core_.observe_change(self, address, size_bytes);
  }
  /// The number of the last change that was noted of a mutex or condition; 0 when none was.
  uint64_t change_of(const void* object) const { return watches_.change_of(object, 1); }
  /// Whether the lane may find something else than it has found until it last looked at the clock, or has found it since.
  bool finds_another(const lane& one) const {
    return one.at_clock.to_look_again || one.at_clock.missed_newest || one.reads.saw_change_lately() ||
           !one.reads.unchanged(watches_);
  }
  /// Notes a change of a mutex or condition, so that a loop that looks at it has reason to look again.
  void notice(lane& self, const void* object) {
    watches_.note_change(object, 1, changes_ + 1);
    wake_readers(self, object, 1);
  }
  /// A store in flight has arrived and changed these bytes; `issuer` had stored them, in that step of an explained run.
  void arrived(const lane& issuer, const void* address, size_t size_bytes, uint64_t stored_in) override;

  // -- plain stores -----------------------------------------------------------------------------------------------------------------

  /// Has the memory model settle what the lane has stored plainly, or read through a window.
  void settle(lane& self) {
    if (!self.unsettled) return;
    self.unsettled = false;
    core_.late->after_plain(self);
  }
  /// Remembers the bytes that a plain store of the code under test is about to replace.
  void begin_plain_store(lane& self, void* address, uint32_t size_bytes) {
    self.storing.address = address;
    self.storing.size_bytes = size_bytes;
    self.storing.before = watched::value_at(address, size_bytes);
    if (self.is_explored) [[unlikely]]
      core_.note_hidden_store(self, address, size_bytes, hidden_stores::from::lane);
  }
  /// begin_plain_store() of a store that is too long to remember: it counts as a change.
  void begin_object_store(lane& self, void* address, uint32_t size_bytes) {
    self.storing.address = address;
    self.storing.size_bytes = size_bytes;
    if (self.is_explored) [[unlikely]]
      core_.note_hidden_store(self, address, size_bytes, hidden_stores::from::anywhere);
  }
  /// As `frame` below, of a lane that is at its end.
  static inline const void* const all_frames = reinterpret_cast<const void*>(~uintptr_t{0});
  /// What the lane has stored plainly before it came in is in memory by now. `frame`: of the entry point that it has come in by; what its own stack
  /// has below that has returned, and the simulator's frames lie there. Null: nothing is known of that.
  void finish_plain_store(lane& self, const void* frame) {
    if (self.storing.size_bytes == 0 && !self.unsettled) return;
    self.came_in = frame;
    look_at_plain_store(self);
    self.came_in = nullptr;
  }

  // -- waits ------------------------------------------------------------------------------------------------------------------------

  /// The lane waits for nothing that it has read until now. Forgets where its loop began, too: what it reads from now on is not all that it has
  /// read since then.
  static void forget_reads(lane& self) {
    self.reads.clear();
    self.spin.forget();
  }
  /// The end of an iteration of a loop that waits for memory to change, which the lane has published: it blocks, or has reason to go on.
  /// `private_state`: the low end of what its future depends on; null: the wait is the simulator's own and repeats itself exactly.
  [[gnu::hot]] void end_turn(lane& self, const std::byte* private_state);
  /// The lane is blocked from now on. `next`: before the operation that it has published, not after one that it has performed.
  [[gnu::hot]] void begin_waiting(lane& self, const std::byte* private_state, bool next = false);
  /// Called when lane::may_spin(): whether the lane only spins; then it is blocked from now on.
  bool only_spins(lane& self, const std::byte* private_state);
  /// What the lane has done since its last progress, or its last wait, was an iteration of a loop that waits, and so are as many operations
  /// that it is about to do.
  static void went_round(lane& self, uint32_t coming = 0) {
    self.fruitless += self.operations + coming - self.operations_judged;
    self.operations_judged = self.operations + coming;
  }
  /// Of memory, in this run.
  uint64_t changes() const { return changes_; }

  // -- quiescence -------------------------------------------------------------------------------------------------------------------

  /// Whether each lane that counts is proven to be blocked for ever; the others run one more iteration.
  bool all_waits_proven();
  /// Whether memory has changed since the anchors of the waits were set.
  bool has_changed_since_check() const { return changes_ != proof_changes_; }
  /// Counts one of the turns that lanes take under the check; how many there were since memory changed.
  uint64_t count_turn_in_check() { return ++turns_in_check_; }
  /// Has every lane that is blocked in a loop run one more iteration; whether there is any.
  bool have_waiting_look_again();

  void check_invariants() const;

 private:
  [[gnu::hot]] void look_at_plain_store(lane& self);
  [[gnu::noinline]] void look_at_store_elsewhere(lane& self, const void* address, uint32_t size_bytes);
  void changed_elsewhere(const void* address, size_t size_bytes);
  [[gnu::hot]] void wake(lane& waiter);
  uint64_t state_of_unseen() const;
  [[gnu::noinline]] void note_unseen(const lane& self);
  [[gnu::noinline]] void look_at_unseen();
  [[gnu::hot]] bool ends_for_no_reason(lane& self);

  run_core& core_;
  lockstep_waves& lockstep_;
  collectives& collectives_;
  watch_table watches_;
  uint64_t changes_ = 0;                  ///< of memory, in this run
  uint64_t proof_changes_ = 0;            ///< when the anchors of the waits were set
  uint64_t turns_in_check_ = 0;           ///< since memory changed
  uint64_t unseen_ = 0;                   ///< what memory_map::unseen was when it was looked at last
  std::vector<uint64_t> unseen_at_wait_;  ///< and when each lane began to wait, in a search
};

}  // namespace heddle::sim
