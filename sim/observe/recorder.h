// What is recorded of a run that is to be explained: every step, and every change of memory.
#pragma once

#include <heddle/scheduler/choice.h>
#include <heddle/sim/base/outcome.h>
#include <heddle/sim/machine/lane.h>
#include <heddle/sim/named_slots.h>
#include <heddle/sim/observe/run_record.h>
#include <heddle/sim/observe/typed_memory.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace heddle::sim {

class heap;

class recorder {
 public:
  struct taken {
    uint64_t step = 0;
    const lane* who = nullptr;
    operation what;
    call_chain calls = {};
    uint64_t value = 0;
    uint64_t after = 0;  ///< what memory held after it, where it `changes` it
    uint64_t reads = run_record::never;
    uint64_t arrived = run_record::never;
    uint64_t arrived_bytes = 0;
    uint64_t missed = run_record::never;
    bool changes = false;
    bool is_old = false;
    bool lost = false;
    bool spurious = false;
    bool is_made = true;  ///< false: the run has ended first
    bool is_seen = true;  ///< false: what it has stored may be gone by the time that it is looked at
    bool woke = false;
  };
  /// A change of memory: by which lane, of which bytes, where in the source, at which step.
  struct change {
    const lane* who = nullptr;
    const void* address = nullptr;
    size_t size_bytes = 0;
    call_chain calls = {};
    uint64_t step = 0;
  };

  /// `under_way`: what it has stored, if it has, is in memory when arrived() says so, and not at once. `readable`: its bytes may be
  /// read now.
  void performed(const lane& who, uint64_t value, uint64_t step, bool under_way, bool readable);
  /// The run ends at the operation of the lane, which is a step of it and has no value yet.
  void ends_at(const lane& who, uint64_t step) {
    performed(who, 0, step, false, false);
    taken_.back().is_made = false;
  }
  /// Before any other actor existed: no step.
  void performed_before_steps(const lane& who);
  /// The plain store that was the lane's last step has written this.
  void stored(const lane& who, uint64_t value);
  /// `by_step`: the lane has done so in its last step, and memory has not been told of it in another way. `made_in`: the step of the store
  /// that has arrived now; 0: it is none.
  void changed(const lane& who, const void* address, size_t size_bytes, bool by_step, bool readable,
               uint64_t made_in = 0);

  // What a picture of the run shows beside its steps (run_record.h).

  /// Of the load that the lane is about to have performed: the step of the store that it has read, 0 where there was none; `newest_step`: of
  /// the newest.
  void found(const lane& who, uint64_t store_step, bool is_newest, uint64_t newest_step);
  /// The store of `store_step` precedes that of `newer_step` in modification order, though it was performed later.
  void stands_behind(uint64_t store_step, uint64_t newer_step);
  /// The weak compare-exchange that the lane is about to have performed fails spuriously.
  void fails_for_no_reason(const lane& who) { fails_.insert(&who); }
  /// The lane, which was about to wait, wakes spuriously.
  void wakes_for_no_reason(const lane& who);
  /// A choice that is not about actors was not answered by the default, in the step that comes next.
  void odd_answer(const lane& who, scheduler::choice_kind kind);
  /// Some lanes of a wave that stood together take their next step before the others.
  void parts(const wave& of, uint64_t ahead, uint64_t behind) {
    partings_.push_back({.of = &of, .ahead = ahead, .behind = behind, .step = last_step_ + 1});
  }
  /// A wave `leaves` its device, or has a place on it again; `as_queue`: with its whole queue.
  void moves(const wave& of, uint64_t step, bool leaves, bool as_queue);
  /// The lane is at the end of an iteration of its loop, in this private state.
  void turn_ended(const lane& who, uint64_t state);
  /// So many bytes that were stored in that step are in memory now.
  void arrived(uint64_t store_step, uint64_t size_bytes, uint64_t now);
  void ring_sent(uint64_t number, uint64_t step);
  void ring_arrived(uint64_t number, uint64_t now);
  uint64_t step_of_ring(uint64_t number) const;
  /// The ring that the lane sends next is lost.
  void ring_is_lost(const lane& who) { loses_ring_.insert(&who); }
  /// The change of memory that the lane makes next comes to nothing: the link drops it.
  void change_is_dropped(const lane& self) { loses_change_.insert(&self); }

  void begins(const lane& who, uint64_t step);
  void ended(const lane& who, uint64_t step);
  void waits(const lane& who, uint64_t step);
  void goes_on(const lane& who, uint64_t step);
  /// The lanes of the wave that have its program counter, from now on.
  void has_counter(const wave& of, uint64_t lanes, uint64_t step);
  void judged(uint64_t step) { judged_ = step; }
  void name(const runtime::named_slots& where) { named_.push_back(where); }

  typed_memory types;  ///< of what the run allocates and launches

  /// All of it but the waves and the wait graph; at most the last `most` steps.
  run_record record(const heap& memory, size_t most) const;

  /// How many steps have been put into words: many take their time. May be asked by a signal's handler.
  uint64_t told() const { return told_; }

  /// The latest change of each lane that overlaps the bytes, the latest of all first.
  std::vector<change> changes_of(const void* address, size_t size_bytes) const;

  /// The steps of stores to the bytes that modification order puts before a store performed earlier, and that one's step.
  std::vector<std::pair<uint64_t, uint64_t>> stores_behind(const void* address, size_t size_bytes) const;
  /// The lanes that have stored to the bytes, or changed them, the latest first; also where a store changed nothing.
  std::vector<const lane*> storers_of(const void* address, size_t size_bytes) const;
  /// Whether any lane of the wave has looked at the bytes, or stored to them.
  bool has_touched(const wave& of, const void* address, size_t size_bytes) const;
  /// A check of the lane's has looked at the word: no step, but it says that the word is the lane's business.
  void note_peek(const lane& by, const void* address) { peeked_.insert({by.of, address}); }
  /// Whether the lane has accessed the word in a step at this source line.
  bool has_been_at(const lane& who, const watched& word, const std::string& where) const;
  /// Whether the lane has accessed the word in another way than plainly.
  bool looks_atomically(const lane& who, const watched& word) const;
  bool has_launched(const lane& who) const;
  /// Whether the lane's last read-modify-write there has changed nothing.
  bool tries_in_vain(const lane& who, const void* address) const;
  const taken* taken_in(uint64_t number) const { return const_cast<recorder*>(this)->at_step(number); }
  /// What the lane has read in the last iteration of its loop; nothing where none is known.
  std::optional<std::vector<watched>> last_turn_of(const lane& who) const;

  /// Whether the lane of that step performed a fence in it.
  bool is_fence(uint64_t step) const;
  /// One step in words, with its source line.
  std::string describe(const heap& memory, uint64_t step) const;

  /// The steps in words. At most the last `most`.
  std::vector<step_record> steps(const heap& memory, size_t most) const;
  /// Those behind step `after`, up to and with step `to`.
  std::vector<step_record> steps_between(const heap& memory, uint64_t after, uint64_t to) const;

 private:
  static std::string hexadecimal(uint64_t value);
  class named_steps;
  step_record in_words(const taken& one, named_steps& names) const;
  static step_record move_in_words(const run_record::move& one);
  step_record arrival_in_words(const taken& one, named_steps& names) const;
  std::string note_of(const taken& one) const;
  /// "the store of 0x1 by wave 0 lane 0 at FILE:LINE (step 7)"
  std::string store_in_words(uint64_t step) const;
  static constexpr uint64_t granule_bytes = 8;
  std::vector<taken> taken_;
  mutable uint64_t told_ = 0;
  std::set<std::pair<const wave*, const void*>> peeked_;
  std::unordered_map<const lane*, size_t> last_of_;            ///< in taken_
  std::unordered_map<uint64_t, std::vector<change>> changes_;  ///< by granule
  uint64_t last_step_ = 0;
  call_chain before_steps_ = {};  ///< of the main thread's latest operation while it was alone

  static constexpr size_t nowhere = ~size_t{0};
  struct life {
    const lane* who = nullptr;
    uint64_t begun = 0;
    uint64_t ended = run_record::never;
    size_t waits_in = nowhere;  ///< of waits_; nowhere: it does not wait
    bool masked_off = false;
  };
  /// A wait with what the lane had read, in words only once they are asked for.
  struct waiting {
    run_record::wait told;
    std::vector<watched> on;
    operation what;
    call_chain calls = {};
  };
  struct memory_change {
    uint64_t step = 0;
    const lane* who = nullptr;
    const void* address = nullptr;
    uint32_t size_bytes = 0;
    uint64_t value = 0;
  };
  struct finding {
    uint64_t store_step = run_record::never;
    uint64_t newest_step = run_record::never;
    bool is_old = false;
    bool fresh = false;  ///< of the load that comes next
  };
  struct turn {
    uint64_t state = 0;
    size_t last = 0;  ///< its last step, in taken_
  };
  struct odd {
    const lane* who = nullptr;
    scheduler::choice_kind kind = scheduler::choice_kind::visible;
    uint64_t step = 0;     ///< that it is about
    uint64_t arrives = 0;  ///< the step of the store that has arrived by it; 0: none
    uint64_t before = 0;   ///< the step of an older one that was still in flight then; 0: none
  };
  class words;

  taken* at_step(uint64_t step);
  std::string in_words(const heap& memory, const odd& one) const;
  void look_at_memory(taken& one, bool under_way, bool readable);
  void look_at_read(taken& one, bool readable);
  void note_change(const lane& who, const void* address, size_t size_bytes, bool by_step, bool readable);
  void note_store(const taken& one);
  void infer_read(taken& one, bool readable);
  void wait_begins(life& of, wait_reason why, uint64_t step);
  void wait_ends(life& of, uint64_t step);

  std::vector<life> lives_;  ///< by id
  std::vector<waiting> waits_;
  std::vector<memory_change> memory_changes_;
  std::vector<runtime::named_slots> named_;
  std::unordered_map<const lane*, std::unordered_map<const void*, finding>> found_;
  std::unordered_map<const lane*, finding> finds_now_;
  /// The steps whose stores to a granule are in memory, in that order.
  struct granule_stores {
    std::vector<uint64_t> steps;
    std::array<size_t, granule_bytes> last = {};  ///< by byte: the place of the last one there, and one more
  };
  std::unordered_map<uint64_t, granule_stores> stores_;               ///< by granule
  std::unordered_map<const lane*, std::vector<uint64_t>> under_way_;  ///< the steps of stores that are not
  std::unordered_map<uint64_t, uint64_t> early_bytes_;  ///< that have arrived of a step that is being performed
  std::unordered_map<uint64_t, uint64_t> rings_;        ///< number to step
  uint64_t sends_ring_ = 0;                             ///< the step in which a ring is put under way
  std::unordered_set<const lane*> loses_ring_;
  std::unordered_set<const lane*> loses_change_;
  std::unordered_set<const lane*> fails_;
  std::unordered_map<uint64_t, uint64_t> behind_;  ///< step of a store to that of the newer one
  struct parting {
    const wave* of = nullptr;
    uint64_t ahead = 0;
    uint64_t behind = 0;
    uint64_t step = 0;  ///< before which it happened
  };
  std::vector<parting> partings_;
  std::vector<run_record::move> moves_;
  std::unordered_map<const lane*, std::vector<turn>> turns_;
  std::vector<odd> odd_;
  uint64_t judged_ = run_record::never;

  /// What was accessed, by granule, each word once: a report asks of each lane's words, and the steps are too many to be looked through each time.
  struct accessed {
    const void* address = nullptr;
    uint32_t size_bytes = 0;
    std::unordered_set<const wave*> by;
    std::unordered_map<const lane*, uint64_t> stores;  ///< the step of the lane's latest
  };
  const std::vector<accessed>& accessed_in(uint64_t granule) const;
  mutable std::unordered_map<uint64_t, std::vector<accessed>> accessed_;
  mutable size_t indexed_ = 0;  ///< so many of taken_ are in it
};

}  // namespace heddle::sim
