#include <heddle/scheduler/printable.h>
#include <heddle/scheduler/shrink.h>
#include <heddle/sim/settings.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/process/kept_output.h>
#include <heddle/tools/replay/shrink.h>
#include <heddle/tools/trial/explain.h>
#include <heddle/tools/trial/traces.h>
#include <heddle/tools/trial/trial.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <limits>
#include <optional>
#include <sstream>

namespace heddle::tools {
namespace {

/// The words of a list as numbers in ascending order; empty when one is none.
std::vector<int64_t> numbers_of(const std::vector<std::string>& words) {
  std::vector<int64_t> numbers;
  for (const std::string& word : words) {
    const auto number = parse_number(word, 0, std::numeric_limits<int64_t>::max());
    if (!number) return {};
    numbers.push_back(static_cast<int64_t>(*number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// A number among the scenario's own parameters.
struct own_number {
  std::string key;
  int64_t minimum = 0;
  int64_t maximum = 0;
  std::vector<int64_t> allowed = {};  ///< in ascending order; empty: every whole number between the two
};

std::vector<own_number> own_numbers(const scenario& tested) {
  const std::vector<parameter> machine = sim::machine_parameters();
  std::vector<own_number> all;
  for (const parameter& each : tested.parameters) {
    const auto same_key = [&](const parameter& other) { return other.key == each.key; };
    if (std::any_of(machine.begin(), machine.end(), same_key)) continue;
    if (each.kind == parameter::type::number) {
      all.push_back({.key = each.key, .minimum = each.minimum, .maximum = each.maximum});
    } else if (std::vector<int64_t> allowed = numbers_of(each.choices); !allowed.empty()) {
      const int64_t least = allowed.front(), most = allowed.back();
      all.push_back({.key = each.key, .minimum = least, .maximum = most, .allowed = std::move(allowed)});
    }
  }
  return all;
}

int64_t value_of(const parameters& settings, const std::string& key) {
  return std::strtoll(settings.value_text(key).c_str(), nullptr, 10);
}

/// The value nearest to `wanted`, which is not below the minimum, from below.
int64_t allowed_up_to(const own_number& what, int64_t wanted) {
  if (what.allowed.empty()) return std::min(wanted, what.maximum);
  return *std::prev(std::upper_bound(what.allowed.begin(), what.allowed.end(), wanted));
}

}  // namespace

scheduler::shrink_options shrink_options_for(sim::simulation& machine, const scenario& tested,
                                             const parameters& recorded, scheduler::verdict found) {
  const bool was_expected = tested.expected_verdict(recorded).contains(found);
  scheduler::shrink_options options;
  for (own_number& each : own_numbers(tested))
    options.reducibles.push_back(
        {.key = std::move(each.key), .minimum = each.minimum, .allowed = std::move(each.allowed)});
  options.with_settings = [&machine, &tested, was_expected,
                           found](const scheduler::setting_values& values) -> scheduler::run_one {
    std::vector<std::string> assignments;
    for (const auto& [key, value] : values) assignments.push_back(key + "=" + value);
    settings_or_error settings = simulator_settings(tested, assignments);
    if (!settings.value || tested.expected_verdict(*settings.value).contains(found) != was_expected) return nullptr;
    return [&machine, &tested, set = std::move(*settings.value)](scheduler::choice_source& choices, bool explain) {
      return run_scenario(machine, tested, set, choices, explain);
    };
  };
  return options;
}

parameters raised(const scenario& tested, const parameters& settings, uint32_t factor,
                  const std::vector<std::string>& kept) {
  const scheduler::verdict_set expected = tested.expected_verdict(settings);
  std::vector<std::string> assignments;
  for (const own_number& each : own_numbers(tested)) {
    if (std::find(kept.begin(), kept.end(), each.key) != kept.end()) continue;
    const int64_t now = value_of(settings, each.key);
    const int64_t most = now > each.maximum / factor ? each.maximum : now * factor;
    if (const int64_t more = allowed_up_to(each, most); more > now)
      assignments.push_back(each.key + "=" + std::to_string(more));
  }
  // What it expects depends on several of them together: more ports go with more waves.
  const auto with = [&](parameters of, const std::vector<std::string>& changes) -> std::optional<parameters> {
    for (const std::string& each : changes)
      if (of.set(each)) return std::nullopt;
    if (sim::without_effect(of) || tested.expected_verdict(of) != expected) return std::nullopt;
    return of;
  };
  if (auto all = with(settings, assignments)) return *all;
  parameters larger = settings;
  for (const std::string& each : assignments)
    if (auto one_more = with(larger, {each})) larger = std::move(*one_more);
  return larger;
}

namespace {

using json = nlohmann::ordered_json;

json to_json(const scheduler::run_size& size) {
  return {{"steps", size.steps},
          {"switches", size.switches},
          {"preemptions", size.preemptions},
          {"odd_answers", size.odd_answers}};
}

void print_json(const scheduler::shrunk& made, const std::string& file, const std::vector<std::string>& decided) {
  json changed = json::array();
  for (const scheduler::changed_setting& each : made.changed)
    changed.push_back({{"key", each.key}, {"before", each.before}, {"after", each.after}});
  const json shown = {{"scenario", made.smallest.scenario},
                      {"verdict", to_string(made.smallest.outcome)},
                      {"where", made.smallest.where},
                      {"file", file},
                      {"token", token_of(made.smallest)},
                      {"before", to_json(made.before)},
                      {"after", to_json(made.after)},
                      {"changed", changed},
                      {"decided", decided},
                      {"runs", made.runs},
                      {"seconds", made.seconds},
                      {"finished", made.finished}};
  write_json(shown);
}

void print_text(const scheduler::shrunk& made, const std::string& file, const std::string& program,
                const scheduler::run_result& explained) {
  const scheduler::trace& small = made.smallest;
  std::cout << scheduler::printable(small.scenario) << ": " << painted(to_string(small.outcome), colour::bad);
  if (!small.where.empty()) std::cout << " at " << small.where;
  std::cout << '\n';
  table sizes({{.title = "", .side = table::align::left},
               {.title = "before", .side = table::align::right},
               {.title = "after", .side = table::align::right}});
  const auto add = [&](const char* what, uint64_t before, uint64_t after) {
    sizes.add({{.text = what}, {.text = grouped(before)}, {.text = grouped(after)}});
  };
  add("  steps", made.before.steps, made.after.steps);
  add("  context switches", made.before.switches, made.after.switches);
  add("  of them forced upon what could go on", made.before.preemptions, made.after.preemptions);
  add("  stale reads, late arrivals and the like", made.before.odd_answers, made.after.odd_answers);
  for (const scheduler::changed_setting& each : made.changed)
    sizes.add({{.text = "  " + each.key}, {.text = each.before}, {.text = each.after}});
  sizes.print(std::cout, 0);
  std::ostringstream seconds;
  seconds << std::fixed << std::setprecision(2) << made.seconds;
  std::cout << "  " << grouped(made.runs) << " runs in " << seconds.str() << " s; "
            << (made.finished ? "no smaller one than this was found" : "the search was cut short, longer may give less")
            << '\n'
            << indented(paragraphs(explained.report).first, 2) << how_to_play(small, program, {.trace = file});
}

/// Of the smallest run what its first screen says.
scheduler::run_result explained_smallest(sim::simulation& machine, const scenario& tested, const parameters& original,
                                         const scheduler::trace& smallest) {
  parameters settings = original;
  for (const auto& [key, value] : smallest.parameters) settings.set(key + "=" + value);
  const auto run = [&](scheduler::choice_source& choices, bool explain) {
    return run_or_explain(machine, tested, settings, choices, explain);
  };
  return scheduler::run_again(smallest, run, true).result;
}

}  // namespace

int shrink(const invocation& asked) {
  const recorded_run found = find_recorded(asked.file_or_token, asked.program);
  if (!found.error.empty()) return fail(wrong_input, found.error);
  const scheduler::trace& recorded = found.recorded;

  catch_interrupt();
  sim::simulation machine;
  scheduler::shrink_options options = shrink_options_for(machine, *found.tested, found.settings, recorded.outcome);
  options.runs_max = asked.runs;
  options.seconds_max = asked.seconds_max;
  options.stop = &interrupt_flag();
  const auto run = [&](scheduler::choice_source& choices, bool explain) {
    return run_scenario(machine, *found.tested, found.settings, choices, explain);
  };
  std::optional<kept_output> keeps(std::in_place);
  const scheduler::shrunk made = scheduler::shrink(recorded, run, options);
  if (!made.error.empty()) return fail(wrong_input, made.error);

  const std::string file =
      asked.out_file.empty() ? file_beside(asked.file_or_token, recorded, "-shrunk.heddle.json") : asked.out_file;
  if (const auto failed = scheduler::write_trace(made.smallest, file)) return fail(cannot_go_on, *failed);
  const scheduler::run_result explained = explained_smallest(machine, *found.tested, found.settings, made.smallest);
  keeps.reset();
  if (asked.json) {
    print_json(made, file, decided_in(explained.report));
  } else {
    print_text(made, file, asked.program, explained);
    if (!found.note.empty()) std::cout << "  " << found.note << '\n';
  }
  return interrupt_flag() ? interrupted : as_expected;
}

}  // namespace heddle::tools
