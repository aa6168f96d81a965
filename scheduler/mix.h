// mix: the default. Which strategy finds which bug differs by orders of magnitude, so the seeds are dealt out.
#pragma once

#include <heddle/scheduler/random.h>
#include <heddle/scheduler/rhythm.h>
#include <heddle/scheduler/round_robin.h>
#include <heddle/scheduler/starve.h>
#include <heddle/scheduler/strategy.h>

namespace heddle::scheduler {

/// The strategy of a run is a function of its seed alone, so that parts of a campaign agree with the whole, and seed s
/// of `mix` is seed s of that strategy. Shares: random 1/2, starve (drawn victim) 1/4, round-robin (drawn quantum) 1/8,
/// rhythm 1/8.
///
/// A new strategy joins as a member and by a share of the seeds in dealt(); that changes the meaning of old seeds,
/// never of old traces, which hold the answers.
class mix_strategy final : public strategy {
 public:
  void begin(uint64_t seed) override {
    current_ = &dealt(seed);
    current_->begin(seed);
  }

  uint32_t pick(const choice& asked) override { return current_->pick(asked); }
  bool draws_end_game() const override { return current_->draws_end_game(); }
  std::string_view name() const override { return "mix"; }

  /// The strategy that answers in the current run.
  const strategy& current() const { return *current_; }

 private:
  strategy& dealt(uint64_t seed) {
    switch (seed % 8) {
      case 1:
      case 5:
        return starve_;
      case 3:
        return round_robin_;
      case 7:
        return rhythm_;
      default:
        return random_;
    }
  }

  random_strategy random_;
  starve_strategy starve_;
  round_robin_strategy round_robin_;
  rhythm_strategy rhythm_;
  strategy* current_ = &random_;
};

}  // namespace heddle::scheduler
