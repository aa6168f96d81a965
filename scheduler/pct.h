// pct: probabilistic concurrency testing. Fixed random priorities, and a few steps at which the highest one falls.
#pragma once

#include <heddle/scheduler/choice_streams.h>
#include <heddle/scheduler/crowd.h>
#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/strategy.h>

#include <optional>
#include <vector>

namespace heddle::scheduler {

/// The group with the highest priority runs; of its candidates, lanes of one wave, each is equally likely. Of the k choices that a run is
/// expected to have, the seed draws d - 1: at these, the group that would run falls below all others. A bug that needs d orderings among
/// n groups is met with probability 1/(n k^(d-1)) at least. Source: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A randomized scheduler
/// with probabilistic guarantees of finding bugs", ASPLOS 2010.
///
/// Priorities of groups are Coyote's. Measured against priorities of lanes: bugs among the lanes of a wave take a
/// fraction of the schedules, other bugs as many.
///
/// A fruitless spin iteration of an actor lets its group fall below all others, too: at once when the actor stays enabled,
/// else when it was woken and has made no progress since. What it waits for must come from another actor. (As Shuttle and
/// Twist do at a yield.) So falls a group that has run for more choices in a row than a whole run is expected to have, and so do all that have run
/// where another one was left out for twice as long.
///
/// Other kinds of choice get the machine's default, but for some that the seed draws among as many as a run is expected to have: those are
/// uniform. So a load sees the newest value as a rule and an older one at a few places. (The communication events of Gao, Chakraborty,
/// Ozkan, "Probabilistic concurrency testing for weak memory programs", ASPLOS 2023; they fix a depth of reads and how far back a
/// read may look. Here each run draws how many, and a drawn read sees anything that it may; the actor is not demoted before it.)
class pct_strategy final : public strategy {
 public:
  static constexpr uint32_t depth_max = 1000;

  /// Without a depth, the seed draws it: 2, 3, 5 or 10.
  explicit pct_strategy(std::optional<uint32_t> depth = {}) : given_depth_(depth) {}

  void begin(uint64_t seed) override;
  uint32_t pick(const choice& asked) override;
  bool wants_estimate() const override { return true; }
  void estimated(const std::shared_ptr<const estimate>& known) override { known_ = known; }
  std::string_view name() const override { return "pct"; }

  /// Of this run.
  uint32_t depth() const { return depth_; }
  /// The choices of actors, from 1, at which the highest priority falls; the first falls lowest.
  const std::vector<uint64_t>& change_points() const { return points_; }

 private:
  static constexpr uint64_t stream_of_draws = static_cast<uint64_t>(choice_kind::end);
  static constexpr uint32_t no_actor = ~uint32_t{0};

  /// The counts of an actor when a fruitless spin iteration of it was last seen.
  struct vain_look {
    uint32_t fruitless = 0;
    uint32_t useful = ~uint32_t{0};  ///< operations that were not fruitless
  };
  uint64_t expected(choice_kind kind) const { return known_ == nullptr ? 0 : known_->choices_of(kind); }
  void draw_points(random_stream& draws);
  uint32_t answer(const choice& asked);
  void look_at(uint32_t index, bool went_on);
  void fall(uint32_t group, int64_t to);
  uint32_t highest();
  void pass_change_point();
  void pass_over();

  std::optional<uint32_t> given_depth_;
  std::shared_ptr<const estimate> known_;
  uint32_t depth_ = 0;
  choice_streams streams_;
  crowd crowd_;
  by_actor<vain_look> looks_;
  by_actor<int64_t> groups_;         ///< priorities, by group; 0: none yet
  by_actor<uint64_t> ran_;           ///< by group: when it was picked last, or first seen
  std::vector<int64_t> priorities_;  ///< of the candidates' groups, by index
  std::vector<uint64_t> points_;
  uint64_t next_point_ = 0;  ///< the first that is still to come
  uint64_t now_ = 0;         ///< choices of actors made
  int64_t lowest_ = 0;
  uint32_t last_ = no_actor;  ///< the actor picked last
  uint32_t last_group_ = no_actor;
  uint64_t length_ = 0;     ///< choices that the run is expected to have
  uint64_t stayed_ = 0;     ///< choices in a row that a group had
  uint64_t looked_at_ = 0;  ///< when it was looked whether a group is left out
};

}  // namespace heddle::scheduler
