#include <heddle/scheduler/replay.h>

namespace heddle::scheduler {
namespace {

std::string described(choice_kind kind, uint32_t count) {
  return std::string(to_string(kind)) + " out of " + std::to_string(count);
}

}  // namespace

void replay_strategy::begin(uint64_t) {
  next_ = 0;
  divergence_.clear();
}

uint32_t replay_strategy::pick(const choice& asked) {
  if (!divergence_.empty()) return no_answer;
  if (next_ == recorded_.size()) {
    divergence_ = "at choice " + std::to_string(next_ + 1) + " the run asks for " + described(asked.kind, asked.count) +
                  ", but the recording ends there";
    return no_answer;
  }
  const answer& expected = recorded_[next_];
  if (expected.kind != asked.kind || expected.count != asked.count) {
    divergence_ = "at choice " + std::to_string(next_ + 1) + " the run asks for " + described(asked.kind, asked.count) +
                  ", but recorded is " + described(expected.kind, expected.count);
    return no_answer;
  }
  ++next_;
  return expected.picked;
}

std::string replay_strategy::disagreement() const {
  if (!divergence_.empty()) return divergence_;
  if (left_over() == 0) return {};
  return "the run ended after choice " + std::to_string(next_) + ", but " + std::to_string(recorded_.size()) +
         " choices are recorded";
}

}  // namespace heddle::scheduler
