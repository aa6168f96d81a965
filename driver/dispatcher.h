// Which compute unit executes which work-group of a kernel, and when there is room.
#pragma once

#include <heddle/driver/settings.h>
#include <heddle/driver/split.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::driver {

/// A set of small numbers, in which the next member from some place on is found a word at a time.
class number_set {
 public:
  explicit number_set(uint32_t size = 0) : size_(size), words_((size + 63) / 64) {}
  uint32_t size() const { return size_; }
  bool has(uint32_t number) const { return (words_[number / 64] >> number % 64 & 1) != 0; }
  void insert(uint32_t number) { words_[number / 64] |= uint64_t{1} << number % 64; }
  void erase(uint32_t number) { words_[number / 64] &= ~(uint64_t{1} << number % 64); }
  /// The first from `from` on, and then from 0 on, that both sets have; their size where they have none in common.
  static uint32_t next_of_both(const number_set& a, const number_set& b, uint32_t from);

 private:
  uint32_t size_;
  std::vector<uint64_t> words_;
};

/// The compute units of one device. Kernels take turns by asking in turn.
class dispatcher {
 public:
  dispatcher(uint32_t units, uint32_t groups_per_unit, dispatch_policy policy);

  /// The work-groups of one kernel that have not started.
  struct work {
    uint64_t left = 0;
    uint64_t next = 0;           ///< greedy and round_robin: the next one
    std::vector<share> by_unit;  ///< partition: what each unit has yet to start
    number_set units;            ///< that may start one
  };
  /// Kept by its owner and used again: then nothing is allocated.
  void begin(work& what, const share& groups) const;

  struct placement {
    uint32_t unit = 0;
    uint64_t group = 0;
  };
  /// Where the next group goes, which takes its place there; none when no unit has room for it.
  std::optional<placement> place(work& what);
  /// A group has left the unit.
  void leave(uint32_t unit);

  uint32_t groups_on(uint32_t unit) const { return on_unit_[unit]; }

 private:
  uint32_t groups_per_unit_;
  dispatch_policy policy_;
  std::vector<uint32_t> on_unit_;
  number_set with_room_;
  uint32_t next_unit_ = 0;
};

}  // namespace heddle::driver
