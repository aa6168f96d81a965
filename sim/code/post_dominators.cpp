#include <heddle/sim/code/control_flow.h>

#include <algorithm>
#include <utility>

namespace heddle::sim {
namespace {

using graph = std::vector<std::vector<uint32_t>>;

graph reversed(const graph& next) {
  graph previous(next.size());
  for (uint32_t from = 0; from < next.size(); ++from)
    for (const uint32_t to : next[from]) previous[to].push_back(from);
  return previous;
}

/// Marks what can be reached from the node, itself included.
void flood(const graph& next, uint32_t from, std::vector<bool>& seen) {
  std::vector<uint32_t> left = {from};
  seen[from] = true;
  while (!left.empty()) {
    const uint32_t at = left.back();
    left.pop_back();
    for (const uint32_t to : next[at])
      if (!seen[to]) {
        seen[to] = true;
        left.push_back(to);
      }
  }
}

/// The nodes in the order in which a depth-first search from `from` leaves them.
std::vector<uint32_t> postorder(const graph& next, uint32_t from) {
  std::vector<uint32_t> order;
  std::vector<bool> seen(next.size());
  std::vector<std::pair<uint32_t, size_t>> path = {{from, 0}};
  seen[from] = true;
  while (!path.empty()) {
    auto& [at, tried] = path.back();
    if (tried == next[at].size()) {
      order.push_back(at);
      path.pop_back();
      continue;
    }
    const uint32_t to = next[at][tried++];
    if (seen[to]) continue;
    seen[to] = true;
    path.emplace_back(to, 0);
  }
  return order;
}

/// Nodes from which every path dies.
std::vector<bool> dying(const graph& next, const std::vector<node_end>& ends, const std::vector<bool>& returns) {
  std::vector<bool> dies(next.size());
  for (bool again = true; again;) {
    again = false;
    for (uint32_t n = 0; n < ends.size(); ++n) {
      if (dies[n] || returns[n]) continue;
      const bool all =
          ends[n] == node_end::dies ||
          (!next[n].empty() && std::all_of(next[n].begin(), next[n].end(), [&](uint32_t to) { return dies[to]; }));
      if (!all) continue;
      dies[n] = again = true;
    }
  }
  return dies;
}

/// Gives each loop without an exit one: the last of its jumps back.
void leave_endless_loops(graph& next, std::vector<uint32_t> order, const std::vector<bool>& dies, uint32_t exit) {
  graph alive(next.size());
  for (uint32_t n = 0; n < next.size(); ++n)
    for (const uint32_t to : next[n])
      if (to == exit || !dies[to]) alive[n].push_back(to);
  for (uint32_t n = 0; n < exit; ++n)
    if (std::find(order.begin(), order.end(), n) == order.end()) order.push_back(n);
  // In the order of leaving, the jump back of a loop stands before its head.
  for (const uint32_t n : order) {
    if (n == exit || dies[n]) continue;
    std::vector<bool> ahead(next.size());
    flood(alive, n, ahead);
    if (ahead[exit]) continue;
    // Within a loop without an exit, and only there, all nodes ahead lead back.
    bool all_come_back = true;
    for (uint32_t m = 0; m < exit && all_come_back; ++m) {
      if (!ahead[m]) continue;
      std::vector<bool> behind(next.size());
      flood(alive, m, behind);
      all_come_back = behind[n];
    }
    if (!all_come_back) continue;
    alive[n].push_back(exit);
    next[n].push_back(exit);
  }
}

}  // namespace

std::vector<uint32_t> post_dominators(const std::vector<std::vector<uint32_t>>& edges,
                                      const std::vector<node_end>& ends) {
  const auto exit = static_cast<uint32_t>(edges.size());
  graph next = edges;
  next.emplace_back();
  for (uint32_t n = 0; n < exit; ++n)
    if (ends[n] == node_end::returns) next[n].push_back(exit);
  // A function that never returns ends where it dies.
  if (std::find(ends.begin(), ends.end(), node_end::returns) == ends.end())
    for (uint32_t n = 0; n < exit; ++n)
      if (ends[n] == node_end::dies) next[n].push_back(exit);
  std::vector<bool> returns(next.size());
  flood(reversed(next), exit, returns);
  if (std::find(returns.begin(), returns.end(), false) != returns.end()) {
    std::vector<uint32_t> order = postorder(next, 0);
    for (uint32_t n = 0; n < exit; ++n)
      if (returns[n]) std::erase_if(next[n], [&](uint32_t to) { return !returns[to]; });
    leave_endless_loops(next, std::move(order), dying(next, ends, returns), exit);
  }

  const graph previous = reversed(next);
  // On the reversed graph, from the exit: nodes by how late the search leaves them.
  const std::vector<uint32_t> order = postorder(previous, exit);
  constexpr uint32_t unknown = ~uint32_t{0};
  std::vector<uint32_t> rank(next.size(), unknown);
  for (uint32_t n = 0; n < order.size(); ++n) rank[order[n]] = n;
  std::vector<uint32_t> found(next.size(), unknown);
  found[exit] = exit;
  const auto meet = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (rank[a] < rank[b]) a = found[a];
      while (rank[b] < rank[a]) b = found[b];
    }
    return a;
  };
  for (bool again = true; again;) {
    again = false;
    for (size_t n = order.size() - 1; n-- > 0;) {  // the exit is the last
      const uint32_t at = order[n];
      uint32_t common = unknown;
      for (const uint32_t to : next[at])
        if (found[to] != unknown) common = common == unknown ? to : meet(common, to);
      if (common == found[at]) continue;
      found[at] = common;
      again = true;
    }
  }
  found.pop_back();
  for (uint32_t& one : found)
    if (one == unknown) one = exit;
  return found;
}

}  // namespace heddle::sim
