#include <heddle/sim/verify/fair_cycles.h>

#include <algorithm>

namespace heddle::sim {
namespace {

constexpr uint32_t none = ~uint32_t{0};

/// The steps by the state that they begin in.
class outgoing {
 public:
  explicit outgoing(const state_graph& graph) : first_(graph.states.size() + 1, 0), order_(graph.steps.size()) {
    for (const state_graph::step& each : graph.steps) ++first_[each.from + size_t{1}];
    for (size_t n = 1; n < first_.size(); ++n) first_[n] += first_[n - 1];
    std::vector<size_t> next(first_.begin(), first_.end() - 1);
    for (uint32_t n = 0; n < graph.steps.size(); ++n) order_[next[graph.steps[n].from]++] = n;
  }
  size_t begin(uint32_t state) const { return first_[state]; }
  size_t end(uint32_t state) const { return first_[state + size_t{1}]; }
  uint32_t operator[](size_t place) const { return order_[place]; }

 private:
  std::vector<size_t> first_;
  std::vector<uint32_t> order_;
};

/// Tarjan's algorithm without recursion: which component each state is in.
std::vector<uint32_t> components_of(const state_graph& graph, const outgoing& steps) {
  const size_t count = graph.states.size();
  std::vector<uint32_t> index(count, none);
  std::vector<uint32_t> low(count, 0);
  std::vector<uint32_t> component(count, none);
  std::vector<uint32_t> open;
  struct visit {
    uint32_t state;
    size_t next;
  };
  std::vector<visit> path;
  uint32_t met = 0;
  uint32_t components = 0;
  for (uint32_t root = 0; root < count; ++root) {
    if (index[root] != none) continue;
    path.push_back({root, steps.begin(root)});
    index[root] = low[root] = met++;
    open.push_back(root);
    while (!path.empty()) {
      visit& here = path.back();
      const uint32_t state = here.state;
      if (here.next != steps.end(state)) {
        const uint32_t to = graph.steps[steps[here.next++]].to;
        if (index[to] == none) {
          index[to] = low[to] = met++;
          open.push_back(to);
          path.push_back({to, steps.begin(to)});
        } else if (component[to] == none) {
          low[state] = std::min(low[state], index[to]);
        }
        continue;
      }
      if (low[state] == index[state]) {
        uint32_t member = none;
        do {
          member = open.back();
          open.pop_back();
          component[member] = components;
        } while (member != state);
        ++components;
      }
      path.pop_back();
      if (!path.empty()) low[path.back().state] = std::min(low[path.back().state], low[state]);
    }
  }
  return component;
}

}  // namespace

std::optional<uint32_t> find_fair_cycle(const state_graph& graph) {
  const outgoing steps(graph);
  const std::vector<uint32_t> component = components_of(graph, steps);
  struct summary {
    uint64_t stepped = 0;
    uint64_t owed = ~uint64_t{0};  ///< in every state
    bool start = true;             ///< likewise
    bool has_cycle = false;
    uint32_t state = none;
  };
  std::vector<summary> all(graph.states.size());
  for (const state_graph::step& each : graph.steps) {
    if (component[each.from] != component[each.to]) continue;
    summary& of = all[component[each.from]];
    of.has_cycle = true;
    of.stepped |= each.lanes;
  }
  for (uint32_t n = 0; n < graph.states.size(); ++n) {
    summary& of = all[component[n]];
    of.owed &= graph.states[n].owed;
    of.start = of.start && graph.states[n].start;
    of.state = std::min(of.state, n);
  }
  for (const summary& each : all)
    if (each.has_cycle && (each.owed & ~each.stepped) == 0 && !each.start) return each.state;
  return std::nullopt;
}

}  // namespace heddle::sim
