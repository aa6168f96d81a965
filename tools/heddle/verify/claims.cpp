#include <heddle/scheduler/printable.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/trial/trial.h>
#include <heddle/tools/verify/verification.h>

#include <algorithm>
#include <array>
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

/// The models that promise something to waves and nothing else, each behind all that promise less, but for hsa and obe, neither of which is less
/// (docs/progress.md). What ends under one ends under each that promises more: all runs that this one allows, that one does.
constexpr std::array<std::string_view, 6> from_weak_to_strong = {"unfair", "hsa", "obe", "hsa_obe", "lobe", "fair"};

/// `slots` is about places: what has ever taken a step has one, and keeps it where nothing is evicted.
bool promises_more(std::string_view model, std::string_view than, const parameters& settings) {
  if (model == "slots") return than == "obe" && settings.has("evict") && settings.text("evict") == "off";
  const auto place_of = [](std::string_view one) {
    return std::find(from_weak_to_strong.begin(), from_weak_to_strong.end(), one);
  };
  if (place_of(model) == from_weak_to_strong.end() || (model == "obe" && than == "hsa")) return false;
  return place_of(than) < place_of(model);
}

/// The numbers of the models, those first of which others may follow.
std::vector<size_t> in_order_of_search(const std::vector<std::string>& models) {
  std::vector<size_t> made;
  for (const std::string_view each : from_weak_to_strong)
    for (size_t n = 0; n < models.size(); ++n)
      if (models[n] == each) made.push_back(n);
  for (size_t n = 0; n < models.size(); ++n)
    if (std::find(made.begin(), made.end(), n) == made.end()) made.push_back(n);
  return made;
}

/// What came of one configuration under each progress model.
struct proved_configuration {
  struct under_model {
    std::string model;
    verification made;
    std::string follows_from;  ///< the model under which it was proved; empty: it was searched
  };
  std::string name;  ///< "port.echo waves=2 lanes=1"
  std::vector<under_model> models;
};

/// What came of each model; none of those that were not come to before the search was stopped.
std::vector<std::optional<proved_configuration::under_model>> answers_under(
    const std::vector<std::string>& models, const scenario& tested, const parameters& common,
    const std::vector<std::string>& assignments, const verify_options& options, std::string& error) {
  std::vector<std::optional<proved_configuration::under_model>> answers(models.size());
  for (const size_t n : in_order_of_search(models)) {
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) break;
    parameters settings = common;
    verify_options asked = options;
    asked.assignments = assignments;
    if (!models[n].empty()) {
      settings.set("progress=" + models[n]);
      asked.assignments.push_back("progress=" + models[n]);
    }
    if (const auto wrong = cannot_verify(settings)) {
      error = *wrong;
      return answers;
    }
    const auto weaker = std::find_if(answers.begin(), answers.end(), [&](const auto& other) {
      return other && other->follows_from.empty() && !other->made.found && other->made.search.complete &&
             promises_more(models[n], other->model, settings);
    });
    answers[n] = {.model = models[n], .made = {}, .follows_from = {}};
    verification& made = answers[n]->made;
    if (weaker == answers.end()) {
      made = verify_all_runs(tested, settings, asked);
      continue;
    }
    answers[n]->follows_from = (*weaker)->model;
    made.tested = &tested;
    made.settings = (*weaker)->made.settings;
    made.settings.set("progress=" + models[n]);
    made.expected = tested.expected_verdict(settings);
    made.search.complete = true;
  }
  return answers;
}

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
  for (const auto& [model, made, follows_from] : each.models) {
    states += made.search.states;
    seconds += made.search.seconds;
    const std::string outcome = outcome_of(made);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == outcome; });
    if (group == groups.end()) group = groups.insert(groups.end(), {outcome, ""});
    group->second += (group->second.empty() ? "" : " ") + model;
  }
  for (const auto& [outcome, models] : groups)
    std::cout << "  " << std::left << std::setw(11) << outcome << models << '\n';
  for (const auto& [model, made, follows_from] : each.models) {
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
      const std::vector<std::string> models = models_of(*common.value, assignments);
      const auto answers = answers_under(models, *tested, *common.value, assignments, options, error);
      if (!error.empty()) return {};
      for (size_t n = 0; n < models.size(); ++n) {
        const json model = models[n].empty() ? json(nullptr) : json(models[n]);
        if (!answers[n]) {
          ++summed.not_run;
          shown["proofs"].push_back({{"scenario", tested->name},
                                     {"result", "not run"},
                                     {"ok", false},
                                     {"configuration", line},
                                     {"progress", model}});
          continue;
        }
        ++(answers[n]->follows_from.empty() ? summed.searches : summed.followed);
        const verification& last = answers[n]->made;
        summed.interrupted += last.is_stopped() ? 1 : 0;
        summed.not_as_claimed += last.ok() || last.is_stopped() ? 0 : 1;
        json one = to_json(last);
        one["configuration"] = line;
        one["progress"] = last.settings.has("progress") ? json(last.settings.text("progress")) : json(nullptr);
        one["follows_from"] = answers[n]->follows_from.empty() ? json(nullptr) : json(answers[n]->follows_from);
        shown["proofs"].push_back(std::move(one));
        made.models.push_back(*answers[n]);
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
    std::cout << grouped(summed.configurations) << " configurations, " << grouped(summed.searches) << " searches"
              << (summed.followed == 0 ? "" : ", " + grouped(summed.followed) + " answers that follow") << ": "
              << (summed.not_as_claimed != 0 ? painted(grouped(summed.not_as_claimed) + " not as claimed", colour::bad)
                  : all_run                  ? painted("all as claimed", colour::good)
                            : grouped(summed.searches + summed.followed - summed.interrupted) + " as claimed");
    if (!all_run)
      std::cout << "; interrupted, " << grouped(summed.not_run)
                << (summed.not_run == 1 ? " search was not run" : " searches were not run");
    std::cout << '\n';
  }
  return summed;
}

}  // namespace heddle::tools
