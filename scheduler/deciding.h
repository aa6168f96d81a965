// Which of a run's choices decided that it failed: those without which it does not.
#pragma once

#include <heddle/scheduler/campaign.h>
#include <heddle/scheduler/trace.h>

#include <cstdint>
#include <vector>

namespace heddle::scheduler {

/// A choice of a recorded run that was answered otherwise than by default.
struct deciding_choice {
  choice_kind kind = choice_kind::actor;
  uint64_t number =
      0;  ///< of an odd answer (schedule.h): among those of the run, from 0; of a turn, how many operations came before it
  uint32_t actor = 0;  ///< of a turn: the actor that took it; `after` had the turn before
  uint32_t after = 0;
  friend bool operator==(const deciding_choice&, const deciding_choice&) = default;
};

struct deciding_options {
  uint64_t runs_max = 400;
  uint64_t steps_max = 2'000'000;           ///< in all of these runs
  const std::atomic<bool>* stop = nullptr;  ///< looked at before each run
};

struct deciding_choices {
  std::vector<deciding_choice> all;  ///< in the order of the run
  /// Each of them decides alone: with its default in its place, the rest as it was, the run does not fail so. Otherwise
  /// they do together: no choice but these is needed, and none of them can be left out.
  bool each_alone = true;
  uint64_t runs = 0;
  /// Answers of the run that ends well and has the most first answers in common with the recorded one, of the runs that were made: those of this search, and
  /// some that halve for the choice up to which the recorded run, by default from there on, ends well. Empty where none does.
  std::vector<answer> passing = {};
};

/// Of a recorded run that failed: first among what the machine answered (stale values, late arrivals and so on), and
/// where nothing of that matters, among the turns. Empty where nothing was found: the run could not be repeated, fails
/// whatever is chosen, or the runs do not suffice. The passing run has some runs of its own. Deterministic, unless it is stopped.
deciding_choices find_deciding(const trace& recorded, const run_one& run, const deciding_options& options = {});

}  // namespace heddle::scheduler
