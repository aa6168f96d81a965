// What lanes have written to the C++ heap, in a run that is part of a search.
//
// The memory cannot be read later: it may have been freed. But what is stored follows from the state of the lane that stores it, from a register
// or its stack; so the state in which a lane stored determines what lies there until it is overwritten.
#pragma once

#include <heddle/sim/base/state_key.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace heddle::sim {

struct lane;

class hidden_stores {
 public:
  /// What a store leaves follows from the lane alone; from what was there before, too; or from any memory, as that of a copy does.
  enum class from : uint8_t { lane, lane_and_place, anywhere };

  bool empty() const { return last_.empty(); }
  void clear() {
    last_.clear();
    all_ = {};
  }
  /// The lane stores there now, or has stored.
  void note(lane& self, const void* address, size_t size_bytes, from what);
  /// Two runs in which it tells the same have left the same there.
  void tell(state_reader& to) const {
    to.fact(all_.low);
    to.fact(all_.high);
  }

 private:
  /// Of the word, or of all words of a store that is told by its first.
  struct stored {
    state_key key;
    bool is_wide = false;
  };
  std::unordered_map<uint64_t, stored> last_;  ///< by word
  state_key all_;                              ///< the sum of the keys
};

}  // namespace heddle::sim
