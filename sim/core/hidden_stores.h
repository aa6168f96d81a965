// What lanes have written to the C++ heap, in a run that is part of a search.
//
// The memory cannot be read later: it may have been freed. But what is stored follows from the state of the lane that stores it, from a register
// or its stack; so the states in which a lane stored determine all that it has stored there.
#pragma once

#include <heddle/sim/base/state_key.h>

#include <cstdint>
#include <unordered_map>

namespace heddle::sim {

struct lane;

struct hidden_stores {
  std::unordered_map<uint64_t, uint32_t> last;  ///< the lane that wrote last, by granule
  state_key order;                              ///< of stores to memory that another lane had written last

  bool empty() const { return last.empty(); }
  /// The lane stores there now.
  void note(lane& self, const void* address);
};

}  // namespace heddle::sim
