// `heddle slack`: which orders and scopes of a scenario are stronger than anything finds a need for.
#include <heddle/scheduler/printable.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/mend/attempts.h>
#include <heddle/tools/mend/proofs.h>
#include <heddle/tools/process/interrupt.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

/// A site with one thing weaker.
struct weakening {
  attempt assumed;
  std::string now;  ///< "load acquire system"
  attempt_result came_to;
  std::optional<proof_attempt> proof = std::nullopt;

  bool was_tried() const { return came_to.schedules != 0; }
  /// Nothing has found a need for it as it is.
  bool is_slack() const { return came_to.is_silent() && !(proof && proof->found); }
};

std::vector<weakening> weakenings_of(const trying& how) {
  std::vector<weakening> all;
  for (const site& each : sites_in_schedules(how))
    for (site_assumption& change : weaker(each))
      all.push_back({.assumed = {{std::move(change)}}, .now = each.now, .came_to = {}});
  return all;
}

void try_them(std::vector<weakening>& all, const trying& how) {
  std::vector<attempt> attempts;
  for (const weakening& each : all) attempts.push_back(each.assumed);
  const std::vector<attempt_result> results = try_all(attempts, how);
  for (size_t n = 0; n < all.size(); ++n) all[n].came_to = results[n];
  for (weakening& each : all)
    if (each.is_slack() && !interrupt_flag()) each.proof = proof_of(each.assumed, how);
}

json to_json(const weakening& of) {
  const site_assumption& change = of.assumed.changes.front();
  json made = {{"site", change.where},    {"is", of.now},           {"change", change.words},
               {"advice", change.advice}, {"slack", of.is_slack()}, {"schedules", of.came_to.schedules}};
  if (of.came_to.found) {
    made["verdict"] = to_string(of.came_to.found->outcome);
    made["where"] = of.came_to.found->where;
    made["seed"] = of.came_to.found->seed;
  }
  made["proof"] = of.proof ? to_json(*of.proof) : json(nullptr);
  return made;
}

std::string needed_because(const weakening& of) {
  const scheduler::trace& found = of.proof && of.proof->found ? of.proof->found->first : *of.came_to.found;
  const std::string after =
      of.came_to.found ? grouped(of.came_to.schedules) + (of.came_to.schedules == 1 ? " schedule" : " schedules")
                       : "a search through all runs";
  return std::string(to_string(found.outcome)) + (found.where.empty() ? "" : " at " + found.where) + ", after " + after;
}

void print_text(const scenario& tested, const std::vector<weakening>& all, bool details) {
  const auto tried = static_cast<size_t>(
      std::count_if(all.begin(), all.end(), [](const weakening& each) { return each.was_tried(); }));
  const auto slack =
      static_cast<size_t>(std::count_if(all.begin(), all.end(), [](const weakening& each) { return each.is_slack(); }));
  std::cout << scheduler::printable(tested.name) << ": " << slack << " of " << tried
            << " orders and scopes could be weaker for all that was found\n";
  for (const weakening& each : all) {
    if (!each.is_slack()) continue;
    const site_assumption& change = each.assumed.changes.front();
    std::cout << "  " << change.where << ": " << change.advice << " (it is: " << each.now << ")\n     silent in "
              << grouped(each.came_to.schedules) << " schedules";
    if (each.proof) std::cout << "; " << in_words(*each.proof);
    std::cout << "\n     --assume " << shell_word(change.text()) << '\n';
  }
  if (!details) return;
  std::cout << "needed:\n";
  for (const weakening& each : all) {
    if (!each.was_tried() || each.is_slack()) continue;
    const site_assumption& change = each.assumed.changes.front();
    std::cout << "  " << change.where << ": " << each.now << ", not " << change.words << ": " << needed_because(each)
              << '\n';
  }
}

}  // namespace

int slack(const invocation& asked) {
  const selection selected = select_one_scenario(asked.scenarios, "slack");
  if (!selected.error.empty()) return fail(wrong_input, selected.error);
  const scenario& tested = *selected.chosen.front();
  const settings_or_error settings = simulator_settings(tested, asked.settings);
  if (!settings.value) return fail(wrong_input, settings.error);
  std::string error;
  if (scheduler::make_strategy(asked.strategy, error) == nullptr) return fail(wrong_input, error);
  catch_interrupt();
  const trying how = {.tested = &tested,
                      .settings = *settings.value,
                      .strategy = asked.strategy,
                      .first_seed = asked.seed,
                      .schedules = asked.schedules,
                      .jobs = jobs_of(asked.jobs)};
  const attempt_result as_it_is = try_all({attempt{}}, how).front();
  if (as_it_is.found)
    return fail(not_as_expected, "slack: as it is, " + tested.name + " ends with " +
                                     std::string(to_string(as_it_is.found->outcome)) +
                                     (as_it_is.found->where.empty() ? "" : " at " + as_it_is.found->where) +
                                     "; what is needed shows only in a scenario that ends well");
  std::vector<weakening> all = weakenings_of(how);
  try_them(all, how);
  if (asked.json) {
    json shown = {{"scenario", tested.name},
                  {"schedules", how.schedules},
                  {"sites", json::array()},
                  {"interrupted", interrupt_flag().load()}};
    for (const weakening& each : all)
      if (each.was_tried()) shown["sites"].push_back(to_json(each));
    write_json(shown);
  } else {
    print_text(tested, all, asked.details);
  }
  return interrupt_flag() ? interrupted : as_expected;
}

}  // namespace heddle::tools
