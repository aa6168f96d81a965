// The main of programs whose scenarios run on a real machine: each body as it is, repeated, under a time limit.
#include <heddle/tools/child.h>
#include <heddle/tools/common.h>
#include <heddle/tools/table.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>

namespace heddle::tools {
namespace {

constexpr std::string_view usage = R"([SCENARIO...] [OPTIONS]

Runs scenarios on this machine, each in a process of its own. A SCENARIO is a
name or a shell pattern ("port.*"). Without any, all are run whose expected
verdict is ok: a planted bug may hang here, and runs only when it is named.

  --list            names, and parameters with their defaults
  --repeat N        run each body N times (default 1)
  --timeout T       kill a scenario after this time: 30, 45s, 5m (default 60)
  --set KEY=VALUE   a setting of the scenarios; may be repeated
  --in-process      no processes of their own; for debuggers and profilers

Exit status: 0 all ok, 1 one failed, 2 the input was wrong, 3 out of memory.
)";

struct hardware_options {
  std::vector<std::string> scenarios;
  std::vector<std::string> settings;
  uint64_t repeat = 1;
  double seconds_max = 60;
  bool list = false;
  bool in_process = false;
  bool help = false;
};

/// One line when the arguments are wrong.
std::string parse(int argument_count, char** arguments, hardware_options& into) {
  CLI::App parser;
  std::string repeat, timeout;
  parser.set_help_flag();
  parser.add_option("SCENARIO", into.scenarios);
  parser.add_flag("--list", into.list);
  parser.add_option("--repeat", repeat);
  parser.add_option("--timeout", timeout);
  parser.add_option("--set", into.settings)->allow_extra_args(false);
  parser.add_flag("--in-process", into.in_process);
  parser.add_flag("-h,--help", into.help);
  try {
    parser.parse(argument_count, arguments);
  } catch (const CLI::ParseError& error) {
    const std::string message = error.what();
    return message.substr(0, message.find('\n')) + "; see --help";
  }
  if (!repeat.empty()) {
    const auto number = parse_number(repeat, 1, 1'000'000'000);
    if (!number) return "--repeat cannot be \"" + repeat + "\"; it must be a whole number from 1 to 1000000000";
    into.repeat = *number;
  }
  if (!timeout.empty()) {
    const auto seconds = parse_seconds(timeout);
    if (!seconds) return "--timeout cannot be \"" + timeout + "\"; it must be a time such as 30, 45s or 5m";
    into.seconds_max = *seconds;
  }
  return {};
}

void print_list() {
  for (const scenario& each : scenarios()) {
    const parameters settings = settings_of(each, {});
    std::string defaults;
    for (const auto& [key, value] : settings.values()) defaults += key + "=" + value + " ";
    std::cout << each.name << '\n' << indented(each.summary, 4);
    if (!defaults.empty()) std::cout << indented(defaults, 4);
  }
}

struct task {
  const scenario* tested = nullptr;
  parameters settings;
};

/// One line when a scenario or a setting is wrong.
std::string choose(const hardware_options& asked, std::vector<task>& tasks) {
  const selection selected = select_scenarios(asked.scenarios);
  if (!selected.error.empty()) return selected.error;
  for (const scenario* each : selected.chosen) {
    settings_or_error settings = settings_of(*each, {}, asked.settings);
    if (!settings.value)
      return settings.error + " (settings of the machine, such as progress, belong to the simulator)";
    if (asked.scenarios.empty() && each->expected_verdict(*settings.value) != scheduler::verdict::ok) continue;
    tasks.push_back({.tested = each, .settings = std::move(*settings.value)});
  }
  return tasks.empty() ? "nothing to run: every scenario is a planted bug; name the one to run" : "";
}

child_result run(const task& chosen, const hardware_options& asked) {
  const auto bodies = [&] {
    for (uint64_t done = 0; done < asked.repeat; ++done) chosen.tested->body(chosen.settings);
  };
  if (!asked.in_process) return run_in_child(bodies, asked.seconds_max);
  const auto start = std::chrono::steady_clock::now();
  bodies();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return {.ok = true, .reason = {}, .seconds = taken.count()};
}

int run_all(const std::vector<task>& tasks, const hardware_options& asked) {
  using enum table::align;
  table shown({{.title = "scenario"}, {.title = "runs", .side = right}, {.title = "s", .side = right}, {.title = ""}});
  std::vector<std::string> failures;
  for (const task& each : tasks) {
    const child_result ended = run(each, asked);
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3f", ended.seconds);
    shown.add({{.text = each.tested->name},
               {.text = std::to_string(asked.repeat)},
               {.text = seconds},
               {.text = ended.ok ? "ok" : "FAILED", .shown = ended.ok ? colour::good : colour::bad}});
    if (!ended.ok) failures.push_back(each.tested->name + ": " + ended.reason);
  }
  shown.print(std::cout, 80);
  for (const std::string& line : failures) std::cout << line << '\n';
  return failures.empty() ? as_expected : not_as_expected;
}

int command(int argument_count, char** arguments) {
  hardware_options asked;
  std::string wrong = parse(argument_count, arguments, asked);
  if (!wrong.empty()) return fail(wrong_input, wrong);
  if (asked.help) {
    std::cout << shell_word(arguments[0]) << ' ' << usage;
    return as_expected;
  }
  if (asked.list) {
    print_list();
    return as_expected;
  }
  std::vector<task> tasks;
  wrong = choose(asked, tasks);
  if (!wrong.empty()) return fail(wrong_input, wrong);
  return run_all(tasks, asked);
}

}  // namespace
}  // namespace heddle::tools

int main(int argument_count, char** arguments) {
  try {
    return heddle::tools::finish_output(heddle::tools::command(argument_count, arguments));
  } catch (const std::exception& error) {
    return heddle::tools::fail(heddle::tools::cannot_go_on, error.what());
  }
}
