#include <heddle/scheduler/strategy.h>
#include <heddle/tools/check.h>
#include <heddle/tools/command_line.h>
#include <heddle/tools/common.h>
#include <heddle/tools/fuzz_report.h>

#include <algorithm>
#include <cerrno>  // program_invocation_name

namespace heddle::tools {
namespace {

/// The line that makes a page of the finding, where this program has that command.
std::string page_command(const std::string& name, const scheduler::finding& found) {
  const std::vector<std::string>& commands = command_names();
  const std::string token = to_token(found.first);
  if (std::find(commands.begin(), commands.end(), "report") == commands.end()) return {};
  if (token.size() > token_on_command_line_max) return {};
  return "  " + shell_word(program_invocation_name) + " report " + token + " -o " +
         shell_word(name + "-" + std::string(to_string(found.first.outcome)) + ".html") + '\n';
}

}  // namespace

std::string check_scenario(const std::string& name, uint64_t schedules, const std::vector<std::string>& settings) {
  const selection selected = select_scenarios({name});
  if (!selected.error.empty()) return selected.error;
  const scenario& tested = *selected.chosen.front();
  const settings_or_error set = simulator_settings(tested, settings);
  if (!set.value) return set.error;

  constexpr const char* strategy_name = "mix";
  std::string error;
  const auto deciding = scheduler::make_strategy(strategy_name, error);
  sim::simulation machine;
  scheduler::campaign_options options;
  options.schedules = schedules;
  const trial made = run_trial(machine, tested, *set.value, strategy_name, *deciding, options);
  if (made.runs.choices == 0)
    return name + ": nothing was scheduled; is the code under test compiled with the flags of heddle::main?";
  if (made.as_expected()) return {};

  std::string text = name + ": expected " + std::string(to_string(made.expected)) + ", found " +
                     std::string(to_string(made.seen())) + " in " + std::to_string(made.runs.schedules) +
                     " schedules\n";
  for (const scheduler::finding& each : made.runs.findings) {
    text += '\n' + describe(each, made.expected, made.runs.schedules, program_invocation_name, "");
    text += page_command(name, each);
  }
  return text;
}

std::vector<std::string> scenario_names(const std::string& pattern) {
  const selection selected = select_scenarios({pattern});
  if (selected.chosen.empty()) return {pattern};
  std::vector<std::string> names;
  for (const scenario* each : selected.chosen) names.push_back(each->name);
  return names;
}

}  // namespace heddle::tools
