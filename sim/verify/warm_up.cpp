#include <heddle/scheduler/strategy.h>
#include <heddle/sim/verify/warm_up.h>

#include <atomic>
#include <string>

namespace heddle::sim {

void warm_up(const std::function<void(search_notes*)>& explore, const explored_run& run, const search_options& options,
             search_notes& notes) {
  constexpr uint64_t runs = 8;
  constexpr uint64_t noted_runs = 100;
  constexpr uint64_t noted_steps = 30'000;
  std::string error;
  const auto deciding = scheduler::make_strategy("random", error);
  scheduler::choice_source choices;
  uint64_t steps = 0;
  for (uint64_t seed = 1; seed <= runs + noted_runs && steps < noted_steps; ++seed) {
    explore(seed <= runs ? nullptr : &notes);
    choices.begin(*deciding, seed);
    const outcome ended = run(choices);
    steps += ended.steps;
    if (ended.verdict == scheduler::verdict::stuck) break;
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) break;
  }
  // Of these only the search itself tells.
  notes.freed_under_access = notes.forgot = notes.grown = false;
  notes.quiet.refuted();
  notes.quiet.begin_again();
}

}  // namespace heddle::sim
