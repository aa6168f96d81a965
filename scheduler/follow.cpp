#include <heddle/scheduler/follow.h>
#include <heddle/scheduler/round_robin.h>

#include <algorithm>

namespace heddle::scheduler {
namespace {

constexpr uint32_t freedom_scale = 1024;
constexpr uint64_t freedom_max = freedom_scale / 2;

}  // namespace

void follow_strategy::begin(uint64_t seed) {
  freedom_ = static_cast<uint32_t>(std::min(seed - first_seed_, freedom_max));
  streams_.begin(seed);
  next_ = 0;
  waited_ = 0;
  headway_.clear();
}

bool follow_strategy::is_free(choice_kind kind) {
  return freedom_ != 0 && streams_.of(kind).below(freedom_scale) < freedom_;
}

uint32_t follow_strategy::among(const std::vector<uint32_t>& indices) {
  return indices[streams_.of(choice_kind::actor).below(static_cast<uint32_t>(indices.size()))];
}

void follow_strategy::look_at(const choice& asked) {
  here_.clear();
  for (uint32_t index = 0; index < asked.count; ++index) {
    const candidate each = candidate_at(asked, index);
    here_[key(each.group, each.member)] = index;
    headway_[key(each.group, each.member)] = each.headway;
  }
}

void follow_strategy::pass_steps_made() {
  for (; next_ < order_.steps.size(); ++next_, waited_ = 0) {
    const recorded_step& step = order_.steps[next_];
    const auto known = headway_.find(key(step.group, step.member));
    if (known == headway_.end() || known->second < step.headway) return;
  }
}

/// Whether an actor has not yet come to where its part of the order begins.
bool follow_strategy::has_unknown_past() const {
  return std::any_of(order_.starts.begin(), order_.starts.end(), [&](const recorded_step& start) {
    const auto known = headway_.find(key(start.group, start.member));
    return known == headway_.end() || known->second < start.headway;
  });
}

uint32_t follow_strategy::pick(const choice& asked) {
  if (is_free(asked.kind)) return streams_.of(asked.kind).below(asked.count);
  if (asked.kind != choice_kind::actor) return 0;
  look_at(asked);

  // Nothing is known of what came before the order begins: an actor that has come to its start waits there for the others.
  indices_.clear();
  if (has_unknown_past()) {
    for (const auto& [who, index] : here_) {
      const auto start =
          std::find_if(order_.starts.begin(), order_.starts.end(),
                       [&, of = who](const recorded_step& each) { return key(each.group, each.member) == of; });
      if (start == order_.starts.end() || headway_[who] < start->headway) indices_.push_back(index);
    }
    std::sort(indices_.begin(), indices_.end());  // a hash table has no order that another process would repeat
    if (!indices_.empty()) return among(indices_);
  }

  pass_steps_made();
  if (next_ < order_.steps.size() && ++waited_ > patience) {
    ++next_;  // not made, and given up
    waited_ = 0;
    pass_steps_made();
  }
  for (size_t n = next_; n < order_.steps.size(); ++n) {
    const uint64_t who = key(order_.steps[n].group, order_.steps[n].member);
    if (const auto there = here_.find(who); there != here_.end()) {
      if (headway_[who] < order_.steps[n].headway) return there->second;
      continue;
    }
    // An actor that was never a candidate has yet to be started, by one of which nothing more is recorded.
    if (headway_.count(who) == 0) break;
  }
  indices_.clear();
  for (uint32_t index = 0; index < asked.count; ++index) {
    const candidate each = candidate_at(asked, index);
    const bool has_steps = std::any_of(
        order_.steps.begin() + static_cast<ptrdiff_t>(next_), order_.steps.end(), [&](const recorded_step& step) {
          return step.group == each.group && step.member == each.member && each.headway < step.headway;
        });
    if (!has_steps) indices_.push_back(index);
  }
  return indices_.empty() ? streams_.of(choice_kind::actor).below(asked.count) : among(indices_);
}

}  // namespace heddle::scheduler
