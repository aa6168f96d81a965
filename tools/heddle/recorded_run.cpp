#include <heddle/tools/build_id.h>
#include <heddle/tools/common.h>
#include <heddle/tools/kept_trace.h>
#include <heddle/tools/recorded_run.h>
#include <heddle/tools/trial.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace heddle::tools {
namespace {

std::string build_text(const std::string& version_text, const std::string& id) {
  return version_text + ", build " + (id.empty() ? "without id" : id.substr(0, 12));
}

}  // namespace

recorded_run find_recorded(const std::string& file_or_token, const std::string& program) {
  recorded_run found;
  scheduler::trace_or_error read = scheduler::read_trace(file_or_token);
  if (!read.value) {
    found.error = std::move(read.error);
    return found;
  }
  found.recorded = std::move(*read.value);
  const scheduler::trace& recorded = found.recorded;
  const auto& all = scenarios();
  const auto same =
      std::find_if(all.begin(), all.end(), [&](const scenario& each) { return each.name == recorded.scenario; });
  if (same == all.end()) {
    std::vector<std::string> known;
    for (const scenario& each : all) known.push_back(each.name);
    found.error =
        "the trace is of a scenario that this program does not have: " + unknown("scenario", recorded.scenario, known);
    return found;
  }
  found.tested = &*same;
  if (recorded.build_id != build_id()) {
    found.error =
        "the trace was recorded by another build (" + build_text(recorded.version, recorded.build_id) + "; this is " +
        build_text(version(), build_id()) +
        "): replay it with that build, or search again with this one: " + search_again_command(program, recorded);
    return found;
  }
  std::vector<std::string> assignments;
  for (const auto& [key, value] : recorded.parameters) assignments.push_back(key + "=" + value);
  settings_or_error settings = simulator_settings(*same, assignments);
  if (settings.value) {
    found.settings = std::move(*settings.value);
  } else {
    found.error = "the trace's settings are not valid here: " + settings.error;
  }
  return found;
}

std::string file_beside(const std::string& file_or_token, const scheduler::trace& recorded, std::string_view ending) {
  std::error_code failed;
  if (std::filesystem::is_regular_file(file_or_token, failed)) {
    std::string name = file_or_token;
    if (name.ends_with(trace_ending)) name.resize(name.size() - trace_ending.size());
    return name + std::string(ending);
  }
  std::string name = recorded.scenario + "-" + std::string(to_string(recorded.outcome));
  for (char& letter : name)
    if (letter == ' ' || letter == '/') letter = '-';
  return name + std::string(ending);
}

}  // namespace heddle::tools
