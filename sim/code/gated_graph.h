// Where lanes that diverge reconverge although some of them leave: compilers for GPUs make the flow of control structured first, and so
// does this.
//
// A `break`, `return` or `continue` in one arm of a branch leads past the place where the arms would meet, and the branch's post-dominator
// lies far behind. In structured code the lanes meet there all the same: those that leave are masked off until the others have got to
// where these go. A node without code, a gate, says so in the graph: each way into the place leads to the gate in front of it, and so does each way
// past it; behind the gate is a way for each. Lanes that leave one loop for several places meet at a gate as well, behind the loop.
// (Like LLVM's passes UnifyLoopExits and StructurizeCFG. Diamos et al., "SIMD Re-convergence at Thread Frontiers", MICRO 2011, on what else could be done.)
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::sim {

/// How a node ends when nothing follows it in the function.
enum class node_end : uint8_t {
  goes_on,
  returns,  ///< or jumps out of the function, or to where the code does not say
  dies,     ///< behind a call that does not return, or at an instruction that traps
};

struct gate {
  static constexpr uint32_t none = ~uint32_t{0};
  uint32_t before = none;         ///< the node that lanes go on to if they do not leave; none: all of them leave a loop
  std::vector<uint32_t> decided;  ///< the nodes between the divergence and the gate, the first one among them
};

struct gated_graph {
  std::vector<std::vector<uint32_t>> next;  ///< by node, the gates behind those of the code
  std::vector<std::vector<uint32_t>> aims;  ///< of each way in `next`: the node that it leads to, behind all gates
  std::vector<gate> gates;
};

/// The graph with its gates; `entry` is the node that the function begins with. Without any, where a loop has two entries, or the graph is too large to be looked at.
gated_graph with_gates(const std::vector<std::vector<uint32_t>>& next, const std::vector<node_end>& ends,
                       uint32_t entry);

}  // namespace heddle::sim
