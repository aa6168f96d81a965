#include <heddle/scheduler/campaign.h>
#include <heddle/sim/code/program_libraries.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/kept_output.h>
#include <heddle/tools/trial/explain.h>
#include <heddle/tools/trial/traces.h>
#include <heddle/tools/trial/trial.h>
#include <heddle/tools/verify/verification.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include <algorithm>

namespace heddle::tools {

parameters without_bounds(const parameters& settings, const std::vector<std::string>& assignments) {
  parameters made = settings;
  const auto widen = [&](const std::string& key, const std::string& value) {
    const bool is_set = std::any_of(assignments.begin(), assignments.end(),
                                    [&](const std::string& each) { return each.starts_with(key + "="); });
    if (!is_set) made.set(key + "=" + value);
  };
  if (made.has("wakes")) widen("wakes", "1000");
  // The order of all lanes counts.
  if (made.has("step")) made.set("step=lane");
  if (made.has("evict") && made.text("evict") != "off") widen("evict.lull", "off");
  if (!made.has("fidelity")) return made;
  const std::string fidelity = made.text("fidelity");
  if (fidelity == "scoped") {
    widen("late", "1000");
    widen("history", "60");
    if (made.text("races") == "end" && made.text("races.known").empty()) widen("points", "atomics");
  }
  if (fidelity == "link") {
    widen("late", "1000");
    if (made.text("link.latency") == "off") {
      widen("link.age", "1000000000");
      // How long nothing arrives follows from the order of turns.
      widen("link.lull", "off");
    }
  }
  return made;
}

namespace {

uint64_t peak_bytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<uint64_t>(used.ru_maxrss) * 1024;
}

verification search_once(const scenario& tested, const parameters& settings, const verify_options& asked) {
  verification made;
  made.tested = &tested;
  made.settings = settings;
  made.expected = tested.expected_verdict(settings);
  sim::simulation machine;
  sim::search_options options;
  options.seconds_max = asked.seconds_max;
  options.states_max = asked.states_max;
  options.bytes_max = asked.memory_mib << 20;
  options.stop = asked.stop;
  options.jobs = asked.jobs;
  // A link keeps what it keeps, whatever is set.
  const bool is_scoped = settings.has("fidelity") && settings.text("fidelity") == "scoped";
  options.needs_all_stores =
      !is_scoped || std::none_of(asked.assignments.begin(), asked.assignments.end(),
                                 [](const std::string& each) { return each.starts_with("history="); });
  options.skip_local = options.block_waits = options.cover_states = options.cross_steps = asked.reduced;
  options.match_states = asked.reduced && asked.matches_states;
  options.progress = asked.progress;
  options.forecasts = asked.forecasts;
  options.set_apart = be_no_copy;
  options.ended = [&](const sim::outcome& ended, const std::vector<scheduler::answer>& answers) {
    if (ended.verdict == scheduler::verdict::ok || ended.verdict == scheduler::verdict::budget) return true;
    counterexample found = {.recorded = trace_header(tested, settings, verifying_strategy)};
    scheduler::failure::of(
        scheduler::run_result{
            .outcome = ended.verdict, .where = ended.where, .message = ended.message, .hang = ended.hang})
        .note_in(found.recorded);
    found.recorded.digest = ended.digest;
    found.recorded.steps = ended.steps;
    found.recorded.answers = answers;
    made.found = std::move(found);
    return false;
  };
  const auto run = [&](scheduler::choice_source& choices) {
    const run_under_way known(tested, choices.seed());
    return machine.run(settings, [&] { tested.body(settings); }, choices, false);
  };
  saved_in from;
  saved_out to(asked.saved == nullptr ? "" : asked.saved->file.data(),
               [&] { return header_of(tested.name, asked.assignments, *asked.saved); });
  if (asked.saved != nullptr) {
    options.saves_to = &to;
    options.cannot_be_saved = asked.cannot_be_saved;
    if (asked.saved->goes_on &&
        from.open(asked.saved->file.data(), asked.saved->searched_at, asked.saved->searched_bytes))
      options.goes_on_from = &from;
  }
  const kept_output keeps;
  made.search = machine.search(run, options);
  if (made.search.cut && asked.saved != nullptr) {
    made.not_written = made.search.not_saved.empty() ? to.finish() : made.search.not_saved;
    if (made.not_written.empty()) made.saved_file = asked.saved->file.data();
  }
  if (made.found) {
    // To repeat it may be the end of this process.
    tell_parent(scheduler::to_token(made.found->recorded));
    const auto again = [&](scheduler::choice_source& choices, bool explain) {
      return run_or_explain(machine, tested, settings, choices, explain);
    };
    scheduler::replay_result replayed = scheduler::run_again(made.found->recorded, again, true);
    made.found->not_reproducible = std::move(replayed.disagreement);
    made.found->message = std::move(replayed.result.message);
    made.found->report = std::move(replayed.result.report);
  }
  made.peak_bytes = peak_bytes();
  return made;
}

}  // namespace

namespace {

bool is_to_stop(const verify_options& options) {
  return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
}

/// Notes in the stage what the search has lacked; false where it has lacked nothing.
bool lacks(search_stage& stage, const sim::search_result& made, const verify_options& options) {
  if (made.wants_frames > stage.with_frames) {
    stage.with_frames = made.wants_frames;
    return true;
  }
  const bool points_are_given = std::any_of(options.assignments.begin(), options.assignments.end(),
                                            [](const std::string& each) { return each.starts_with("points="); });
  if (!made.wants_points || stage.with_points || points_are_given) return false;
  stage.with_points = true;
  return true;
}

void widen(parameters& settings, const search_stage& stage) {
  if (stage.with_points) settings.set("points=all");
  if (stage.with_frames != 0) settings.set("host_frames=" + std::to_string(stage.with_frames));
}

/// Begins again for as long as a search lacks something.
verification search_wide_enough(const scenario& tested, const parameters& settings, const verify_options& options) {
  search_stage stage;
  for (verify_options left = options;;) {
    parameters widened = without_bounds(settings, options.assignments);
    widen(widened, stage);
    verification made = search_once(tested, widened, left);
    if (made.found || is_to_stop(options) || !lacks(stage, made.search, options)) return made;
    constexpr double least_seconds = 0.001;  // 0 is no bound
    if (left.seconds_max > 0) left.seconds_max = std::max(left.seconds_max - made.search.seconds, least_seconds);
  }
}

}  // namespace

namespace {

/// The search for races, behind this one.
search_stage stage_behind(const sim::search_result& weighed) {
  search_stage made = {.behind_weighed = true,
                       .with_points = false,
                       .with_frames = 0,
                       .weighed_complete = weighed.complete,
                       .states = weighed.states,
                       .transitions = weighed.transitions,
                       .executions = weighed.executions,
                       .runs = weighed.runs,
                       .depth_max = weighed.depth_max,
                       .seconds = weighed.seconds,
                       .left_out = {}};
  weighed.left_out.copy(made.left_out.data(), made.left_out.size() - 1);
  return made;
}

/// Adds what the search before this one has found.
void add_weighed(sim::search_result& both, const search_stage& before) {
  if (both.complete && !before.weighed_complete) {
    both.complete = false;
    both.left_out = before.left_out.data();
  }
  both.states += before.states;
  both.transitions += before.transitions;
  both.executions += before.executions;
  both.runs += before.runs;
  both.seconds += before.seconds;
  both.depth_max = std::max(both.depth_max, before.depth_max);
}

/// One of the searches of verify_all_runs(), and what comes behind it: a new process, as the search behind it begins in one wherever it goes on.
verification search_stage_of(const scenario& tested, const parameters& settings, const verify_options& options) {
  search_stage& stage = options.saved->stage;
  const bool weighs = settings.has("races") && settings.text("races") == "weigh";
  parameters widened = settings;
  if (weighs && stage.behind_weighed) widened.set("races=end");
  widened = without_bounds(widened, options.assignments);
  widen(widened, stage);
  verification made = search_once(tested, widened, options);
  if (weighs && stage.behind_weighed && !made.found) made.settings = settings;
  if (made.found || made.search.cut || !made.search.not_gone_on.empty()) return made;
  if (!lacks(stage, made.search, options)) {
    if (!weighs || stage.behind_weighed) return made;
    stage = stage_behind(made.search);
  }
  options.saved->goes_on = false;
  // Where it is to stop, the next one only is written down.
  if (is_to_stop(options)) return search_stage_of(tested, settings, options);
  made.next_stage = true;
  return made;
}

}  // namespace

// With races=weigh, first what comes of races, in a search that looks for none; then the races.
verification verify_all_runs(const scenario& tested, const parameters& settings, const verify_options& options) {
  if (options.saved != nullptr) {
    verification made = search_stage_of(tested, settings, options);
    if (options.saved->stage.behind_weighed) add_weighed(made.search, options.saved->stage);
    return made;
  }
  if (!settings.has("races") || settings.text("races") != "weigh") return search_wide_enough(tested, settings, options);
  verification weighed = search_wide_enough(tested, settings, options);
  if (weighed.found) return weighed;
  if (is_to_stop(options)) {
    // However far it has come: of races nothing is known.
    weighed.search.complete = false;
    weighed.search.left_out = sim::search_was_stopped;
    return weighed;
  }
  parameters ends = settings;
  ends.set("races=end");
  verification made = search_wide_enough(tested, ends, options);
  add_weighed(made.search, stage_behind(weighed.search));
  if (!made.found) made.settings = settings;
  return made;
}

std::string what_is_proved(const verification& made, const std::vector<std::string>& given) {
  std::string text;
  std::vector<std::string> keys = {"progress", "fidelity", "convergence"};
  // What an x86 keeps in order other hosts do not.
  if (made.settings.has("fidelity") && made.settings.text("fidelity") == "scoped")
    keys.insert(keys.begin() + 2, "host");
  for (const std::string& each : given) {
    const std::string key = each.substr(0, each.find('='));
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  for (const std::string& key : keys)
    if (made.settings.has(key)) text += (text.empty() ? "" : ", ") + key + "=" + made.settings.value_text(key);
  if (!sim::names_of_unseen_code().empty())
    text += ", without what " + sim::names_of_unseen_code() + " loads and stores";
  return text;
}

namespace {

using json = nlohmann::ordered_json;

/// From one process to the other. A double's bits come as they were sent.
std::string packed(const verification& made, const std::vector<std::string>& given) {
  json sent = {{"complete", made.search.complete}, {"of", what_is_proved(made, given)},
               {"left_out", made.search.left_out}, {"states", made.search.states},
               {"runs", made.search.runs},         {"seconds", made.search.seconds}};
  if (made.found) {
    sent["token"] = scheduler::to_token(made.found->recorded);
    sent["message"] = made.found->message;
    sent["report"] = made.found->report;
    sent["not_reproducible"] = made.found->not_reproducible;
  }
  return json_line(sent);
}

proof_attempt unpacked(const std::string& sent) {
  const json told = json::parse(sent);
  proof_attempt made = {.complete = told["complete"],
                        .of = told["of"],
                        .left_out = told["left_out"],
                        .states = told["states"],
                        .runs = told["runs"],
                        .seconds = told["seconds"]};
  if (told.contains("token")) {
    made.found = scheduler::finding{.first = scheduler::from_token(told["token"].get<std::string>()).value.value(),
                                    .message = told["message"],
                                    .report = told["report"],
                                    .count = 1,
                                    .not_reproducible = told["not_reproducible"]};
  }
  return made;
}

}  // namespace

proof_attempt prove_in_copy(const scenario& tested, const parameters& settings, const verify_options& options) {
  if (auto wrong = cannot_verify(settings)) return {.of = {}, .left_out = std::move(*wrong)};
  proof_attempt ended_suddenly;
  const auto ended = [&](const sudden_end& how, const std::string& token) {
    scheduler::trace recorded = trace_header(tested, without_bounds(settings, options.assignments), verifying_strategy);
    if (auto told = scheduler::from_token(token); told.value) recorded = std::move(*told.value);
    recorded.outcome = how.outcome;
    recorded.where = how.where;
    ended_suddenly.found =
        scheduler::finding{.first = std::move(recorded), .message = how.message, .report = how.report, .count = 1};
    return std::string();
  };
  const std::string told = in_copy(
      [&] { return packed(verify_all_runs(tested, settings, options), options.assignments); }, {.ended = ended});
  if (!told.empty()) return unpacked(told);
  if (!ended_suddenly.found) ended_suddenly.left_out = sim::search_was_stopped;
  return ended_suddenly;
}

std::optional<std::string> cannot_verify(const parameters& settings) {
  if (settings.has("races.excuse") && settings.text("races.excuse") != "none")
    return "verify excuses no kinds of races, as no state tells of which kind one is: leave out --set races.excuse=" +
           settings.text("races.excuse") + ", or excuse variables by --excuse";
  if (const auto place = excuse_of_place(settings))
    return "verify excuses variables alone, as no state tells where an earlier access was made; not " + *place;
  if (!settings.has("starvation") || settings.number("starvation") == 0) return {};
  return "verify cannot tell how often an actor was passed over: leave out --set starvation=" +
         settings.value_text("starvation") + ", and use heddle fuzz for it";
}

nlohmann::ordered_json to_json(const verification& made) {
  json shown = {{"scenario", made.tested->name},
                {"result", made.result()},
                {"states", made.search.states},
                {"executions", made.search.executions},
                {"transitions", made.search.transitions},
                {"restarts", made.search.restarts},
                {"depth_max", made.search.depth_max},
                {"seconds", made.search.seconds},
                {"peak_bytes", made.peak_bytes},
                {"token", made.found ? json(token_of(made.found->recorded)) : json(nullptr)},
                {"expected", to_string(made.expected)},
                {"ok", made.ok()},
                {"runs", made.search.runs},
                {"incomplete_because", made.search.left_out},
                {"saved", made.saved_file.empty() ? json(nullptr) : json(made.saved_file)},
                {"resumed", nullptr},
                {"forecast", nullptr},
                {"goes_round", made.search.goes_round}};
  if (const sim::search_forecast& ahead = made.search.forecast;
      made.search.cut && ahead.runs != 0 && made.search.goes_round.empty())
    shown["forecast"] = {{"states", ahead.states()}, {"known_share", ahead.share()}, {"runs", ahead.runs}};
  if (made.search.before.runs != 0)
    shown["resumed"] = {{"states", made.search.before.states},
                        {"runs", made.search.before.runs},
                        {"seconds", made.search.before.seconds}};
  if (made.found) {
    shown["verdict"] = to_string(made.found->recorded.outcome);
    shown["where"] = made.found->recorded.where;
    shown["message"] = made.found->message;
    shown["reproducible"] = made.found->not_reproducible.empty();
    shown["file"] = made.file.empty() ? json(nullptr) : json(made.file);
  }
  return shown;
}

}  // namespace heddle::tools
