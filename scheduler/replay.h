// replay: answers from a trace, and stops where the run is no longer the recorded one; or goes on as well as it can.
#pragma once

#include <heddle/scheduler/round_robin.h>
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

/// Lenient, for the trace of another program. At a choice that is not the recorded one it gives the recorded answer if there
/// is such an answer; where another kind of choice was recorded, it skips to the next recorded choice like the asked one, if one
/// is near; otherwise it answers by itself: with the machine's default, and round-robin for actors. The answers must outlive it.
class try_strategy final : public strategy {
 public:
  static constexpr size_t near = 32;  ///< recorded answers that may be left out at a time

  explicit try_strategy(const std::vector<answer>& recorded) : recorded_(recorded) {}

  /// The seed means nothing to it.
  void begin(uint64_t seed) override;
  uint32_t pick(const choice& asked) override;
  bool draws_end_game() const override { return !recorded_.empty() && recorded_.front().kind == choice_kind::end; }
  bool looks_at_steps() const override { return true; }
  void performed(const candidate&) override { ++steps_; }
  std::string_view name() const override { return "try"; }

  /// One line: at which step the run first left the recording, and why, as replay_strategy::disagreement. Empty when it did not.
  std::string disagreement() const;
  /// How many recorded answers were given, exactly or nearly.
  size_t followed() const { return followed_; }

 private:
  uint32_t by_itself(const choice& asked);

  const std::vector<answer>& recorded_;
  round_robin_strategy turns_;
  size_t next_ = 0;
  size_t followed_ = 0;
  uint64_t steps_ = 0;
  std::string left_;
};

}  // namespace heddle::scheduler
