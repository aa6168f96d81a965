// Clocks by a number or an address, for objects that order lanes without being memory.
#pragma once

#include <heddle/sim/base/reused_list.h>
#include <heddle/sim/memory/causality.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim {

/// Forgets everything in constant time and keeps its memory, so that runs do not allocate once the longest has been seen.
class clock_table {
 public:
  clock_table() : slots_(16) {}

  void clear() {
    used_ = 0;
    if (++run_ != 0) return;
    // After four thousand million runs the numbers begin again.
    slots_.assign(slots_.size(), slot{});
    run_ = 1;
  }

  /// Null when at() has not been called for it.
  const causal_clock* find(uint64_t key) const {
    const slot& found = slots_[place_of(key)];
    return found.run == run_ ? &clocks_[found.clock] : nullptr;
  }

  /// Calls `look(key, clock)` for each that has been asked for, in no particular order.
  template <typename Look>
  void each(Look&& look) const {
    if (used_ == 0) return;
    for (const slot& one : slots_)
      if (one.run == run_) look(one.key, clocks_[one.clock]);
  }

  /// Empty the first time.
  causal_clock& at(uint64_t key) {
    size_t place = place_of(key);
    if (slots_[place].run == run_) return clocks_[slots_[place].clock];
    if (2 * (used_ + 1) > slots_.size()) {
      grow();
      place = place_of(key);
    }
    if (used_ == clocks_.size()) clocks_.emplace_back();
    causal_clock& fresh = clocks_[used_];
    fresh.clear();
    slots_[place] = {.key = key, .clock = static_cast<uint32_t>(used_++), .run = run_};
    return fresh;
  }

 private:
  struct slot {
    uint64_t key = 0;
    uint32_t clock = 0;
    uint32_t run = 0;  ///< in use when it is the current one
  };

  /// Where the key is, or would be put; at most half of the slots are in use.
  size_t place_of(uint64_t key) const {
    size_t place = (key * 0x9e3779b97f4a7c15u >> 32) & (slots_.size() - 1);
    while (slots_[place].run == run_ && slots_[place].key != key) place = (place + 1) & (slots_.size() - 1);
    return place;
  }
  void grow() {
    std::vector<slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const slot& one : old)
      if (one.run == run_) slots_[place_of(one.key)] = one;
  }

  std::vector<slot> slots_;  ///< a power of two of them
  reused_list<causal_clock> clocks_;
  size_t used_ = 0;
  uint32_t run_ = 1;
};

}  // namespace heddle::sim
