// What memory has held: the values that a load may still return whose request was answered before it was asked for here.
#pragma once

#include <heddle/scheduler/digest.h>

#include <cstddef>
#include <cstdint>
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

  /// Adds what is remembered, in no particular order.
  void add_to(scheduler::digest& sum) const;

 private:
  struct version {
    uint64_t until = 0;
    uint64_t bytes = 0;  ///< of the granule
  };
  /// Of one granule. A load that could see further back would have stood still for as many changes.
  static constexpr size_t most_versions = 16;
  std::unordered_map<uintptr_t, std::vector<version>> granules_;
};

/// A thread, as those who look at the floors know it.
struct reader {
  uint32_t thread = 0;
  uint64_t synchronised = 0;  ///< the events up to this one happened before whatever it does now
};

/// From which moment on the bytes may be read: same-address order. What a thread has read or written binds itself, and those who
/// are synchronised with it.
class read_floors {
 public:
  void clear() { granules_.clear(); }
  void forget(const void* address, size_t size_bytes);
  uint64_t of(const piece& bytes, const reader& who) const;
  /// `event`: the access that is the reason; events are numbered in order.
  void raise(const piece& bytes, uint64_t moment, uint32_t thread, uint64_t event);
  void add_to(scheduler::digest& sum) const;

 private:
  struct floor {
    uint64_t moment = 0;
    uint64_t event = 0;
    uint32_t thread = 0;
    uint32_t bytes = 0;  ///< one bit for each byte of the granule
  };
  /// Of one granule; beyond that the oldest binds everybody, which only forbids more.
  static constexpr size_t most_floors = 16;
  std::unordered_map<uintptr_t, std::vector<floor>> granules_;
};

}  // namespace heddle::sim
