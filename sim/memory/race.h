// Races: conflicting accesses that nothing orders. Exact for the run that is made: every pair that races in it is found when the
// second access is made, and nothing else is reported. (Happens-before with vector clocks: Djit+, Pozniansky and Schuster, PPoPP
// 2003; epochs: FastTrack, Flanagan and Freund, PLDI 2009; scopes: PTX ISA, "Data-Races".)
#pragma once

#include <heddle/scheduler/append.h>
#include <heddle/sim/memory/causality.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace heddle::sim {

/// How far apart two lanes are: the narrowest scope that includes both.
enum distance : uint8_t { same_wave, same_block, same_cluster, same_device, same_system };

/// Whether the bytes of `part` are a value of a vector of such bytes: values of `value_bytes` bytes; 0: it is no vector.
inline bool is_value_of(uint8_t vector, uint8_t value_bytes, uint8_t part) {
  return value_bytes != 0 && (part & ~vector) == 0 && std::popcount(part) == value_bytes;
}

/// One access to some bytes of a granule.
struct access_record {
  uint32_t lane = 0;
  uint32_t epoch = 0;
  uint64_t step = 0;
  uint8_t mask = 0;   ///< one bit a byte
  uint8_t reach = 0;  ///< of an atomic access: its scope
  bool plain : 1 = false;
  bool writes : 1 = false;
  bool modifies : 1 = false;  ///< a read-modify-write
  bool copied : 1 = false;    ///< a word of a copy of several: with another copy it is a race as plain ones are
  bool given : 1 = false;  ///< stands for all that a thread may have stored in its frame before it gave that to others
  uint8_t vector_of : 3 = 0;  ///< lane::vector_of
  uint32_t place = 0;         ///< where it is made: the low half of that address
};

/// The atomic accesses of one kind to a granule: the latest of each lane, found by the lane, and those of another shape than that.
class atomic_accesses {
 public:
  void clear() {
    by_lane_.clear();
    others_.clear();
    other_of_.clear();
  }
  /// What its slot has of an epoch before `first_epoch` is of an earlier lane.
  [[gnu::always_inline]] void add(const access_record& now, uint32_t first_epoch) {
    if (by_lane_.size() <= now.lane) [[unlikely]]
      widen(now.lane);
    access_record& latest = by_lane_[now.lane];
    if (latest.epoch != 0 &&
        (latest.mask != now.mask || latest.reach != now.reach || !stands_for(now, latest, first_epoch))) [[unlikely]]
      keep_other_shape(latest, now, first_epoch);
    latest = now;
  }
  /// The same as add() of the lane's latest access made again at another time; false, and nothing done, where it has another shape.
  bool repeat(const access_record& now) {
    access_record& latest = by_lane_[now.lane];
    if (latest.mask != now.mask || latest.reach != now.reach) return false;
    latest.epoch = now.epoch;
    latest.step = now.step;
    latest.place = now.place;
    return true;
  }
  template <typename Look>
  [[gnu::always_inline]] void each(Look&& look) const {
    for (const access_record& one : by_lane_)
      if (one.epoch != 0) look(one);
    for (const access_record& one : others_) look(one);
  }

 private:
  // A later access of one shape stands for an earlier one, but where their lanes are of two blocks and the scope reaches one of these.
  static bool stands_for(const access_record& later, const access_record& earlier, uint32_t first_epoch) {
    return earlier.epoch >= first_epoch || later.reach >= same_device;
  }
  // Lanes that scan words of 4 bytes come here with each access: two lie in a granule.
  [[gnu::noinline]] void keep_other_shape(const access_record& latest, const access_record& now, uint32_t first_epoch) {
    while (other_of_.size() <= latest.lane) scheduler::append(other_of_, none);
    uint32_t& at = other_of_[latest.lane];
    const auto is_of = [&](const access_record& one, const access_record& shape) {
      return one.lane == shape.lane && one.mask == shape.mask && one.reach == shape.reach &&
             stands_for(shape, one, first_epoch);
    };
    // An earlier one of the shape of `now` is not needed any more.
    const auto may_go = [&](const access_record& one) { return is_of(one, now) || is_of(one, latest); };
    if (at == none || !may_go(others_[at]))
      at = static_cast<uint32_t>(std::find_if(others_.begin(), others_.end(), may_go) - others_.begin());
    if (at == others_.size())
      scheduler::append(others_, latest);
    else
      others_[at] = latest;
  }
  [[gnu::noinline]] void widen(uint32_t lane) {
    while (by_lane_.size() <= lane) scheduler::append(by_lane_, access_record{});
  }

  std::vector<access_record> by_lane_;  ///< epoch 0: none
  std::vector<access_record> others_;
  static constexpr uint32_t none = ~uint32_t{0};
  std::vector<uint32_t> other_of_;  ///< by lane: the one of others_ that was kept last
};

/// The accesses to one granule that a later one may race with: those that no later, at least as conflicting access comes after.
class access_history {
 public:
  uint32_t plain_changes = 0;  ///< how often something was added to the plain ones
  bool has_atomics = false;
  /// Then none of the atomic ones race: each reaches all the others, and they overlap completely or not at all.
  bool atomics_agree = true;

  /// An atomic access of this shape is about to be added; `side` is the host, or one of the devices.
  void note_shape(uint8_t mask, uint8_t reach, uint32_t side) {
    several_sides_ = several_sides_ || (has_atomics && side_ != side);
    side_ = side;
    has_atomics = true;
    least_reach_ = least_reach_ < reach ? least_reach_ : reach;
    add_mask(mask);
    atomics_agree = !overlaps_ && least_reach_ >= (several_sides_ ? same_system : same_device);
  }

  std::vector<access_record> plain_reads;
  std::vector<access_record> plain_writes;
  static constexpr uint32_t few = 8;
  uint32_t reads_looked_through = few;  ///< with as many plain reads, those are dropped that are not needed any more
  uint64_t may_have_read = 0;           ///< lanes, modulo 64, that a plain read may be of
  static uint64_t bit_of(uint32_t lane) { return uint64_t{1} << lane % 64; }
  atomic_accesses atomic_reads;
  atomic_accesses atomic_writes;

  void clear() {
    plain_changes = 0;
    reads_looked_through = few;
    may_have_read = 0;
    plain_reads.clear();
    plain_writes.clear();
    if (!has_atomics) return;
    has_atomics = false;
    atomics_agree = true;
    atomic_reads.clear();
    atomic_writes.clear();
    least_reach_ = 0xff;
    masks_ = {};
    overlaps_ = several_sides_ = false;
  }

 private:
  void add_mask(uint8_t mask) {
    for (uint8_t& known : masks_) {
      if (known == mask) return;
      if ((known & mask) != 0) break;
      if (known != 0) continue;
      known = mask;
      return;
    }
    overlaps_ = true;
  }

  uint8_t least_reach_ = 0xff;
  std::array<uint8_t, 8> masks_{};  ///< those that do not overlap another, zero behind the last
  bool overlaps_ = false;           ///< some overlap, and not completely
  bool several_sides_ = false;
  uint32_t side_ = 0;  ///< of the last one
};

/// Why two lanes that communicated were not ordered by it.
enum class missing_order : uint8_t {
  scope,    ///< a scope of what is there is too narrow
  release,  ///< nothing was released
  acquire,  ///< nothing was acquired
  flag,     ///< the store that was read is a plain one, behind a fence
  reach,    ///< nothing was acquired, and what was released does not reach so far
};

/// A bit for each of them.
using missing_orders = uint32_t;
constexpr missing_orders only(missing_order one) { return uint32_t{1} << static_cast<uint32_t>(one); }
inline constexpr missing_orders any_missing_order = 31;

/// Communication that ordered nothing, and what it lacked. Kept to tell a race from a scope race, and to name the missing edge.
class race_finder {
 public:
  struct edge {
    snapshot from;  ///< the clock of the lane that stored, when it stored
    uint32_t releaser = 0;
    uint32_t releaser_epoch = 0;
    uint32_t lane = 0;   ///< that loaded
    uint32_t epoch = 0;  ///< of that lane, from the load on
    missing_order lacks = missing_order::scope;
    uint64_t store_step = 0;
    uint64_t load_step = 0;
  };

  void reset() { edges_.clear(); }
  /// At most so many are kept; the verdict stays a race when one is lost, only its kind may be coarser.
  static constexpr size_t most_edges = 4096;
  bool full() const { return edges_.size() >= most_edges; }
  void add(edge lacking) { edges_.push_back(static_cast<edge&&>(lacking)); }

  /// The last edge of a chain that would order the access before what the lane with this clock does now, had the edges not lacked
  /// what they lack; null when there is none. Through edges that lack one of `these`.
  const edge* would_order(const access_record& earlier, const clock_entries& now, missing_orders these) const;

 private:
  std::vector<edge> edges_;
};

}  // namespace heddle::sim
