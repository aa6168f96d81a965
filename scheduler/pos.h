// pos: partial order sampling. Every operation has a random number, the highest goes first.
#pragma once

#include <heddle/scheduler/choice_streams.h>
#include <heddle/scheduler/crowd.h>
#include <heddle/scheduler/strategy.h>

#include <vector>

namespace heddle::scheduler {

/// The pending operation with the highest number is performed; then those that race with it, on one location and one of
/// them a write, draw anew. So the orders of operations that race are sampled, not those of operations that do not. An
/// actor that was blocked draws anew, too: the write that woke it raced with what it had read.
/// Source: Yuan, Yang, Gu, "Partial order aware concurrency sampling", CAV 2018.
///
/// Stated deviation: after so many choices all actors draw anew. Else an actor with a very low number is starved by
/// chance while others spin, because each spin iteration draws anew.
///
/// Choices other than of actors are uniform.
class pos_strategy final : public strategy {
 public:
  static constexpr uint32_t choices_between_renewals = 128;

  void begin(uint64_t seed) override;
  uint32_t pick(const choice& asked) override;
  std::string_view name() const override { return "pos"; }

 private:
  struct ticket {
    uint64_t number = 0;
    uint64_t of = ~uint64_t{0};  ///< the operation that it was drawn for
  };
  void look_at(uint32_t index);
  uint64_t draw(uint32_t actor);

  choice_streams streams_;
  crowd crowd_;
  by_actor<ticket> tickets_;
  uint32_t since_renewal_ = 0;  ///< choices
  // Of the candidates, by index.
  std::vector<uint64_t> numbers_;
  std::vector<uint64_t> locations_;
};

}  // namespace heddle::scheduler
