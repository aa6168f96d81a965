// Which accesses to scoped memory (scoped_memory.h) race.
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/memory/race.h>
#include <heddle/sim/memory/scoped/race_log.h>
#include <heddle/sim/memory/scoped/scoped_knowledge.h>
#include <heddle/sim/memory/scoped/scoped_lane.h>

#include <cstdint>

namespace heddle::sim::scoped {

class race_check {
 public:
  race_check(run_core& core, race_log& log, const knowledge& known) : core_(core), log_(log), known_(known) {}

  void reset() { edges_.reset(); }
  void take_notes(search_notes* into) { notes_ = into; }

  /// Reports the race, if the access that is about to be made is one of a race; notes it for the accesses to come.
  [[gnu::always_inline]] void look(const access& made, bool writes) {
    const auto& [self, mine, at, how, plain] = made;
    mine.accesses(at.in, at.mask);
    if (!plain && !self.copies_block) {
      // What the lane came after it still comes after; only the time of its access changes.
      access_history& known = at.in->accesses;
      checked_access& checked = at.place->checked[writes ? 1 : 0];
      if (checked.still_holds(known, at.mask, reach_of(mine, how))) {
        if (checked.epoch == mine.epoch) return;
        atomic_accesses& same = writes ? known.atomic_writes : known.atomic_reads;
        if (same.repeat(record_of(made, writes))) {
          checked.epoch = mine.epoch;
          return;
        }
      }
    }
    if (plain)
      look_before_plain(self, mine, at, how, writes);
    else
      look_before_atomic(self, mine, at, how, writes);
  }
  /// The same of a plain access.
  [[gnu::hot]] void look_before_plain(lane& self, lane_facts& mine, const part& at, const operation& how, bool writes);
  /// The access that the lane makes in the step which comes next.
  [[gnu::always_inline]] access_record record_of(const access& made, bool writes) const {
    return {.lane = made.mine.slot,
            .epoch = made.mine.epoch,
            .step = core_.history.this_step(),
            .mask = made.at.mask,
            .reach = reach_of(made.mine, made.how),
            .plain = made.plain,
            .writes = writes,
            .modifies = writes && !made.plain && made.how.kind != operation_kind::store &&
                        made.how.kind != operation_kind::volatile_store,
            .copied = !made.plain && made.self.copies_block,
            .vector_of = static_cast<uint8_t>(made.self.vector_of & 7),
            .place = low_half(made.how.place)};
  }
  /// The lane has made the plain store that it had announced.
  [[gnu::always_inline]] void stored(lane& self) { log_.stored(self); }
  /// Communication that ordered nothing: the lane has read what this release gives, and lacks something to acquire it.
  [[gnu::noinline]] void note_missing(lane_facts& mine, const release_entry& given, missing_order why,
                                      uint64_t load_step);

 private:
  [[gnu::cold, gnu::noinline]] void report(const access& made, const access_record& earlier, bool writes);
  race_log::reason reason_of(const access& made, const access_record& earlier, bool writes) const;
  static bool has_loaded_since(const access& made, const access_record& earlier);
  bool is_plain_flag(const access& made, const access_record& earlier, bool writes) const;
  [[gnu::hot]] void look_before_atomic(lane& self, lane_facts& mine, const part& at, const operation& how, bool writes);
  bool is_race(const access& made, const access_record& earlier) const;
  [[gnu::cold, gnu::noinline]] bool has_observed(const access& made, const access_record& earlier) const;
  /// An access has been compared with earlier atomic ones: a search must know where.
  void note_compared(const part& at) {
    if (notes_ != nullptr && notes_->compared.insert(at.in->address).second) notes_->grown = true;
  }

  run_core& core_;
  race_log& log_;
  const knowledge& known_;
  race_finder edges_;
  search_notes* notes_ = nullptr;
};

}  // namespace heddle::sim::scoped
