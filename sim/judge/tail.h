// The fair tail of a run: which lanes take turns when the strategy is asked no longer, and what is known of the turns that were taken.
#pragma once

#include <heddle/sim/base/lasso.h>
#include <heddle/sim/code/source_line.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace heddle::sim {

/// A fair rhythm: lanes take turns in order of their ids, up or down, each as many in a row as its part of the rhythm says. A lane that is
/// guaranteed turns has one at least; a lane that is not takes part only where the rhythm gives it turns.
struct rhythm {
  bool downwards = false;  ///< in order of falling ids
  bool starves = true;     ///< a lane that is not guaranteed turns has none
  /// By lane id, modulo their number. All 0: one turn for each lane that is guaranteed turns, none for others.
  std::array<uint8_t, 8> turns = {};

  /// `turns` of a lane's first row of turns, where it takes part: so the others begin anywhere in their rounds.
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
  rhythm plays;
  uint64_t began_at = 0;        ///< steps before it
  uint64_t library_before = 0;  ///< of these, plain accesses to the C++ heap
  /// Whether the run is given up. A buffer that is filled byte by byte brings no lane nearer to others: such accesses do not count before
  /// there are many times as many as of all others.
  bool is_spent(uint64_t steps, uint64_t library_steps, uint64_t budget) const {
    constexpr uint64_t most_library = 8;
    const uint64_t taken = steps - began_at;
    return taken >= budget && (taken - (library_steps - library_before) >= budget || taken / most_library >= budget);
  }
  uint64_t turns = 0;
  uint32_t last = ~uint32_t{0};  ///< the lane of the last turn
  uint32_t left = 0;             ///< turns that it has before the next one's
  uint32_t filled_in_turn = 0;   ///< words of the C++ heap that the lane of the last turn has stored to in a row
  bool start_owed = false;       ///< a lane whose wave has never stepped must start now
  uint32_t still_rounds = 0;     ///< cycles that changed no memory
  // Blocked loops run one more iteration at growing distances, counted in turns.
  static constexpr uint64_t looks_again_first = 128;
  uint64_t looks_again_at = 2 * looks_again_first;
  uint64_t looks_again_after = looks_again_first;
  /// So many are enough to recognise every wait that repeats itself.
  static uint64_t most_turns_in_proof(size_t lanes) { return 4096 + uint64_t{256} * lanes; }

  // What the turns were spent on: the place of more than half of them, if there is one. (Boyer and Moore's vote; what it counted for the place
  // is no more than there were.)
  const void* spent_at = nullptr;
  call_chain spent_calls = {};
  uint64_t votes = 0;
  uint64_t seen_there = 0;
  template <typename Calls>
  void spends(const void* place, Calls&& calls) {
    if (place == spent_at) {
      ++votes;
      ++seen_there;
    } else if (votes != 0) {
      --votes;
    } else {
      spent_at = place;
      spent_calls = calls();
      votes = seen_there = 1;
    }
  }
  bool spent_at_one_place() const { return 2 * seen_there > turns; }
  std::vector<uint32_t> operations_before;  ///< the tail, by lane

  cycle seen;  ///< the last proven one

  // The operation since the copy was taken that names the hang best: one that writes before one that only reads, the device before the
  // host, then the lowest place; so each cycle has one name, wherever it was entered.
  call_chain telling = {};
  uint32_t telling_rank = ~uint32_t{0};
  const void* telling_place = nullptr;

  /// A new run; keeps its memory. `begun`: in the run before the tail had begun.
  void forget(bool begun) {
    plays = {};
    if (!begun) return;
    start_owed = false;
    turns = 0;
    looks_again_at = 2 * looks_again_first;
    looks_again_after = looks_again_first;
    spent_at = nullptr;
    votes = seen_there = 0;
    last = telling_rank = ~uint32_t{0};
    left = still_rounds = filled_in_turn = 0;
    seen = {};
    telling = {};
  }
};

}  // namespace heddle::sim
