// random: every answer is equally likely.
#pragma once

#include <heddle/scheduler/random_stream.h>
#include <heddle/scheduler/strategy.h>

#include <array>

namespace heddle::scheduler {

/// Uniform, and therefore fair with probability 1. Each kind of choice has its own stream, so that a machine which asks
/// one kind more often still gets the same answers to the others.
class random_strategy final : public strategy {
 public:
  void begin(uint64_t seed) override {
    for (uint32_t kind = 0; kind < choice_kind_count; ++kind) streams_[kind] = random_stream(seed, kind);
  }

  uint32_t pick(const choice& asked) override { return streams_[static_cast<size_t>(asked.kind)].below(asked.count); }

  std::string_view name() const override { return "random"; }

 private:
  std::array<random_stream, choice_kind_count> streams_;
};

}  // namespace heddle::scheduler
