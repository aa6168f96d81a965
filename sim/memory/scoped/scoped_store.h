// What scoped memory (scoped_memory.h) keeps of a location: the stores that a lane may still read, in modification order, and what
// each of them releases.
#pragma once

#include <heddle/scheduler/append.h>
#include <heddle/sim/memory/causality.h>
#include <heddle/sim/memory/pool.h>
#include <heddle/sim/memory/race.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace heddle::sim::scoped {

/// Bytes whose stores are kept in one list: what an atomic access touches at most.
inline constexpr size_t granule_bytes = 8;
/// Stores of one granule: settings::history of them that may still be read where each byte has a newer one, and a few more.
inline constexpr size_t most_stores = 64;
using per_store = std::array<bool, most_stores>;  ///< of one granule, in modification order

/// What a release gives to a lane that acquires it.
struct release_entry {
  snapshot view;
  uint32_t releaser = 0;
  uint32_t epoch = 0;
  uint8_t reach = 0;          ///< of the release as written
  uint8_t machine_reach = 0;  ///< as this machine performs it
  bool as_written = false;    ///< the program asked for it; otherwise only the machine does it
  bool narrow = false;        ///< a scope on the way was too narrow: it orders nothing
  bool is_release = false;    ///< false: kept to say what is missing
  bool plain_flag = false;    ///< likewise: the store is a plain one, behind a fence
  uint64_t step = 0;
};

/// What a store releases. Does not change once the store is made: the stores that continue it may share it.
struct release_list {
  std::vector<release_entry> entries;
  void clear() { entries.clear(); }
};

/// A lane that has read a store, and since when the lanes that know of that lane know of the store.
struct observer {
  uint32_t lane = 0;
  uint32_t epoch = 0;
};

/// A store to a granule, or to some of its bytes.
struct alignas(64) message {
  uint64_t serial = 0;  ///< never used again
  uint64_t value = 0;   ///< in the place of its bytes within the granule
  uint64_t step = 0;
  /// Serial of the first of a row of read-modify-writes, each of which passes on all that it has read.
  uint64_t chain = 0;
  uint64_t chain_step = 0;  ///< when that one was made
  uint32_t writer = 0;
  uint32_t epoch = 0;
  uint8_t mask = 0;
  uint8_t readable = 0;  ///< the bytes of `mask` that may still be read
  uint8_t reach = 0;
  bool strong = false;
  uint8_t vector_of = 0;  ///< lane::vector_of
  /// Whether the bytes are all that it has stored, or a value of the vector that it is.
  bool is_of(uint8_t bytes) const { return mask == bytes || is_value_of(mask, vector_of, bytes); }
  bool modifies = false;  ///< by a read-modify-write, which read the store before it
  bool host = false;
  bool tso = false;          ///< by such a thread
  bool is_observed = false;  ///< has observers
  bool host_saw = false;  ///< another host thread than its writer has read it: it is in the memory that they all share
  pooled<release_list> releases;  ///< none: it releases nothing
  static constexpr uint32_t first_lanes = 256;
  std::array<uint64_t, first_lanes / 64> observed_by_first{};  ///< which of the first lanes are observers, a bit each
  std::vector<uint64_t> observed_by;  ///< the same of all lanes, as far as a lane behind the first is one
  std::vector<observer> observers;
  void begin_row() {
    chain = serial;
    chain_step = step;
  }
  void continue_row(const message& before) {
    chain = before.chain;
    chain_step = before.chain_step;
  }
  bool was_observed_by(uint32_t lane) const {
    if (!is_observed) return false;
    if (lane < first_lanes) return (observed_by_first[lane / 64] >> lane % 64 & 1) != 0;
    return lane / 64 < observed_by.size() && (observed_by[lane / 64] >> lane % 64 & 1) != 0;
  }
  void add_observer(const observer& one) {
    scheduler::append(observers, one);
    is_observed = true;
    const uint64_t bit = uint64_t{1} << one.lane % 64;
    if (one.lane < first_lanes) {
      observed_by_first[one.lane / 64] |= bit;
      return;
    }
    if (observed_by.size() <= one.lane / 64) observed_by.resize(one.lane / 64 + size_t{1}, 0);
    observed_by[one.lane / 64] |= bit;
  }
  void forget_observers() {
    if (!is_observed) return;
    is_observed = false;
    observers.clear();
    observed_by_first = {};
    observed_by.clear();
  }
  /// Older stores in the list with which it races: nothing says which of them overwrote the other, and loads may find either.
  struct racing {
    const message* with = nullptr;
    bool found = false;  ///< by a load whose lane knew this one: from then on it is not overwritten by this one
  };
  std::vector<racing> unordered;
  const racing* races_with(const message* older) const {
    const auto known =
        std::find_if(unordered.begin(), unordered.end(), [&](const racing& one) { return one.with == older; });
    return known == unordered.end() ? nullptr : &*known;
  }
};

/// The stores of a granule, in modification order: mostly few, and most_stores at most. It stays where it is.
class store_order {
 public:
  store_order() = default;
  store_order(const store_order&) = delete;
  store_order& operator=(const store_order&) = delete;

  message*& operator[](size_t n) { return at_[n]; }
  message* operator[](size_t n) const { return at_[n]; }
  message** begin() { return at_; }
  message* const* begin() const { return at_; }
  /// Before the list becomes longer than `count`.
  void make_room_behind(uint8_t count) {
    if (count == few && !many_) [[unlikely]]
      move_to_many();
  }

 private:
  static constexpr size_t few = 6;
  [[gnu::cold, gnu::noinline]] void move_to_many() {
    many_ = std::make_unique<message*[]>(most_stores);
    std::copy(few_.begin(), few_.end(), many_.get());
    at_ = many_.get();
  }

  std::array<message*, few> few_{};
  message** at_ = few_.data();
  std::unique_ptr<message*[]> many_;
};

/// A location.
struct alignas(64) granule {
  // What each access looks at comes first.
  uint64_t serial = 0;  ///< of what it held before the first store
  uint64_t newest = 0;  ///< serial of the store that was made last, wherever it stands
  std::byte* address = nullptr;
  uint64_t base = 0;  ///< what it held before the first store
  uint32_t number = 0;
  uint8_t base_readable = 0xff;
  uint8_t count = 0;
  bool has_unordered = false;  ///< of any of the stores
  store_order order;
  access_history accesses;

  /// Whether the store, which is one of these, races with older ones.
  bool races(const message& one) const { return has_unordered && !one.unordered.empty(); }
};

/// Places in a granule's order among which one is chosen.
class place_list {
 public:
  void add(int place) { places_[count_++] = static_cast<int8_t>(place); }
  uint32_t count() const { return count_; }
  int operator[](uint32_t n) const { return places_[n]; }
  const int8_t* begin() const { return places_.data(); }
  const int8_t* end() const { return places_.data() + count_; }

 private:
  std::array<int8_t, most_stores + 2> places_;  ///< all of granule::order, before it and behind it
  uint32_t count_ = 0;
};

}  // namespace heddle::sim::scoped
