// Where a host thread is in what OpenMP has it share with others.
#pragma once

#include <heddle/sim/base/state_reader.h>

#include <algorithm>
#include <cstdint>

namespace heddle::sim {

/// What the threads of a team share of a loop, of sections or of a block for one of them.
struct work_share {
  uint64_t construct = 0;  ///< its number among those that each thread of the team comes to
  uint32_t done = 0;       ///< threads that are through with it
  bool taken = false;      ///< the block, by a thread
  bool up = true;
  bool guided = false;  ///< chunks become smaller
  uint64_t next = 0;    ///< the first of the iterations that are left, one every `step` up to `end`
  uint64_t end = 0;
  uint64_t step = 1;
  uint64_t left = 0;
  uint64_t chunk = 1;
  void* copied = nullptr;  ///< what the thread of the block gives to the others

  /// Iterations [*first, *last) for a thread. False when none are left.
  bool take(uint32_t threads, uint64_t* first, uint64_t* last) {
    if (left == 0) return false;
    const uint64_t mine = std::min(left, guided ? std::max((left + threads - 1) / threads, chunk) : chunk);
    left -= mine;
    *first = next;
    next = up ? next + mine * step : next - mine * step;
    *last = left == 0 ? end : next;
    return true;
  }
};

/// Of one thread. It may be in no region: then it has all of the work.
struct openmp_place {
  void* team = nullptr;
  uint32_t number = 0;      ///< in the team
  uint32_t threads = 0;     ///< that a region of its own has, where it was said; otherwise 0
  uint64_t constructs = 0;  ///< that it has come to in the region
  work_share alone;

  bool visit_state(state_reader& to) const {
    return to.fact(reinterpret_cast<uintptr_t>(team)) && to.fact(uint64_t{number} << 32 | threads) &&
           to.fact(constructs) && to.fact(alone.next) && to.fact(alone.end) && to.fact(alone.left) &&
           to.fact(alone.step << 2 | (alone.up ? 1u : 0u) | (alone.guided ? 2u : 0u)) && to.fact(alone.chunk);
  }
};

}  // namespace heddle::sim
