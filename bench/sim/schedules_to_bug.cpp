// How many schedules each strategy needs to find what a scenario expects: a table in Markdown, for docs/strategies.md.
#include <heddle/scheduler/strategy.h>
#include <heddle/tools/trial/trial.h>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace heddle;

struct program {
  const scenario* tested = nullptr;
  parameters settings;
  std::string text;  ///< as it was asked for
};

/// "NAME", or "NAME,key=value,...".
program read_program(const std::string& text) {
  std::stringstream parts(text);
  std::string name;
  std::getline(parts, name, ',');
  std::vector<std::string> assignments;
  for (std::string each; std::getline(parts, each, ',');) assignments.push_back(each);
  const tools::selection selected = tools::select_scenarios({name});
  if (!selected.error.empty()) throw std::invalid_argument(selected.error);
  tools::settings_or_error settings = tools::simulator_settings(*selected.chosen.front(), assignments);
  if (!settings.value) throw std::invalid_argument(settings.error);
  return {.tested = selected.chosen.front(), .settings = std::move(*settings.value), .text = text};
}

struct search {
  uint64_t trials = 20;
  uint64_t cap = 10'000;
};

/// The mean over the trials of the schedules to the first finding, whatever its verdict, with the run for the estimate where
/// there is one. A trial without a finding counts as the cap; in brackets, the number of trials with one, where not all have.
std::string schedules(sim::simulation& machine, const program& on, const std::string& name, const search& how) {
  std::string error;
  const auto deciding = scheduler::make_strategy(name, error);
  if (deciding == nullptr) throw std::invalid_argument(error);
  // Far enough apart for no two trials to share a seed.
  constexpr uint64_t between_trials = 1'000'003;
  uint64_t sum = 0;
  uint64_t found = 0;
  for (uint64_t trial = 0; trial < how.trials; ++trial) {
    scheduler::campaign_options options;
    options.first_seed = 1 + trial * between_trials;
    options.schedules = how.cap;
    options.found = [](const scheduler::finding&) { return false; };
    const tools::trial made = tools::run_trial(machine, *on.tested, on.settings, name, *deciding, options);
    sum += made.runs.schedules + (deciding->wants_estimate() ? 1 : 0);
    found += made.runs.findings.empty() ? 0 : 1;
  }
  if (found == 0) return "-";
  char text[64];
  const double mean = static_cast<double>(sum) / static_cast<double>(how.trials);
  std::snprintf(text, sizeof text, mean < 9.95 ? "%.1f" : "%.0f", mean);
  return found == how.trials ? text : std::string(text) + " (" + std::to_string(found) + ")";
}

int print_table(const std::vector<std::string>& names, const std::vector<std::string>& strategies, const search& how) {
  sim::simulation machine;
  std::string rule = "|---|";
  std::cout << "| program |";
  for (const std::string& each : strategies) {
    std::cout << ' ' << each << " |";
    rule += "---|";
  }
  std::cout << '\n' << rule << std::endl;
  for (const std::string& name : names) {
    const program on = read_program(name);
    std::cout << "| `" << name << "` |";
    for (const std::string& each : strategies)
      std::cout << ' ' << schedules(machine, on, each, how) << " |" << std::flush;
    std::cout << std::endl;
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App asked("How many schedules each strategy needs to find what a scenario expects, as a table.");
  std::vector<std::string> names;
  std::vector<std::string> strategies = {"random", "pct:3", "pct", "pos", "urw", "surw", "mix"};
  search how;
  asked.add_option("SCENARIO", names, "NAME, or NAME,key=value,...")->required();
  asked.add_option("--strategies", strategies, "the columns")->delimiter(',');
  asked.add_option("--trials", how.trials, "searches for each entry, which is their mean");
  asked.add_option("--cap", how.cap, "schedules after which a search gives up");
  CLI11_PARSE(asked, count, arguments);
  try {
    return print_table(names, strategies, how);
  } catch (const std::exception& wrong) {
    std::cerr << "schedules_to_bug: " << wrong.what() << '\n';
    return 2;
  }
}
