#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/cli/version.h>
#include <heddle/tools/main.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/trial/explain.h>
#include <heddle/tools/trial/traces.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

namespace heddle {

namespace tools {
namespace {

using json = nlohmann::ordered_json;

/// Of a command whose copy has ended before it was done. The exit status.
int tell_end(const invocation& asked, const sudden_end& how, const std::string& told) {
  const bool replays = asked.command == "replay" || asked.command == "report" || asked.command == "shrink";
  recorded_run recorded;
  if (replays) recorded = find_recorded(asked.file_or_token, asked.program);
  const bool again =
      replays && recorded.error.empty() && recorded.recorded.outcome == how.outcome &&
      (recorded.recorded.where == how.where || how.outcome == scheduler::verdict::stuck || how.is_doubtful);
  const std::string name = how.tested == nullptr ? "" : how.tested->name;
  if (asked.json) {
    const json shown = {{"scenario", name},
                        {"verdict", to_string(how.outcome)},
                        {"where", how.where},
                        {"steps", how.steps},
                        {"message", how.message},
                        {"report", how.report},
                        {"ok", again},
                        {"token", told.empty() ? json(nullptr) : json(told)}};
    write_json(shown);
  } else {
    std::cout << (name.empty() ? asked.command : name) << ": " << painted(to_string(how.outcome), colour::bad);
    if (!how.where.empty()) std::cout << " at " << how.where;
    std::cout << ", which ended the process\n" << indented(how.message, 2) << indented(how.report, 2);
    if (again && recorded.recorded.where != how.where && how.is_doubtful)
      std::cout << "  recorded at " << recorded.recorded.where << ": " << damage_shows_anywhere << '\n';
    if (!told.empty()) std::cout << told << "\n  replay it: " << shell_word(asked.program) << " replay TOKEN\n";
    if (asked.command == "report") std::cout << "  there is no page: the run ends the process that would write it\n";
    if (asked.command == "shrink") std::cout << "  nothing was written: a run of the search ended the process\n";
  }
  if (replays && asked.command == "replay" && !again && recorded.error.empty())
    return fail(wrong_input, "not the recorded run: it ended with " + std::string(to_string(how.outcome)) +
                                 (how.where.empty() ? "" : " at " + how.where));
  if (asked.command == "report" || asked.command == "shrink") return cannot_go_on;
  return not_as_expected;
}

/// Runs the command in a copy of this process, which may end as it likes.
int look_after(const invocation& asked, int (*command)(const invocation&)) {
  if (care_of_runs().in_process || this_copy() != nullptr) return command(asked);
  catch_interrupt();
  const std::string status =
      in_copy([&] { return std::to_string(finish_output(command(asked))); },
              {.ended = [&](const sudden_end& how,
                            const std::string& told) { return std::to_string(tell_end(asked, how, told)); },
               .stopped = std::to_string(static_cast<int>(interrupted)),
               // What is saved may be many gigabytes.
               .seconds_to_stop = saves_search(asked) ? 600.0 : 20.0});
  return static_cast<int>(parse_number(status, 0, 255).value_or(cannot_go_on));
}

/// Takes what "-" stands for: a trace from standard input, as its token. One line when there is none.
std::string take_standard_input(invocation& asked) {
  if (asked.file_or_token != "-") return {};
  const scheduler::trace_or_error read = scheduler::read_trace("/dev/stdin");
  if (!read.value) return "standard input: " + read.error;
  asked.file_or_token = scheduler::to_token(*read.value);
  return {};
}

/// One recorded run after the other; the highest exit status.
int with_each(invocation asked, int (*command)(const invocation&), std::string_view between) {
  const std::vector<std::string> others = std::move(asked.other_recorded);
  const bool several = !others.empty();
  if (several && (asked.json || !asked.replays.dot_file.empty() || asked.replays.debugged()))
    return fail(wrong_input, "replay: --json, --dot, --break and --gdb take one trace at a time");
  if (several && (!asked.out_file.empty() || !asked.perfetto_file.empty()))
    return fail(wrong_input, "report: --out and --perfetto take one trace at a time");
  if (several) prepare_to_explain();
  int status = look_after(asked, command);
  for (const std::string& each : others) {
    if (status == interrupted) return status;
    std::cout << between << std::flush;
    asked.file_or_token = each;
    if (const std::string wrong = take_standard_input(asked); !wrong.empty()) return fail(wrong_input, wrong);
    status = std::max(status, look_after(asked, command));
  }
  return status;
}

/// Becomes the script that stands in the place of a compiler.
int compile(const invocation& asked) {
  std::error_code wrong;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", wrong).parent_path();
  for (const std::filesystem::path& folder : {own / "libexec/heddle", own.parent_path() / "libexec/heddle"}) {
    const std::string script = folder / "heddle-compiler";
    if (!std::filesystem::exists(script, wrong)) continue;
    std::vector<std::string> words = asked.typed;
    words.insert(words.begin(), {script, asked.command});
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execv(script.c_str(), pointers.data());
    return fail(cannot_go_on, asked.command + ": " + script + " cannot be run: " + std::strerror(errno));
  }
  return fail(
      wrong_input,
      asked.command +
          ": libexec/heddle/heddle-compiler is not beside this program: call the heddle that was installed or built");
}

}  // namespace
}  // namespace tools

int tools::run_command(invocation asked) {
  if (const std::string wrong = take_standard_input(asked); !wrong.empty()) return fail(wrong_input, wrong);
  // What is debugged is this process, and it may stand still.
  care_of_runs() = {.in_process = asked.in_process || asked.tells.nothing || asked.replays.debugged(),
                    .stuck_seconds = asked.stuck_seconds,
                    .shows_output = shows_output(asked)};
  if (asked.command == "list") return list(asked);
  if (asked.command == "fuzz") return fuzz(asked);
  if (asked.command == "run") return look_after(asked, run);
  if (asked.command == "replay") return with_each(asked, replay, "\n");
  if (asked.command == "shrink") return look_after(asked, shrink);
  if (asked.command == "report") return with_each(asked, report, "");
  if (asked.command == "mend") return mend(asked);
  if (asked.command == "slack") return slack(asked);
  if (asked.command == "import") return look_after(asked, import_dump);
  if (asked.command == "zoo") return zoo(asked);
  if (asked.command == "verify") return look_after(asked, verify);
  if (asked.command == "litmus") return litmus(asked);
  if (asked.command == "progress") return progress(asked);
  if (takes_words_of_others(asked.command)) return compile(asked);
  if (asked.command == "completion") return completion(asked);
  if (asked.command == "__complete") return complete(asked);
  if (asked.command == "help") return help(asked);
  std::cout << "heddle " << version() << '\n';
  return as_expected;
}

int main(int argument_count, char** arguments) {
  try {
    tools::tell_how_to_list(tools::shell_word(argument_count > 0 ? arguments[0] : "heddle") + " list");
    tools::invocation_or_error read;
    if (tools::take_saved_verify(argument_count, arguments, read.value))
      return tools::run_saved_verify(std::move(read.value), arguments);
    read = tools::parse_command_line(argument_count, arguments);
    if (!read.error.empty()) return tools::fail(tools::wrong_input, read.error);
    if (tools::saves_search(read.value)) return tools::begin_saved_verify(read.value, arguments);
    const tools::json_alone output(read.value.json && !read.value.replays.gdb);
    const int status = tools::finish_output(tools::run_command(read.value));
    return status == tools::interrupted ? tools::interrupt_status() : status;
  } catch (const std::bad_alloc&) {
    return tools::fail(tools::cannot_go_on, "out of memory");
  } catch (const std::exception& error) {
    return tools::fail(tools::cannot_go_on, error.what());
  }
}

}  // namespace heddle
