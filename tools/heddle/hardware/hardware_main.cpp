// The main of programs whose scenarios run on a real machine: each body as it is, repeated, under a time limit.
#include <heddle/hw/observed/session.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/cli/version.h>
#include <heddle/tools/hardware/child.h>
#include <heddle/tools/hardware/watchdog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>

namespace heddle::tools {
namespace {

constexpr std::string_view usage = R"([SCENARIO...] [OPTIONS]

Runs scenarios on this machine, each in a process of its own. A SCENARIO is a
name or a shell pattern ("port.*"). Without any, all are run whose expected
verdict is ok: a planted bug may hang here, and runs only when it is named.

  --list            names, and parameters with their defaults
  --names           names of what would be run, one a line
  --repeat N        run each body N times (default 1)
  --timeout T       end a scenario after this time: 30, 45s, 5m (default 60)
  --set KEY=VALUE   a setting of the scenarios; may be repeated. KEY=VALUE
                    beside the names is the same
  --in-process      no processes of their own; for debuggers and profilers

In programs that are built to be watched (heddle::observed) the time-out is that
of a watchdog: it writes what it finds to SCENARIO.heddle-dump.json and has every
wait end. There also:

  --seed S          put visible operations off, by pauses that the seed draws;
                    run i of a scenario, counted from 0, has seed S+i
  --record          keep the last operations of every lane and host thread, for
                    the dump; with it a hang is one when nothing has happened for
                    the time of --quiet
  --quiet T         (default 5)
  --events N        how many operations of each (default 2048)
  --dump DIR        where dumps go (default: here); made where it is not there

Exit status: 0 all ok, 1 one failed or hung, 2 the input was wrong, 3 no device
answers, or no memory.
)";

/// How long a watched process may take, beyond its own time-out, to write its dump and to end.
constexpr double seconds_to_end = 30;

struct hardware_options {
  std::vector<std::string> scenarios;
  std::vector<std::string> settings;
  uint64_t repeat = 1;
  double seconds_max = 60;
  std::optional<uint64_t> seed;
  bool record = false;
  double quiet_seconds = 5;
  uint32_t events = 2048;
  std::string dump_folder;
  std::string watching;  ///< the first option that only a watched program has; empty when none was given
  bool list = false;
  bool names = false;
  bool in_process = false;
  bool help = false;
};

/// One line when a number is wrong; what is empty was not given.
std::string parse_watching(const std::string& seed, const std::string& quiet, const std::string& events,
                           hardware_options& into) {
  if (!seed.empty()) {
    into.seed = parse_number(seed, 0, ~uint64_t{0});
    if (!into.seed) return "--seed cannot be \"" + seed + "\"; it must be a whole number below 2^64";
  }
  if (!quiet.empty()) {
    const auto seconds = parse_seconds(quiet);
    if (!seconds) return "--quiet cannot be \"" + quiet + "\"; it must be a time such as 0.5, 5s or 1m";
    into.quiet_seconds = *seconds;
  }
  if (!events.empty()) {
    const auto number = parse_number(events, 1, 1'000'000);
    if (!number) return "--events cannot be \"" + events + "\"; it must be a whole number from 1 to 1000000";
    into.events = static_cast<uint32_t>(*number);
  }
  return {};
}

/// One line when the arguments are wrong.
std::string parse(int argument_count, char** arguments, hardware_options& into) {
  CLI::App parser;
  std::string repeat, timeout, seed, quiet, events;
  parser.set_help_flag();
  parser.add_option("SCENARIO", into.scenarios);
  parser.add_flag("--list", into.list);
  parser.add_flag("--names", into.names);
  parser.add_option("--repeat", repeat);
  parser.add_option("--timeout", timeout);
  parser.add_option("--set", into.settings)->allow_extra_args(false);
  parser.add_flag("--in-process", into.in_process);
  const CLI::Option* const recording = parser.add_flag("--record", into.record);
  const CLI::Option* const watching[] = {
      recording,
      parser.add_option("--seed", seed),
      parser.add_option("--quiet", quiet)->needs("--record"),
      parser.add_option("--events", events)->needs("--record"),
      parser.add_option("--dump", into.dump_folder),
  };
  parser.add_flag("-h,--help", into.help);
  try {
    parser.parse(argument_count, arguments);
  } catch (const CLI::ParseError& error) {
    const std::string message = error.what();
    return message.substr(0, message.find('\n')) + "; see --help";
  }
  take_settings_beside_names(into.scenarios, into.settings);
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
  for (const CLI::Option* each : watching)
    if (into.watching.empty() && each->count() != 0) into.watching = each->get_name();
  return parse_watching(seed, quiet, events, into);
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
    if (asked.scenarios.empty() && !each->expected_verdict(*settings.value).contains(scheduler::verdict::ok)) continue;
    tasks.push_back({.tested = each, .settings = std::move(*settings.value)});
  }
  return tasks.empty() ? "nothing to run: every scenario is a planted bug; name the one to run" : "";
}

bool is_watched() {
  const real_machine* const machine = machine_of_program();
  return machine != nullptr && machine->observed;
}

std::string dump_file(const task& chosen, const hardware_options& asked) {
  std::string name = chosen.tested->name + ".heddle-dump.json";
  std::replace(name.begin(), name.end(), '/', '-');
  return asked.dump_folder.empty() ? name : asked.dump_folder + "/" + name;
}

/// Makes the folder for dumps. One line when there can be none, or nothing can be written there: a hang may take hours to come.
std::string make_dump_folder(const std::vector<task>& tasks, const hardware_options& asked) {
  if (asked.dump_folder.empty()) return {};
  std::error_code failed;
  std::filesystem::create_directories(asked.dump_folder, failed);
  if (failed) return "cannot make the folder \"" + asked.dump_folder + "\": " + failed.message();
  for (const task& each : tasks)
    if (const auto wrong = cannot_write(dump_file(each, asked))) return *wrong;
  return {};
}

watch_options watch_of(const task& chosen, const hardware_options& asked) {
  watch_options options;
  options.seconds_max = asked.seconds_max;
  options.quiet_seconds = asked.record ? asked.quiet_seconds : 0;
  options.file = dump_file(chosen, asked);
  options.header.version = version();
  options.header.build_id = build_id();
  options.header.machine = machine_of_program()->name;
  options.header.scenario = chosen.tested->name;
  options.header.parameters = chosen.settings.values();
  options.header.recorded = asked.record;
  return options;
}

/// Runs the body again and again under the eye of a watchdog. The lines of a hang, or nothing; what the body throws of
/// its own goes through.
std::string run_watched(const task& chosen, const hardware_options& asked,
                        std::function<void(const std::string&)> give_up) {
  watchdog watching(watch_of(chosen, asked), std::move(give_up));
  try {
    for (uint64_t done = 0; done < asked.repeat; ++done) {
      const std::optional<uint64_t> seed = asked.seed ? std::optional(*asked.seed + done) : std::nullopt;
      observed::session::instance().begin_run({.records = asked.record,
                                               .perturbs = seed.has_value(),
                                               .seed = seed.value_or(0),
                                               .events = asked.record ? asked.events : 1});
      watching.begin_run(done + 1, seed);
      chosen.tested->body(chosen.settings);
    }
  } catch (...) {
    const std::string lines = watching.finish();
    if (lines.empty()) throw;
    return lines;
  }
  return watching.finish();
}

child_result run_watched_in_child(const task& chosen, const hardware_options& asked) {
  child_message left;
  const auto hung = [&](const std::string& lines) {
    left.write(lines);
    std::fflush(nullptr);
    std::_Exit(not_as_expected);
  };
  const auto bodies = [&] {
    const std::string lines = run_watched(chosen, asked, hung);
    if (!lines.empty()) hung(lines);
  };
  child_result ended = run_in_child(bodies, asked.seconds_max + seconds_to_end);
  if (const std::string lines = left.read(); !lines.empty()) {
    ended.ok = false;
    ended.reason = lines;
  }
  return ended;
}

child_result run_here(const task& chosen, const hardware_options& asked) {
  const auto start = std::chrono::steady_clock::now();
  std::string lines;
  if (is_watched()) {
    lines = run_watched(chosen, asked, [&](const std::string& found) {
      std::printf("%s: %s", chosen.tested->name.c_str(), found.c_str());
      std::fflush(nullptr);
      std::_Exit(not_as_expected);
    });
  } else {
    for (uint64_t done = 0; done < asked.repeat; ++done) chosen.tested->body(chosen.settings);
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return {.ok = lines.empty(), .reason = lines, .seconds = taken.count()};
}

child_result run(const task& chosen, const hardware_options& asked) {
  if (asked.in_process) return run_here(chosen, asked);
  if (is_watched()) return run_watched_in_child(chosen, asked);
  return run_in_child(
      [&] {
        for (uint64_t done = 0; done < asked.repeat; ++done) chosen.tested->body(chosen.settings);
      },
      asked.seconds_max);
}

/// One line when no device answers. Asked in a process of its own: a GPU's runtime does not survive a fork, and may not come back.
std::string look_for_device() {
  const real_machine* const machine = machine_of_program();
  if (machine == nullptr) return {};
  constexpr double seconds_max = 60;
  const child_result asked = run_in_child([&] { std::_Exit(machine->present() ? 0 : 1); }, seconds_max);
  return asked.ok ? "" : "no device answers: this program was built for the machine " + machine->name;
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
  for (const std::string& lines : failures) std::cout << lines << (lines.ends_with('\n') ? "" : "\n");
  return failures.empty() ? as_expected : not_as_expected;
}

int command(int argument_count, char** arguments) {
  hardware_options asked;
  tell_how_to_list(shell_word(argument_count > 0 ? arguments[0] : "heddle") + " --list");
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
  if (wrong.empty() && !asked.watching.empty() && !is_watched())
    wrong = asked.watching + " is for programs that are built to be watched: link heddle::observed";
  if (!wrong.empty()) return fail(wrong_input, wrong);
  if (asked.names) {
    for (const task& each : tasks) std::cout << each.tested->name << '\n';
    return as_expected;
  }
  if (const std::string none = look_for_device(); !none.empty()) return fail(cannot_go_on, none);
  if (const std::string failed = make_dump_folder(tasks, asked); !failed.empty()) return fail(cannot_go_on, failed);
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
