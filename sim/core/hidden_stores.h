// What lanes have written to the C++ heap, in a run that is part of a search.
//
// It cannot be looked at later: the memory may be gone. But it follows from the state in which the writer is, which has it in a register or on
// its stack; so all of what a lane has written there follows from the states in which it was.
#pragma once

#include <heddle/sim/base/state_key.h>

#include <cstdint>
#include <unordered_map>

namespace heddle::sim {

struct lane;

struct hidden_stores {
  std::unordered_map<uint64_t, uint32_t> last;  ///< the lane that wrote last, by granule
  state_key order;                              ///< of stores to memory that another lane had written before

  bool empty() const { return last.empty(); }
  /// The lane stores there now.
  void note(lane& self, const void* address);
};

}  // namespace heddle::sim
