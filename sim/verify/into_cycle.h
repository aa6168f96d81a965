// The run that goes into a cycle of states, and round in it.
#pragma once

#include <heddle/scheduler/strategy.h>
#include <heddle/sim/judge/judge.h>
#include <heddle/sim/verify/explorer.h>
#include <heddle/sim/verify/search.h>
#include <heddle/sim/verify/shared_states.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::sim {

/// Leads to a state, and from there on gives turns to the lanes that are promised some, until the run's end game shows that they repeat
/// themselves for ever.
class into_cycle final : public scheduler::strategy {
  using choice = scheduler::choice;
  using choice_kind = scheduler::choice_kind;

 public:
  /// `steps` until the end game begins; 0: the run only goes as far as the state.
  into_cycle(std::vector<uint8_t> answers, uint64_t steps) : answers_(std::move(answers)), steps_(steps) {}

  void begin(uint64_t) override { next_ = drawn_ = 0; }
  bool draws_end_game() const override { return steps_ != 0; }
  std::string_view name() const override { return "verify"; }
  uint32_t pick(const choice& asked) override {
    if (asked.kind == choice_kind::end) return pick_end(asked.count);
    if (next_ < answers_.size()) return answers_[next_++];
    if (steps_ == 0) return scheduler::no_answer;
    // What is under way arrives.
    if (asked.kind == choice_kind::arrive) return asked.count == 2 ? 1 : 0;
    if (asked.kind != choice_kind::actor) return 0;
    // All that are promised a turn, one after the other.
    uint32_t best = 0;
    for (uint32_t n = 1; n < asked.count; ++n) {
      const scheduler::candidate one = asked.candidates[n];
      const scheduler::candidate other = asked.candidates[best];
      if (one.guaranteed != other.guaranteed ? one.guaranteed : one.operations < other.operations) best = n;
    }
    return best;
  }

 private:
  // As execution::draw_end_game asks: the number of the power of two, what is added to it, then the rhythm; which is one turn for each.
  uint32_t pick_end(uint32_t count) {
    switch (drawn_++) {
      case 0: {
        uint32_t place = 0;
        while (place + 1 < end_game_octaves.size() && (uint64_t{2} << end_game_octaves[place]) <= steps_ + 1) ++place;
        octave_ = end_game_octaves[place];
        return place;
      }
      case 1: {
        const uint64_t low = uint64_t{1} << octave_;
        return steps_ + 1 <= low ? 0 : static_cast<uint32_t>(std::min<uint64_t>(steps_ + 1 - low, count - 1));
      }
      default:
        return 0;
    }
  }

  std::vector<uint8_t> answers_;
  uint64_t steps_;
  size_t next_ = 0;
  uint32_t drawn_ = 0;
  uint32_t octave_ = 0;
};

/// Makes the run that goes round a fair cycle of states for ever, where the search has found one. False: it was ended from outside.
bool run_fair_cycle(explorer& deciding, const shared_states& known, const explored_run& run,
                    const search_options& options, search_result& result);

}  // namespace heddle::sim
