// replay: answers from a trace, and stops where the run is no longer the recorded one.
#pragma once

#include <heddle/scheduler/strategy.h>

#include <string>
#include <vector>

namespace heddle::scheduler {

/// Strict: kind and count of each choice must agree with the recording. At the first disagreement, or when the
/// recording is at its end, it answers no_answer from then on and keeps what happened. The answers must outlive it.
class replay_strategy final : public strategy {
 public:
  explicit replay_strategy(const std::vector<answer>& recorded) : recorded_(recorded) {}

  /// The seed means nothing to a replay.
  void begin(uint64_t seed) override;
  uint32_t pick(const choice& asked) override;
  /// As the recorded strategy did: its answers come first.
  bool draws_end_game() const override { return !recorded_.empty() && recorded_.front().kind == choice_kind::end; }
  std::string_view name() const override { return "replay"; }

  /// One line: at which choice the run left the recording, what was recorded and what was asked. Empty when it did not.
  const std::string& divergence() const { return divergence_; }

  /// How many recorded answers were not asked for; after a run that ended by itself, more than 0 is a divergence too.
  size_t left_over() const { return recorded_.size() - next_; }

  /// divergence(), or a line about answers left over; empty when the run was the recorded one, choice by choice.
  std::string disagreement() const;

 private:
  const std::vector<answer>& recorded_;
  size_t next_ = 0;
  std::string divergence_;
};

}  // namespace heddle::scheduler
