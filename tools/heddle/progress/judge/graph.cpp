#include <heddle/tools/progress/judge/graph.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <unordered_map>

namespace heddle::judge {
namespace {

/// A state as bytes: most of what a large graph takes is its states.
std::string packed(const state& in) {
  std::string bytes(in.counters.begin(), in.counters.end());
  bytes.append(in.memory.begin(), in.memory.end());
  for (uint32_t shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(in.started >> shift & 0xff);
  return bytes;
}

state unpacked(const program& code, const std::string& bytes) {
  const auto memory = bytes.begin() + static_cast<std::ptrdiff_t>(code.threads.size());
  const auto started = memory + static_cast<std::ptrdiff_t>(code.locations.size());
  state made = {.counters = {bytes.begin(), memory}, .memory = {memory, started}, .started = 0};
  for (uint32_t n = 0; n < 4; ++n) made.started |= static_cast<thread_set>(static_cast<uint8_t>(started[n])) << 8 * n;
  return made;
}

/// Of rule::turns: the live waves, each with the steps of its turn that it has taken. The first `slots` are resident.
class runlist {
 public:
  runlist(model which, thread_set waves) : slots_(which.slots), quantum_(which.quantum) {
    if (which.is != rule::turns) return;
    for (thread_set left = waves; left != 0; left &= left - 1)
      all_.push_back({static_cast<uint8_t>(std::countr_zero(left)), 0});
  }
  runlist(model which, const std::string& bytes, size_t from) : slots_(which.slots), quantum_(which.quantum) {
    for (size_t n = from; n + 1 < bytes.size(); n += 2)
      all_.push_back({static_cast<uint8_t>(bytes[n]), static_cast<uint8_t>(bytes[n + 1])});
  }

  thread_set resident() const {
    thread_set those = 0;
    for (size_t n = 0; n < std::min<size_t>(slots_, all_.size()); ++n) those |= thread_set{1} << all_[n].thread;
    return those;
  }
  /// The thread has taken a step, which may have been its last.
  void stepped(uint32_t thread, bool is_live) {
    const auto its = std::find_if(all_.begin(), all_.end(), [&](const entry& each) { return each.thread == thread; });
    if (its == all_.end()) return;
    if (!is_live) {
      all_.erase(its);
    } else if (all_.size() > slots_ && ++its->taken >= quantum_) {
      all_.erase(its);
      all_.push_back({static_cast<uint8_t>(thread), 0});
    }
    if (all_.size() > slots_) return;
    for (entry& each : all_) each.taken = 0;
  }
  std::string packed() const {
    std::string bytes;
    for (const entry& each : all_) bytes.append({static_cast<char>(each.thread), static_cast<char>(each.taken)});
    return bytes;
  }

 private:
  struct entry {
    uint8_t thread;
    uint8_t taken;
  };
  uint32_t slots_;
  uint32_t quantum_;
  std::vector<entry> all_;
};

size_t packed_bytes(const program& code) { return code.threads.size() + code.locations.size() + sizeof(thread_set); }

thread_set those_that_must_end(const program& code) {
  thread_set all = 0;
  for (size_t n = 0; n < code.threads.size(); ++n)
    if (code.threads[n].kind != thread_kind::server) all |= thread_set{1} << n;
  return all;
}

}  // namespace

state first_state(const program& code) {
  return {.counters = std::vector<uint8_t>(code.threads.size()),
          .memory = std::vector<uint8_t>(code.locations.size()),
          .started = 0};
}

state stepped(const program& code, const state& from, uint32_t thread) {
  state next = from;
  uint8_t& counter = next.counters[thread];
  const step& taken = code.threads[thread].steps[counter];
  uint8_t& word = next.memory[taken.location];
  counter = taken.branches && word == taken.compared ? taken.target : static_cast<uint8_t>(counter + 1);
  if (taken.writes) word = taken.written;
  next.started |= thread_set{1} << thread;
  return next;
}

thread_set live_threads(const program& code, const state& in) {
  thread_set live = 0;
  for (size_t n = 0; n < code.threads.size(); ++n)
    if (in.counters[n] < code.threads[n].steps.size()) live |= thread_set{1} << n;
  return live;
}

thread_set waves_of(const program& code) {
  thread_set waves = 0;
  for (size_t n = 0; n < code.threads.size(); ++n)
    if (code.threads[n].kind == thread_kind::wave) waves |= thread_set{1} << n;
  return waves;
}

bool is_final(const program& code, const state& in) {
  return (live_threads(code, in) & those_that_must_end(code)) == 0;
}

std::string to_string(const program& code, const state& in) {
  std::string text;
  for (size_t n = 0; n < code.threads.size(); ++n) {
    const bool ended = in.counters[n] == code.threads[n].steps.size();
    text += (n == 0 ? "" : ", ") + code.threads[n].name() + " at " + (ended ? "END" : std::to_string(in.counters[n]));
  }
  for (size_t n = 0; n < code.locations.size(); ++n)
    if (in.memory[n] != 0) text += ", " + code.locations[n] + "=" + std::to_string(in.memory[n]);
  return text;
}

state_graph::state_graph(const program& code, model which, size_t states_max) : must_end_(those_that_must_end(code)) {
  const thread_set waves = waves_of(code);
  std::unordered_map<std::string, uint32_t> numbers;
  std::vector<const std::string*> states;  // keys of `numbers`, which stay where they are
  const auto number_of = [&](const state& one, const runlist& turns, origin came_from) {
    const auto [place, is_new] =
        numbers.try_emplace(packed(one) + turns.packed(), static_cast<uint32_t>(states.size()));
    if (is_new) {
      if (states.size() == states_max)
        throw std::invalid_argument("program: it has more than " + std::to_string(states_max) +
                                    " states; use fewer threads, steps or values");
      states.push_back(&place->first);
      standings_.push_back(
          {.waves = waves, .live = live_threads(code, one), .started = one.started, .resident = turns.resident()});
      origins_.push_back(came_from);
    }
    return place->second;
  };
  const thread_set live_first = live_threads(code, first_state(code));
  number_of(first_state(code), runlist(which, waves & live_first), {0, 0});
  for (uint32_t from = 0; from < states.size(); ++from) {
    first_edge_.push_back(edges_.size());
    if (is_final(from)) continue;
    const state now = unpacked(code, *states[from]);
    const runlist turns(which, *states[from], packed_bytes(code));
    for (thread_set left = may_step(which, standings_[from]); left != 0; left &= left - 1) {
      const auto thread = static_cast<uint32_t>(std::countr_zero(left));
      const state next = stepped(code, now, thread);
      runlist after = turns;
      after.stepped(thread, (live_threads(code, next) >> thread & 1) != 0);
      edges_.push_back({thread, number_of(next, after, {from, thread})});
    }
  }
  first_edge_.push_back(edges_.size());
}

std::vector<uint32_t> state_graph::way_to(uint32_t number) const {
  std::vector<uint32_t> way;
  for (; number != 0; number = origins_[number].from) way.push_back(origins_[number].thread);
  std::reverse(way.begin(), way.end());
  return way;
}

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
