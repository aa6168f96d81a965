#include <heddle/tools/cli/common.h>
#include <heddle/tools/replay/shrink.h>
#include <heddle/tools/trial/traces.h>
#include <heddle/tools/trial/trial.h>
#include <heddle/tools/zoo/keeper.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace heddle::tools {
namespace {

constexpr std::string_view of_twin = ".fixed";

scheduler::run_one runs_of(sim::simulation& machine, const scenario& tested, const parameters& settings) {
  return [&](scheduler::choice_source& choices, bool explain) {
    return run_scenario(machine, tested, settings, choices, explain);
  };
}

struct schedules_of {
  const std::string& strategy;
  uint64_t first_seed = 1;
  uint64_t count = 0;
};

/// Until something is found, or only until one of these verdicts is.
trial search(sim::simulation& machine, const scenario& tested, const parameters& settings, const zoo_options& options,
             const schedules_of& tried, std::optional<scheduler::verdict_set> only = {}) {
  std::string error;
  const auto deciding = scheduler::make_strategy(tried.strategy, error);
  scheduler::campaign_options searching;
  searching.first_seed = tried.first_seed;
  searching.schedules = tried.count;
  searching.stop = options.stop;
  searching.found = [only](const scheduler::finding& each) { return only && !only->contains(each.first.outcome); };
  return run_trial(machine, tested, settings, tried.strategy, *deciding, searching);
}

/// What was found last, played again and shrunk.
zoo_search followed_up(sim::simulation& machine, const scenario& tested, const parameters& settings,
                       const zoo_options& options, const trial& searched) {
  zoo_search made;
  made.schedules_to_find = searched.runs.schedules;
  made.found = !searched.runs.findings.empty();
  if (!made.found) return made;
  made.first = searched.runs.findings.back().first;
  const scheduler::run_one run = runs_of(machine, tested, settings);
  const scheduler::trace_or_error read = scheduler::from_token(scheduler::to_token(made.first));
  made.replayed = read.value && scheduler::run_again(*read.value, run, false).disagreement.empty();
  if (!made.replayed) return made;
  scheduler::shrink_options shrinking = shrink_options_for(machine, tested, settings, made.first.outcome);
  shrinking.runs_max = options.shrink_runs;
  shrinking.stop = options.stop;
  const scheduler::shrunk small = scheduler::shrink(made.first, run, shrinking);
  made.size_found = small.before;
  made.size_shrunk = small.after;
  if (small.error.empty()) made.shrunk_token = token_of(small.smallest);
  return made;
}

bool is_stopped(const zoo_options& options) {
  return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
}

/// The keys of "key=value" assignments.
std::vector<std::string> keys_of(const std::vector<std::string>& assignments) {
  std::vector<std::string> keys;
  for (const std::string& each : assignments) keys.push_back(each.substr(0, each.find('=')));
  return keys;
}

/// In the largest of some larger programs that shows the bug; nothing where none does.
std::optional<zoo_ordinary> in_ordinary_size(sim::simulation& machine, const zoo_entry& entry,
                                             const parameters& smallest, const zoo_options& options) {
  const scheduler::verdict_set expected = entry.bug->expected_verdict(smallest);
  for (const uint32_t factor : {4u, 3u, 2u}) {
    const parameters settings = raised(*entry.bug, smallest, factor, keys_of(options.settings));
    zoo_ordinary made;
    for (const auto& [key, value] : settings.values())
      if (const std::string before = smallest.value_text(key); before != value)
        made.raised.push_back({.key = key, .before = before, .after = value});
    if (made.raised.empty() || is_stopped(options)) return std::nullopt;
    const trial searched = search(machine, *entry.bug, settings, options,
                                  {options.strategy, options.first_seed, options.ordinary_schedules}, expected);
    if (searched.runs.findings.empty() || !expected.contains(searched.runs.findings.back().first.outcome)) continue;
    made.search = followed_up(machine, *entry.bug, settings, options, searched);
    return made;
  }
  return std::nullopt;
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
  const parameters settings = *simulator_settings(*entry.bug, options.settings).value;
  const parameters of_the_twin = *simulator_settings(*entry.twin, options.settings).value;
  const trial searched =
      search(machine, *entry.bug, settings, options, {options.strategy, options.first_seed, options.schedules});
  zoo_result made{followed_up(machine, *entry.bug, settings, options, searched)};
  made.expected = entry.bug->expected_verdict(settings);
  if (made.found && made.expected.contains(made.first.outcome))
    made.ordinary = in_ordinary_size(machine, entry, settings, options);
  const trial twin = search(machine, *entry.twin, of_the_twin, options,
                            {options.strategy, options.first_seed, options.twin_schedules});
  made.twin_schedules = twin.runs.schedules;
  if (!twin.runs.findings.empty()) made.twin_finding = twin.runs.findings.front();
  made.interrupted = is_stopped(options);
  made.begun = !made.interrupted || searched.runs.schedules != 0;
  return made;
}

std::vector<uint64_t> schedules_to_find(sim::simulation& machine, const zoo_entry& entry, const zoo_options& options,
                                        const std::string& strategy, uint32_t trials) {
  const parameters settings = *simulator_settings(*entry.bug, options.settings).value;
  const scheduler::verdict_set expected = entry.bug->expected_verdict(settings);
  std::vector<uint64_t> needed;
  for (uint32_t number = 0; number < trials; ++number) {
    const trial made = search(machine, *entry.bug, settings, options,
                              {strategy, options.first_seed + number * options.schedules, options.schedules});
    const bool found = !made.runs.findings.empty() && expected.contains(made.runs.findings.front().first.outcome);
    needed.push_back(found ? made.runs.schedules : 0);
    if (is_stopped(options)) break;
  }
  return needed;
}

namespace {

using json = nlohmann::ordered_json;

json to_text(const scheduler::run_size& size) {
  return {size.steps, size.switches, size.preemptions, size.odd_answers};
}

scheduler::run_size size_of(const json& text) {
  return {.steps = text.at(0), .switches = text.at(1), .preemptions = text.at(2), .odd_answers = text.at(3)};
}

json to_text(const zoo_search& of) {
  return {{"found", of.found},
          {"first", scheduler::to_json(of.first)},
          {"schedules_to_find", of.schedules_to_find},
          {"replayed", of.replayed},
          {"size_found", to_text(of.size_found)},
          {"size_shrunk", to_text(of.size_shrunk)},
          {"shrunk_token", of.shrunk_token}};
}

/// A trace as it was sent, also that of nothing.
scheduler::trace trace_in(const json& text) {
  scheduler::trace_or_error read = scheduler::from_json(text.get<std::string>());
  return read.value ? std::move(*read.value) : scheduler::trace();
}

void take(const json& text, zoo_search& of) {
  of.found = text.at("found");
  of.first = trace_in(text.at("first"));
  of.schedules_to_find = text.at("schedules_to_find");
  of.replayed = text.at("replayed");
  of.size_found = size_of(text.at("size_found"));
  of.size_shrunk = size_of(text.at("size_shrunk"));
  of.shrunk_token = text.at("shrunk_token");
}

}  // namespace

std::string text_of(const zoo_result& result) {
  json made = {{"search", to_text(static_cast<const zoo_search&>(result))},
               {"twin_schedules", result.twin_schedules},
               {"begun", result.begun},
               {"interrupted", result.interrupted}};
  if (result.ordinary) {
    json raised = json::array();
    for (const scheduler::changed_setting& each : result.ordinary->raised)
      raised.push_back({each.key, each.before, each.after});
    made["ordinary"] = {{"raised", std::move(raised)}, {"search", to_text(result.ordinary->search)}};
  }
  if (result.twin_finding) made["twin_finding"] = scheduler::to_json(result.twin_finding->first);
  return json_line(made);
}

zoo_result result_in(const std::string& sent, const scheduler::verdict_set& expected) {
  const json text = json::parse(sent);
  zoo_result made;
  made.expected = expected;
  take(text.at("search"), made);
  made.twin_schedules = text.at("twin_schedules");
  made.begun = text.at("begun");
  made.interrupted = text.at("interrupted");
  if (text.contains("ordinary")) {
    zoo_ordinary& ordinary = made.ordinary.emplace();
    for (const json& each : text.at("ordinary").at("raised"))
      ordinary.raised.push_back({.key = each.at(0), .before = each.at(1), .after = each.at(2)});
    take(text.at("ordinary").at("search"), ordinary.search);
  }
  if (text.contains("twin_finding")) made.twin_finding.emplace().first = trace_in(text.at("twin_finding"));
  return made;
}

}  // namespace heddle::tools
