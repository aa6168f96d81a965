#include <fcntl.h>
#include <heddle/sim/settings.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/version.h>
#include <heddle/tools/process/kept_output.h>
#include <heddle/tools/trial/traces.h>
#include <heddle/tools/trial/trial.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

namespace heddle::tools {
namespace {

/// A process's own name for the file until it is there.
std::string unfinished(const std::string& file) { return file + ".new" + std::to_string(::getpid()); }

/// Gives the file a name that nothing has, in whatever process; 0, or what is wrong.
int name_file(const std::string& from, const std::string& to) {
  const int wrong = ::link(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  // There are file systems without links.
  if (wrong != 0 && wrong != EEXIST) return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  if (wrong == 0) ::unlink(from.c_str());
  return wrong;
}

void sync(const std::filesystem::path& folder) {
  const int opened = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  ::fsync(opened);
  ::close(opened);
}

}  // namespace

std::string file_name_of(const scheduler::trace& recorded, std::string_view ending) {
  std::string name =
      recorded.scenario + "-" + std::string(to_string(recorded.outcome)) + "-" + std::to_string(recorded.seed);
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  for (char& letter : name)
    if (plain.find(letter) == std::string_view::npos) letter = '-';
  return name + std::string(ending);
}

kept_trace keep_trace(const scheduler::trace& recorded, const std::filesystem::path& folder, std::string_view beside) {
  const std::string plain = (folder / file_name_of(recorded, {})).string();
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  for (uint64_t number = 1;; ++number) {
    const std::string stem = number == 1 ? plain : plain + "." + std::to_string(number);
    const std::string file = stem + std::string(trace_ending);
    if (std::filesystem::exists(file, ignored)) {
      const scheduler::trace_or_error there = scheduler::read_trace(file);
      if (there.value && *there.value == recorded) return {.file = file};
      continue;
    }
    if (!beside.empty() && std::filesystem::exists(stem + std::string(beside), ignored)) continue;
    if (const auto failed = scheduler::write_trace(recorded, unfinished(file))) return {.error = *failed};
    const int wrong = name_file(unfinished(file), file);
    if (wrong != 0) ::unlink(unfinished(file).c_str());
    if (wrong == EEXIST) continue;
    if (wrong != 0) return {.error = "cannot write \"" + file + "\": " + std::strerror(wrong)};
    sync(folder);
    return {.file = file, .fresh = true};
  }
}

namespace {

std::string build_text(const std::string& version_text, const std::string& id) {
  return version_text + ", build " + (id.empty() ? "without id" : id.substr(0, 12));
}

/// What to give instead of a folder of traces, or of the journal that a campaign keeps beside them; empty for other files.
std::string one_of_folder(const std::string& given) {
  std::error_code ignored;
  const std::filesystem::path path(given);
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  const bool is_journal = path.extension() == ".jsonl" && path.filename().string().starts_with("campaign");
  if (!is_folder && !is_journal) return {};
  std::vector<std::string> traces;
  for (const auto& entry : std::filesystem::directory_iterator(is_folder ? path : path.parent_path() / ".", ignored))
    if (entry.path().string().ends_with(trace_ending)) traces.push_back(entry.path().lexically_normal().string());
  const std::string what = "\"" + given + (is_folder ? "\" is a folder" : "\" is the journal of a campaign");
  if (traces.empty()) return what + (is_folder ? ", and no trace lies in it" : ", and no trace lies beside it");
  const std::string where = is_folder ? "in it" : "beside it";
  const std::string first = shell_word(*std::min_element(traces.begin(), traces.end()));
  if (traces.size() == 1) return what + ": give the trace " + where + ", " + first;
  return what + ": give one of the " + std::to_string(traces.size()) + " traces " + where + ", such as " + first;
}

/// The trace, and the scenario that it is of.
recorded_run read_recorded(const std::string& file_or_token) {
  recorded_run found;
  scheduler::trace_or_error read = scheduler::read_trace(file_or_token);
  if (!read.value) {
    const std::string instead = one_of_folder(file_or_token);
    found.error = instead.empty() ? std::move(read.error) : instead;
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
  return found;
}

/// "the trace was recorded by another build (0.1.0, build 1a2b; this is 0.1.0, build 3c4d)".
std::string other_build(const scheduler::trace& recorded) {
  return "the trace was recorded by another build (" + build_text(recorded.version, recorded.build_id) + "; this is " +
         build_text(version(), build_id()) + ")";
}

/// Takes a trace of another build for one of this, if it is; otherwise says what else to do.
void adopt(recorded_run& found, const std::string& file_or_token, const std::string& program) {
  scheduler::trace& recorded = found.recorded;
  sim::simulation machine;
  const auto run = [&](scheduler::choice_source& choices, bool explain) {
    return run_scenario(machine, *found.tested, found.settings, choices, explain);
  };
  const std::string whose = other_build(recorded);
  const kept_output beside(kept_output::from::now);
  const scheduler::replay_result again = scheduler::run_again_elsewhere(recorded, run, false);
  if (!again.disagreement.empty()) {
    const bool is_token = scheduler::is_token(file_or_token);
    found.error = whose + " and does not fit this one: " + again.disagreement + ". " + shell_word(program) +
                  " replay --try " + (is_token ? "TOKEN" : shell_word(file_or_token)) +
                  " follows it as far as it fits; to search again: " + search_again_command(program, recorded);
    return;
  }
  found.note = whose + ": here every choice agrees, and it ends the same way";
  scheduler::failure::of(again.result).note_in(recorded);
  recorded.version = version();
  recorded.build_id = build_id();
  recorded.steps = again.result.steps;
  recorded.digest = again.result.digest;
  recorded.parameters = found.settings.values();
}

}  // namespace

recorded_run find_recorded(const std::string& file_or_token, const std::string& program) {
  recorded_run found = read_recorded(file_or_token);
  if (!found.error.empty()) return found;
  const scheduler::trace& recorded = found.recorded;
  std::vector<std::string> assignments;
  for (const auto& [key, value] : recorded.parameters) assignments.push_back(key + "=" + value);
  settings_or_error settings = simulator_settings(*found.tested, assignments);
  const bool is_own = recorded.build_id == build_id();
  if (!settings.value) {
    found.error =
        (is_own ? "the trace's settings are not valid here: " : other_build(recorded) + ", whose settings differ: ") +
        settings.error;
    return found;
  }
  found.settings = std::move(*settings.value);
  // A token has only those that are not as by default.
  if (is_own) found.recorded.parameters = found.settings.values();
  if (!is_own) adopt(found, file_or_token, program);
  return found;
}

recorded_run find_to_try(const std::string& file_or_token) {
  recorded_run found = read_recorded(file_or_token);
  if (!found.error.empty()) return found;
  found.settings = settings_of(*found.tested, sim::machine_parameters());
  for (const auto& [key, value] : found.recorded.parameters)
    if (const std::string one = key + "=" + value; found.settings.set(one)) found.unknown.push_back(one);
  if (found.recorded.build_id != build_id()) found.note = other_build(found.recorded);
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

std::string token_of(const scheduler::trace& recorded) {
  const auto& all = scenarios();
  const auto same =
      std::find_if(all.begin(), all.end(), [&](const scenario& each) { return each.name == recorded.scenario; });
  if (same == all.end()) return scheduler::to_token(recorded);
  scheduler::trace told = recorded;
  const std::vector<std::pair<std::string, std::string>> defaults =
      settings_of(*same, sim::machine_parameters()).values();
  std::erase_if(told.parameters,
                [&](const auto& each) { return std::find(defaults.begin(), defaults.end(), each) != defaults.end(); });
  return scheduler::to_token(told);
}

std::string how_to_play(const scheduler::trace& recorded, const std::string& program, const kept_in_files& kept) {
  const bool tells_token = kept.trace.empty() || kept.with_token;
  const std::string token = tells_token ? token_of(recorded) : "";
  const bool short_enough = token.size() <= token_on_command_line_max;
  if (kept.trace.empty() && !short_enough)
    return "  Its token is too long for a command line. This writes it to a file:\n  " +
           search_again_command(program, recorded) +
           (recorded.strategy == verifying_strategy ? " --out trace.heddle.json\n" : " --out .\n");
  const std::string named = kept.trace.empty() ? "TOKEN" : shell_word(kept.trace);
  return "  replay it: " + shell_word(program) + " replay " + named +
         "\n  as a page: " + (kept.page.empty() ? shell_word(program) + " report " + named : kept.page) + '\n' +
         (tells_token && short_enough ? token + '\n' : "");
}

std::filesystem::path findings_folder() {
  const char* const said = std::getenv("HEDDLE_FINDINGS");
  return said != nullptr && *said != '\0' ? said : "heddle-findings";
}

std::string_view past_races(const scheduler::trace& found) {
  const bool race = found.outcome == scheduler::verdict::race || found.outcome == scheduler::verdict::scope_race;
  const bool went_on = std::any_of(found.parameters.begin(), found.parameters.end(),
                                   [](const auto& one) { return one.first == "races" && one.second == "weigh"; });
  return race && !went_on ? "  a race ends its run: to see what comes of it, --set races=weigh\n" : "";
}

std::pair<std::string_view, std::string_view> paragraphs(std::string_view report) {
  const size_t end = report.find("\n\n");
  if (end == std::string_view::npos) return {report, {}};
  return {report.substr(0, end + 1), report.substr(end + 2)};
}

}  // namespace heddle::tools
