// The control-flow graph of a function, read from its machine code, and its post-dominators: where divergent paths reconverge.
#pragma once

#include <heddle/sim/code/gated_graph.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::sim {

/// A set of nodes.
class node_set {
 public:
  explicit node_set(size_t size) : words_((size + 63) / 64) {}
  bool contains(uint32_t node) const { return (words_[node / 64] >> (node % 64) & 1) != 0; }
  /// True when the node was not in the set yet.
  bool add(uint32_t node) {
    const uint64_t bit = uint64_t{1} << (node % 64);
    const bool fresh = (words_[node / 64] & bit) == 0;
    words_[node / 64] |= bit;
    return fresh;
  }

 private:
  std::vector<uint64_t> words_;
};

/// The immediate post-dominator of each node of a graph: the first node that every path to the exit passes. `next[n]` are the nodes that
/// may follow n, `ends[n]` how n ends when there is none. The exit is the number after the last node. A path that dies,
/// or never ends, counts for nothing where another returns. A loop without an exit gets one: its last jump back.
/// (Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", on the reversed graph.)
std::vector<uint32_t> post_dominators(const std::vector<std::vector<uint32_t>>& next,
                                      const std::vector<node_end>& ends);

/// The control flow of one function. A node is a basic block, which a call ends, too, or a gate (gated_graph.h).
class control_flow {
 public:
  static constexpr uint32_t none = ~uint32_t{0};

  struct node {
    uintptr_t begin = 0;
    uintptr_t end = 0;        ///< behind its last instruction; where its call returns to
    bool calls = false;       ///< ends with a call
    bool quiet = false;       ///< a call in which no lane is ever seen: of what it is known to make no operation
    uintptr_t callee = 0;     ///< of a call, or of a jump out of the function; 0: it is not known
    uintptr_t branch = 0;     ///< the conditional jump that ends it; 0: there is none
    uintptr_t target = 0;     ///< of that jump
    uint8_t condition = 0;    ///< of that jump, the four bits that the instruction has for it
    uint16_t probe = 0;       ///< of that jump (branch_probes.h); 0: it has none
    bool is_gate = false;     ///< without code; `end` is that of the place behind it
    bool is_certain = false;  ///< of a gate: each lane that leaves has told so before it gets there
  };

  /// Of the function that holds the address. Null when the program has no symbol there, or code that cannot be decoded.
  static std::unique_ptr<control_flow> of_function_at(const void* address);

  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  /// The number of the exit, which is no node.
  uint32_t exit() const { return size(); }
  uint32_t entry() const { return entry_; }
  const node& at(uint32_t number) const { return nodes_[number]; }
  /// The nodes that may follow, the exit among them; none where the node dies.
  const std::vector<uint32_t>& next(uint32_t number) const { return next_[number]; }
  /// Of each of these ways: the node that it leads to, through gates or not.
  const std::vector<uint32_t>& aims(uint32_t number) const { return aims_[number]; }
  /// The way of a gate that lanes with this aim take; `none` where the gate has no such way.
  uint32_t way_to(uint32_t gate, uint32_t aim) const;
  /// The aim at a gate of lanes that do not leave; `none`: all of them do.
  uint32_t usual_aim(uint32_t gate) const { return gates_[gate - coded()].before; }
  uint32_t post_dominator(uint32_t number) const { return post_dominators_[number]; }
  /// The node whose call returns to this address, or `none`.
  uint32_t returning_to(const void* address) const;
  /// The node that holds the address, or `none`.
  uint32_t holding(const void* address) const;
  /// The nodes that can be reached from `from`, which is one of them, without passing `avoided`. Remembered.
  const node_set& reachable(uint32_t from, uint32_t avoided) const;
  /// The least number of calls that are not quiet before each node, on the paths that leave `branch` for its next node number `way` and pass neither the
  /// branch again nor its post-dominator; `unreached` where there is no such path. Remembered.
  const std::vector<uint16_t>& calls_before(uint32_t branch, uint32_t way) const;
  static constexpr uint16_t unreached = 0xffff;
  /// The same of each node and of the exit, on all paths from `from`.
  std::vector<uint16_t> calls_from(uint32_t from) const;
  /// The next node number of a branch that is taken, or that is not.
  uint32_t way(uint32_t branch, bool taken) const;
  /// The branches behind which one of the calls that `meets` names, by node, can be met before the lanes reconverge, and with no more calls on the
  /// way behind that, in a round to come: which of both it was is not to be seen at the call. `again`: the function may be called anew by the
  /// same call, with none in between.
  std::vector<uint32_t> undecided(bool again, const std::vector<bool>& meets) const;
  /// No lane is ever seen in this call.
  void be_quiet(uint32_t call) { nodes_[call].quiet = true; }
  /// Has these branches tell which way they go; of a gate: those that decide which lanes leave.
  void probe(const std::vector<uint32_t>& branches);
  /// The function's name, readable.
  const std::string& name() const { return name_; }

 private:
  friend class control_flow_builder;
  control_flow() = default;
  bool is_undecided(uint32_t branch, bool again, const std::vector<bool>& meets,
                    const std::vector<uint16_t>& from_entry, const std::vector<uint16_t>& beyond) const;
  void probe_branch(uint32_t branch);

  /// The number of nodes that have code.
  uint32_t coded() const { return size() - static_cast<uint32_t>(gates_.size()); }

  std::string name_;
  std::vector<node> nodes_;  ///< by address, the gates behind them
  std::vector<std::vector<uint32_t>> next_;
  std::vector<std::vector<uint32_t>> aims_;
  std::vector<gate> gates_;
  std::vector<uint32_t> post_dominators_;
  uint32_t entry_ = 0;
  mutable std::unordered_map<uint64_t, node_set> reachable_;
  mutable std::unordered_map<uint64_t, std::vector<uint16_t>> calls_before_;
};

/// Where a call returns to, in terms of its function's control flow; `in` is null where that is not known.
struct call_site {
  const control_flow* in = nullptr;
  uint32_t node = control_flow::none;
};

/// The control flow of functions, read when it is first asked for. For one OS thread.
class code_map {
 public:
  /// Reading code takes more stack than a lane has: `aside` runs its argument on a stack that has enough.
  using runner = std::function<void(const std::function<void()>& work)>;
  explicit code_map(runner aside) : aside_(std::move(aside)) {}

  /// Has the branches of the function at `entry`, and of those that it calls, tell where they must (control_flow::undecided). Not those of
  /// functions that only pointers lead to, and not those of the simulator. False when the program does not say what is at `entry`: it has no symbols.
  bool prepare(const void* entry) {
    const auto [known, fresh] = prepared_.try_emplace(entry);
    if (fresh) aside_([&, found = known] { found->second = probe_from(entry); });
    return known->second;
  }

  call_site find(const void* return_address) {
    const auto known = sites_.find(return_address);
    if (known != sites_.end()) return known->second;
    call_site found;
    aside_([&] { found = look_up(return_address); });
    return found;
  }

 private:
  call_site look_up(const void* return_address);
  control_flow* holding(const void* address);
  bool probe_from(const void* entry);

  runner aside_;
  std::unordered_map<const void*, bool> prepared_;  ///< whether they are known
  std::unordered_map<const void*, call_site> sites_;
  std::map<uintptr_t, std::unique_ptr<control_flow>> functions_;  ///< by the address of the entry
};

}  // namespace heddle::sim
