// rhythm: some random steps, then the same turns again and again. Finds hangs in which somebody moves: random schedules leave them by
// chance sooner or later.
#pragma once

#include <heddle/scheduler/random_stream.h>
#include <heddle/scheduler/strategy.h>

#include <array>

namespace heddle::scheduler {

/// Who takes the next step is uniform until the end game begins, which is after a number of steps that the seed draws (choices of kind
/// `end`). From then on the machine plays the rhythm that the seed draws too: how many turns in a row each actor has, one at least
/// for those whom the progress model guarantees a turn. So an actor outside the fair set may be starved for ever, and one in it waits
/// for at most one round.
class rhythm_strategy final : public strategy {
 public:
  void begin(uint64_t seed) override {
    for (uint32_t kind = 0; kind < choice_kind_count; ++kind) streams_[kind] = random_stream(seed, kind);
  }

  uint32_t pick(const choice& asked) override { return streams_[static_cast<size_t>(asked.kind)].below(asked.count); }
  bool draws_end_game() const override { return true; }
  std::string_view name() const override { return "rhythm"; }

 private:
  std::array<random_stream, choice_kind_count> streams_;
};

}  // namespace heddle::scheduler
