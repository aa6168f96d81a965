// What the lanes of scoped memory (scoped_memory.h) know of each other: their clocks, and what orders lanes without an access.
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/causality.h>
#include <heddle/sim/memory/clock_table.h>
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/memory/scoped/scoped_lane.h>
#include <heddle/sim/memory/scoped/scoped_store.h>
#include <heddle/sim/settings/link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace heddle::sim::scoped {

class knowledge {
 public:
  explicit knowledge(run_core& core);

  void reset();
  [[gnu::hot]] void begins(lane& fresh, const lane* by);
  /// A lane that has begun, knows what it begins with, and has done nothing yet: in a run of many lanes it takes the slot of one that has ended and whose
  /// end it comes after. To the order of accesses the two are one lane, so that clocks grow with the lanes that run at a time and not with all that ever
  /// ran. (As threads share slots in ThreadSanitizer's run-time library, version 3.)
  void takes_place(const lane& fresh);
  /// The lane has ended, and has released what it did.
  void ended(const lane& last);
  /// Whether a lane has the slot of another one.
  bool shares_slots() const { return shares_slots_; }

  /// Lanes that have begun, by id.
  size_t count() const { return lanes_used_; }
  lane_facts& operator[](size_t id) const { return *lanes_[id]; }
  /// The lane that has done what is kept under this name.
  lane_facts& of(uint32_t slot, uint32_t epoch) const {
    lane_facts* found = by_slot_[slot];
    while (epoch < found->first_epoch) [[unlikely]]
      found = found->before;
    return *found;
  }
  /// Whether both are of one lane, if they are of one slot.
  bool are_of_one_lane(const release_entry& one, const release_entry& other) const {
    return by_slot_[one.releaser]->first_epoch == 0 || &of(one.releaser, one.epoch) == &of(other.releaser, other.epoch);
  }
  /// The same access, named by its lane's id.
  access_record named(access_record kept) const {
    kept.lane = of(kept.lane, kept.epoch).id;
    return kept;
  }
  race_finder::edge named(race_finder::edge kept) const {
    kept.lane = of(kept.lane, kept.epoch).id;
    kept.releaser = of(kept.releaser, kept.releaser_epoch).id;
    return kept;
  }
  /// Null for a lane that no run had.
  const lane_facts* find(size_t id) const { return id < lanes_.size() ? lanes_[id].get() : nullptr; }

  // -- clocks

  [[gnu::hot]] void clock_changed(lane_facts& mine) {
    mine.told = false;
    mine.stored_last.in = nullptr;
    mine.learnt_at = core_.history.this_step();
    if (fenced_last_ == &mine) fenced_last_ = nullptr;
  }
  /// What the lane knows of others.
  const snapshot& snapshot_of(lane_facts& mine) {
    if (!mine.told) take_snapshot(mine);
    return mine.clock.as_snapshot();
  }
  /// What a release of the lane gives.
  const snapshot& released_view(lane_facts& mine) { return mine.arm_view ? mine.arm_view : snapshot_of(mine); }
  pooled<release_list> take_release_list() { return release_lists_.take(); }
  [[gnu::noinline, gnu::hot]] void acquire(lane_facts& mine, const release_entry& given, bool as_written, bool seen);

  // -- which lanes have ended

  /// Whether the lane knows that lane `n` has ended, and with it all that it did.
  bool knows_end_of(const lane_facts& mine, size_t n) const;
  /// The others but those of which that holds, a bit each of the first 64.
  uint64_t lanes_beside(const lane& self) const;

  // -- which stores a lane cannot miss, and how strongly an access and a store are related

  /// Whether the lane cannot miss the store: by causality, or because the host's memory is coherent.
  [[gnu::always_inline]] bool knows(const lane_facts& mine, const message& it) const {
    return (it.host_saw && mine.tso) || knows_by_causality(mine, it);
  }
  [[gnu::always_inline]] bool knows_by_causality(const lane_facts& mine, const message& it) const {
    if (it.writer == mine.slot || it.was_observed_by(mine.slot)) return true;
    // A lane that has learnt nothing since has learnt nothing of it.
    if (mine.learnt_at < it.step) return mine.host && has_arrived_in_order(mine, it);
    return entry_of(mine.clock->what_is_seen(), it.writer) >= it.epoch || knows_an_observer(mine, it) ||
           has_arrived_in_order(mine, it);
  }
  /// A lane reads the store. What a device stores for the host may arrive in order: then all before this store has arrived.
  void reads(const lane_facts& mine, const message& it) {
    if (!link_.pool && mine.host && !it.host && it.step > arrived_in_order_) arrived_in_order_ = it.step;
  }
  /// Whether the host has read a store of a device without a pool that is not older than this one.
  bool has_arrived(const message& it) const { return !link_.pool && it.step <= arrived_in_order_; }

  /// Whether a read-modify-write by the lane, whose value is there already and which `read` has, gives others nothing to know, neither by itself nor as
  /// the fence that it is on an x86.
  bool adds_nothing(const lane_facts& mine, const operation& how, const part& at, const message* read) const;
  /// The same of what it gives by itself.
  bool gives_nothing(const lane_facts& mine, const operation& how, const part& at, const message* read) const;
  /// Whether a read-modify-write by the lane, whose value is there already, is one more of what it has done last: of `read`, the newest store.
  bool repeats_its_own(const lane& self, const lane_facts& mine, const operation& how, const part& at,
                       const message* read) const;
  /// Whether both are strong, include each other and overlap completely; as written, or as this machine performs them.
  bool morally_strong(const lane_facts& mine, bool plain, uint8_t reach, uint8_t mask, const message& it,
                      bool as_written) const {
    const uint8_t apart = between(of(it.writer, it.epoch), mine);
    return as_written ? is_strong_as_written(apart, plain, reach, mask, it)
                      : is_strong_as_performed(mine, apart, plain, reach, mask, it);
  }
  static bool is_strong_as_written(uint8_t apart, bool plain, uint8_t reach, uint8_t mask, const message& it) {
    return it.is_of(mask) && !plain && it.strong && reach >= apart && it.reach >= apart;
  }
  static bool is_strong_as_performed(const lane_facts& mine, uint8_t apart, bool plain, uint8_t reach, uint8_t mask,
                                     const message& it) {
    const bool strong = (!plain || mine.tso) && (it.strong || it.tso);
    return it.is_of(mask) && strong && machine_reach(mine, reach) >= apart && (it.host || it.reach >= apart);
  }

  // -- scoped_order.cpp: order without an access

  void fence_total(lane_facts& mine, uint8_t reach);
  /// A sequentially consistent access of a host thread stands here; `flushes`: what the thread has stored is seen behind it.
  void order_host_access(lane_facts& mine, uint8_t reach, bool flushes);
  void fence_host(lane_facts& mine);
  void release_fence(lane_facts& mine, uint8_t reach);
  void meet(lane* const* lanes, size_t count);
  void order(const lane& first, lane& then);
  [[gnu::hot]] void release_object(lane& self, const void* object);
  [[gnu::hot]] void acquire_object(lane& self, const void* object);
  /// A lane that knew the same before, and has begun behind the same; null: none is known.
  const begun_alike* find_begun(const shared_clock& before, const causal_clock* behind) const;

  // -- scoped_arms.cpp: waves with one program counter

  void arm(arm_event what, lane* const* lanes, size_t count);

  // -- for the state of a run

  const clock_table& totals() const { return totals_; }
  const clock_table& objects() const { return objects_; }
  const causal_clock* of_object(const void* object) const { return objects_.find(reinterpret_cast<uintptr_t>(object)); }
  const clock_entries& host_fences() const { return host_fences_; }

 private:
  [[gnu::noinline, gnu::hot]] void take_snapshot(lane_facts& mine);
  static bool knows_an_observer(const lane_facts& mine, const message& it) {
    return it.is_observed && knows_one_of(mine, it);
  }
  [[gnu::noinline]] static bool knows_one_of(const lane_facts& mine, const message& it) {
    const clock_entries& seen = mine.clock->what_is_seen();
    return std::any_of(it.observers.begin(), it.observers.end(),
                       [&](const observer& one) { return entry_of(seen, one.lane) >= one.epoch; });
  }
  /// The stores of a device that keeps them in order arrive in order.
  bool has_arrived_in_order(const lane_facts& mine, const message& it) const {
    return arrives_in_order_ && mine.host && !it.host && it.step <= arrived_in_order_;
  }
  static uint64_t instance_of(const lane_facts& mine, uint8_t reach);
  /// A cluster of one block is that block.
  static bool has_instance(const lane_facts& mine, uint8_t reach) {
    return reach != same_cluster || mine.cluster != mine.block;
  }
  void share_what_was_acquired(lane* const* lanes, size_t count);
  snapshot gather(lane* const* lanes, size_t count);
  snapshot join_clocks(lane* const* lanes, size_t count);
  void join_to_all(lane* const* lanes, size_t count, const causal_clock& learnt);
  static void join_given(causal_clock& known, const release_entry& given, bool ordered, bool seen);
  [[gnu::noinline]] void learn(shared_clock& to, learnt_alike& last, const release_entry& given, bool ordered,
                               bool seen);

  run_core& core_;
  const settings& machine_;
  const link_settings& link_;
  // Lanes and stores refer to what these own.
  pool<causal_clock> snapshots_;
  pool<release_list> release_lists_;
  std::vector<std::unique_ptr<lane_facts>> lanes_;  ///< by id
  std::vector<lane_facts*> by_slot_;                ///< the last that has it
  static constexpr size_t least_slots = 256;        ///< before lanes share any
  std::vector<lane_facts*> free_;                   ///< the last of their slots, and ended
  std::vector<uint32_t> unused_;                    ///< slots that no lane has done anything with
  bool shares_slots_ = false;
  size_t lanes_used_ = 0;
  bool all_tso_ = true;        ///< those lanes are threads of an x86 host
  clock_table totals_;         ///< of seq_cst fences, by reach and instance
  clock_entries host_fences_;  ///< what full fences of host threads have made seen
  const lane_facts* fenced_last_ =
      nullptr;                        ///< the thread that has made the last of them, if it has learnt nothing since
  clock_table objects_;               ///< by address
  learnt_alike learnt_;               ///< by clocks of lanes
  learnt_alike acquired_;             ///< by what they have acquired
  std::array<begun_alike, 8> begun_;  ///< the last ones
  size_t begun_next_ = 0;             ///< how many there were
  uint64_t object_releases_ = 0;      ///< at any object
  bool arrives_in_order_ = false;     ///< what a device stores for the host
  uint64_t arrived_in_order_ = 0;     ///< then: the latest of its stores that the host has seen
};

}  // namespace heddle::sim::scoped
