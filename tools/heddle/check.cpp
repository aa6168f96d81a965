#include <heddle/tools/check.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/fuzz/campaign/jobs.h>
#include <heddle/tools/fuzz/fuzz_report.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/report/recording.h>
#include <heddle/tools/trial/traces.h>

#include <cerrno>  // program_invocation_name
#include <cstdlib>
#include <filesystem>

namespace heddle::tools {
namespace {

std::string environment(const char* name) {
  const char* const said = std::getenv(name);
  return said == nullptr ? "" : said;
}

/// Where what failing tests find is kept. The variable is Bazel's: what is in that folder is kept with the log of the test.
std::filesystem::path folder_of_tests() {
  const char* const bazel = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  return environment("HEDDLE_FINDINGS").empty() && bazel != nullptr && *bazel != '\0' ? bazel : findings_folder();
}

/// A finding's trace, and the page of it.
struct kept_finding {
  std::string trace;
  std::string page;
  std::string error;  ///< one line when one of them could not be written
};

kept_finding keep(const scheduler::finding& found, const scenario& tested, const parameters& settings) {
  constexpr std::string_view page_ending = ".html";
  kept_finding kept;
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::absolute(folder_of_tests(), failed);
  if (!failed) std::filesystem::create_directories(folder, failed);
  if (failed) {
    kept.error = "cannot make the folder \"" + folder.string() + "\": " + failed.message();
    return kept;
  }
  const kept_trace trace = keep_trace(found.first, folder, page_ending);
  kept.trace = trace.file;
  kept.error = trace.error;
  if (!kept.error.empty() || !found.not_reproducible.empty()) return kept;

  const std::string page = trace.file.substr(0, trace.file.size() - trace_ending.size()) + std::string(page_ending);
  constexpr const char* written = "page";
  const std::string came_of_it = in_copy(
      [&]() -> std::string {
        const recording made = record_again(found.first, tested, settings);
        if (!made.again.disagreement.empty()) return {};
        const auto wrong = write_page({.recorded = found.first,
                                       .settings = settings,
                                       .result = made.again.result,
                                       .record = made.record,
                                       .program = program_invocation_name,
                                       .clocks = made.clocks},
                                      page);
        return wrong ? *wrong : written;
      },
      {.ended = [](const sudden_end&, const std::string&) { return std::string(); }});
  if (came_of_it == written)
    kept.page = page;
  else
    kept.error = came_of_it;
  return kept;
}

/// Tests have no options of heddle's. One line when the environment says what is none.
std::string look_at_environment() {
  const std::string in_process = environment("HEDDLE_IN_PROCESS");
  if (!in_process.empty() && in_process != "0" && in_process != "1")
    return "HEDDLE_IN_PROCESS cannot be \"" + one_line(in_process.substr(0, 64)) + "\"; it must be 1 or 0";
  if (in_process == "1") care_of_runs().in_process = true;
  const std::string stuck = environment("HEDDLE_STUCK");
  if (stuck.empty()) return {};
  const auto seconds = parse_stuck(stuck);
  if (!seconds) return "HEDDLE_STUCK cannot be \"" + one_line(stuck.substr(0, 64)) + "\"; " + std::string(stuck_is);
  care_of_runs().stuck_seconds = *seconds;
  return {};
}

}  // namespace

std::string check_scenario(const std::string& name, uint64_t schedules, const std::vector<std::string>& settings) {
  const selection selected = select_scenarios({name});
  if (!selected.error.empty()) return selected.error;
  const scenario& tested = *selected.chosen.front();
  const settings_or_error set = simulator_settings(tested, settings);
  if (!set.value) return set.error;

  if (std::string wrong = look_at_environment(); !wrong.empty()) return wrong;
  constexpr const char* strategy_name = "mix";
  scenario_campaign campaign(tested, *set.value, {.strategy = strategy_name, .seeds = {1, schedules}});
  make_crew(1, strategy_name)->work_on(campaign);
  if (!campaign.error().empty()) return name + ": " + campaign.error();
  const trial made = campaign.take();
  if (made.runs.choices == 0 && made.runs.findings.empty())
    return name + ": nothing was scheduled, no run had a choice; " + why_no_choice();
  if (made.as_expected()) return {};

  std::string text = name + ": expected " + to_string(made.expected) + ", found " +
                     std::string(to_string(made.seen())) + " in " + std::to_string(made.runs.schedules) +
                     " schedules\n";
  for (const scheduler::finding& each : made.runs.findings) {
    const bool wanted = made.expected.contains(each.first.outcome) && each.not_reproducible.empty();
    const kept_finding kept = wanted ? kept_finding{} : keep(each, tested, *set.value);
    text += '\n' + describe(each, made.expected, made.runs.schedules, program_invocation_name,
                            {.trace = kept.trace, .page = kept.page, .with_token = true});
    if (!kept.error.empty())
      text += "  not written: " + one_line(kept.error) + "; set HEDDLE_FINDINGS to a folder that can be written\n";
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
