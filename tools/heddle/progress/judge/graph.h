// Every state that a program can come to, and every step that leads from one to another.
#pragma once

#include <heddle/tools/progress/judge/model.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle::judge {

/// What can influence the future: where each thread stands, memory, and which threads have ever stepped. Under rule::turns, the graph also tells
/// states apart by which waves have a place.
struct state {
  std::vector<uint8_t> counters;  ///< of each thread the next step; as many as it has steps: it has ended
  std::vector<uint8_t> memory;
  thread_set started = 0;

  friend bool operator==(const state&, const state&) = default;
};

state first_state(const program& code);
/// The state after the next step of a live thread.
state stepped(const program& code, const state& from, uint32_t thread);
thread_set live_threads(const program& code, const state& in);
thread_set waves_of(const program& code);
/// Whether all waves and host threads have ended; servers need not.
bool is_final(const program& code, const state& in);
/// "T0 at 2, T1 at END, m0=1": of memory what is not 0.
std::string to_string(const program& code, const state& in);

inline constexpr size_t states_max_default = 1'000'000;

/// States are numbered in order of their distance from the first one, which is number 0.
class state_graph {
 public:
  struct edge {
    uint32_t thread;  ///< that steps
    uint32_t to;
  };

  /// All states that can be reached by steps that the model allows. `code` must outlive the graph. Throws
  /// std::invalid_argument with one line when there are more than `states_max`.
  state_graph(const program& code, model which, size_t states_max = states_max_default);

  size_t size() const { return standings_.size(); }
  size_t edge_count() const { return edges_.size(); }
  /// None of a final state.
  std::span<const edge> edges(uint32_t from) const {
    return {edges_.data() + first_edge_[from], edges_.data() + first_edge_[from + 1]};
  }
  const standing& at(uint32_t number) const { return standings_[number]; }
  bool is_final(uint32_t number) const { return (standings_[number].live & must_end_) == 0; }
  /// The threads of a shortest way from the first state, in order of their steps.
  std::vector<uint32_t> way_to(uint32_t number) const;

 private:
  struct origin {
    uint32_t from;
    uint32_t thread;
  };

  std::vector<standing> standings_;
  std::vector<edge> edges_;
  std::vector<size_t> first_edge_;
  std::vector<origin> origins_;
  thread_set must_end_ = 0;
};

// The strongly connected components of a graph of states.

/// Of each state the number of its component, from 0: Tarjan, "Depth-first search and linear graph algorithms" (1972),
/// without recursion.
std::vector<uint32_t> components_of(const state_graph& graph);

}  // namespace heddle::judge
