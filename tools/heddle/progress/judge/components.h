// The strongly connected components of a graph of states.
#pragma once

#include <heddle/tools/progress/judge/graph.h>

#include <cstdint>
#include <vector>

namespace heddle::judge {

/// Of each state the number of its component, from 0: Tarjan, "Depth-first search and linear graph algorithms" (1972),
/// without recursion.
std::vector<uint32_t> components_of(const state_graph& graph);

}  // namespace heddle::judge
