#include <heddle/sim/lane.h>
#include <heddle/sim/wait_graph.h>

#include <algorithm>
#include <map>

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
  for (edge& known : edges_) {
    if (known.from != &from || known.to != &to || known.over != over || known.supposed != supposed) continue;
    if (within && known.to_lanes != to_lanes) continue;
    known.from_lanes |= from_lanes;
    known.to_lanes |= to_lanes;
    return;
  }
  edges_.push_back(
      {.from = &from, .to = &to, .from_lanes = from_lanes, .to_lanes = to_lanes, .over = over, .supposed = supposed});
}

// Breadth first, from edge to edge.
std::vector<size_t> wait_graph::cycle_through(size_t n, bool supposed) const {
  if (edges_[n].supposed && !supposed) return {};
  constexpr size_t nobody = ~size_t{0};
  std::vector<size_t> reached_from(edges_.size(), nobody);
  std::vector<size_t> queue = {n};
  for (size_t at = 0; at < queue.size(); ++at) {
    const size_t here = queue[at];
    if (edges_[here].leads_to(edges_[n])) {
      std::vector<size_t> cycle;
      for (size_t back = here; back != n; back = reached_from[back]) cycle.push_back(back);
      cycle.push_back(n);
      std::reverse(cycle.begin(), cycle.end());
      return cycle;
    }
    for (size_t next = 0; next < edges_.size(); ++next) {
      if (next == n || reached_from[next] != nobody || !edges_[here].leads_to(edges_[next])) continue;
      if (edges_[next].supposed && !supposed) continue;
      reached_from[next] = here;
      queue.push_back(next);
    }
  }
  return {};
}

bool wait_graph::empty() const {
  return std::all_of(edges_.begin(), edges_.end(), [](const edge& one) { return one.supposed; });
}

std::vector<size_t> wait_graph::circle(bool supposed) const {
  std::vector<size_t> shortest;
  for (size_t n = 0; n < edges_.size(); ++n) {
    const std::vector<size_t> cycle = cycle_through(n, supposed);
    if (!cycle.empty() && (shortest.empty() || cycle.size() < shortest.size())) shortest = cycle;
  }
  return shortest;
}

std::vector<wait_edge> wait_graph::edges() const {
  std::vector<wait_edge> told;
  for (size_t n = 0; n < edges_.size(); ++n) {
    const edge& one = edges_[n];
    told.push_back({.from = one.from_name(),
                    .to = one.to_name(),
                    .over = one.over,
                    .from_wave = one.from->id,
                    .to_wave = one.to->id,
                    .supposed = one.supposed,
                    .on_cycle = !cycle_through(n, true).empty()});
  }
  return told;
}

std::string wait_graph::text(const std::string& indent) const {
  std::string text;
  for (const edge& one : edges_)
    if (!one.supposed) text += indent + one.from_name() + " -> " + one.to_name() + "  (" + one.over + ")\n";
  const std::vector<size_t> shortest = circle(false);
  if (shortest.empty()) return text;
  text += indent + "in a circle: ";
  for (const size_t n : shortest) text += edges_[n].from_name() + " -> ";
  return text + edges_[shortest.back()].to_name() + '\n';
}

std::string wait_graph::dot(const std::string& title) const {
  std::string text = "digraph waits {\n  label=" + quoted(title) + ";\n  node [shape=box];\n";
  for (size_t n = 0; n < edges_.size(); ++n) {
    const edge& one = edges_[n];
    if (one.supposed) continue;
    text += "  " + quoted(one.from_name()) + " -> " + quoted(one.to_name()) + " [label=" + quoted(one.over) +
            (cycle_through(n, false).empty() ? "" : ", color=red") + "];\n";
  }
  return text + "}\n";
}

}  // namespace heddle::sim
