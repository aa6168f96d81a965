// The end game of a run: who takes turns when the strategy is asked no longer, and what is known of the turns that were taken.
#pragma once

#include <heddle/sim/lasso.h>
#include <heddle/sim/source_line.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace heddle::sim {

/// A fair rhythm: lanes take turns in order of their ids, up or down, each as many in a row as its part of the rhythm says. Who is guaranteed a
/// turn has one at least; who is not takes part only where the rhythm gives it turns.
struct rhythm {
  bool downwards = false;  ///< in order of falling ids
  bool starves = true;     ///< whoever is not guaranteed a turn has none
  /// By lane id, modulo their number. All 0: one turn for each who is guaranteed one, none for others.
  std::array<uint8_t, 8> turns = {};

  /// The same for the first turns of a lane, where it takes part: so the others begin anywhere in their rounds.
  std::array<uint8_t, 8> first = {};

  uint32_t turns_of(uint32_t lane, bool takes_part, bool is_first) const {
    const uint32_t given = turns[lane % turns.size()];
    if ((given == 0 || starves) && !takes_part) return 0;
    return std::max(1u, uint32_t{is_first ? first[lane % first.size()] : given});
  }
};

/// Turns that lead back to the state in which they began.
struct cycle {
  lasso::moment from;
  lasso::moment to;
  bool found = false;

  uint64_t steps() const { return to.steps - from.steps; }
  bool changes_memory() const { return to.changes != from.changes; }
};

struct tail {
  bool begun = false;
  bool all_take_turns = false;  ///< nobody waits in a loop: whoever would, goes round
  rhythm plays;
  uint64_t limit = 0;  ///< the step at which the run is given up
  uint64_t turns = 0;
  uint32_t last = ~uint32_t{0};  ///< the lane of the last turn
  uint32_t left = 0;             ///< turns that it has before the next one's
  bool start_owed = false;       ///< somebody who has never stepped must start now
  uint32_t still_rounds = 0;     ///< cycles that changed no memory
  lasso states;
  cycle seen;  ///< the last proven one

  // The operation since the copy was taken that names the hang best: one that writes before one that only reads, the device before the
  // host, then the lowest place; so that each cycle is told by one place, wherever it was entered.
  call_chain telling = {};
  uint32_t telling_rank = ~uint32_t{0};
  const void* telling_place = nullptr;

  /// A new run; keeps its memory.
  void forget() {
    plays = {};
    states.reset();
    if (!begun) return;
    begun = all_take_turns = start_owed = false;
    turns = 0;
    last = telling_rank = ~uint32_t{0};
    left = still_rounds = 0;
    seen = {};
    telling = {};
  }
};

}  // namespace heddle::sim
