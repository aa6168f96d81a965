// The locations of scoped memory (scoped_memory.h) that lanes have accessed in a run, and the memory that their stores lie in.
#pragma once

#include <heddle/sim/base/reused_list.h>
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/scoped/scoped_store.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

namespace heddle::sim::scoped {

/// The latest store to any of the bytes, at `cut` or before; null where there is none.
[[gnu::always_inline]] inline message* latest(const granule& in, int cut, uint8_t mask) {
  for (int n = cut; n >= 0; --n) {
    message* const one = in.order[static_cast<size_t>(n)];
    if ((one->mask & mask) != 0) return one;
  }
  return nullptr;
}
/// What the granule held once the stores up to `cut` were made.
[[gnu::noinline, gnu::hot]] uint64_t value_at(const granule& in, int cut);
[[gnu::noinline, gnu::hot]] bool readable_at(const granule& in, int cut, uint8_t mask);

/// The place of the oldest store whose bytes all have newer ones; -1 where there is none.
inline int oldest_covered(const granule& in) {
  for (uint8_t n = 0; n < in.count; ++n) {
    const message* const oldest = in.order[n];
    uint8_t covered = 0;
    for (uint8_t later = n + 1; later < in.count && (oldest->mask & ~covered) != 0; ++later)
      covered |= in.order[later]->mask;
    if ((oldest->mask & ~covered) == 0) return n;
  }
  return -1;
}

/// A plain access to a row of granules that no lane has accessed yet, but by others of this kind. A granule gets its part when it is accessed by
/// itself: a fill or a copy of megabytes is then no more than one access.
struct row_access {
  std::byte* address = nullptr;
  size_t granules = 0;
  bool loads = false;    ///< then it stores nothing: what follows `access` says nothing, and `stored` neither
  message stored;        ///< to the first of them; `value` aside, the others differ by their serials, which count up
  access_record access;  ///< likewise
  std::vector<uint64_t> before;  ///< what they held; one value where that is the same of all
  bool base_readable = true;     ///< what they held before all stores may still be read
  static constexpr uint64_t never_filled = ~uint64_t{0};
  uint64_t filled_at = never_filled;  ///< of one that fills the row: locations::alone_stores_ then

  bool overlaps(const void* other, size_t other_granules) const {
    const auto mine = reinterpret_cast<uintptr_t>(address);
    const auto at = reinterpret_cast<uintptr_t>(other);
    return at < mine + granules * granule_bytes && mine < at + other_granules * granule_bytes;
  }
  bool lies_in(const std::byte* other, size_t other_granules) const {
    const auto mine = reinterpret_cast<uintptr_t>(address);
    const auto at = reinterpret_cast<uintptr_t>(other);
    return at <= mine && mine + granules * granule_bytes <= at + other_granules * granule_bytes;
  }
  bool covers(const std::byte* other, size_t other_granules) const {
    return address <= other && other + other_granules * granule_bytes <= address + granules * granule_bytes;
  }
  uint64_t before_at(size_t index) const { return before[before.size() == 1 ? 0 : index]; }
};

/// Bytes of a host thread's frames that it has given to others, from an aligned address on. `stored` stands for what it has stored there before, of
/// which nothing was told.
struct given_frames {
  const std::byte* low = nullptr;
  const std::byte* end = nullptr;
  access_record stored;
  bool holds(const std::byte* address) const { return low <= address && address < end; }
};

/// Keeps its memory from one run to the next.
class locations {
 public:
  explicit locations(const run_core& core) : core_(core) {}

  void reset();

  bool covers(const void* address) const { return core_.map.heap.contains(address) || !core_.map.may_vanish(address); }
  /// The granule of an address of the heap that a lane has accessed; null for others.
  [[gnu::always_inline]] granule* known(const void* address) const {
    // An address below the heap has the number of a granule beyond all.
    const size_t slot = core_.map.heap.offset_of(address) / granule_bytes;
    return slot < of_heap_.size() ? of_heap_[slot] : nullptr;
  }
  /// The granule that holds the address, which a lane has accessed by itself; null for others.
  const granule* find(const void* address) const {
    if (const granule* const of_heap = known(address)) return of_heap;
    const auto found = elsewhere_.find(reinterpret_cast<uintptr_t>(address) / granule_bytes * granule_bytes);
    return found == elsewhere_.end() ? nullptr : found->second;
  }
  [[gnu::always_inline]] granule& at(const void* address) {
    granule* const known_one = known(address);
    return known_one != nullptr ? *known_one : add(address);
  }
  [[gnu::noinline, gnu::hot]] granule& add(const void* address);

  /// Whether no granule of these bytes has stores of which either may have come last.
  bool are_ordered(const void* address, size_t size_bytes) const;
  /// A lane has stored to these bytes behind all that was done to them, and all that comes later comes behind that: no lane finds older values.
  void begin_anew(const void* address, size_t size_bytes);

  /// What lies there no lane has accessed yet, as far as is known here.
  void give_frames(const given_frames& given) { given_.push_back(given); }
  const std::vector<given_frames>& given() const { return given_; }

  // -- rows of granules that are stored to together

  /// With less bytes a store is made granule by granule.
  static constexpr size_t least_row_bytes = 1024;
  /// How many granules, from the aligned address on and at most so many, no lane has accessed by themselves.
  size_t row_at(const std::byte* address, size_t most) const;
  /// Calls `row` for each row of granules that no lane has accessed by themselves, and `alone` for what stands between, in order.
  template <typename Row, typename Alone>
  void split(const void* address, size_t size_bytes, const Row& row, const Alone& alone) const {
    auto* at = static_cast<std::byte*>(const_cast<void*>(address));
    std::byte* const end = at + size_bytes;
    while (at != end) {
      const size_t offset = reinterpret_cast<uintptr_t>(at) % granule_bytes;
      const auto left = static_cast<size_t>(end - at);
      const size_t granules = offset != 0 ? 0 : row_at(at, left / granule_bytes);
      const size_t bytes = granules != 0 ? granules * granule_bytes : std::min(granule_bytes - offset, left);
      if (granules != 0)
        row(at, granules);
      else
        alone(at, bytes);
      at += bytes;
    }
  }
  /// Whether `follows` says of all accesses to granules of the row that they come before; and there is room for another one.
  template <typename Follows>
  bool takes_row(const std::byte* address, size_t granules, const Follows& follows) const {
    if (rows_used_ == most_rows) return false;
    for (size_t n = 0; n < rows_used_; ++n)
      if (rows_[n]->overlaps(address, granules) && !follows(*rows_[n])) return false;
    return true;
  }
  /// A load of the row that is about to be made. Where `follows` says so of an earlier load that it covers, that one is not needed any more: what
  /// races with it races with this one.
  template <typename Follows>
  void add_row_load(std::byte* address, size_t granules, const access_record& access, const Follows& follows) {
    forget_loads(address, granules, follows);
    row_access& made = next_row(address, granules);
    made.loads = true;
    made.access = access;
  }
  /// Calls it for each store to granules of the row, in the order in which they were made.
  template <typename Each>
  void each_row_stored(const std::byte* address, size_t granules, const Each& each) {
    for (size_t n = 0; n < rows_used_; ++n)
      if (!rows_[n]->loads && rows_[n]->overlaps(address, granules)) each(rows_[n]->stored);
  }
  /// A store to the row that is about to be made, behind all others of takes_row(). The caller says what it is.
  row_access& add_row(std::byte* address, size_t granules);
  /// The same of one that fills the row with a byte, and is made here.
  row_access& fill_row(std::byte* address, size_t granules, std::byte byte);
  /// A store that is kept nowhere is about to be made.
  void stores_alone() { ++alone_stores_; }
  /// In the order in which they were made.
  template <typename Look>
  bool any_row(const Look& look) const {
    for (size_t n = 0; n < rows_used_; ++n)
      if (look(*rows_[n])) return true;
    return false;
  }

  /// Those of the run, in the order of their first accesses.
  size_t count() const { return granules_used_; }
  const granule& operator[](size_t n) const { return granules_[n]; }

  uint64_t next_serial() { return ++serials_; }
  message* take_message() {
    if (free_messages_.empty()) [[unlikely]]
      make_messages();
    message* const taken = free_messages_.back();
    free_messages_.pop_back();
    return taken;
  }
  /// A load that would need the forgotten store must not find an older one in its place.
  [[gnu::noinline]] void forget_oldest(granule& in);

 private:
  /// Calls it for each granule of the bytes that a lane has accessed by itself, until it answers false; whether it never does.
  template <typename Each>
  bool for_each_known(const void* address, size_t size_bytes, Each&& each) const;
  granule* new_granule(std::byte* address);
  /// The granule's part of stores to rows.
  [[gnu::noinline]] void recall(granule& in);
  void forget_row(size_t n);
  /// Forgets loads of nothing but granules of the row, of which it says so.
  template <typename Follows>
  void forget_loads(const std::byte* address, size_t granules, const Follows& follows) {
    for (size_t n = rows_used_; n-- > 0;)
      if (rows_[n]->loads && rows_[n]->lies_in(address, granules) && follows(*rows_[n])) forget_row(n);
  }
  row_access& next_row(std::byte* address, size_t granules);
  /// Whether the last store to granules of the row is a fill of all of it, as far as stores are known here.
  bool is_filled(const std::byte* address, size_t granules) const;
  /// Of which is not said yet what the row held before.
  row_access& new_row(std::byte* address, size_t granules);
  [[gnu::cold]] void make_messages();
  /// `may_race`: its granule has unordered stores.
  void drop_message(message* unused, bool may_race);

  const run_core& core_;
  std::deque<message> messages_;
  std::vector<message*> free_messages_;
  reused_list<granule> granules_;
  size_t granules_used_ = 0;
  std::vector<granule*> of_heap_;                     ///< by offset in the heap, in granules
  std::unordered_map<uint64_t, granule*> elsewhere_;  ///< by address
  std::vector<size_t> heap_touched_;
  static constexpr size_t stretch = 512;       ///< granules, of a page
  std::vector<uint8_t> has_known_in_stretch_;  ///< of of_heap_
  static constexpr size_t most_rows = 4096;
  std::vector<std::unique_ptr<row_access>>
      rows_;  ///< in the order in which they were made; behind them, those to be used again
  size_t rows_used_ = 0;
  std::vector<given_frames> given_;
  uint64_t alone_stores_ = 0;  ///< of all runs
  uint64_t serials_ = 0;
};

}  // namespace heddle::sim::scoped
