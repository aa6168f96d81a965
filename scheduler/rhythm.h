// rhythm: some random steps, then the same turns again and again. Finds hangs in which some actors keep running: random
// schedules leave such cycles by chance sooner or later.
#pragma once

#include <heddle/scheduler/choice_streams.h>
#include <heddle/scheduler/strategy.h>

namespace heddle::scheduler {

/// The actor of each step is drawn uniformly until the end game begins, which is after a number of steps that the seed
/// draws (choices of kind `end`). From then on the machine plays the rhythm that the seed draws too: how many turns in
/// a row each actor has, at least one for each actor that the progress model guarantees a turn. So an actor outside the
/// fair set may be starved for ever, and one in it waits for at most one round.
class rhythm_strategy final : public strategy {
 public:
  void begin(uint64_t seed) override { streams_.begin(seed); }

  uint32_t pick(const choice& asked) override { return streams_.of(asked.kind).below(asked.count); }
  bool draws_end_game() const override { return true; }
  choice_streams* answers_out_of() override { return &streams_; }
  std::string_view name() const override { return "rhythm"; }

 private:
  choice_streams streams_;
};

}  // namespace heddle::scheduler
