// unfair: one actor runs on and on, and the others wait for as long as the progress model allows.
#pragma once

#include <heddle/scheduler/choice_streams.h>
#include <heddle/scheduler/crowd.h>
#include <heddle/scheduler/strategy.h>

#include <optional>
#include <vector>

namespace heddle::scheduler {

/// Stays on one actor until it cannot go on, then on another, drawn uniformly. An actor that is guaranteed a turn is
/// passed over for at most age_max() choices since it last had one, or since it first was a candidate with that
/// guarantee; then it is forced, the oldest first, for one step. Choices other than of actors are uniform.
class unfair_strategy final : public strategy {
 public:
  /// Without a bound, one is drawn by the seed (drawn_age_max of starve.h).
  explicit unfair_strategy(std::optional<uint32_t> age_max = {}) : given_age_max_(age_max) {}

  void begin(uint64_t seed) override;
  uint32_t pick(const choice& asked) override;
  std::string_view name() const override { return "unfair"; }

  /// For how many choices an actor that is guaranteed a turn may be passed over in this run.
  uint32_t age_max() const { return age_max_; }

 private:
  static constexpr uint32_t no_actor = ~uint32_t{0};
  static constexpr uint64_t never = ~uint64_t{0};
  static constexpr uint64_t stream_of_draws = static_cast<uint64_t>(choice_kind::end);

  struct standing {
    uint64_t age = 0;   ///< at the choice `from`
    uint64_t from = 0;  ///< since when it ages
  };
  void look_at_all();
  /// The index of the candidate that must have the turn; none (~0) when no candidate must.
  uint32_t forced();

  std::optional<uint32_t> given_age_max_;
  uint32_t age_max_ = 1;
  choice_streams streams_;
  crowd crowd_;
  by_actor<standing> standings_;
  std::vector<uint32_t> ageing_;  ///< the actors that age now: guaranteed candidates
  uint64_t now_ = 0;              ///< choices made
  uint64_t due_ = never;          ///< no actor must be forced before this choice
  uint32_t current_ = no_actor;   ///< the actor on which it stays
  uint32_t current_index_ = no_actor;
};

}  // namespace heddle::scheduler
