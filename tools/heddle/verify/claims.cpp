#include <heddle/scheduler/printable.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/trial/trial.h>
#include <heddle/tools/verify/verification.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream from(line);
  std::vector<std::string> words;
  for (std::string word; from >> word;) words.push_back(word);
  return words;
}

bool sets(const std::vector<std::string>& assignments, const std::string& key) {
  return std::any_of(assignments.begin(), assignments.end(),
                     [&](const std::string& each) { return each.starts_with(key + "="); });
}

/// The progress models to be gone through: all, unless an assignment has chosen one.
std::vector<std::string> models_of(const parameters& settings, const std::vector<std::string>& assignments) {
  if (!settings.has("progress") || sets(assignments, "progress")) return {""};
  for (const parameter& each : settings.definitions())
    if (each.key == "progress") return each.choices;
  return {""};
}

/// What came of one configuration under each progress model.
struct proved_configuration {
  struct under_model {
    std::string model;
    verification made;
  };
  std::string name;  ///< "port.echo waves=2 lanes=1"
  std::vector<under_model> models;
};

std::string outcome_of(const verification& made) {
  if (made.is_stopped()) return "interrupted";
  if (made.found) return std::string(to_string(made.found->recorded.outcome));
  return made.result();
}

void print_configuration(const proved_configuration& each) {
  std::cout << scheduler::printable(each.name) << '\n';
  std::vector<std::pair<std::string, std::string>> groups;  // outcome, models; in order of appearance
  uint64_t states = 0;
  double seconds = 0;
  for (const auto& [model, made] : each.models) {
    states += made.search.states;
    seconds += made.search.seconds;
    const std::string outcome = outcome_of(made);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == outcome; });
    if (group == groups.end()) group = groups.insert(groups.end(), {outcome, ""});
    group->second += (group->second.empty() ? "" : " ") + model;
  }
  for (const auto& [outcome, models] : groups)
    std::cout << "  " << std::left << std::setw(11) << outcome << models << '\n';
  for (const auto& [model, made] : each.models) {
    if (made.ok() || made.is_stopped()) continue;
    std::cout << "  " << painted("not as claimed", colour::bad) << ": " << model << (model.empty() ? "" : " ");
    if (!made.found && !made.search.complete)
      std::cout << "is incomplete, " << made.search.left_out << '\n';
    else if (made.found && !made.found->not_reproducible.empty())
      std::cout << "ends with a run that is not reproducible, " << made.found->not_reproducible << '\n';
    else
      std::cout << "was to be " << (made.expected == scheduler::verdict::ok ? "proved" : to_string(made.expected))
                << '\n';
  }
  std::cout << "  " << grouped(states) << " states in " << std::fixed << std::setprecision(2) << seconds << " s\n";
}

}  // namespace

std::optional<claims_result> verify_claims(const std::vector<const scenario*>& chosen, const verify_options& options,
                                           bool as_json, std::string& error) {
  claims_result summed;
  json shown = {{"proofs", json::array()}};
  const auto stopped = [&] { return options.stop != nullptr && options.stop->load(std::memory_order_relaxed); };
  for (const scenario* tested : chosen) {
    for (const std::string& line : tested->proofs) {
      std::vector<std::string> assignments = words_of(line);
      assignments.insert(assignments.end(), options.assignments.begin(), options.assignments.end());
      const settings_or_error common = simulator_settings(*tested, assignments);
      if (!common.value) {
        error = common.error;
        return {};
      }
      proved_configuration made = {.name = tested->name + " " + line, .models = {}};
      for (const std::string& model : models_of(*common.value, assignments)) {
        if (stopped()) {
          ++summed.not_run;
          shown["proofs"].push_back({{"scenario", tested->name},
                                     {"result", "not run"},
                                     {"ok", false},
                                     {"configuration", line},
                                     {"progress", model.empty() ? json(nullptr) : json(model)}});
          continue;
        }
        parameters settings = *common.value;
        verify_options asked = options;
        asked.assignments = assignments;
        if (!model.empty()) {
          settings.set("progress=" + model);
          asked.assignments.push_back("progress=" + model);
        }
        if (const auto wrong = cannot_verify(settings)) {
          error = *wrong;
          return {};
        }
        made.models.push_back({.model = model, .made = verify_all_runs(*tested, settings, asked)});
        const verification& last = made.models.back().made;
        ++summed.searches;
        summed.interrupted += last.is_stopped() ? 1 : 0;
        summed.not_as_claimed += last.ok() || last.is_stopped() ? 0 : 1;
        json one = to_json(last);
        one["configuration"] = line;
        one["progress"] = last.settings.has("progress") ? json(last.settings.text("progress")) : json(nullptr);
        shown["proofs"].push_back(std::move(one));
      }
      if (made.models.empty()) {
        ++summed.configurations_not_run;
        if (!as_json) std::cout << scheduler::printable(made.name) << ": not run\n";
        continue;
      }
      ++summed.configurations;
      if (!as_json) print_configuration(made);
    }
  }
  const bool all_run = summed.not_run == 0 && summed.interrupted == 0;
  shown["ok"] = summed.not_as_claimed == 0 && all_run;
  shown["not_run"] = summed.not_run;
  shown["interrupted"] = !all_run;
  if (as_json) {
    write_json(shown);
  } else {
    std::cout << grouped(summed.configurations) << " configurations, " << grouped(summed.searches) << " searches: "
              << (summed.not_as_claimed != 0 ? painted(grouped(summed.not_as_claimed) + " not as claimed", colour::bad)
                  : all_run                  ? painted("all as claimed", colour::good)
                                             : grouped(summed.searches - summed.interrupted) + " as claimed");
    if (!all_run)
      std::cout << "; interrupted, " << grouped(summed.not_run)
                << (summed.not_run == 1 ? " search was not run" : " searches were not run");
    std::cout << '\n';
  }
  return summed;
}

}  // namespace heddle::tools
