#include <heddle/scheduler/replay.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/trial/tried_orders.h>

#include <algorithm>
#include <charconv>

namespace heddle::tools {
namespace {

/// Runs of the scenario with assumptions.
class trials {
 public:
  trials(sim::simulation& machine, const scenario& tested, const parameters& settings, const scheduler::trace& happened)
      : machine_(machine), tested_(tested), settings_(settings), happened_(happened) {}

  /// How many runs end well, first the recorded schedule as far as it fits, then random ones; 0 where one does not.
  uint64_t ending_well(const missing_order& with) {
    parameters assuming = settings_;
    const std::string& given = settings_.text("assume");
    if (assuming.set("assume=" + given + (given.empty() ? "" : ",") + with.assumed())) return 0;
    scheduler::try_strategy following(happened_.answers);
    if (!ends_well(assuming, following, happened_.seed)) return 0;
    std::string error;
    const auto deciding = scheduler::make_strategy("random", error);
    uint64_t count = 1;
    for (uint64_t seed = 1; seed < runs_each && steps_ < steps_max; ++seed, ++count)
      if (!ends_well(assuming, *deciding, seed)) return 0;
    return count;
  }

 private:
  static constexpr uint64_t runs_each = 65;
  static constexpr uint64_t steps_max = 1'000'000;  // in all runs

  bool ends_well(const parameters& settings, scheduler::strategy& by, uint64_t seed) {
    if (interrupt_flag()) return false;
    scheduler::choice_source choices;
    choices.begin(by, seed);
    const scheduler::run_result ended = run_scenario(machine_, tested_, settings, choices, false);
    steps_ += ended.steps;
    return ended.outcome == scheduler::verdict::ok;
  }

  sim::simulation& machine_;
  const scenario& tested_;
  const parameters& settings_;
  const scheduler::trace& happened_;
  uint64_t steps_ = 0;
};

/// Without the changes that it does not need.
tried_order smallest(tried_order of, trials& runs) {
  if (of.found.is_of_both) return of;
  for (size_t n = 0; of.found.changes.size() > 1 && n < of.found.changes.size();) {
    missing_order less = of.found;
    less.changes.erase(less.changes.begin() + static_cast<ptrdiff_t>(n));
    if (const uint64_t enough = runs.ending_well(less); enough != 0)
      of = {.found = std::move(less), .runs = enough};
    else
      ++n;
  }
  return of;
}

}  // namespace

uint64_t step_told_in(std::string_view text, size_t from) {
  constexpr std::string_view step = "step ";
  const size_t at = text.find(step, from);
  if (at == std::string_view::npos) return sim::run_record::never;
  uint64_t number = 0;
  const char* const begin = text.data() + at + step.size();
  const auto [end, failed] = std::from_chars(begin, text.data() + text.size(), number);
  return failed == std::errc() && end != begin ? number : sim::run_record::never;
}

tried_order order_that_helps(sim::simulation& machine, const scenario& tested, const parameters& settings,
                             const scheduler::trace& happened, const sim::run_record& told,
                             const std::vector<std::string>& odd) {
  std::vector<uint64_t> decided;
  for (const std::string& each : odd) decided.push_back(step_told_in(each));
  const std::vector<missing_order> all = missing_orders(told, decided);
  constexpr size_t most = 16;
  trials runs(machine, tested, settings, happened);
  for (size_t n = 0; n < std::min(all.size(), most); ++n)
    if (const uint64_t enough = runs.ending_well(all[n]); enough != 0)
      return smallest({.found = all[n], .runs = enough}, runs);
  return {};
}

std::string tried_order::advice() const {
  if (runs == 0) return {};
  return "to change: " + found.text() + "; tried: so this schedule and " + std::to_string(runs - 1) +
         " others end well";
}

}  // namespace heddle::tools
