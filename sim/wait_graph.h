// Who waits for whom, as text and as a drawing.
#pragma once

#include <heddle/sim/run_record.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace heddle::sim {

struct wave;

/// Edges from those who wait to those who could end the wait. Lanes of one wave that wait for each other are told apart; where a
/// wave waits for another one, the edge is between the two.
class wait_graph {
 public:
  /// Lanes of `from` (a bit each) wait for lanes of `to`, over what `over` names. Edges between the same two over the same thing
  /// become one.
  /// `supposed`: nobody knows whether it is those. Such edges are told by edges() alone.
  void add(const wave& from, uint64_t from_lanes, const wave& to, uint64_t to_lanes, const std::string& over,
           bool supposed = false);
  /// Lanes of `from` wait, and nobody knows for whom; `why` says it of what `over` names. Told by text() alone.
  void add_unknown(const wave& from, uint64_t from_lanes, const std::string& over, const std::string& why);
  /// Whether nobody waits for somebody who is known.
  bool empty() const;

  std::vector<wait_edge> edges() const;
  /// The shortest cycle, as numbers of edges(), in order; empty when there is none. Over supposed edges only where asked for.
  std::vector<size_t> circle(bool supposed) const;
  /// The ids of those on circle(false).
  std::vector<uint32_t> waves_in_circle() const;
  /// A line for the shortest cycle, if there is one, and one for each edge, those of the cycle first and those who wait for the end of others last;
  /// of many the first. Each begins with `indent`.
  std::string text(const std::string& indent) const;
  /// The graph in the DOT language of Graphviz; the edges of cycles are red.
  std::string dot(const std::string& title) const;

 private:
  struct edge {
    const wave* from = nullptr;
    const wave* to = nullptr;
    uint64_t from_lanes = 0;
    uint64_t to_lanes = 0;
    std::string over;
    bool supposed = false;

    bool within_wave() const { return from == to; }
    /// Whether those for whom this one waits, or some of them, wait in the other one.
    bool leads_to(const edge& other) const { return to == other.from && (to_lanes & other.from_lanes) != 0; }
    std::string from_name() const;
    std::string to_name() const;
  };

  /// What has nobody at its other end.
  struct unknown {
    const wave* from = nullptr;
    uint64_t from_lanes = 0;
    std::string over;
    std::string why;
  };
  class search;
  using edge_key = std::tuple<const wave*, const wave*, std::string, bool, uint64_t>;

  std::vector<edge> edges_;
  std::map<edge_key, size_t> index_;  ///< of edges_
  std::vector<unknown> unknown_;
};

/// "lane 0", "lanes 0-2, 5".
std::string lanes_in(uint64_t mask);

}  // namespace heddle::sim
