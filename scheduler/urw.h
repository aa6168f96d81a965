// urw: uniform random walk. The more an actor still has to do, the likelier it is picked.
#pragma once

#include <heddle/scheduler/choice_streams.h>
#include <heddle/scheduler/crowd.h>
#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/remaining.h>
#include <heddle/scheduler/strategy.h>

#include <vector>

namespace heddle::scheduler {

/// Picks each actor with a probability in proportion to the operations that it still has to do. Where these counts are
/// exact and no actor blocks, every interleaving is equally likely. Here they come from an estimate (estimate.h), in
/// which fruitless spin iterations count for nothing; where there is none, all weigh the same.
/// Source: Zhao, Wolff, Mathur, Roychoudhury, "Selectively uniform concurrency testing", ASPLOS 2025.
///
/// Choices other than of actors are uniform.
class urw_strategy final : public strategy {
 public:
  void begin(uint64_t seed) override;
  uint32_t pick(const choice& asked) override;
  bool wants_estimate() const override { return true; }
  void estimated(const std::shared_ptr<const estimate>& known) override;
  std::string_view name() const override { return "urw"; }

 private:
  uint64_t weight_of(const candidate& who) const;
  void weigh(uint32_t index);

  choice_streams streams_;
  crowd crowd_;
  std::vector<uint64_t> totals_;
  remaining remaining_;
  std::vector<uint64_t> weights_;  ///< of the candidates, by index
  uint64_t sum_ = 0;
};

}  // namespace heddle::scheduler
