// starve: one group of actors never runs while the progress model allows that.
#pragma once

#include <heddle/scheduler/choice_streams.h>
#include <heddle/scheduler/crowd.h>
#include <heddle/scheduler/strategy.h>

#include <optional>
#include <vector>

namespace heddle::scheduler {

/// The victim is a group: all lanes of one wave. Actors of other groups are picked uniformly.
///
/// An actor of the victim that the progress model guarantees a turn is passed over for at most `age_max` choices, then
/// it is forced, the oldest first. The age counts choices in which the actor was a guaranteed candidate; what was never
/// asked (a choice among one) does not age it. When only the victim can run, it runs.
///
/// Stated deviation from the usual adversary: which groups there will be is not known when a run begins, so a drawn
/// victim is, at every moment, the group with the least hash of (seed, group) among those seen so far. In the end that
/// is a uniform draw, and a function of the seed.
class starve_strategy final : public strategy {
 public:
  static constexpr uint32_t age_lowest = 10;
  static constexpr uint32_t age_highest = 10'000;

  /// Without a victim, one is drawn by the seed.
  explicit starve_strategy(std::optional<uint32_t> victim = {}) : given_victim_(victim) {}

  void begin(uint64_t seed) override;
  uint32_t pick(const choice& asked) override;
  std::string_view name() const override { return "starve"; }

  /// The group that is starved now; nothing before the first choice when it is drawn.
  std::optional<uint32_t> victim() const { return victim_; }
  /// For how many choices a guaranteed actor may be passed over in this run.
  uint32_t age_max() const { return age_max_; }

 private:
  /// That of the kind `end`, which this strategy is never asked.
  static constexpr uint64_t stream_of_draws = static_cast<uint64_t>(choice_kind::end);

  void look_at(const choice& asked);
  void consider(uint32_t group);
  uint32_t& age_of(uint32_t actor);
  std::optional<uint32_t> forced();
  uint32_t picked(uint32_t index);

  std::optional<uint32_t> given_victim_;
  std::optional<uint32_t> victim_;
  uint64_t victim_hash_ = 0;
  uint64_t seed_ = 0;
  uint32_t age_max_ = age_lowest;
  choice_streams streams_;
  std::vector<uint32_t> ages_;       ///< by actor; only the victim's are ever above 0
  std::vector<uint8_t> considered_;  ///< by group: whether it has been seen in this run
  crowd crowd_;
  // Indices of the candidates.
  std::vector<uint32_t> victims_;
  std::vector<uint32_t> allowed_;
};

/// For how many choices an actor may be passed over, log-uniform from age_lowest to age_highest. In whole numbers,
/// because the last bits of a floating-point power differ between processors.
uint32_t drawn_age_max(random_stream& draws);

}  // namespace heddle::scheduler
