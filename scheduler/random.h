// random: every answer is equally likely.
#pragma once

#include <heddle/scheduler/choice_streams.h>
#include <heddle/scheduler/strategy.h>

namespace heddle::scheduler {

/// Uniform, and therefore fair with probability 1. Each kind of choice has its own stream, so that a machine which asks
/// one kind more often still gets the same answers to the others.
class random_strategy final : public strategy {
 public:
  void begin(uint64_t seed) override { streams_.begin(seed); }

  uint32_t pick(const choice& asked) override { return streams_.of(asked.kind).below(asked.count); }

  choice_streams* answers_out_of() override { return &streams_; }

  std::string_view name() const override { return "random"; }

 private:
  choice_streams streams_;
};

}  // namespace heddle::scheduler
