#include <heddle/tools/hardware/recorded_order.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

namespace heddle::tools {
namespace {

using location = std::pair<std::string, uint64_t>;  ///< allocation and offset

/// An event that counts.
struct step {
  uint64_t clock_ns = 0;
  location where;
  bool reads = false;
  bool writes = false;
  bool value_known = true;  ///< of a ring it is not
  uint64_t before = 0;
  uint64_t after = 0;
  uint64_t headway = 0;
};

bool is_change(const dump_event& each) {
  return each.operation == "store" || each.operation == "notify" || each.before != each.after;
}

/// The steps of each actor, from its events.
class steps_of_actors {
 public:
  explicit steps_of_actors(const dump& left) : queues(left.actors.size()), of_(left.actors.size()) {
    for (const dump_event& each : left.events) add(each);
  }

  std::vector<std::deque<step>> queues;

 private:
  struct known {
    uint64_t changes = 0;
    uint64_t news = 0;
    std::map<location, uint64_t> values;
  };

  void add(const dump_event& each) {
    known& of = of_[each.actor];
    const location where = {each.place.allocation, each.place.offset};
    if (of.changes != each.changes) {
      of.changes = each.changes;
      of.news = 0;
    }
    step made{.clock_ns = each.clock_ns,
              .where = where,
              .reads = each.operation == "load" || each.operation == "modify",
              .writes = is_change(each),
              .value_known = each.operation != "notify",
              .before = each.before,
              .after = each.after};
    if (made.writes) {
      made.headway = scheduler::headway_of(of.changes + 1, 0);
      if (made.value_known)
        of.values[where] = each.after;
      else
        of.values.erase(where);
    } else {
      const auto [entry, first] = of.values.try_emplace(where, each.before);
      if (!first && entry->second == each.before) return;
      entry->second = each.before;
      made.headway = scheduler::headway_of(of.changes, ++of.news);
    }
    queues[each.actor].push_back(std::move(made));
  }

  std::vector<known> of_;
};

/// Puts the steps of all actors in one order.
class merger {
 public:
  explicit merger(std::vector<std::deque<step>> queues) : queues_(std::move(queues)) {}

  /// The next step and its actor; false when none is left.
  bool next(size_t& actor, step& made) {
    actor = choose();
    if (actor == queues_.size()) return false;
    made = std::move(queues_[actor].front());
    queues_[actor].pop_front();
    if (made.writes) {
      if (made.value_known)
        memory_[made.where] = made.after;
      else
        memory_.erase(made.where);
    } else {
      memory_[made.where] = made.before;
    }
    return true;
  }

 private:
  /// A clock may be off by so much: that of another device against this one's, or of a thread that was preempted
  /// between its operation and its read of the clock.
  static constexpr uint64_t slack_ns = 1'000'000;

  bool fits(const step& made) const {
    if (!made.reads) return true;
    const auto there = memory_.find(made.where);
    return there == memory_.end() || there->second == made.before;
  }

  /// Whether another actor, about now, reads the value that this step would overwrite.
  bool comes_too_early(size_t actor) const {
    const step& made = queues_[actor].front();
    if (!made.writes) return false;
    for (size_t other = 0; other < queues_.size(); ++other) {
      if (other == actor || queues_[other].empty()) continue;
      const step& reader = queues_[other].front();
      if (reader.reads && !reader.writes && reader.where == made.where && fits(reader) &&
          reader.clock_ns < made.clock_ns + slack_ns && reader.before != made.after)
        return true;
    }
    return false;
  }

  size_t choose() const {
    // Best: fits and is not too early; then: fits; then: whatever is the earliest.
    std::tuple<int, uint64_t> best = {3, ~uint64_t{0}};
    size_t chosen = queues_.size();
    for (size_t actor = 0; actor < queues_.size(); ++actor) {
      if (queues_[actor].empty()) continue;
      const step& made = queues_[actor].front();
      const std::tuple<int, uint64_t> rank = {!fits(made) ? 2 : comes_too_early(actor) ? 1 : 0, made.clock_ns};
      if (rank >= best) continue;
      best = rank;
      chosen = actor;
    }
    return chosen;
  }

  std::vector<std::deque<step>> queues_;
  std::map<location, uint64_t> memory_;  ///< as far as it is known
};

}  // namespace

scheduler::recorded_order order_of(const dump& left) {
  scheduler::recorded_order order;
  steps_of_actors steps(left);
  for (size_t actor = 0; actor < left.actors.size(); ++actor) {
    if (left.actors[actor].lost == 0 || steps.queues[actor].empty()) continue;
    const auto first = std::find_if(left.events.begin(), left.events.end(),
                                    [&](const dump_event& each) { return each.actor == actor; });
    order.starts.push_back({.group = left.actors[actor].group,
                            .member = left.actors[actor].member,
                            .headway = scheduler::headway_of(first->changes, 0)});
  }
  merger merged(std::move(steps.queues));
  size_t actor = 0;
  for (step made; merged.next(actor, made);)
    order.steps.push_back(
        {.group = left.actors[actor].group, .member = left.actors[actor].member, .headway = made.headway});
  return order;
}

}  // namespace heddle::tools
