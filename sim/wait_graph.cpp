#include <heddle/sim/lane.h>
#include <heddle/sim/wait_graph.h>

#include <algorithm>
#include <unordered_map>

namespace heddle::sim {
namespace {

std::string quoted(const std::string& text) {
  std::string safe = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') safe += '\\';
    safe += letter;
  }
  return safe + '"';
}

std::string name_of_lanes(const wave& of, uint64_t lanes, bool all) {
  return all || of.host ? name_of(of) : name_of(of) + ' ' + lanes_in(lanes);
}

}  // namespace

std::string lanes_in(uint64_t mask) {
  std::string text;
  for (uint32_t lane = 0; lane < 64; ++lane) {
    if (((mask >> lane) & 1) == 0) continue;
    uint32_t last = lane;
    while (last < 63 && ((mask >> (last + 1)) & 1) != 0) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(lane);
    if (last > lane) text += '-' + std::to_string(last);
    lane = last;
  }
  return (mask & (mask - 1)) == 0 ? "lane " + text : "lanes " + text;
}

std::string wait_graph::edge::from_name() const { return name_of_lanes(*from, from_lanes, !within_wave()); }
std::string wait_graph::edge::to_name() const { return name_of_lanes(*to, to_lanes, !within_wave()); }

void wait_graph::add(const wave& from, uint64_t from_lanes, const wave& to, uint64_t to_lanes, const std::string& over,
                     bool supposed) {
  const bool within = &from == &to;
  const edge_key key = {&from, &to, over, supposed, within ? to_lanes : 0};
  const auto [known, fresh] = index_.try_emplace(key, edges_.size());
  if (fresh) {
    edges_.push_back(
        {.from = &from, .to = &to, .from_lanes = from_lanes, .to_lanes = to_lanes, .over = over, .supposed = supposed});
    return;
  }
  edges_[known->second].from_lanes |= from_lanes;
  edges_[known->second].to_lanes |= to_lanes;
}

void wait_graph::add_unknown(const wave& from, uint64_t from_lanes, const std::string& over, const std::string& why) {
  for (unknown& one : unknown_) {
    if (one.from != &from || one.over != over || one.why != why) continue;
    one.from_lanes |= from_lanes;
    return;
  }
  unknown_.push_back({.from = &from, .from_lanes = from_lanes, .over = over, .why = why});
}

/// Cycles of edges: each edge leads to those that begin where it ends.
class wait_graph::search {
 public:
  search(const std::vector<edge>& edges, bool supposed)
      : edges_(edges), supposed_(supposed), component_(edges.size(), none) {
    for (size_t n = 0; n < edges.size(); ++n)
      if (is_taken(n)) out_[edges[n].from].push_back(n);
    find_components();
  }

  bool on_cycle(size_t n) const {
    return component_[n] != none && (size_of_[component_[n]] > 1 || edges_[n].leads_to(edges_[n]));
  }

  /// The first of the shortest ones; empty when there is none.
  std::vector<size_t> shortest() const {
    std::vector<size_t> best;
    for (size_t n = 0; n < edges_.size() && best.size() != 1; ++n) {
      if (!on_cycle(n)) continue;
      if (std::vector<size_t> cycle = cycle_through(n, best.size()); !cycle.empty()) best = std::move(cycle);
    }
    return best;
  }

 private:
  static constexpr size_t none = ~size_t{0};

  bool is_taken(size_t n) const { return supposed_ || !edges_[n].supposed; }

  const std::vector<size_t>& out_of(size_t n) const {
    static const std::vector<size_t> nothing;
    const auto known = out_.find(edges_[n].to);
    return known == out_.end() ? nothing : known->second;
  }

  /// Tarjan's strongly connected components (SIAM J. Comput. 1, 1972), with a stack of its own in place of recursion.
  void find_components() {
    struct visit {
      size_t edge;
      size_t next = 0;  ///< of those that it leads to
    };
    std::vector<size_t> number(edges_.size(), none), low(edges_.size(), none);
    std::vector<size_t> open;
    std::vector<visit> path;
    size_t numbers = 0;
    const auto enter = [&](size_t n) {
      number[n] = low[n] = numbers++;
      open.push_back(n);
      path.push_back({.edge = n});
    };
    for (size_t root = 0; root < edges_.size(); ++root) {
      if (!is_taken(root) || number[root] != none) continue;
      enter(root);
      while (!path.empty()) {
        const size_t here = path.back().edge;
        const std::vector<size_t>& out = out_of(here);
        if (path.back().next < out.size()) {
          const size_t other = out[path.back().next++];
          if (!edges_[here].leads_to(edges_[other])) continue;
          if (number[other] == none)
            enter(other);
          else if (component_[other] == none)
            low[here] = std::min(low[here], number[other]);
          continue;
        }
        path.pop_back();
        if (!path.empty()) low[path.back().edge] = std::min(low[path.back().edge], low[here]);
        if (low[here] != number[here]) continue;
        size_t members = 0, last = none;
        do {
          last = open.back();
          open.pop_back();
          component_[last] = size_of_.size();
          ++members;
        } while (last != here);
        size_of_.push_back(members);
      }
    }
  }

  /// The shortest one through an edge, breadth first, when it is shorter than `limit` (0: any).
  std::vector<size_t> cycle_through(size_t n, size_t limit) const {
    std::unordered_map<size_t, size_t> reached_from = {{n, n}};
    std::vector<size_t> level = {n};
    for (size_t length = 1; !level.empty() && (limit == 0 || length < limit); ++length) {
      std::vector<size_t> following;
      for (const size_t here : level) {
        if (edges_[here].leads_to(edges_[n])) {
          std::vector<size_t> cycle;
          for (size_t back = here; back != n; back = reached_from.at(back)) cycle.push_back(back);
          cycle.push_back(n);
          std::reverse(cycle.begin(), cycle.end());
          return cycle;
        }
        for (const size_t other : out_of(here))
          if (component_[other] == component_[n] && edges_[here].leads_to(edges_[other]) &&
              reached_from.try_emplace(other, here).second)
            following.push_back(other);
      }
      level = std::move(following);
    }
    return {};
  }

  const std::vector<edge>& edges_;
  bool supposed_;
  std::unordered_map<const wave*, std::vector<size_t>> out_;  ///< edges by where they begin
  std::vector<size_t> component_;                             ///< by edge
  std::vector<size_t> size_of_;                               ///< by component
};

bool wait_graph::empty() const {
  return std::all_of(edges_.begin(), edges_.end(), [](const edge& one) { return one.supposed; });
}

std::vector<size_t> wait_graph::circle(bool supposed) const { return search(edges_, supposed).shortest(); }

std::vector<uint32_t> wait_graph::waves_in_circle() const {
  std::vector<uint32_t> ids;
  for (const size_t n : circle(false)) ids.push_back(edges_[n].from->id);
  return ids;
}

std::vector<wait_edge> wait_graph::edges() const {
  const search cycles(edges_, true);
  std::vector<wait_edge> told;
  for (size_t n = 0; n < edges_.size(); ++n) {
    const edge& one = edges_[n];
    told.push_back({.from = one.from_name(),
                    .to = one.to_name(),
                    .over = one.over,
                    .from_wave = one.from->id,
                    .to_wave = one.to->id,
                    .supposed = one.supposed,
                    .on_cycle = cycles.on_cycle(n)});
  }
  return told;
}

std::string wait_graph::text(const std::string& indent) const {
  constexpr size_t most_lines = 12;
  std::string text;
  std::vector<size_t> order = circle(false);
  if (!order.empty()) {
    text += indent + "in a circle: ";
    constexpr size_t most_named = 12;
    for (size_t n = 0; n < std::min(order.size(), most_named); ++n) text += edges_[order[n]].from_name() + " -> ";
    if (order.size() > most_named) text += "... " + std::to_string(order.size() - most_named) + " more ... -> ";
    text += edges_[order.back()].to_name() + '\n';
  }
  const size_t on_circle = order.size();
  const auto is_told = [&](size_t n) {
    return edges_[n].supposed || std::find(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(on_circle), n) !=
                                     order.begin() + static_cast<std::ptrdiff_t>(on_circle);
  };
  constexpr uint64_t all_lanes = ~uint64_t{0};
  for (const bool for_the_end : {false, true})
    for (size_t n = 0; n < edges_.size(); ++n)
      if (!is_told(n) && (edges_[n].to_lanes == all_lanes) == for_the_end) order.push_back(n);

  size_t lines = 0;
  const auto add = [&](const std::string& line) {
    if (++lines <= most_lines) text += indent + line + '\n';
  };
  const auto add_edge = [&](size_t n) {
    add(edges_[n].from_name() + " -> " + edges_[n].to_name() + "  (" + edges_[n].over + ")");
  };
  size_t told = 0;
  for (; told < order.size() && edges_[order[told]].to_lanes != all_lanes; ++told) add_edge(order[told]);
  for (const unknown& one : unknown_)
    add(name_of_lanes(*one.from, one.from_lanes, true) + " -> ?  (" + one.over + ", " + one.why + ")");
  for (; told < order.size(); ++told) add_edge(order[told]);
  if (lines > most_lines) text += indent + "... and " + std::to_string(lines - most_lines) + " more\n";
  return text;
}

std::string wait_graph::dot(const std::string& title) const {
  const search cycles(edges_, false);
  std::string text = "digraph waits {\n  label=" + quoted(title) + ";\n  node [shape=box];\n";
  for (size_t n = 0; n < edges_.size(); ++n) {
    const edge& one = edges_[n];
    if (one.supposed) continue;
    text += "  " + quoted(one.from_name()) + " -> " + quoted(one.to_name()) + " [label=" + quoted(one.over) +
            (cycles.on_cycle(n) ? ", color=red" : "") + "];\n";
  }
  return text + "}\n";
}

}  // namespace heddle::sim
