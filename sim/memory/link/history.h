// What memory has held: the values that a load may still return whose request was answered before it was asked for here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

inline constexpr size_t granule_bytes = 8;
/// An aligned granule as one number, and where it is.
uintptr_t granule_of(const void* address);

/// Bytes of one granule.
struct piece {
  std::byte* address = nullptr;
  uint32_t size_bytes = 0;  ///< 1 to 8; does not reach into the next granule
};

inline bool overlap(const piece& a, const piece& b) {
  return a.address < b.address + b.size_bytes && b.address < a.address + a.size_bytes;
}

/// The first piece of a range.
piece first_piece(const void* address, size_t size_bytes);

/// The values of granules, each until the moment when it was replaced. Moments are numbers that only grow.
class value_history {
 public:
  void clear() { granules_.clear(); }
  void forget(const void* address, size_t size_bytes);

  /// The granule of these bytes is about to be changed at this moment.
  void remember(const piece& bytes, uint64_t moment);

  /// One value that the bytes had, and since when.
  struct value {
    uint64_t bytes = 0;
    uint64_t since = 0;
  };
  /// Fills `seen` with the different values that the bytes had after the moment, newest first; the newest is what memory holds.
  void values_after(const piece& bytes, uint64_t moment, std::vector<value>& seen) const;

  /// A value of a granule.
  struct version {
    uint64_t until = 0;
    uint64_t bytes = 0;  ///< of the granule
  };
  /// Calls `visit(granule, versions)` for each granule that has had another value after the moment, by address; oldest version first.
  template <typename Visit>
  void for_each_after(uint64_t moment, Visit&& visit) const {
    std::vector<uintptr_t> places;
    for (const auto& [at, known] : granules_)
      if (known.back().until > moment) places.push_back(at);
    std::sort(places.begin(), places.end());
    for (const uintptr_t at : places) {
      const std::vector<version>& known = granules_.at(at);
      const auto first =
          std::find_if(known.begin(), known.end(), [&](const version& past) { return past.until > moment; });
      visit(at, std::span<const version>(first, known.end()));
    }
  }
  /// Whether more values were to be remembered than there is room for, since clear().
  bool has_forgotten() const { return forgotten_; }

 private:
  /// Of one granule. A load that could see further back would have stood still for as many changes.
  static constexpr size_t most_versions = 16;
  std::unordered_map<uintptr_t, std::vector<version>> granules_;
  bool forgotten_ = false;
};

/// A thread, as far as the floors concern it.
struct reader {
  uint32_t thread = 0;
  uint64_t synchronised = 0;  ///< the events up to this one happened before whatever it does now
};

/// From which moment on the bytes may be read: same-address order. What a thread has read or written binds itself, and the
/// threads that are synchronised with it.
class read_floors {
 public:
  void clear() { granules_.clear(); }
  void forget(const void* address, size_t size_bytes);
  uint64_t of(const piece& bytes, const reader& asking) const;
  /// `event`: the access that is the reason; events are numbered in order.
  void raise(const piece& bytes, uint64_t moment, uint32_t thread, uint64_t event);

  struct floor {
    uint64_t moment = 0;
    uint64_t event = 0;
    uint32_t thread = 0;
    uint32_t bytes = 0;  ///< one bit for each byte of the granule
  };
  /// Those that hide some of these values of the granule, sorted. Of two that hide the same, the one that binds more stays; two that say
  /// the same are one.
  std::vector<floor> binding_after(uintptr_t granule, std::span<const value_history::version> past) const;
  /// Whether there were more of them for one granule than there is room for, since clear().
  bool has_forgotten() const { return forgotten_; }

 private:
  /// Of one granule; beyond that the oldest binds all threads, which only forbids more.
  static constexpr size_t most_floors = 16;
  std::unordered_map<uintptr_t, std::vector<floor>> granules_;
  bool forgotten_ = false;
};

}  // namespace heddle::sim
