#include <heddle/sim/machine/lane.h>
#include <heddle/sim/report/wait_graph.h>

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace heddle::sim {
namespace {

std::string quoted(const std::string& text) {
  std::string safe = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') safe += '\\';
    if (letter == '\n')
      safe += "\\n";
    else
      safe += letter;
  }
  return safe + '"';
}

std::string name_of_lanes(const wave& of, uint64_t lanes, bool all) {
  return all || of.host || of.named ? name_of(of) : name_of(of) + ' ' + lanes_in(lanes);
}

}  // namespace

std::string wait_graph::edge::from_name() const { return name_of_lanes(*from, from_lanes, !within_wave()); }
std::string wait_graph::edge::to_name() const { return name_of_lanes(*to, to_lanes, !within_wave()); }

std::string wait_graph::edge::label() const {
  if (!why.empty()) return over + "; " + why;
  return supposed() ? over + ", supposed" : over;
}

void wait_graph::add(const lanes_of_wave& from, const lanes_of_wave& to, const std::string& over, certainty how,
                     const std::string& why) {
  const bool within = &from.of == &to.of;
  const edge_key key = {&from.of, &to.of, over, within ? to.lanes : 0};
  const auto [known, fresh] = index_.try_emplace(key, edges_.size());
  if (fresh) {
    edges_.push_back({.from = &from.of,
                      .to = &to.of,
                      .from_lanes = from.lanes,
                      .to_lanes = to.lanes,
                      .over = over,
                      .how = how,
                      .why = why});
    return;
  }
  edge& same = edges_[known->second];
  same.from_lanes |= from.lanes;
  same.to_lanes |= to.lanes;
  if (how < same.how) {
    same.how = how;
    same.why = why;
  }
}

void wait_graph::add_unknown(const lanes_of_wave& from, const std::string& over, const std::string& why) {
  for (unknown_end& one : unknown_) {
    if (one.from != &from.of || one.over != over || one.why != why) continue;
    one.from_lanes |= from.lanes;
    return;
  }
  unknown_.push_back({.from = &from.of, .from_lanes = from.lanes, .over = over, .why = why});
}

/// Cycles of edges: each edge leads to those that begin where it ends.
class wait_graph::search {
 public:
  /// Over edges of which no less is known than this. `between_waves`: not over those that lead from a wave to itself.
  search(const std::vector<edge>& edges, certainty least, bool between_waves = false)
      : edges_(edges), least_(least), between_waves_(between_waves), component_(edges.size(), none) {
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

  /// Of the cycles with the fewest of those edges of which the least is known, one with the most others; of those that share these edges,
  /// the shortest. Empty when there is none.
  std::vector<size_t> likeliest() const {
    size_t fewest = none;
    for (size_t n = 0; n < edges_.size(); ++n)
      if (is_taken(n) && is_unsure(n) && on_cycle(n)) fewest = std::min(fewest, unsure_on_cycle(n));
    std::vector<size_t> best;
    if (fewest == none) return best;
    for (size_t n = 0; n < edges_.size(); ++n) {
      if (!is_taken(n) || !is_unsure(n) || !on_cycle(n)) continue;
      std::vector<size_t> path = {n};
      longest_from(path, fewest - 1, best);
    }
    return shortened(best);
  }

 private:
  static constexpr size_t none = ~size_t{0};

  /// How many unsure edges the best cycle through this one has, breadth first over their number.
  size_t unsure_on_cycle(size_t n) const {
    std::unordered_map<size_t, size_t> least = {{n, 1}};
    std::deque<size_t> next = {n};
    while (!next.empty()) {
      const size_t here = next.front();
      next.pop_front();
      const size_t so_far = least.at(here);
      if (edges_[here].leads_to(edges_[n])) return so_far;
      for (const size_t other : out_of(here)) {
        if (component_[other] != component_[n] || !edges_[here].leads_to(edges_[other])) continue;
        const size_t cost = so_far + (is_unsure(other) ? 1 : 0);
        const auto [known, fresh] = least.try_emplace(other, cost);
        if (!fresh && known->second <= cost) continue;
        known->second = cost;
        if (is_unsure(other))
          next.push_back(other);
        else
          next.push_front(other);
      }
    }
    return none;
  }

  /// Goes on from the path, which begins with an unsure edge, to each cycle with so many more of these; `best` is the longest so far. As far as
  /// a fixed number of steps goes: of many cycles any is as good.
  void longest_from(std::vector<size_t>& path, size_t unsure_left, std::vector<size_t>& best) const {
    constexpr size_t most_tries = 20'000;
    if (++tries_ > most_tries) return;
    const size_t here = path.back();
    if (unsure_left == 0 && path.size() > best.size() && edges_[here].leads_to(edges_[path.front()])) best = path;
    for (const size_t other : out_of(here)) {
      if (component_[other] != component_[here] || !edges_[here].leads_to(edges_[other])) continue;
      if (is_unsure(other) && unsure_left == 0) continue;
      const bool been_there = std::any_of(path.begin(), path.end(), [&](size_t earlier) {
        return edges_[earlier].from == edges_[other].from &&
               (edges_[earlier].from_lanes & edges_[other].from_lanes) != 0;
      });
      if (been_there) continue;
      path.push_back(other);
      longest_from(path, unsure_left - (is_unsure(other) ? 1 : 0), best);
      path.pop_back();
    }
  }

  /// The same unsure edges, in their order, and the shortest ways from each to the next.
  std::vector<size_t> shortened(const std::vector<size_t>& cycle) const {
    std::vector<size_t> made;
    for (size_t n = 0; n < cycle.size(); ++n) {
      if (!is_unsure(cycle[n])) continue;
      size_t next = (n + 1) % cycle.size();
      while (!is_unsure(cycle[next])) next = (next + 1) % cycle.size();
      made.push_back(cycle[n]);
      for (const size_t each : way_between(cycle[n], cycle[next])) {
        const bool been_there = std::any_of(made.begin(), made.end(), [&](size_t earlier) {
          return edges_[earlier].from == edges_[each].from &&
                 (edges_[earlier].from_lanes & edges_[each].from_lanes) != 0;
        });
        if (been_there) return cycle;
        made.push_back(each);
      }
    }
    return made;
  }

  /// The fewest sure edges that lead from one edge to the other, without these two; breadth first.
  std::vector<size_t> way_between(size_t from, size_t to) const {
    std::unordered_map<size_t, size_t> reached_from = {{from, from}};
    std::deque<size_t> next = {from};
    while (!next.empty()) {
      const size_t here = next.front();
      next.pop_front();
      if (edges_[here].leads_to(edges_[to])) {
        std::vector<size_t> way;
        for (size_t back = here; back != from; back = reached_from.at(back)) way.push_back(back);
        std::reverse(way.begin(), way.end());
        return way;
      }
      for (const size_t other : out_of(here))
        if (!is_unsure(other) && edges_[here].leads_to(edges_[other]) && reached_from.try_emplace(other, here).second)
          next.push_back(other);
    }
    return {};
  }

  bool is_taken(size_t n) const {
    return edges_[n].how <= least_ && (!between_waves_ || edges_[n].from != edges_[n].to);
  }
  bool is_unsure(size_t n) const { return edges_[n].how == least_; }

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
  certainty least_;
  bool between_waves_;
  mutable size_t tries_ = 0;                                  ///< steps of longest_from() so far
  std::unordered_map<const wave*, std::vector<size_t>> out_;  ///< edges by where they begin
  std::vector<size_t> component_;                             ///< by edge
  std::vector<size_t> size_of_;                               ///< by component
};

std::vector<size_t> wait_graph::circle() const {
  const search among_known(edges_, certainty::known);
  if (std::vector<size_t> known = among_known.shortest(); !known.empty()) return known;
  // Lanes of a wave wait for each other wherever one of them waits: what that one waits for tells more.
  for (const certainty least : {certainty::elsewhere, certainty::supposed})
    for (const bool between_waves : {true, false})
      if (std::vector<size_t> likely = search(edges_, least, between_waves).likeliest(); !likely.empty()) return likely;
  return {};
}

std::vector<bool> wait_graph::on_circles() const {
  const search known(edges_, certainty::known);
  std::vector<bool> marked(edges_.size());
  for (size_t n = 0; n < edges_.size(); ++n) marked[n] = known.on_cycle(n);
  for (const size_t n : circle()) marked[n] = true;
  return marked;
}

std::vector<uint32_t> wait_graph::waves_in_circle() const {
  std::vector<uint32_t> ids;
  for (const size_t n : circle()) ids.push_back(edges_[n].from->id);
  return ids;
}

std::vector<wait_edge> wait_graph::edges() const {
  const std::vector<bool> marked = on_circles();
  std::vector<wait_edge> told;
  for (size_t n = 0; n < edges_.size(); ++n) {
    const edge& one = edges_[n];
    told.push_back({.from = one.from_name(),
                    .to = one.to_name(),
                    .over = one.over,
                    .from_wave = one.from->id,
                    .to_wave = one.to->id,
                    .supposed = one.supposed(),
                    .on_cycle = marked[n],
                    .why = one.why});
  }
  return told;
}

std::vector<unknown_wait> wait_graph::unknown() const {
  std::vector<unknown_wait> told;
  for (const unknown_end& one : unknown_)
    told.push_back({.from = name_of_lanes(*one.from, one.from_lanes, true),
                    .over = one.over,
                    .why = one.why,
                    .from_wave = one.from->id});
  return told;
}

std::string wait_graph::text(const std::string& indent) const {
  constexpr size_t most_lines = 12;
  std::string text;
  std::vector<size_t> order = circle();
  if (!order.empty()) {
    const bool sure = std::none_of(order.begin(), order.end(), [&](size_t n) { return edges_[n].supposed(); });
    text += indent + (sure ? "in a circle: " : "perhaps in a circle: ");
    constexpr size_t most_named = 12;
    for (size_t n = 0; n < std::min(order.size(), most_named); ++n) text += edges_[order[n]].from_name() + " -> ";
    if (order.size() > most_named) text += "... " + std::to_string(order.size() - most_named) + " more ... -> ";
    text += edges_[order.back()].to_name() + '\n';
  }
  const size_t on_circle = order.size();
  const auto is_told = [&](size_t n) {
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(on_circle);
    return edges_[n].supposed() || std::find(order.begin(), end, n) != end;
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
    add(edges_[n].from_name() + " -> " + edges_[n].to_name() + "  (" + edges_[n].label() + ")");
  };
  size_t told = 0;
  for (; told < order.size() && (told < on_circle || edges_[order[told]].to_lanes != all_lanes); ++told)
    add_edge(order[told]);
  for (const unknown_wait& one : unknown()) add(one.from + " -> ?  (" + one.over + ", " + one.why + ")");
  for (; told < order.size(); ++told) add_edge(order[told]);
  if (lines > most_lines) text += indent + "... and " + std::to_string(lines - most_lines) + " more\n";
  return text;
}

std::string wait_graph::dot(const std::string& title) const {
  const std::vector<bool> marked = on_circles();
  std::string text = "digraph waits {\n  label=" + quoted(title) + ";\n  node [shape=box];\n";
  for (size_t n = 0; n < edges_.size(); ++n) {
    const edge& one = edges_[n];
    text += "  " + quoted(one.from_name()) + " -> " + quoted(one.to_name()) + " [label=" + quoted(one.label()) +
            (one.supposed() ? ", style=dashed" : "") + (marked[n] ? ", color=red" : "") + "];\n";
  }
  size_t number = 0;
  for (const unknown_wait& one : unknown()) {
    const std::string end = quoted("unknown " + std::to_string(++number));
    text += "  " + end + " [label=\"?\", shape=plaintext];\n  " + quoted(one.from) + " -> " + end +
            " [label=" + quoted(one.over + ", " + one.why) + ", style=dotted];\n";
  }
  return text + "}\n";
}

}  // namespace heddle::sim
