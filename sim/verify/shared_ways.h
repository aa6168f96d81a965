// The ways of steps that commute (diamonds.h), which the copies of a search share: what one has found, another need not run.
#pragma once

#include <heddle/sim/verify/shared_array.h>

#include <cstddef>
#include <cstdint>

namespace heddle::sim {

/// Lies in memory that stays shared across fork(), behind a lock of its own. Where no room is left, further ways are not kept: that costs runs, and is no
/// error.
class shared_ways {
 public:
  static constexpr uint32_t none = ~uint32_t{0};
  /// Of address space, for each state that there may be.
  static constexpr size_t bytes_a_state = 512;

  explicit shared_ways(size_t most_states);

  /// The step of this label leads from one state to another.
  void keep(uint32_t from, uint64_t label, uint32_t to);
  /// Where it leads; none where that is not known.
  uint32_t find(uint32_t from, uint64_t label) const;
  /// Forgets all.
  void clear();
  /// What the ways take that are kept.
  uint64_t bytes() const;

 private:
  struct slot {
    uint64_t label;
    uint32_t after_from;  ///< one more than the state's number; 0: it is free
    uint32_t to;
  };
  struct shared {
    shared_lock locked;
    uint32_t slots_log2;
    uint64_t kept;
  };
  static constexpr uint32_t fewest_slots_log2 = 10;

  // Open addressing with linear probing, at most three quarters full. The slots lie behind the smaller ones that they have replaced.
  slot& slot_of(uint32_t from, uint64_t label) const;
  bool has_room();

  mutable shared_array<shared> header_;
  shared* shared_ = &header_[0];
  mutable shared_array<slot> slots_;
};

}  // namespace heddle::sim
