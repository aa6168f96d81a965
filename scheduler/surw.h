// surw: selectively uniform random walk. The order of operations on one location is uniform, everything else is random.
#pragma once

#include <heddle/scheduler/choice_streams.h>
#include <heddle/scheduler/crowd.h>
#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/remaining.h>
#include <heddle/scheduler/strategy.h>

#include <vector>

namespace heddle::scheduler {

/// The seed draws one location that several actors share. The actor of the next access to it, the intended one, is drawn in
/// proportion to the accesses that each still has to make. Until then all run at random, but another actor that comes to an access
/// of it is held until the intended one has made its own. Where the counts are exact and no actor blocks, the orders of accesses
/// to the location are equally likely, however much else each has to do before. Counts and locations come from an estimate
/// (estimate.h). Where no location is shared, every operation counts; where nothing is known, none does, and that is random.
/// Source: Zhao, Wolff, Mathur, Roychoudhury, "Selectively uniform concurrency testing", ASPLOS 2025.
///
/// Choices other than of actors are uniform.
class surw_strategy final : public strategy {
 public:
  void begin(uint64_t seed) override;
  uint32_t pick(const choice& asked) override;
  bool looks_at_steps() const override { return true; }
  void performed(const candidate& who) override;
  bool wants_estimate() const override { return true; }
  void estimated(const std::shared_ptr<const estimate>& known) override;
  std::string_view name() const override { return "surw"; }

  /// The location of this run; 0 when there is none.
  uint64_t location() const { return location_; }

 private:
  static constexpr uint64_t stream_of_draws = static_cast<uint64_t>(choice_kind::end);
  static constexpr uint32_t no_actor = estimate::no_actor;

  struct standing {
    uint64_t accesses = 0;   ///< that were not fruitless
    uint64_t recent = 0;     ///< of the last operations, which were accesses; the last one is bit 0
    uint32_t fruitless = 0;  ///< candidate::fruitless when it was looked at last
    uint64_t held_in = 0;    ///< the round in which it is held
  };
  bool counts(const candidate& who) const { return everything_ || (location_ != 0 && who.location == location_); }
  void meet(uint32_t actor);
  uint32_t free_one(uint32_t count);
  void find_free();
  void hold(uint32_t index);
  uint32_t intend();
  void release_all();

  choice_streams streams_;
  std::shared_ptr<const estimate> known_;
  uint64_t location_ = 0;
  bool everything_ = false;
  crowd crowd_;
  std::vector<uint64_t> totals_;  ///< accesses by actor
  remaining remaining_;
  by_actor<standing> standings_;
  uint64_t round_ = 1;
  uint32_t held_ = 0;  ///< how many, at most
  uint32_t intended_ = no_actor;
  std::vector<uint32_t> free_;     ///< the candidates that are not held, in order; kept where any is
  std::vector<uint64_t> weights_;  ///< of the current choice; a member to keep its memory
};

}  // namespace heddle::scheduler
