#include <heddle/scheduler/replay.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/mend/attempts.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/process/kept_output.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

namespace heddle::tools {

std::string attempt::text() const {
  std::string all;
  for (const site_assumption& each : changes) all += (all.empty() ? "" : ",") + each.text();
  return all;
}

uint32_t attempt::cost() const {
  return std::accumulate(changes.begin(), changes.end(), 0u,
                         [](uint32_t sum, const site_assumption& each) { return sum + each.cost; });
}

uint32_t attempt::rank() const {
  return std::accumulate(changes.begin(), changes.end(), 0u,
                         [](uint32_t sum, const site_assumption& each) { return sum + each.rank; });
}

attempt attempt::with(const site_assumption& more) const {
  attempt made = *this;
  made.changes.push_back(more);
  return made;
}

bool attempt::has(const site_assumption& one) const {
  return std::any_of(changes.begin(), changes.end(),
                     [&](const site_assumption& each) { return each.text() == one.text(); });
}

parameters assuming(const parameters& settings, const attempt& tried) {
  parameters made = settings;
  const std::string& given = settings.text("assume");
  const std::string more = tried.text();
  made.set("assume=" + given + (given.empty() || more.empty() ? "" : ",") + more);
  return made;
}

namespace {

using json = nlohmann::ordered_json;

json to_text(const attempt_result& of) {
  json made = {{"schedules", of.schedules}, {"message", of.message}};
  if (of.found) made["found"] = scheduler::to_json(*of.found);
  return made;
}

attempt_result result_in(const json& text) {
  attempt_result made{.schedules = text.at("schedules"), .found = {}, .message = text.at("message")};
  if (text.contains("found")) made.found = scheduler::from_json(text.at("found").get<std::string>()).value;
  return made;
}

/// A copy that was ended by what it ran: that is a finding too, which cannot be repeated here.
attempt_result of_end(const sudden_end& how, const trying& tried) {
  attempt_result made{.schedules = 1, .found = trace_header(*tried.tested, tried.settings, tried.strategy)};
  made.found->outcome = how.outcome;
  made.found->where = how.where;
  made.found->seed = how.seed;
  made.message = how.message;
  return made;
}

/// The recorded schedule, as far as it fits; nothing where it ends well.
std::optional<attempt_result> followed(sim::simulation& machine, const parameters& settings, const trying& how) {
  scheduler::try_strategy following(how.schedule->answers);
  scheduler::choice_source choices;
  choices.begin(following, how.schedule->seed);
  const scheduler::run_result ended = run_scenario(machine, *how.tested, settings, choices, false);
  if (ended.outcome == scheduler::verdict::ok) return std::nullopt;
  attempt_result made{.schedules = 1, .found = trace_header(*how.tested, settings, how.strategy)};
  made.found->seed = how.schedule->seed;
  made.found->digest = ended.digest;
  made.found->steps = ended.steps;
  made.found->answers = choices.recorded();
  scheduler::failure::of(ended).note_in(*made.found);
  made.message = ended.message;
  return made;
}

trial campaign(sim::simulation& machine, const parameters& settings, const trying& how, bool stops) {
  std::string error;
  const auto deciding = scheduler::make_strategy(how.strategy, error);
  scheduler::campaign_options options;
  options.first_seed = how.first_seed;
  options.schedules = how.schedules;
  options.stop = &interrupt_flag();
  options.found = [stops](const scheduler::finding&) { return !stops; };
  return run_trial(machine, *how.tested, settings, how.strategy, *deciding, options);
}

attempt_result result_of_attempt(const attempt& tried, const trying& how) {
  const parameters settings = assuming(how.settings, tried);
  sim::simulation machine;
  if (how.schedule != nullptr)
    if (std::optional<attempt_result> bad = followed(machine, settings, how)) return std::move(*bad);
  const trial made = campaign(machine, settings, how, true);
  attempt_result result{.schedules = made.runs.schedules, .found = {}, .message = {}};
  if (made.runs.findings.empty()) return result;
  result.found = made.runs.findings.front().first;
  result.message = made.runs.findings.front().message;
  return result;
}

json to_text(const site& of) {
  return {of.where,
          static_cast<int>(of.kind),
          static_cast<int>(of.order),
          static_cast<int>(of.reach),
          of.on_device,
          of.has_siblings,
          of.times,
          of.rank,
          of.now,
          of.is_copied,
          of.variables,
          of.overtakes};
}

site site_in(const json& text) {
  return {.where = text.at(0),
          .kind = static_cast<sim::operation_kind>(text.at(1).get<int>()),
          .now = text.at(8),
          .order = static_cast<memory_order>(text.at(2).get<int>()),
          .reach = static_cast<scope>(text.at(3).get<int>()),
          .on_device = text.at(4),
          .has_siblings = text.at(5),
          .is_copied = text.at(9),
          .overtakes = text.at(11),
          .times = text.at(6),
          .rank = text.at(7),
          .variables = text.at(10)};
}

struct sites_and_places {
  std::vector<site> sites;
  std::set<uint64_t> places;  ///< return addresses

  void take(const sim::run_record& run) {
    for (const auto& chain : run.call_chains)
      for (const sim::source_line& line : chain) places.insert(reinterpret_cast<uintptr_t>(line.address));
  }
};

/// What `work` finds in a copy of this process; empty where that was ended. The lines of its places are looked up here, too: copies that are made
/// later need not.
std::vector<site> sites_from_copy(const std::function<sites_and_places()>& work) {
  const std::string nothing = R"({"sites": [], "places": []})";
  const std::string told = in_copy(
      [&] {
        const sites_and_places found = work();
        json sites = json::array();
        for (const site& each : found.sites) sites.push_back(to_text(each));
        return json_line(json({{"sites", std::move(sites)}, {"places", found.places}}));
      },
      {.ended = [&](const sudden_end&, const std::string&) { return nothing; }, .stopped = nothing});
  const json found = json::parse(told);
  std::vector<site> made;
  for (const json& each : found.at("sites")) made.push_back(site_in(each));
  for (const uint64_t place : found.at("places")) sim::inlined_at(reinterpret_cast<const void*>(place));
  return made;
}

sim::run_record recorded_run_of(sim::simulation& machine, const parameters& settings, const trying& how,
                                scheduler::choice_source& choices) {
  sim::run_record record;
  const run_under_way known(*how.tested, choices.seed());
  machine.run(settings, [&] { how.tested->body(settings); }, choices, true, &record);
  return record;
}

/// Adds what another run has of the sites.
void add(std::vector<site>& all, const std::vector<site>& more) {
  for (const site& each : more) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const site& known) {
      return known.where == each.where && known.kind == each.kind;
    });
    if (at == all.end()) {
      all.push_back(each);
      continue;
    }
    if (each.order > at->order) at->now = each.now;
    at->order = std::max(at->order, each.order);
    at->reach = std::max(at->reach, each.reach);
    at->on_device = at->on_device || each.on_device;
    at->times = std::max(at->times, each.times);
  }
}

}  // namespace

std::vector<attempt_result> try_all(const std::vector<attempt>& attempts, const trying& how) {
  std::vector<attempt_result> results(attempts.size());
  in_copies({.most = how.jobs,
             .count = attempts.size(),
             .work =
                 [&](size_t index) {
                   const kept_output keeps;
                   return json_line(to_text(result_of_attempt(attempts[index], how)));
                 },
             .done = [&](size_t index, const std::string& told) { results[index] = result_in(json::parse(told)); },
             .ended = [&](size_t index, const sudden_end& end) { results[index] = of_end(end, how); },
             .stopped = [](size_t) {}});
  return results;
}

std::vector<attempt_result> all_findings(const attempt& tried, const trying& how) {
  const std::string told = in_copy(
      [&] {
        const kept_output keeps;
        sim::simulation machine;
        const trial made = campaign(machine, assuming(how.settings, tried), how, false);
        json all = json::array();
        for (const scheduler::finding& each : made.runs.findings)
          all.push_back(
              to_text(attempt_result{.schedules = made.runs.schedules, .found = each.first, .message = each.message}));
        return json_line(all);
      },
      {.ended = [&](const sudden_end& end,
                    const std::string&) { return json_line(json::array({to_text(of_end(end, how))})); },
       .stopped = "[]"});
  std::vector<attempt_result> made;
  for (const json& each : json::parse(told)) made.push_back(result_in(each));
  return made;
}

std::vector<site> sites_in(const scheduler::trace& recorded, const attempt& assumed, const trying& how) {
  return sites_from_copy([&] {
    const parameters settings = assuming(how.settings, assumed);
    sim::simulation machine;
    scheduler::try_strategy following(recorded.answers);
    scheduler::choice_source choices;
    choices.begin(following, recorded.seed);
    const sim::run_record run = recorded_run_of(machine, settings, how, choices);
    sites_and_places made{.sites = sites_of(run), .places = {}};
    made.take(run);
    return made;
  });
}

std::vector<site> sites_in_schedules(const trying& how) {
  std::vector<site> made = sites_from_copy([&] {
    constexpr uint64_t schedules = 32;
    sim::simulation machine;
    std::string error;
    const auto deciding = scheduler::make_strategy("random", error);
    sites_and_places all;
    for (uint64_t n = 0; n < schedules; ++n) {
      scheduler::choice_source choices;
      choices.begin(*deciding, how.first_seed + n);
      const sim::run_record run = recorded_run_of(machine, how.settings, how, choices);
      add(all.sites, sites_of(run));
      all.take(run);
    }
    return all;
  });
  const auto number_of = [](const site& of) {
    return std::strtol(of.where.c_str() + of.where.rfind(':') + 1, nullptr, 10);
  };
  const auto file_of = [](const site& of) { return std::string_view(of.where).substr(0, of.where.rfind(':')); };
  std::sort(made.begin(), made.end(), [&](const site& one, const site& other) {
    return std::pair(file_of(one), number_of(one)) < std::pair(file_of(other), number_of(other));
  });
  return made;
}

}  // namespace heddle::tools
