#include <heddle/tools/shrink_settings.h>
#include <heddle/tools/trial.h>
#include <heddle/tools/zoo/keeper.h>

#include <algorithm>

namespace heddle::tools {
namespace {

constexpr std::string_view of_twin = ".fixed";

scheduler::run_one runs_of(sim::simulation& machine, const scenario& tested, const parameters& settings) {
  return [&](scheduler::choice_source& choices, bool explain) {
    return run_scenario(machine, tested, settings, choices, explain);
  };
}

/// Until something is found.
trial search(sim::simulation& machine, const scenario& tested, const parameters& settings, const zoo_options& options,
             const std::string& strategy, uint64_t first_seed, uint64_t schedules) {
  std::string error;
  const auto deciding = scheduler::make_strategy(strategy, error);
  scheduler::campaign_options searching;
  searching.first_seed = first_seed;
  searching.schedules = schedules;
  searching.stop = options.stop;
  searching.found = [](const scheduler::finding&) { return false; };
  return run_trial(machine, tested, settings, strategy, *deciding, searching);
}

}  // namespace

std::vector<zoo_entry> zoo_entries() {
  std::vector<zoo_entry> entries;
  for (const scenario& twin : scenarios()) {
    if (!twin.name.ends_with(of_twin)) continue;
    const std::string name = twin.name.substr(0, twin.name.size() - of_twin.size());
    const auto bug =
        std::find_if(scenarios().begin(), scenarios().end(), [&](const scenario& each) { return each.name == name; });
    if (bug != scenarios().end()) entries.push_back({.bug = &*bug, .twin = &twin});
  }
  return entries;
}

std::optional<std::string> refused_by(const zoo_entry& entry, const zoo_options& options) {
  for (const scenario* const each : {entry.bug, entry.twin}) {
    const settings_or_error settings = simulator_settings(*each, options.settings);
    if (!settings.value) return settings.error;
  }
  return std::nullopt;
}

zoo_result look_after(sim::simulation& machine, const zoo_entry& entry, const zoo_options& options) {
  zoo_result made;
  const parameters settings = *simulator_settings(*entry.bug, options.settings).value;
  const parameters of_the_twin = *simulator_settings(*entry.twin, options.settings).value;
  made.expected = entry.bug->expected_verdict(settings);
  const trial searched =
      search(machine, *entry.bug, settings, options, options.strategy, options.first_seed, options.schedules);
  made.schedules_to_find = searched.runs.schedules;
  made.found = !searched.runs.findings.empty();
  if (made.found) {
    made.first = searched.runs.findings.front().first;
    const scheduler::run_one run = runs_of(machine, *entry.bug, settings);
    const scheduler::trace_or_error read = scheduler::from_token(scheduler::to_token(made.first));
    made.replayed = read.value && scheduler::run_again(*read.value, run, false).disagreement.empty();
    if (made.replayed) {
      scheduler::shrink_options shrinking = shrink_options_for(machine, *entry.bug, settings, made.first.outcome);
      shrinking.runs_max = options.shrink_runs;
      shrinking.stop = options.stop;
      const scheduler::shrunk small = scheduler::shrink(made.first, run, shrinking);
      made.size_found = small.before;
      made.size_shrunk = small.after;
      if (small.error.empty()) made.shrunk_token = scheduler::to_token(small.smallest);
    }
  }
  const trial twin =
      search(machine, *entry.twin, of_the_twin, options, options.strategy, options.first_seed, options.twin_schedules);
  made.twin_schedules = twin.runs.schedules;
  if (!twin.runs.findings.empty()) made.twin_finding = twin.runs.findings.front();
  made.interrupted = options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
  return made;
}

std::vector<uint64_t> schedules_to_find(sim::simulation& machine, const zoo_entry& entry, const zoo_options& options,
                                        const std::string& strategy, uint32_t trials) {
  const parameters settings = *simulator_settings(*entry.bug, options.settings).value;
  const scheduler::verdict expected = entry.bug->expected_verdict(settings);
  std::vector<uint64_t> needed;
  for (uint32_t number = 0; number < trials; ++number) {
    const trial made = search(machine, *entry.bug, settings, options, strategy,
                              options.first_seed + number * options.schedules, options.schedules);
    const bool found = !made.runs.findings.empty() && made.runs.findings.front().first.outcome == expected;
    needed.push_back(found ? made.runs.schedules : 0);
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) break;
  }
  return needed;
}

}  // namespace heddle::tools
