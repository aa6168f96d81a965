#include <heddle/tools/progress/judge/components.h>

#include <algorithm>

namespace heddle::judge {
namespace {

constexpr uint32_t none = ~0u;

class search {
 public:
  explicit search(const state_graph& graph)
      : graph_(graph), index_(graph.size(), none), low_(graph.size()), component_(graph.size(), none) {}

  std::vector<uint32_t> run() {
    // Every state can be reached from the first.
    enter(0);
    while (!path_.empty()) {
      const uint32_t at = path_.back().state;
      const auto edges = graph_.edges(at);
      if (path_.back().next_edge < edges.size()) {
        follow(at, edges[path_.back().next_edge++].to);
      } else {
        path_.pop_back();
        leave(at);
      }
    }
    return std::move(component_);
  }

 private:
  struct frame {
    uint32_t state;
    size_t next_edge;
  };

  void enter(uint32_t state) {
    index_[state] = low_[state] = next_index_++;
    open_.push_back(state);
    path_.push_back({state, 0});
  }

  void follow(uint32_t from, uint32_t to) {
    if (index_[to] == none)
      enter(to);
    else if (component_[to] == none)
      low_[from] = std::min(low_[from], index_[to]);
  }

  void leave(uint32_t state) {
    if (!path_.empty()) low_[path_.back().state] = std::min(low_[path_.back().state], low_[state]);
    if (low_[state] != index_[state]) return;
    uint32_t member = none;
    do {
      member = open_.back();
      open_.pop_back();
      component_[member] = next_component_;
    } while (member != state);
    ++next_component_;
  }

  const state_graph& graph_;
  std::vector<uint32_t> index_;
  std::vector<uint32_t> low_;
  std::vector<uint32_t> component_;
  std::vector<uint32_t> open_;
  std::vector<frame> path_;
  uint32_t next_index_ = 0;
  uint32_t next_component_ = 0;
};

}  // namespace

std::vector<uint32_t> components_of(const state_graph& graph) { return search(graph).run(); }

}  // namespace heddle::judge
