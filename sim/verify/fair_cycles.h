// Cycles of a graph of states in which all lanes that are promised a turn have turns, and none ever comes to an end: hangs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::sim {

/// Lanes are bits: a search takes programs of at most 63 lanes. The last bit is the link, which has a turn when something arrives.
struct state_graph {
  static constexpr size_t most_lanes = 63;
  static constexpr uint64_t link = uint64_t{1} << most_lanes;

  struct state {
    uint64_t owed = 0;   ///< lanes that can go on now and are promised a turn
    bool start = false;  ///< one that has never stepped is promised that some of them start
  };
  struct step {
    uint32_t from = 0;
    uint32_t to = 0;
    uint64_t lanes = 0;  ///< that have stepped on the way
  };
  std::vector<state> states;
  /// Only those that may be taken for ever: not the ones that see an old value, or that fail for no reason.
  std::vector<step> steps;

  size_t bytes() const { return states.capacity() * sizeof(state) + steps.capacity() * sizeof(step); }
};

/// A state of a cycle that is fair: each lane that is promised a turn all along the cycle has one on it. Nothing when there is none.
/// (Weak fairness, on the strongly connected components: Tarjan, SIAM J. Comput. 1 (2), 1972. If the largest cycle through a
/// component is not fair, none in it is.) Time and memory in proportion to the graph.
std::optional<uint32_t> find_fair_cycle(const state_graph& graph);

}  // namespace heddle::sim
