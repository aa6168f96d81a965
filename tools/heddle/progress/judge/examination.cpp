#include <heddle/tools/progress/judge/examination.h>
#include <heddle/tools/progress/judge/graph.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <unordered_map>

namespace heddle::judge {
namespace {

bool is_open(model which) {
  return which.is != rule::slots && which.is != rule::turns && which.is != rule::then_first &&
         which.is != rule::else_first;
}

thread_set bit(uint32_t thread) { return thread_set{1} << thread; }

/// Finds its way inside one component.
class tour {
 public:
  tour(const state_graph& graph, const std::vector<uint32_t>& component, uint32_t start)
      : graph_(graph), component_(component), start_(start), at_(start) {}

  /// A cycle from the start, with a step of each of these threads, each of which has one in the component; at least one step.
  std::vector<uint32_t> through(thread_set wanted) {
    while ((wanted & ~taken_) != 0 || steps_.empty())
      walk([&](uint32_t, const state_graph::edge& last) {
        return wanted == 0 || (bit(last.thread) & wanted & ~taken_) != 0;
      });
    if (at_ != start_) walk([&](uint32_t, const state_graph::edge& last) { return last.to == start_; });
    return std::move(steps_);
  }

 private:
  /// Takes a shortest way that ends with a good edge.
  template <typename Good>
  void walk(const Good& good) {
    struct arrival {
      uint32_t from;
      uint32_t thread;
    };
    std::unordered_map<uint32_t, arrival> reached = {{at_, {at_, 0}}};
    std::deque<uint32_t> next = {at_};
    while (true) {
      const uint32_t from = next.front();
      next.pop_front();
      for (const state_graph::edge& each : graph_.edges(from)) {
        if (component_[each.to] != component_[start_]) continue;
        if (good(from, each)) {
          std::vector<uint32_t> way = {each.thread};
          for (uint32_t back = from; back != at_; back = reached.at(back).from) way.push_back(reached.at(back).thread);
          for (const uint32_t thread : way) taken_ |= bit(thread);
          steps_.insert(steps_.end(), way.rbegin(), way.rend());
          at_ = each.to;
          return;
        }
        if (reached.try_emplace(each.to, arrival{from, each.thread}).second) next.push_back(each.to);
      }
    }
  }

  const state_graph& graph_;
  const std::vector<uint32_t>& component_;
  uint32_t start_;
  uint32_t at_;
  thread_set taken_ = 0;
  std::vector<uint32_t> steps_;
};

/// The states from which steps of F lead to an end, or to where no wave is in F.
std::vector<bool> states_that_can_end(const state_graph& graph, model which) {
  const auto count = static_cast<uint32_t>(graph.size());
  std::vector<std::vector<uint32_t>> before(count);  // by steps of F
  std::vector<bool> good(count);
  std::vector<uint32_t> next;
  for (uint32_t from = 0; from < count; ++from) {
    const standing& now = graph.at(from);
    const thread_set fair = fair_set(which, now);
    const bool none_owed = which.is != rule::unfair && (fair & now.waves) == 0 && (now.live & now.waves) != 0;
    if (graph.is_final(from) || none_owed) {
      good[from] = true;
      next.push_back(from);
    }
    for (const state_graph::edge& each : graph.edges(from))
      if ((bit(each.thread) & fair) != 0) before[each.to].push_back(from);
  }
  while (!next.empty()) {
    const uint32_t to = next.back();
    next.pop_back();
    for (const uint32_t from : before[to]) {
      if (good[from]) continue;
      good[from] = true;
      next.push_back(from);
    }
  }
  return good;
}

judgement judge_strong(const state_graph& graph, model which) {
  const std::vector<bool> good = states_that_can_end(graph, which);
  const auto stuck = static_cast<uint32_t>(std::find(good.begin(), good.end(), false) - good.begin());
  if (stuck == graph.size()) return {};
  return {.ends = false,
          .why = witness{.stem = graph.way_to(stuck), .cycle = {}, .fair = fair_set(which, graph.at(stuck))}};
}

}  // namespace

struct examination::explored {
  explored(const program& code, model which, size_t states_max)
      : graph(code, which, states_max), component(components_of(graph)), steps(graph.size()), first(graph.size(), ~0u) {
    for (uint32_t from = 0; from < graph.size(); ++from) {
      uint32_t& entry = first[component[from]];
      entry = std::min(entry, from);
      for (const state_graph::edge& each : graph.edges(from))
        if (component[each.to] == component[from]) steps[component[from]] |= bit(each.thread);
    }
  }

  judgement judge_weak(model which) const {
    for (uint32_t at = 0; at < graph.size(); ++at) {
      const uint32_t here = component[at];
      if (first[here] != at || steps[here] == 0) continue;
      const standing& now = graph.at(at);
      const thread_set fair = fair_set(which, now);
      if ((fair & ~steps[here]) != 0) continue;
      thread_set wanted = fair;
      if (owes_a_start(now, fair)) {
        const thread_set of_waves = steps[here] & now.waves;
        if (of_waves == 0) continue;
        wanted |= of_waves & (~of_waves + 1);
      }
      return {
          .ends = false,
          .why = witness{.stem = graph.way_to(at), .cycle = tour(graph, component, at).through(wanted), .fair = fair}};
    }
    return {};
  }

  state_graph graph;
  std::vector<uint32_t> component;  ///< by state
  std::vector<thread_set> steps;    ///< by component: the threads with a step inside
  std::vector<uint32_t> first;      ///< by component: its state nearest to the first one
};

const char* to_string(fairness value) { return value == fairness::weak ? "weak" : "strong"; }

examination::examination(program code, size_t states_max)
    : code_(std::move(code)),
      states_max_(states_max),
      open_(std::make_unique<explored>(code_, model{rule::fair}, states_max)) {}

examination::~examination() = default;

size_t examination::states() const { return open_->graph.size(); }

const examination::explored& examination::graph_of(model which) {
  if (is_open(which)) return *open_;
  if (restricted_ == nullptr || restricted_by_ != which) {
    restricted_ = std::make_unique<explored>(code_, which, states_max_);
    restricted_by_ = which;
  }
  return *restricted_;
}

judgement examination::judge(model which, fairness how) {
  const explored& on = graph_of(which);
  return how == fairness::weak ? on.judge_weak(which) : judge_strong(on.graph, which);
}

std::string steps_text(const program& code, state& start, const std::vector<uint32_t>& steps) {
  std::string text;
  for (const uint32_t thread : steps) {
    text += (text.empty() ? "" : " ") + code.threads[thread].name() + ":" + std::to_string(start.counters[thread]);
    start = stepped(code, start, thread);
  }
  return text;
}

std::string to_string(const program& code, const witness& why) {
  state at = first_state(code);
  const std::string stem = steps_text(code, at, why.stem);
  std::string fair;
  for (thread_set left = why.fair; left != 0; left &= left - 1)
    fair += (fair.empty() ? "" : ", ") + code.threads[static_cast<size_t>(std::countr_zero(left))].name();
  const std::string where = to_string(code, at);
  std::string text = stem.empty() ? "from the start" : "after " + stem;
  text += " (" + where + ")";
  if (!why.cycle.empty()) {
    text += " for ever " + steps_text(code, at, why.cycle);
    return text + (fair.empty() ? "; nothing is guaranteed a step" : "; guaranteed: " + fair);
  }
  return text + (fair.empty() ? " nothing is guaranteed a step" : " no steps of " + fair + " lead to an end");
}

}  // namespace heddle::judge
