// Which lane waits for which locations: a lane that waits is registered on each one that it has read since its last progress, and
// is blocked until one of them changes. (The dynamic form of blocking on spin loops: miri PR 1651; GenMC's spin-assume.)
#pragma once

#include <heddle/scheduler/append.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

struct lane;

/// One location that a lane has read, and what it read there. Of a power of two bytes, so that many are counted without a multiplication.
class alignas(32) watched {
 public:
  const void* address = nullptr;
  uint64_t value = 0;  ///< of up to 8 bytes; a hash of more; the number of the location's last change where `by_change`
  uint32_t size_bytes = 0;
  /// The C++ heap may take memory back at any time: what lies there is only read when the program reads it.
  bool by_change = false;
  uint32_t turn = 0;  ///< the iteration of its last read (watch_set::begin_turn)

  /// The bytes of memory in the form of `value`.
  static uint64_t value_at(const void* address, uint32_t size_bytes) {
    // Sizes known to the compiler, so that a word is read by one instruction.
    if (size_bytes == 4) return word_at<uint32_t>(address);
    if (size_bytes == 8) return word_at<uint64_t>(address);
    return any_at(address, size_bytes);
  }
  bool is_at(const void* other, uint32_t other_bytes) const { return address == other && size_bytes == other_bytes; }
  bool overlaps(const void* other, size_t other_bytes) const {
    const auto mine = reinterpret_cast<uintptr_t>(address);
    const auto theirs = reinterpret_cast<uintptr_t>(other);
    return mine < theirs + other_bytes && theirs < mine + size_bytes;
  }

 private:
  template <typename Word>
  static uint64_t word_at(const void* address) {
    Word word = 0;
    std::memcpy(&word, address, sizeof word);
    return word;
  }
  static uint64_t any_at(const void* address, uint32_t size_bytes);
};

/// What one lane has read since its last progress.
class watch_set {
 public:
  void add(const void* address, uint32_t size_bytes, uint64_t value, bool by_change = false) {
    // Loops read a few words over and over, in the same order.
    const watched* const next = entries_.data() + next_;
    if (next != entries_.data() + entries_.size() && next->is_at(address, size_bytes)) [[likely]]
      return update(next_, value);
    add_out_of_order(address, size_bytes, value, by_change);
  }
  void clear() {
    entries_.clear();
    next_ = 0;
    maybe_ = 0;
    overflowed_ = false;
    saw_change_ = false;
    saw_change_lately_ = false;
  }
  /// What is read from here on belongs to the next iteration of the lane's loop.
  void begin_turn() { ++turn_; }
  /// Forgets what was not read again in this iteration.
  void keep_turn();
  /// Whether a location was read twice with two values.
  bool saw_change() const { return saw_change_; }
  /// The same, since it was last asked to forget that.
  bool saw_change_lately() const { return saw_change_lately_; }
  void forget_change() { saw_change_lately_ = false; }
  /// Whether every location of the set still has the value that the lane read. False when the set could not hold all of them.
  bool unchanged(const class watch_table& table) const {
    // Mostly it is a word, or two.
    for (const watched& entry : entries_) {
      const bool is_word = !entry.by_change && (entry.size_bytes == 4 || entry.size_bytes == 8);
      if (!is_word) [[unlikely]]
        return unchanged_at_length(table);
      if (watched::value_at(entry.address, entry.size_bytes) != entry.value) return false;
    }
    return !overflowed_;
  }

  const std::vector<watched>& entries() const { return entries_; }
  [[gnu::hot]] bool covers(const void* address, size_t size_bytes) const;

 private:
  bool unchanged_at_length(const class watch_table& table) const;
  void add_out_of_order(const void* address, uint32_t size_bytes, uint64_t value, bool by_change) {
    const uint64_t bit = bit_of(address);
    if ((maybe_ & bit) != 0 || entries_.size() == entries_.capacity())
      return look_among_recent(address, size_bytes, value, by_change);
    maybe_ |= bit;
    next_ = 0;
    add_entry(address, size_bytes, value, by_change);
  }
  static uint64_t bit_of(const void* address) { return uint64_t{1} << (reinterpret_cast<uintptr_t>(address) / 4 % 64); }
  void add_entry(const void* address, uint32_t size_bytes, uint64_t value, bool by_change) {
    watched fresh;
    fresh.address = address;
    fresh.value = value;
    fresh.size_bytes = size_bytes;
    fresh.by_change = by_change;
    fresh.turn = turn_;
    scheduler::append(entries_, fresh);
  }
  [[gnu::noinline]] void look_among_recent(const void* address, uint32_t size_bytes, uint64_t value, bool by_change);
  void update(size_t n, uint64_t value) {
    if (entries_[n].value != value) saw_change_ = saw_change_lately_ = true;
    entries_[n].value = value;
    entries_[n].turn = turn_;
    next_ = n + 1 == entries_.size() ? 0 : n + 1;
  }

  static constexpr size_t recent = 16;
  static constexpr size_t most = 65536;
  std::vector<watched> entries_;
  uint64_t maybe_ = 0;  ///< one bit for each address that may be in the set
  uint32_t turn_ = 0;   ///< the iteration that the lane is in
  size_t next_ = 0;     ///< the entry behind the one that was read last, or the first; none where there is none
  bool overflowed_ = false;
  bool saw_change_ = false;
  bool saw_change_lately_ = false;
};

/// The registrations of all waiting lanes, found by location. Registrations stay in place when a lane wakes and are reused
/// when it waits on the same locations again, as scanning servers do.
class watch_table {
 public:
  watch_table();

  /// Forgets everything; keeps its memory.
  [[gnu::hot]] void clear();

  /// The number of the last change that was noted of these bytes; 0 when none was.
  uint64_t change_of(const void* address, uint32_t size_bytes) const;
  /// Notes that change number `number` was one of these bytes.
  void note_change(const void* address, size_t size_bytes, uint64_t number);

  /// Registers the lane on every entry of its watch set.
  [[gnu::hot]] void enrol(lane& waiter);

  /// Calls `wake(lane&)` for each lane whose entry overlaps the bytes; also for lanes that no longer wait.
  template <typename Wake>
  [[gnu::always_inline]] void changed(const void* address, size_t size_bytes, Wake&& wake) {
    const uint64_t first = granule_of(address);
    const uint64_t last = (reinterpret_cast<uintptr_t>(address) + size_bytes - 1) / granule_bytes;
    // For most changes no lane waits.
    if (first == last && (maybe_ & bit_of(first)) == 0) return;
    if (last - first >= many_granules) return changed_at_length(first, last, wake);
    for (uint64_t granule = first; granule <= last; ++granule)
      for (uint32_t n = find(granule); n != none; n = nodes_[n].next) wake(*nodes_[n].waiter);
  }

 private:
  static constexpr uint64_t granule_bytes = 8;
  static constexpr uint32_t none = ~uint32_t{0};
  /// From here on it is faster to look at all registrations.
  static constexpr uint64_t many_granules = 64;
  template <typename Wake>
  void changed_at_length(uint64_t first, uint64_t last, Wake& wake) {
    if (maybe_ == 0) return;
    // One that is woken may register anew.
    const size_t count = nodes_.size();
    for (size_t n = 0; n < count; ++n)
      if (nodes_[n].is_linked && nodes_[n].granule - first <= last - first) wake(*nodes_[n].waiter);
  }
  struct node {
    lane* waiter = nullptr;
    uint64_t granule = 0;
    uint32_t next = none;
    uint32_t previous = none;
    bool is_linked = false;
  };
  struct bucket {
    uint64_t granule = 0;
    uint32_t head = none;
    uint32_t run = 0;  ///< in use when it is the current one
  };

  static uint64_t bit_of(uint64_t granule) { return uint64_t{1} << (granule % 64); }
  static uint64_t granule_of(const void* address) { return reinterpret_cast<uintptr_t>(address) / granule_bytes; }
  [[gnu::hot]] uint32_t find(uint64_t granule) const;
  bucket& bucket_for(uint64_t granule);
  [[gnu::cold]] void grow();
  void link(uint32_t n, lane& waiter, uint64_t granule);
  void unlink(uint32_t n);

  std::vector<bucket> buckets_;
  std::vector<node> nodes_;
  std::vector<uint32_t> free_;
  std::unordered_map<uint64_t, uint64_t> noted_changes_;  ///< by granule
  uint32_t run_ = 1;
  size_t used_buckets_ = 0;
  uint64_t maybe_ = 0;  ///< one bit for each granule on which a lane may be registered
};

}  // namespace heddle::sim
