// The states that a search has seen, numbered in the order in which it met them.
#pragma once

#include <heddle/sim/base/state_key.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim {

/// Open addressing with linear probing, at most three quarters full; keys are as good as random already.
class state_table {
 public:
  state_table() : slots_(1024) {}

  struct found {
    uint32_t state = 0;
    bool fresh = false;
  };
  /// The number of the state; the next one where it is not known yet.
  found add(const state_key& key) {
    if (4 * (keys_.size() + 1) > 3 * slots_.size()) grow();
    uint32_t& slot = slot_of(key);
    if (slot != 0) return {slot - 1, false};
    keys_.push_back(key);
    slot = static_cast<uint32_t>(keys_.size());
    return {slot - 1, true};
  }

  uint32_t size() const { return static_cast<uint32_t>(keys_.size()); }
  void clear() {
    keys_.clear();
    slots_.assign(1024, 0);
  }
  size_t bytes() const { return keys_.capacity() * sizeof(state_key) + slots_.capacity() * sizeof(uint32_t); }
  static constexpr uint32_t most = 0xffffffff - 1;

 private:
  uint32_t& slot_of(const state_key& key) {
    size_t place = key.low & (slots_.size() - 1);
    while (slots_[place] != 0 && !(keys_[slots_[place] - 1] == key)) place = (place + 1) & (slots_.size() - 1);
    return slots_[place];
  }
  void grow() {
    slots_.assign(2 * slots_.size(), 0);
    for (uint32_t n = 0; n < keys_.size(); ++n) slot_of(keys_[n]) = n + 1;
  }

  std::vector<state_key> keys_;
  std::vector<uint32_t> slots_;  ///< one more than the state's number; 0: free
};

}  // namespace heddle::sim
