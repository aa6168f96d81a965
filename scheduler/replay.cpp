#include <heddle/scheduler/replay.h>

#include <algorithm>

namespace heddle::scheduler {
namespace {

std::string described(choice_kind kind, uint32_t count) {
  return std::string(to_string(kind)) + " out of " + std::to_string(count);
}

/// In what the choice, the one with this index, is not the recorded one.
std::string difference(const std::vector<answer>& recorded, size_t index, const choice& asked) {
  const std::string text =
      "at choice " + std::to_string(index + 1) + " the run asks for " + described(asked.kind, asked.count) + ", but ";
  if (index == recorded.size()) return text + "the recording ends there";
  return text + "recorded is " + described(recorded[index].kind, recorded[index].count);
}

std::string difference_at_end(const std::vector<answer>& recorded, size_t next) {
  return "the run ended after choice " + std::to_string(next) + ", but " + std::to_string(recorded.size()) +
         " choices are recorded";
}

}  // namespace

void replay_strategy::begin(uint64_t) {
  next_ = 0;
  divergence_.clear();
}

uint32_t replay_strategy::pick(const choice& asked) {
  if (!divergence_.empty()) return no_answer;
  if (next_ == recorded_.size() || recorded_[next_].kind != asked.kind || recorded_[next_].count != asked.count) {
    divergence_ = difference(recorded_, next_, asked);
    return no_answer;
  }
  return recorded_[next_++].picked;
}

std::string replay_strategy::disagreement() const {
  if (!divergence_.empty()) return divergence_;
  if (left_over() == 0) return {};
  return difference_at_end(recorded_, next_);
}

void try_strategy::begin(uint64_t seed) {
  turns_.begin(seed);
  next_ = followed_ = 0;
  steps_ = 0;
  left_.clear();
}

uint32_t try_strategy::by_itself(const choice& asked) {
  return asked.kind == choice_kind::actor ? turns_.pick(asked) : 0;
}

uint32_t try_strategy::pick(const choice& asked) {
  const auto is_like = [&](const answer& one) { return one.kind == asked.kind && one.count == asked.count; };
  const bool fits = next_ < recorded_.size() && is_like(recorded_[next_]);
  if (!fits && left_.empty())
    left_ = "at step " + std::to_string(steps_ + 1) + ", " + difference(recorded_, next_, asked).substr(3);
  if (next_ == recorded_.size()) return by_itself(asked);
  size_t taken = next_;
  if (!fits && (recorded_[next_].kind != asked.kind || recorded_[next_].picked >= asked.count)) {
    const size_t end = std::min(recorded_.size(), next_ + near);
    while (taken < end && !is_like(recorded_[taken])) ++taken;
    if (taken == end) return by_itself(asked);
  }
  next_ = taken + 1;
  ++followed_;
  return recorded_[taken].picked;
}

std::string try_strategy::disagreement() const {
  if (!left_.empty()) return left_;
  return next_ == recorded_.size() ? "" : difference_at_end(recorded_, next_);
}

}  // namespace heddle::scheduler
