#include <heddle/sim/code/gated_graph.h>

#include <algorithm>
#include <utility>

namespace heddle::sim {
namespace {

constexpr uint32_t none = gate::none;
constexpr size_t most_nodes = 2'000;

/// A natural loop.
struct loop {
  uint32_t head = 0;
  std::vector<bool> holds;  ///< by node
  size_t size = 0;
};

/// Nodes from which every way dies.
std::vector<bool> dying(const gated_graph& of, const std::vector<node_end>& ends) {
  std::vector<bool> dies(of.next.size());
  for (bool again = true; again;) {
    again = false;
    for (uint32_t n = 0; n < ends.size(); ++n) {
      const std::vector<uint32_t>& next = of.next[n];
      if (dies[n] || (next.empty() && ends[n] != node_end::dies)) continue;
      if (!std::all_of(next.begin(), next.end(), [&](uint32_t to) { return dies[to]; })) continue;
      dies[n] = again = true;
    }
  }
  return dies;
}

class gate_builder {
 public:
  gate_builder(gated_graph& of, const std::vector<node_end>& ends, uint32_t entry)
      : of_(of), entry_(entry), dies_(dying(of, ends)) {}

  void build() {
    look();
    if (!find_loops()) return;
    for (size_t each = 0; each < loops_.size(); ++each) gate_exits(each);
    look();
    for (const uint32_t node : std::vector<uint32_t>(order_)) gate_join(node);
  }

 private:
  // The order of nodes, their predecessors, and their dominators (Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm").
  void look() {
    const size_t size = of_.next.size();
    order_.clear();
    std::vector<bool> seen(size);
    std::vector<std::pair<uint32_t, size_t>> path = {{entry_, 0}};
    seen[entry_] = true;
    while (!path.empty()) {
      auto& [at, tried] = path.back();
      if (tried == of_.next[at].size()) {
        order_.push_back(at);
        path.pop_back();
        continue;
      }
      const uint32_t to = of_.next[at][tried++];
      if (seen[to]) continue;
      seen[to] = true;
      path.emplace_back(to, 0);
    }
    std::reverse(order_.begin(), order_.end());
    rank_.assign(size, none);
    for (uint32_t n = 0; n < order_.size(); ++n) rank_[order_[n]] = n;
    previous_.assign(size, {});
    for (const uint32_t from : order_)
      for (const uint32_t to : of_.next[from])
        if (previous_[to].empty() || previous_[to].back() != from) previous_[to].push_back(from);
    find_dominators();
    stale_ = false;
  }

  void find_dominators() {
    dominator_.assign(of_.next.size(), none);
    dominator_[entry_] = entry_;
    for (bool again = true; again;) {
      again = false;
      for (const uint32_t at : order_) {
        if (at == entry_) continue;
        uint32_t common = none;
        for (const uint32_t from : previous_[at])
          if (dominator_[from] != none) common = common == none ? from : meet(common, from);
        if (common == dominator_[at]) continue;
        dominator_[at] = common;
        again = true;
      }
    }
  }

  uint32_t meet(uint32_t one, uint32_t other) const {
    while (one != other) {
      while (rank_[one] > rank_[other]) one = dominator_[one];
      while (rank_[other] > rank_[one]) other = dominator_[other];
    }
    return one;
  }

  bool dominates(uint32_t one, uint32_t other) const {
    while (rank_[other] > rank_[one]) other = dominator_[other];
    return one == other;
  }

  // Innermost ones first. False where one has two entries.
  bool find_loops() {
    for (const uint32_t from : order_)
      for (const uint32_t to : of_.next[from]) {
        if (rank_[to] > rank_[from]) continue;
        if (!dominates(to, from)) return false;
        add_loop(to, from);
      }
    for (loop& each : loops_) each.size = static_cast<size_t>(std::count(each.holds.begin(), each.holds.end(), true));
    std::sort(loops_.begin(), loops_.end(), [](const loop& a, const loop& b) { return a.size < b.size; });
    headed_.assign(of_.next.size(), none);
    for (uint32_t n = 0; n < loops_.size(); ++n) headed_[loops_[n].head] = n;
    return true;
  }

  void add_loop(uint32_t head, uint32_t last) {
    auto known = std::find_if(loops_.begin(), loops_.end(), [&](const loop& one) { return one.head == head; });
    if (known == loops_.end()) {
      known = loops_.insert(known, {.head = head, .holds = std::vector<bool>(of_.next.size())});
      known->holds[head] = true;
    }
    std::vector<uint32_t> left = {last};
    while (!left.empty()) {
      const uint32_t at = left.back();
      left.pop_back();
      if (known->holds[at]) continue;
      known->holds[at] = true;
      left.insert(left.end(), previous_[at].begin(), previous_[at].end());
    }
  }

  /// A new gate without ways.
  uint32_t add_gate(uint32_t before, std::vector<uint32_t> decided) {
    const auto added = static_cast<uint32_t>(of_.next.size());
    of_.next.emplace_back();
    of_.aims.emplace_back();
    of_.gates.push_back({before, std::move(decided)});
    dies_.push_back(false);
    headed_.push_back(none);
    for (loop& each : loops_) each.holds.push_back(false);
    stale_ = true;
    return added;
  }

  /// A way of a node.
  struct way {
    uint32_t from = 0;
    size_t number = 0;
  };

  /// Leads the ways to the gate, which gets one for each of their aims. False, and nothing is done, where two ways to one aim begin differently.
  bool lead(const std::vector<way>& ways, uint32_t before, std::vector<uint32_t> decided) {
    std::vector<uint32_t> aims;
    std::vector<uint32_t> next;
    const auto add = [&](uint32_t aim, uint32_t to) {
      const auto known = std::find(aims.begin(), aims.end(), aim);
      if (known != aims.end()) return next[static_cast<size_t>(known - aims.begin())] == to;
      aims.push_back(aim);
      next.push_back(to);
      return true;
    };
    if (before != none) add(before, before);
    for (const way& each : ways)
      if (!add(of_.aims[each.from][each.number], of_.next[each.from][each.number])) return false;
    const uint32_t added = add_gate(before, std::move(decided));
    for (const way& each : ways) of_.next[each.from][each.number] = added;
    of_.aims[added] = std::move(aims);
    of_.next[added] = std::move(next);
    return true;
  }

  // Lanes that leave a loop for several places meet behind it.
  void gate_exits(size_t number) {
    std::vector<way> leave;
    std::vector<uint32_t> within;
    std::vector<uint32_t> places;
    for (uint32_t from = 0; from < of_.next.size(); ++from) {
      if (!loops_[number].holds[from]) continue;
      within.push_back(from);
      for (size_t n = 0; n < of_.next[from].size(); ++n) {
        const uint32_t to = of_.next[from][n];
        if (loops_[number].holds[to] || dies_[to]) continue;
        leave.push_back({from, n});
        if (std::find(places.begin(), places.end(), to) == places.end()) places.push_back(to);
      }
    }
    if (places.size() < 2 || !lead(leave, none, std::move(within))) return;
    for (size_t outer = number + 1; outer < loops_.size(); ++outer) {
      loop& around = loops_[outer];
      if (!around.holds[loops_[number].head]) continue;
      around.holds.back() = std::any_of(places.begin(), places.end(), [&](uint32_t to) { return around.holds[to]; });
    }
  }

  /// Whether the way leads back to the head of a loop that holds the node.
  bool is_next_round(uint32_t from, uint32_t to, uint32_t node) const {
    return headed_[to] != none && loops_[headed_[to]].holds[from] && loops_[headed_[to]].holds[node];
  }

  // Where ways join that began at one branch, and others of that branch lead past it.
  void gate_join(uint32_t node) {
    if (stale_) look();
    const auto comes_again = [&](uint32_t from) { return is_next_round(from, node, node); };
    const auto entries = std::count_if(previous_[node].begin(), previous_[node].end(),
                                       [&](uint32_t from) { return !comes_again(from); });
    if (entries < 2 || node == entry_) return;
    const uint32_t first = dominator_[node];
    for (const loop& each : loops_)
      if (each.holds[first] && !each.holds[node]) return;
    std::vector<bool> leads_here(of_.next.size());
    leads_here[first] = true;
    std::vector<uint32_t> between = {first};
    std::vector<uint32_t> left;
    const auto reach = [&](uint32_t from) {
      if (leads_here[from]) return;
      leads_here[from] = true;
      between.push_back(from);
      left.push_back(from);
    };
    for (const uint32_t from : previous_[node])
      if (!comes_again(from)) reach(from);
    while (!left.empty()) {
      const uint32_t at = left.back();
      left.pop_back();
      for (const uint32_t from : previous_[at])
        if (!is_next_round(from, at, node)) reach(from);
    }
    std::vector<way> ways;
    bool some_pass = false;
    for (const uint32_t from : between)
      for (size_t n = 0; n < of_.next[from].size(); ++n) {
        const uint32_t to = of_.next[from][n];
        const bool enters = to == node && !comes_again(from);
        if (!enters && (dies_[to] || (leads_here[to] && !is_next_round(from, to, node)))) continue;
        ways.push_back({from, n});
        some_pass = some_pass || !enters;
      }
    if (!some_pass || !lead(ways, node, std::move(between))) return;
    for (loop& each : loops_) each.holds.back() = each.holds[node] && each.head != node;
  }

  gated_graph& of_;
  uint32_t entry_;
  std::vector<bool> dies_;
  std::vector<loop> loops_;
  std::vector<uint32_t> headed_;  ///< by node: the number of the loop that begins with it
  std::vector<uint32_t> order_;   ///< each node before those that it dominates
  std::vector<uint32_t> rank_;    ///< in that order
  std::vector<uint32_t> dominator_;
  std::vector<std::vector<uint32_t>> previous_;
  bool stale_ = false;
};

}  // namespace

gated_graph with_gates(const std::vector<std::vector<uint32_t>>& next, const std::vector<node_end>& ends,
                       uint32_t entry) {
  gated_graph made = {next, next, {}};
  if (next.size() <= most_nodes) gate_builder(made, ends, entry).build();
  return made;
}

}  // namespace heddle::sim
