// mix: the default. Which strategy finds which bug differs by orders of magnitude, so the seeds are dealt out.
#pragma once

#include <heddle/scheduler/pct.h>
#include <heddle/scheduler/pos.h>
#include <heddle/scheduler/random.h>
#include <heddle/scheduler/rhythm.h>
#include <heddle/scheduler/round_robin.h>
#include <heddle/scheduler/starve.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/scheduler/surw.h>
#include <heddle/scheduler/unfair.h>

namespace heddle::scheduler {

/// The strategy of a run is a function of its seed alone, so that parts of a campaign agree with the whole, and seed s
/// of `mix` is seed s of that strategy. Of 16 seeds, random and pos have 3 each, pct (drawn depth), rhythm, starve (drawn victim) and
/// surw 2 each, round-robin (drawn quantum) and unfair (drawn bound) 1 each. Why these shares: docs/strategies.md.
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
  choice_streams* answers_out_of() override { return current_->answers_out_of(); }
  bool draws_end_game() const override { return current_->draws_end_game(); }
  bool looks_at_steps() const override { return current_->looks_at_steps(); }
  void performed(const candidate& who) override { current_->performed(who); }
  bool wants_estimate() const override { return true; }
  void estimated(const std::shared_ptr<const estimate>& known) override {
    pct_.estimated(known);
    surw_.estimated(known);
  }
  std::string_view name() const override { return "mix"; }

  /// The strategy that answers in the current run.
  const strategy& current() const { return *current_; }

 private:
  strategy& dealt(uint64_t seed) {
    switch (seed % 16) {
      case 2:
      case 7:
      case 14:
        return pos_;
      case 3:
      case 11:
        return starve_;
      case 4:
      case 10:
        return surw_;
      case 5:
      case 13:
        return rhythm_;
      case 6:
      case 12:
        return pct_;
      case 9:
        return unfair_;
      case 15:
        return round_robin_;
      default:
        return random_;
    }
  }

  random_strategy random_;
  pct_strategy pct_;
  pos_strategy pos_;
  rhythm_strategy rhythm_;
  round_robin_strategy round_robin_;
  starve_strategy starve_;
  surw_strategy surw_;
  unfair_strategy unfair_;
  strategy* current_ = &random_;
};

}  // namespace heddle::scheduler
