// What scoped memory (scoped_memory.h) keeps of a lane: what it knows, what it may still acquire, and what it has settled about the
// locations that it looks at again and again.
#pragma once

#include <heddle/sim/machine/lane.h>
#include <heddle/sim/memory/causality.h>
#include <heddle/sim/memory/pool.h>
#include <heddle/sim/memory/race.h>
#include <heddle/sim/memory/scoped/scoped_store.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace heddle::sim::scoped {

/// A clock that others may refer to: it is copied before it changes.
class shared_clock {
 public:
  const causal_clock& operator*() const { return *now_; }
  const causal_clock* operator->() const { return now_; }
  /// Whether both are one clock, and equal thereby.
  bool is_same(const shared_clock& other) const { return now_ == other.now_; }

  /// None for what is still empty.
  const snapshot& as_snapshot() const { return held_; }
  void share(const snapshot& other) {
    held_ = other;
    now_ = held_ ? &*held_ : &nothing;
  }
  void clear() { share(snapshot()); }
  /// The clock, of which there is no other user then.
  causal_clock& edit(pool<causal_clock>& memory) {
    if (!held_.is_only()) copy_to(memory);
    return held_.edit();
  }

 private:
  [[gnu::noinline]] void copy_to(pool<causal_clock>& memory) {
    snapshot fresh = memory.take();
    fresh.edit().assign(*now_);
    held_ = std::move(fresh);
    now_ = &*held_;
  }

  static inline const causal_clock nothing{};
  snapshot held_;
  const causal_clock* now_ = &nothing;
};

/// Lanes that share a clock and learn the same share what comes of it: the last that was made so.
struct learnt_alike {
  shared_clock before;
  snapshot given;
  uint32_t releaser = 0;
  uint32_t epoch = 0;
  bool ordered = false;
  bool seen = false;
  snapshot after;

  void clear() {
    before.clear();
    given = after = snapshot();
  }
};

/// Likewise lanes that begin behind the same work.
struct begun_alike {
  shared_clock before;
  const causal_clock* behind = nullptr;  ///< what was released at the end of that work
  uint64_t at = 0;                       ///< how often anything had been released then
  snapshot after;

  void clear() {
    before.clear();
    after = snapshot();
  }
};

/// A store that a relaxed load of a device's lane has read, as long as it has not been asked what a fence behind the load could
/// acquire from it. Nearly all loads are never followed by one.
struct deferred_read {
  const granule* in = nullptr;
  uint64_t serial = 0;  ///< of the store
  uint64_t chain = 0;   ///< message::chain
  uint8_t mask = 0;
  bool as_written = false;  ///< morally strong with the store
  bool seen = false;
  bool comparable = false;  ///< but for the scopes
  pooled<release_list> given;
};

/// A release that a relaxed load has read: a fence behind it may still acquire it.
struct pending_acquire {
  const granule* in = nullptr;  ///< where it was read
  uint8_t mask = 0;
  uint8_t apart = 0;  ///< distance to the releaser
  bool as_written = false;
  bool seen = false;
  bool too_narrow = false;  ///< no lane can acquire it: kept to say so
  release_entry given;

  /// A lane that acquires this one acquires the other too.
  bool includes(const pending_acquire& other) const {
    if (in != other.in || mask != other.mask || apart > other.apart) return false;
    if (as_written < other.as_written || seen < other.seen || too_narrow != other.too_narrow) return false;
    if (given.plain_flag != other.given.plain_flag) return false;
    const release_entry& old = other.given;
    if (given.releaser == old.releaser) return given.epoch >= old.epoch;
    return entry_of(given.view->ordered, old.releaser) >= old.epoch &&
           entry_of(given.view->what_is_seen(), old.releaser) >= old.epoch;
  }
};

/// What a lane has settled about a store that it may read again and again while it waits. Knowledge only grows: what is true of
/// a lane and a store stays true.
struct settled_store {
  uint64_t serial = 0;        ///< of the store
  bool known = false;         ///< the lane cannot miss it
  bool nothing_more = false;  ///< it has nothing more to teach the lane
  bool noted = false;         ///< all that a load of the shape below learns from it, the lane has noted
  // The atomic load that has read it last.
  bool repeats = false;  ///< the same load finds the same again, and there is nothing else to do
  uint64_t newest = 0;   ///< granule::newest of then: while it stays, so does what the load finds
  uint8_t mask = 0;
  uint8_t reach = 0;
  bool acquires = false;

  /// Of a store of which nothing is settled yet. In place: a copy would wait for what was written last.
  void begin(uint64_t of_serial) {
    serial = of_serial;
    known = nothing_more = noted = repeats = acquires = false;
    newest = 0;
    mask = reach = 0;
  }
  void note(uint8_t with_mask, uint8_t with_reach, bool by_acquire) {
    noted = true;
    acquires = by_acquire;
    mask = with_mask;
    reach = with_reach;
  }
  bool is_read_again(uint8_t with_mask, uint8_t with_reach, bool by_acquire) const {
    return mask == with_mask && reach == with_reach && acquires == by_acquire;
  }
};

/// An atomic access of a lane that has been compared with all others, and is in the history of its granule.
struct checked_access {
  uint32_t epoch = 0;  ///< 0: none
  uint32_t plain_changes = 0;
  uint8_t mask = 0;
  uint8_t reach = 0;
  /// Whether nothing has come since with which the same access could race.
  bool still_holds(const access_history& of, uint8_t with_mask, uint8_t with_reach) const {
    return epoch != 0 && plain_changes == of.plain_changes && mask == with_mask && reach == with_reach &&
           of.atomics_agree;
  }
};

/// What a lane remembers of a location, in one cache line.
struct alignas(64) remembered_location {
  uint64_t granule = 0;  ///< its serial
  settled_store settled;
  std::array<checked_access, 2> checked;  ///< a load; a store
};

/// The store that a lane has made last, until it accesses anything but those bytes, or learns something from another lane.
struct last_store {
  const granule* in = nullptr;  ///< null: there is none
  uint64_t serial = 0;
  uint8_t mask = 0;
};

/// A lane: where it stands on the machine, what it knows, and the plain access that it makes now.
struct alignas(64) lane_facts {
  // What each access looks at comes first.
  uint32_t wave = 0;
  uint32_t epoch = 0;
  /// Its place in clocks, and its name in what is kept of accesses. A lane may have that of an earlier one (knowledge::takes_place()): what is of an epoch
  /// before `first_epoch` is of that one.
  uint32_t slot = 0;
  uint32_t first_epoch = 0;
  uint64_t block = 0;
  uint64_t learnt_at = 0;  ///< the step in which it has last learnt something from another lane
  uint32_t side = 0;       ///< the host, or a GPU and one more
  bool host = false;
  bool tso = false;             ///< a thread of a host that is an x86
  uint8_t least_reach = 0;      ///< of what it does: on the host, the whole system
  bool shares_counter = false;  ///< its wave has one program counter
  bool has_siblings = false;    ///< in its wave
  bool told = false;            ///< nothing has been learnt since `clock` was taken as a snapshot
  uint32_t id = 0;
  lane_facts* before = nullptr;  ///< the lane that had the slot before
  uint64_t cluster = 0;          ///< that of the block where no other block is in it
  static constexpr size_t most_deferred = 16;
  std::vector<deferred_read> deferred;
  /// What it knows of others. Of itself it knows all, whatever is there: see ordered_to() and sees_to().
  shared_clock clock;
  struct fence_release {
    snapshot view;
    uint32_t epoch = 0;
    uint8_t reach = 0;
    uint64_t step = 0;
  };
  std::vector<fence_release> fences;  ///< the latest of each reach that is not covered by a later one of wider reach
  std::array<uint64_t, same_system + 1>
      first_fence{};  ///< by reach: the step of the first one of at least that; 0: none
  // Of a wave with one program counter (scoped_arms.cpp).
  shared_clock acquired;  ///< all that it has acquired
  shared_clock parted;    ///< all that the lanes had done from which it parted, at that time
  snapshot arm_view;      ///< what its arm has done, in an operation that releases; empty in others
  static constexpr size_t few_pending = 4;
  std::vector<pending_acquire> pending;
  size_t many_pending = few_pending;  ///< as many are looked through for what is not needed any more
  std::array<remembered_location, 16> remembers;
  last_store stored_last;
  // A plain access that the code under test makes now.
  const void* store_address = nullptr;
  size_t store_bytes = 0;
  uint64_t store_step = 0;
  bool stores_strongly = false;  ///< the store in progress is volatile, or is assumed to be atomic
  bool stores_alone = false;     ///< no other lane is left, or will come that does not come behind it
  memory_order store_order = memory_order::relaxed;
  scope store_reach = scope::system;
  void* window_address = nullptr;
  std::vector<std::byte> window_newest;  ///< what memory held before the window was opened
  void* seen_address = nullptr;          ///< of the last window
  std::vector<std::byte> seen;
  uint64_t flag_step = 0;  ///< the store through which the lane learnt what it does not see

  /// It accesses these bytes.
  [[gnu::always_inline]] void accesses(const granule* in, uint8_t mask) {
    if (stored_last.in != nullptr && (stored_last.in != in || stored_last.mask != mask)) stored_last.in = nullptr;
  }

  /// Up to which of its epochs it comes after a lane; and sees what that did.
  uint32_t ordered_to(uint32_t of_slot) const { return of_slot == slot ? epoch : entry_of(clock->ordered, of_slot); }
  uint32_t sees_to(uint32_t of_slot) const {
    return of_slot == slot ? epoch : entry_of(clock->what_is_seen(), of_slot);
  }
  /// Whether it has done what is kept under this name, and not the lane whose slot it has.
  bool has_done(uint32_t of_slot, uint32_t in_epoch) const { return of_slot == slot && in_epoch >= first_epoch; }
  /// Raises what `to` knows to what this lane knows, itself included.
  void join_to(causal_clock& to) const {
    to.join_all(*clock);
    raise_own_in(to);
  }
  void raise_own_in(causal_clock& to) const {
    raise(to.ordered, slot, epoch);
    if (to.split) raise(to.seen, slot, epoch);
  }
  /// All that it knows, itself included.
  causal_clock whole_clock() const {
    causal_clock made;
    join_to(made);
    return made;
  }
};

inline lane_facts& facts(const lane& of) { return *static_cast<lane_facts*>(of.memory); }

inline uint8_t between(const lane_facts& a, const lane_facts& b) {
  if (a.wave == b.wave) return same_wave;
  if (a.block == b.block) return same_block;
  if (a.cluster == b.cluster) return same_cluster;
  return a.side == b.side ? same_device : same_system;
}
/// As the machine performs it: an x86 host orders all that it does for all others.
inline uint8_t machine_reach(const lane_facts& mine, uint8_t reach) { return mine.host ? uint8_t{same_system} : reach; }
/// As written. A host's compiler knows no scopes: what its threads do is of system scope.
inline uint8_t reach_of(const lane_facts& mine, const operation& how) {
  return std::max(mine.least_reach, static_cast<uint8_t>(how.reach));
}
inline void new_epoch(lane_facts& mine) { ++mine.epoch; }
/// Whether the lane does not know all that a release gives.
[[gnu::always_inline]] inline bool teaches(const lane_facts& mine, const release_entry& given) {
  return given.releaser != mine.slot &&
         (entry_of(mine.clock->ordered, given.releaser) < given.epoch ||
          (mine.clock->split && entry_of(mine.clock->seen, given.releaser) < given.epoch));
}
inline bool comes_after(const lane_facts& mine, const access_record& earlier) {
  return earlier.lane == mine.slot || entry_of(mine.clock->ordered, earlier.lane) >= earlier.epoch;
}
/// Where a lane keeps what it remembers of a location, until another one takes the place.
inline remembered_location& remembered(lane_facts& mine, const granule& in, uint8_t mask) {
  const uint32_t half = (mask & 0x0f) != 0 ? 0 : 1;
  remembered_location& place = mine.remembers[(in.number * 2 + half) % mine.remembers.size()];
  if (place.granule != in.serial) place = {.granule = in.serial};
  return place;
}

/// One granule's part of an access.
struct part {
  granule* in = nullptr;
  uint8_t mask = 0;
  uint32_t shift = 0;                    ///< in bits
  remembered_location* place = nullptr;  ///< of the lane that makes the access; null where it remembers nothing of it
};

/// Of a lane that remembers nothing of the access.
[[gnu::always_inline]] inline part part_in(granule& in, const void* address, size_t size_bytes) {
  const auto offset = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(address) % granule_bytes);
  const auto mask = static_cast<uint8_t>(((uint32_t{1} << size_bytes) - 1) << offset);
  return {.in = &in, .mask = mask, .shift = 8 * offset};
}
[[gnu::always_inline]] inline part part_in(lane_facts& mine, granule& in, const void* address, size_t size_bytes) {
  part made = part_in(in, address, size_bytes);
  made.place = &remembered(mine, in, made.mask);
  return made;
}

/// A lane's access to one granule, whole or in part: what inline functions take. To others its parts are given one by one, so that it need
/// not lie in memory.
struct access {
  lane& self;
  lane_facts& mine;  ///< of that lane
  const part& at;
  const operation& how;
  bool plain = false;
};

}  // namespace heddle::sim::scoped
