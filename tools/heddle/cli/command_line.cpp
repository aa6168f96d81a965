#include <heddle/scheduler/printable.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/tools/cli/as_called.h>
#include <heddle/tools/cli/as_settings.h>
#include <heddle/tools/cli/command_line.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/typed_numbers.h>

// After our own headers: CLI11's single-header tricks must not reach them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>

namespace heddle::tools {
namespace {

/// Of the commands that run code under test.
void add_care_options(CLI::App& command, invocation& into, typed_numbers& typed) {
  CLI::Option* stuck = command.add_option("--stuck", typed.stuck);
  command.add_flag("--in-process", into.in_process)->excludes(stuck);
}

void add_scenario_options(CLI::App& command, invocation& into, typed_numbers& typed) {
  command.add_option("SCENARIO", into.scenarios);
  into.jobs = 1;
  CLI::Option* schedules = command.add_option("-n,--schedules", typed.schedules);
  CLI::Option* time = command.add_option("--time", typed.time)->excludes(schedules);
  CLI::Option* seed = command.add_option("--seed", typed.seed);
  CLI::Option* strategy = command.add_option("--strategy", into.strategy);
  CLI::Option* set = command.add_option("--set", into.settings)->allow_extra_args(false);
  CLI::Option* assume = command.add_option("--assume", into.change.assumed)->allow_extra_args(false);
  CLI::Option* excuse = command.add_option("--excuse", into.change.excuses)->allow_extra_args(false);
  CLI::Option* out = command.add_option("-o,--out", into.out_folder);
  CLI::Option* word = command.add_option("-k,--containing", into.tells.word);
  // A campaign knows what it was asked for.
  CLI::Option* resume = command.add_option("--resume", into.resume_folder);
  for (CLI::Option* each :
       {command.get_option("SCENARIO"), schedules, time, seed, strategy, set, assume, excuse, out, word})
    resume->excludes(each);
  command.add_option("-j,--jobs", typed.jobs);
  command.add_option("--shard", typed.shard);
  CLI::Option* quiet = command.add_flag("-q,--quiet", into.tells.quiet);
  command.add_flag("-v,--verbose", into.tells.verbose)->excludes(quiet);
  command.add_flag("--tokens", into.tells.tokens);
  command.add_flag("--stop-at-first", into.tells.stop_at_first);
  command.add_option("--junit", into.junit_file);
  command.add_flag("--prove-if-small", into.prove_if_small);
  command.add_flag("--behaviours", into.tells.behaviours)->excludes(resume);
  command.add_flag("--show-output", into.tells.output);
  command.add_flag("--json", into.json);
}

void add_zoo_options(CLI::App& command, invocation& into, typed_numbers& typed) {
  command.add_option("ENTRY", into.scenarios);
  command.add_option("-n,--schedules", typed.schedules);
  command.add_option("--twin", typed.twin_schedules);
  command.add_option("--seed", typed.seed);
  command.add_option("--strategy", into.strategy);
  command.add_option("--set", into.settings)->allow_extra_args(false);
  command.add_option("-j,--jobs", typed.jobs);
  CLI::Option* compare = command.add_flag("--compare", into.zoo.compare);
  command.add_flag("--json", into.json)->excludes(compare);
}

void add_litmus_options(CLI::App& command, invocation& into, typed_numbers& typed) {
  into.strategy = "random";
  command.add_option("FILE", into.files);
  command.add_option("--row", into.row_pattern);
  CLI::Option* exact = command.add_flag("--exact", into.exact);
  command.add_option("--time", typed.time)->needs(exact);
  command.add_option("-n,--schedules", typed.schedules)->excludes(exact);
  command.add_option("--seed", typed.seed)->excludes(exact);
  command.add_option("-j,--jobs", typed.jobs);
  command.add_option("--strategy", into.strategy)->excludes(exact);
  command.add_option("--set", into.settings)->allow_extra_args(false);
  command.add_flag("--all", into.all);
  command.add_flag("--json", into.json);
  command.add_flag("-q,--quiet", into.tells.quiet);
}

/// Of the commands that try changes.
void add_changing_options(CLI::App& command, invocation& into, typed_numbers& typed) {
  if (into.command == "mend") {
    command.add_option("FILE|TOKEN", into.file_or_token)->required();
    command.add_option("--changes", typed.changes);
  } else {
    command.add_option("SCENARIO", into.scenarios);
    command.add_option("--set", into.settings)->allow_extra_args(false);
    command.add_option("--assume", into.change.assumed)->allow_extra_args(false);
    command.add_flag("--details", into.details);
  }
  command.add_option("--schedules", typed.schedules);
  command.add_option("--seed", typed.seed);
  command.add_option("--strategy", into.strategy);
  command.add_option("-j,--jobs", typed.jobs);
  command.add_option("--stuck", typed.stuck);
  command.add_flag("--json", into.json);
}

void add_run_options(CLI::App& command, invocation& into, typed_numbers& typed) {
  command.add_option("SCENARIO", into.scenarios);
  command.add_option("--seed", typed.seed);
  command.add_option("--strategy", into.strategy);
  command.add_option("--set", into.settings)->allow_extra_args(false);
  command.add_option("--assume", into.change.assumed)->allow_extra_args(false);
  command.add_option("--excuse", into.change.excuses)->allow_extra_args(false);
  command.add_flag("--trace", into.show_steps);
  command.add_option("-o,--out", into.out_file);
  command.add_flag("--json", into.json);
}

void add_verify_options(CLI::App& command, invocation& into, typed_numbers& typed) {
  CLI::Option* scenario = command.add_option("SCENARIO", into.scenarios);
  CLI::Option* all = command.add_flag("--all", into.all);
  CLI::Option* set = command.add_option("--set", into.settings)->allow_extra_args(false);
  CLI::Option* assume = command.add_option("--assume", into.change.assumed)->allow_extra_args(false);
  CLI::Option* excuse = command.add_option("--excuse", into.change.excuses)->allow_extra_args(false);
  command.add_option("--time", typed.time);
  command.add_option("--states", typed.states);
  command.add_option("--memory", typed.memory);
  into.jobs = 1;
  command.add_option("-j,--jobs", typed.jobs);
  CLI::Option* unreduced = command.add_flag("--unreduced", into.verify.unreduced);
  CLI::Option* stateless = command.add_flag("--stateless", into.verify.stateless)->excludes(unreduced);
  command.add_option("-o,--out", into.out_file)->excludes(all);
  // Only states that are compared need not be gone through again.
  CLI::Option* save = command.add_option("--save", into.verify.save_file);
  for (CLI::Option* each : {all, unreduced, stateless}) save->excludes(each);
  // A search knows what it is of.
  CLI::Option* resume = command.add_option("--resume", into.verify.resume_file);
  for (CLI::Option* each : {scenario, all, set, assume, excuse, unreduced, stateless, save}) resume->excludes(each);
  command.add_flag("--json", into.json);
}

bool runs_code_under_test(const std::string& command) {
  constexpr std::array all = {"fuzz", "run", "replay", "shrink", "report", "import", "zoo", "verify"};
  return std::find(all.begin(), all.end(), command) != all.end();
}

std::unique_ptr<CLI::App> parser_of(invocation& into, typed_numbers& typed) {
  auto parser = std::make_unique<CLI::App>();
  const std::string& name = into.command;
  if (name == "list") {
    parser->add_option("SCENARIO", into.scenarios);
    parser->add_flag("--settings", into.tells.only_settings);
    parser->add_flag("--json", into.json);
  }
  if (name == "fuzz") add_scenario_options(*parser, into, typed);
  if (runs_code_under_test(name)) add_care_options(*parser, into, typed);
  if (name == "run") add_run_options(*parser, into, typed);
  if (name == "replay") {
    parser->add_option("FILE|TOKEN", into.other_recorded)->required();
    parser->add_flag("--trace", into.show_steps);
    parser->add_option("--assume", into.change.assumed)->allow_extra_args(false);
    parser->add_option("--dot", into.replays.dot_file);
    CLI::Option* repeat = parser->add_option("--repeat", typed.repeat);
    parser->add_flag("--try", into.try_it)->excludes(repeat);
    parser->add_option("--break", into.replays.stops)->allow_extra_args(false)->excludes(repeat);
    CLI::Option* gdb = parser->add_flag("--gdb", into.replays.gdb)->excludes(repeat);
    // What gdb prints is no JSON.
    parser->add_flag("--json", into.json)->excludes(gdb);
  }
  if (name == "shrink") {
    parser->add_option("FILE|TOKEN", into.file_or_token)->required();
    parser->add_option("-o,--out", into.out_file);
    parser->add_option("--runs", typed.runs);
    parser->add_option("--time", typed.time);
    parser->add_flag("--json", into.json);
  }
  if (name == "report") {
    parser->add_option("FILE|TOKEN", into.other_recorded)->required();
    parser->add_option("-o,--out", into.out_file);
    parser->add_option("--perfetto", into.perfetto_file);
  }
  if (name == "mend" || name == "slack") add_changing_options(*parser, into, typed);
  if (name == "import") {
    parser->add_option("DUMP", into.file_or_token)->required();
    CLI::Option* schedules = parser->add_option("-n,--schedules", typed.schedules);
    parser->add_option("--time", typed.time)->excludes(schedules);
    parser->add_option("--seed", typed.seed);
    parser->add_option("--set", into.settings)->allow_extra_args(false);
    parser->add_option("-o,--out", into.out_file);
  }
  if (name == "zoo") add_zoo_options(*parser, into, typed);
  if (name == "litmus") add_litmus_options(*parser, into, typed);
  if (name == "progress") {
    parser->add_option("SHAPE|PROGRAM", into.programs);
    parser->add_flag("--json", into.json);
    CLI::Option* simulate = parser->add_flag("--simulate", into.simulate);
    into.strategy = "rhythm";
    parser->add_option("-n,--schedules", typed.schedules)->needs(simulate);
    parser->add_option("--seed", typed.seed)->needs(simulate);
    parser->add_option("--strategy", into.strategy)->needs(simulate);
    parser->add_flag("--details", into.details)->needs(simulate);
  }
  if (name == "verify") add_verify_options(*parser, into, typed);
  if (name == "completion") parser->add_option("SHELL", into.topic)->required();
  if (name == "help") {
    CLI::Option* topic = parser->add_option("COMMAND", into.topic);
    parser->add_flag("--man", into.man_page)->excludes(topic);
  }
  return parser;
}

/// "--out", "-h" and so on: what a mistyped option may have meant.
std::vector<std::string> options_of(const CLI::App& parser) {
  std::vector<std::string> names;
  for (const CLI::Option* option : parser.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// What to type instead of one word too many.
std::string unexpected(const std::string& program, const std::string& command, const std::string& word) {
  const std::string typed = word.substr(0, 64);
  const std::string line = command + ": unexpected argument \"" + typed + "\"";
  if (command == "shrink" || command == "report" || command == "mend")
    return line + "; it takes one trace at a time: " + shell_word(program) + " " + command + " " + shell_word(typed);
  return line + "; " + shell_word(program) + " help " + command + " says what it takes";
}

/// CLI11's message in one line of ours.
std::string shortened_error(const CLI::App& parser, const std::string& program, const std::string& command,
                            const CLI::ParseError& error) {
  const std::vector<std::string> left = parser.remaining();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !left.empty()) {
    const auto option =
        std::find_if(left.begin(), left.end(), [](const std::string& word) { return word.starts_with('-'); });
    if (option == left.end()) return unexpected(program, command, left.front());
    return command + ": " + unknown("option", option->substr(0, option->find('=')), options_of(parser));
  }
  const std::string message = error.what();
  return command + ": " + message.substr(0, message.find('\n'));
}

/// One line when an option was given nothing: to take that for an option that was not given would hide a mistake in a script.
std::string given_nothing(const CLI::App& parser, const std::string& command) {
  for (const CLI::Option* option : parser.get_options())
    for (const std::string& value : option->results())
      if (value.empty() && option->get_type_size() != 0)
        return command + ": " + option->get_name() + " cannot be empty";
  return {};
}

bool is_help_flag(std::string_view word) { return word == "--help" || word == "-h"; }

}  // namespace

const std::vector<std::string>& command_names() {
  static const std::vector<std::string> names = {"list",  "fuzz",  "run",    "replay", "shrink", "report",     "mend",
                                                 "slack", "zoo",   "verify", "import", "litmus", "progress",   "nvcc",
                                                 "cuda",  "hipcc", "c++",    "cc",     "build",  "completion", "help"};
  return names;
}

bool takes_words_of_others(std::string_view command) {
  constexpr std::array<std::string_view, 6> places = {"nvcc", "cuda", "hipcc", "c++", "cc", "build"};
  return std::find(places.begin(), places.end(), command) != places.end();
}

std::vector<std::string> option_names(const std::string& command) {
  invocation into;
  into.command = command;
  typed_numbers typed;
  const auto parser = parser_of(into, typed);
  parser->set_help_flag();
  std::vector<std::string> names = options_of(*parser);
  for (const CLI::Option* option : parser->get_options())
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  std::sort(names.begin(), names.end());
  return names;
}

invocation_or_error parse_command_line(int argument_count, const char* const* arguments) {
  invocation_or_error read;
  invocation& into = read.value;
  into.program = argument_count > 0 ? arguments[0] : "heddle";
  std::vector<std::string> words(arguments + std::min(1, argument_count), arguments + argument_count);
  take_call(words, into);
  if (words.empty()) {
    const std::string program = shell_word(into.program);
    read.error = "no command; " + program + " fuzz tries schedules, " + program + " run takes one, " + program +
                 " help lists all";
    return read;
  }

  into.command = words.front();
  if (into.command == "__complete") {  // asked by the scripts of `completion`; the words are anything
    into.typed.assign(words.begin() + 1, words.end());
    return read;
  }
  const bool asks_for_help = words.size() == 2 && is_help_flag(words.back());
  if (takes_words_of_others(into.command) && !asks_for_help) {  // what follows is the compiler's
    into.typed.assign(words.begin() + 1, words.end());
    return read;
  }
  if (into.command == "--version" || is_help_flag(into.command)) {
    into.command = into.command == "--version" ? "version" : "help";
    if (words.size() > 1) read.error = "unexpected argument \"" + words[1].substr(0, 64) + "\" after " + words[0];
    return read;
  }
  const std::vector<std::string>& known = command_names();
  const bool is_known = std::find(known.begin(), known.end(), into.command) != known.end();
  if (!is_known && into.command.starts_with('-') && is_one_main()) {
    const std::string program = shell_word(into.program);
    const std::string word = shell_word(scheduler::printable(into.command.substr(0, 64)));
    read.error = "no command before " + word + "; " + program + " fuzz -- " + word +
                 " calls main() with it, and HEDDLE_AS=itself " + program + " " + word + " does so once, as a program";
    return read;
  }
  if (!is_known) {
    read.error = unknown(into.command.starts_with('-') ? "option" : "command", into.command, known);
    if (!read.error.ends_with('?')) read.error += "; " + shell_word(into.program) + " help lists the commands";
    return read;
  }
  const auto behind = std::find(words.begin(), words.end(), "--");
  const bool has_arguments_of_main = behind != words.end();
  const std::vector<std::string> for_main(has_arguments_of_main ? behind + 1 : behind, words.end());
  words.erase(behind, words.end());
  if (std::any_of(words.begin() + 1, words.end(), is_help_flag)) {
    into.topic = into.command == "help" ? "" : into.command;
    into.command = "help";
    return read;
  }

  typed_numbers typed;
  const auto parser = parser_of(into, typed);
  parser->set_help_flag();
  try {
    parser->parse(std::vector<std::string>(words.rbegin(), words.rend() - 1));  // CLI11 takes them last first
  } catch (const CLI::ParseError& error) {
    read.error = shortened_error(*parser, into.program, into.command, error);
    return read;
  }
  if (!into.other_recorded.empty()) {
    into.file_or_token = into.other_recorded.front();
    into.other_recorded.erase(into.other_recorded.begin());
  }
  read.error = given_nothing(*parser, into.command);
  if (parser->get_option_no_throw("--set") != nullptr) take_settings_beside_names(into.scenarios, into.settings);
  if (read.error.empty() && into.command == "run" && into.scenarios.size() > 1)
    read.error = unexpected(into.program, into.command, into.scenarios[1]);
  take_excuses(into);
  if (read.error.empty() && has_arguments_of_main) read.error = take_arguments_of_main(for_main, into);
  if (read.error.empty()) take_assumptions(into);
  if (read.error.empty()) read.error = read_numbers(typed, into);
  if (read.error.empty() && !typed.seed.empty()) read.error = seeds_wrap(into);
  return read;
}

}  // namespace heddle::tools
