// Which lane waits for which, as text and as a drawing.
#pragma once

#include <heddle/sim/observe/run_record.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace heddle::sim {

struct wave;

/// What is known of an edge.
enum class certainty : uint8_t {
  known,      ///< in this run: it has changed the word before, holds the lock, has not come to the barrier
  elsewhere,  ///< in another schedule it has stored to the word
  supposed,   ///< nothing is known but that it is left
};

/// Some lanes of a wave, a bit each.
struct lanes_of_wave {
  const wave& of;
  uint64_t lanes;
};

/// Edges from lanes that wait to lanes that could end the wait. Lanes of one wave that wait for each other are told apart; where a
/// wave waits for another one, the edge is between the two. Text, drawing and edges() tell the same.
class wait_graph {
 public:
  /// The lanes `from` wait for the lanes `to`, over what `over` names. Edges between the same two over the same thing
  /// become one, and the surer counts. `why`: what other schedules say.
  void add(const lanes_of_wave& from, const lanes_of_wave& to, const std::string& over,
           certainty how = certainty::known, const std::string& why = {});
  /// The lanes wait, and it is not known for which others; `why` says it of what `over` names.
  void add_unknown(const lanes_of_wave& from, const std::string& over, const std::string& why);
  /// Whether nothing waits.
  bool empty() const { return edges_.empty() && unknown_.empty(); }

  std::vector<wait_edge> edges() const;
  std::vector<unknown_wait> unknown() const;
  /// A cycle, as numbers of edges(), in order; empty when there is none. Where there is one without supposed edges, the shortest of these;
  /// else, of those with the fewest supposed edges, the one with the most that are known, by the shortest ways between the supposed ones.
  std::vector<size_t> circle() const;
  /// The ids of those on circle().
  std::vector<uint32_t> waves_in_circle() const;
  /// A line for the circle, if there is one, and one for each edge but the supposed ones beside it, those of the circle first and those
  /// that wait for the end of others last; of many the first. Each begins with `indent`.
  std::string text(const std::string& indent) const;
  /// The graph in the DOT language of Graphviz: the edges of the circle are red, supposed ones dashed, and what waits for nothing that is
  /// known has an edge to a question mark.
  std::string dot(const std::string& title) const;

 private:
  struct edge {
    const wave* from = nullptr;
    const wave* to = nullptr;
    uint64_t from_lanes = 0;
    uint64_t to_lanes = 0;
    std::string over;
    certainty how = certainty::known;
    std::string why;

    bool within_wave() const { return from == to; }
    bool supposed() const { return how == certainty::supposed; }
    /// Whether lanes at the end of this edge wait at the beginning of the other edge.
    bool leads_to(const edge& other) const { return to == other.from && (to_lanes & other.from_lanes) != 0; }
    std::string from_name() const;
    std::string to_name() const;
    /// "ports+0x80; in other schedules wave 0 stored it at FILE:LINE"
    std::string label() const;
  };

  /// What has nothing at its other end.
  struct unknown_end {
    const wave* from = nullptr;
    uint64_t from_lanes = 0;
    std::string over;
    std::string why;
  };
  class search;
  using edge_key = std::tuple<const wave*, const wave*, std::string, uint64_t>;

  /// By edge: whether it is on a circle of known edges, or on circle().
  std::vector<bool> on_circles() const;

  std::vector<edge> edges_;
  std::map<edge_key, size_t> index_;  ///< of edges_
  std::vector<unknown_end> unknown_;
};

}  // namespace heddle::sim
