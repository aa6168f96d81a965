// What runs of a program are like: the actors, how much each does, and what they share. Strategies that need it get it from one run.
#pragma once

#include <heddle/scheduler/choice.h>
#include <heddle/scheduler/strategy.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace heddle::scheduler {

/// Of one run under `random` with a seed of its own: a function of the program and its settings, never of the runs of a
/// campaign, so that what a seed means does not depend on the seeds before it. A guess for any other run.
struct estimate {
  static constexpr uint32_t no_actor = ~uint32_t{0};

  struct of_actor {
    uint64_t operations = 0;     ///< without those of fruitless spin iterations
    uint32_t parent = no_actor;  ///< the actor whose operation started it
  };
  struct use {
    uint32_t actor = 0;
    uint64_t operations = 0;  ///< on the location, counted as above
  };
  struct of_location {
    uint64_t location = 0;
    std::vector<use> uses = {};  ///< by two actors at least; in order of actors
    bool written = false;        ///< by one of them at least
  };

  std::vector<of_actor> actors = {};                     ///< by number; empty when the run could not be made
  std::vector<of_location> shared = {};                  ///< in order of locations
  std::array<uint64_t, choice_kind_count> choices = {};  ///< of each kind
  /// All operations from the first choice of an actor on, with or without a choice before them: under another strategy
  /// each may need a choice.
  uint64_t steps = 0;

  uint64_t choices_of(choice_kind kind) const { return choices[static_cast<size_t>(kind)]; }
};

/// Makes one run of the program, on a fresh machine, with the choices that it is given.
using run_for_estimate = std::function<void(choice_source& choices)>;

/// Makes the run and counts.
estimate estimated_by(const run_for_estimate& run);

/// What `deciding` is to be given before the first run of a campaign, by strategy::estimated; null where it wants nothing, and nothing
/// is run then. One estimate serves all strategies of one name and parameter, on any number of threads.
std::shared_ptr<const estimate> estimate_for(const strategy& deciding, const run_for_estimate& run);

}  // namespace heddle::scheduler
