#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/shrink.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/sim/call_times.h>
#include <heddle/sim/settings.h>
#include <heddle/tools/cli/version.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/process/kept_output.h>
#include <heddle/tools/trial/trial.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

namespace heddle::tools {

scheduler::verdict trial::seen() const {
  for (const scheduler::finding& each : runs.findings)
    if (!expected.contains(each.first.outcome)) return each.first.outcome;
  if (!runs.findings.empty()) return runs.findings.front().first.outcome;
  return proof && proof->found ? proof->found->first.outcome : scheduler::verdict::ok;
}

bool trial::as_expected() const {
  const auto repeatable = [](const scheduler::finding& each) { return each.not_reproducible.empty(); };
  return runs.schedules != 0 && expected.contains(seen()) &&
         std::all_of(runs.findings.begin(), runs.findings.end(), repeatable) &&
         (!proof || !proof->found || repeatable(*proof->found));
}

settings_or_error simulator_settings(const scenario& tested, const std::vector<std::string>& assignments) {
  settings_or_error set = settings_of(tested, sim::machine_parameters(), assignments);
  if (!set.value) return set;
  if (const auto wrong = sim::without_effect(*set.value))
    return {.value = {}, .error = "scenario " + tested.name + ": " + *wrong};
  if (set.value->has("assume"))
    if (const auto wrong = sim::wrong_assumption(set.value->text("assume"))) return {.value = {}, .error = *wrong};
  return set;
}

namespace {

std::vector<sim::excuse> excuses_in(const parameters& settings) {
  std::vector<sim::excuse> known;
  if (settings.has("races.known")) sim::read_excuses(settings.text("races.known"), known);
  return known;
}

}  // namespace

std::vector<std::string> unused_excuses(const parameters& settings, const std::vector<trial>& made) {
  std::vector<std::string> unused;
  for (const sim::excuse& each : excuses_in(settings))
    if (std::none_of(made.begin(), made.end(), [&](const trial& one) { return one.runs.excused.contains(each.from); }))
      unused.push_back(each.from + " (" + each.text() + ')');
  return unused;
}

std::optional<std::string> excuse_of_place(const parameters& settings) {
  for (const sim::excuse& each : excuses_in(settings))
    if (each.variable.empty()) return each.from + " (" + each.text() + ')';
  return std::nullopt;
}

scheduler::run_result result_of(const sim::outcome& ended) {
  return {.outcome = ended.verdict,
          .where = ended.where,
          .message = ended.message,
          .report = ended.report,
          .waits = ended.waits,
          .steps = ended.steps,
          .switches = ended.switches,
          .waiting = ended.waiting,
          .hang = ended.hang,
          .digest = ended.digest,
          .abandoned = ended.stopped_by_source,
          .library_steps = ended.library_steps,
          .excused = ended.excused,
          .behaviour = ended.behaviour};
}

scheduler::run_result run_scenario(sim::simulation& machine, const scenario& tested, const parameters& settings,
                                   scheduler::choice_source& choices, bool explain) {
  const run_under_way known(tested, choices.seed());
  return result_of(machine.run(settings, [&] { tested.body(settings); }, choices, explain));
}

scheduler::trace trace_header(const scenario& tested, const parameters& settings, const std::string& strategy) {
  scheduler::trace header;
  header.version = version();
  header.build_id = build_id();
  header.scenario = tested.name;
  header.parameters = settings.values();
  // Nearly no run assumes anything, and tokens are long enough.
  std::erase(header.parameters, std::pair<std::string, std::string>("assume", ""));
  // It changes no run.
  std::erase_if(header.parameters, [](const auto& each) { return each.first == "behaviours"; });
  header.strategy = strategy;
  return header;
}

trial run_trial(sim::simulation& machine, const scenario& tested, const parameters& settings,
                const std::string& strategy_name, scheduler::strategy& deciding, scheduler::campaign_options options) {
  options.header = trace_header(tested, settings, strategy_name);
  const auto run = [&](scheduler::choice_source& choices, bool explain) {
    return run_scenario(machine, tested, settings, choices, explain);
  };
  trial made;
  made.tested = &tested;
  made.expected = tested.expected_verdict(settings);
  made.runs = scheduler::run_campaign(options, deciding, run);
  made.files.resize(made.runs.findings.size());
  return made;
}

std::string search_again_command(const std::string& program, const scheduler::trace& recorded) {
  if (recorded.strategy == following_strategy) return shell_word(program) + " import, with the dump that it came from";
  const bool is_shrunk = recorded.strategy == scheduler::shrunk_strategy;
  const bool is_verified = recorded.strategy == verifying_strategy;
  std::string command = shell_word(program) + (is_verified ? " verify " : " fuzz ") + shell_word(recorded.scenario);
  if (!is_shrunk && !is_verified)
    command +=
        " --strategy " + shell_word(recorded.strategy) + " --seed " + std::to_string(recorded.seed) + " --schedules 1";
  const auto& all = scenarios();
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const scenario& each) { return each.name == recorded.scenario; });
  if (known == all.end()) return command;
  const parameters defaults = settings_of(*known, sim::machine_parameters());
  for (const auto& [key, value] : recorded.parameters)
    if (!defaults.has(key) || defaults.value_text(key) != value) command += " --set " + shell_word(key + "=" + value);
  return command;
}

namespace {

static_assert(std::is_trivially_copyable_v<call_latency>, "a copy sends it as it lies in memory");

constexpr uint64_t schedules_most = 200;
constexpr uint64_t steps_most = 400'000;  // a run more than that is made in any case
constexpr uint64_t schedules_without_call = 4;

/// What a share of them does not exceed; the nearest rank. `sorted` is not empty.
double at_share(const std::vector<uint64_t>& sorted, uint64_t percent) {
  constexpr double ps_per_ns = 1000;
  const size_t rank = (sorted.size() * percent + 99) / 100;
  return static_cast<double>(sorted[rank == 0 ? 0 : rank - 1]) / ps_per_ns;
}

std::optional<call_latency> measured(const scenario& tested, const parameters& settings, const std::string& strategy,
                                     uint64_t first_seed, uint64_t schedules) {
  std::string error;
  const std::unique_ptr<scheduler::strategy> deciding = scheduler::make_strategy(strategy, error);
  if (deciding == nullptr) return std::nullopt;
  sim::simulation machine;
  deciding->estimated(scheduler::estimate_for(
      *deciding, [&](scheduler::choice_source& choices) { run_scenario(machine, tested, settings, choices, false); }));
  sim::call_times times;
  machine.time_calls(&times);
  scheduler::choice_source choices;
  uint64_t steps = 0;
  uint64_t runs = 0;
  const uint64_t most = std::min(schedules, schedules_most);
  for (; runs < most && steps < steps_most && !interrupt_flag(); ++runs) {
    if (times.begun == 0 && (runs == schedules_without_call || times.runs != runs)) return std::nullopt;
    choices.begin(*deciding, first_seed + runs);
    steps += run_scenario(machine, tested, settings, choices, false).steps;
  }
  if (times.took_ps.empty()) return std::nullopt;
  std::sort(times.took_ps.begin(), times.took_ps.end());
  return call_latency{.calls = times.took_ps.size(),
                      .schedules = runs,
                      .median_ns = at_share(times.took_ps, 50),
                      .p99_ns = at_share(times.took_ps, 99),
                      .longest_ns = at_share(times.took_ps, 100)};
}

}  // namespace

std::optional<call_latency> latency_of(const scenario& tested, const parameters& settings, const std::string& strategy,
                                       uint64_t first_seed, uint64_t schedules) {
  // A schedule that ends its process has told nothing of time.
  const std::string told = in_copy(
      [&] {
        const kept_output keeps;
        const std::optional<call_latency> made = measured(tested, settings, strategy, first_seed, schedules);
        return made ? std::string(reinterpret_cast<const char*>(&*made), sizeof *made) : std::string();
      },
      {.ended = [](const sudden_end&, const std::string&) { return std::string(); }});
  call_latency made{};
  if (told.size() != sizeof made) return std::nullopt;
  std::memcpy(&made, told.data(), sizeof made);
  return made;
}

}  // namespace heddle::tools
