#include <fcntl.h>
#include <fnmatch.h>
#include <heddle/scheduler/own_errors.h>
#include <heddle/scheduler/printable.h>
#include <heddle/tools/cli/common.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace heddle::tools {
namespace {

constexpr size_t line_length_max = 2'000;

bool is_pattern(const std::string& text) { return text.find_first_of("*?[") != std::string::npos; }

bool is_program_file(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_regular_file(path, none) && access(path.c_str(), X_OK) == 0;
}

/// Standard output as this process was given it, while programs print to standard error; else negative.
int output_for_json = -1;
/// Why that could not be written, as errno has it; else 0.
int json_error = 0;

std::string how_to_list;

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  for (const char letter : text.substr(0, line_length_max))
    line += static_cast<unsigned char>(letter) < ' ' || letter == 127 ? ' ' : letter;
  if (text.size() > line_length_max) line += "...";
  return line;
}

int fail(exit_status status, std::string_view line) {
  std::cout.flush();
  dprintf(scheduler::own_errors, "heddle: %s\n", one_line(line).c_str());
  return status;
}

int finish_output(int status) {
  errno = 0;
  if (std::cout.good() && std::cout.flush().good()) return status;
  // Of an earlier failure the reason is lost: another try says it.
  if (errno == 0 && json_error == 0 && ::write(STDOUT_FILENO, "\n", 1) == 1) errno = 0;
  const int wrong = json_error != 0 ? json_error : errno;
  return fail(cannot_go_on, std::string("the output could not be written") + (wrong == 0 ? "" : ": ") +
                                (wrong == 0 ? "" : std::strerror(wrong)));
}

json_alone::json_alone(bool wanted) {
  if (!wanted || output_for_json >= 0) return;
  // No descriptor of the standard three, which may be closed; and programs that code under test starts do not inherit it.
  output_for_json = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (output_for_json < 0) return;
  is_first_ = true;
  // What the buffers hold, constructors of the program have printed; so it is not written out before.
  if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return;
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  if (nowhere > STDERR_FILENO) close(nowhere);
}

json_alone::~json_alone() {
  if (!is_first_) return;
  std::cout.flush();
  std::fflush(stdout);
  dup2(output_for_json, STDOUT_FILENO);
  close(output_for_json);
  output_for_json = -1;
}

void write_json_text(std::string_view text) {
  if (output_for_json < 0) {
    std::cout << text << '\n';
    return;
  }
  std::string whole(text);
  whole += '\n';
  for (size_t written = 0; written < whole.size();) {
    const ssize_t more = write(output_for_json, whole.data() + written, whole.size() - written);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) {
      json_error = errno;
      std::cout.setstate(std::ios::badbit);
      return;
    }
    written += static_cast<size_t>(more);
  }
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/=:+,@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
  // What a terminal would take for a command is written in letters, in the form that shells understand.
  if (scheduler::printable(text) != text) {
    std::string quoted;
    for (const char letter : text) {
      if (letter == '\'' || letter == '\\') quoted += '\\';
      quoted += letter;
    }
    return "$'" + scheduler::printable(quoted) + "'";
  }
  std::string word = "'";
  for (const char letter : text) word += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return word + "'";
}

std::string unknown(std::string_view what, std::string_view text, const std::vector<std::string>& known) {
  const std::string near = nearest(text, known);
  std::string line = "unknown " + std::string(what) + " \"" + std::string(text.substr(0, 64)) + "\"";
  if (!near.empty()) line += "; did you mean \"" + near + "\"?";
  if (const std::string file(text); near.empty() && is_program_file(file))
    line += ", which is a program; did you mean " +
            shell_word(file.find('/') == std::string::npos ? "./" + file : file) + " fuzz?";
  return line;
}

void take_settings_beside_names(std::vector<std::string>& names, std::vector<std::string>& settings) {
  const auto is_setting = [](const std::string& word) {
    if (word.find('=') == std::string::npos) return false;
    return std::none_of(scenarios().begin(), scenarios().end(),
                        [&](const scenario& each) { return each.name == word; });
  };
  const auto first =
      std::stable_partition(names.begin(), names.end(), [&](const std::string& word) { return !is_setting(word); });
  settings.insert(settings.end(), std::make_move_iterator(first), std::make_move_iterator(names.end()));
  names.erase(first, names.end());
}

void tell_how_to_list(std::string typed) { how_to_list = std::move(typed); }

std::string see_list() { return how_to_list.empty() ? "" : "; see " + how_to_list; }

selection select_scenarios(const std::vector<std::string>& patterns) {
  const std::vector<scenario>& all = scenarios();
  if (all.empty()) return {.chosen = {}, .error = "no scenario is linked into this program"};
  std::vector<bool> taken(all.size(), patterns.empty());
  for (const std::string& pattern : patterns) {
    bool found = false;
    // A name may have what means something in a pattern.
    const bool is_name =
        std::any_of(all.begin(), all.end(), [&](const scenario& each) { return each.name == pattern; });
    for (size_t index = 0; index < all.size(); ++index) {
      const bool meant = is_pattern(pattern) && !is_name ? fnmatch(pattern.c_str(), all[index].name.c_str(), 0) == 0
                                                         : all[index].name == pattern;
      if (!meant) continue;
      taken[index] = true;
      found = true;
    }
    if (found) continue;
    std::vector<std::string> known;
    for (const scenario& each : all) known.push_back(each.name);
    if (is_pattern(pattern)) return {.chosen = {}, .error = "no scenario matches \"" + pattern + "\"" + see_list()};
    const std::string line = unknown("scenario", pattern, known);
    return {.chosen = {}, .error = line.ends_with('?') ? line : line + see_list()};
  }
  selection made;
  for (size_t index = 0; index < all.size(); ++index)
    if (taken[index]) made.chosen.push_back(&all[index]);
  return made;
}

selection select_one_scenario(const std::vector<std::string>& patterns, std::string_view command) {
  selection made = select_scenarios(patterns);
  if (!made.error.empty() || made.chosen.size() == 1) return made;
  const std::string count = std::to_string(made.chosen.size());
  made.error = std::string(command) + (patterns.empty() ? ": name a scenario; this program has " + count + see_list()
                                                        : ": it takes one scenario, and \"" +
                                                              one_line(patterns.front()) + "\" selects " + count);
  return made;
}

parameters settings_of(const scenario& tested, const std::vector<parameter>& machine) {
  std::vector<parameter> definitions = machine;
  definitions.insert(definitions.end(), tested.parameters.begin(), tested.parameters.end());
  return parameters(std::move(definitions));
}

settings_or_error settings_of(const scenario& tested, const std::vector<parameter>& machine,
                              const std::vector<std::string>& assignments) {
  parameters set = settings_of(tested, machine);
  for (const std::string& assignment : assignments) {
    if (assignment.starts_with("args=") && !set.has("args"))
      return {.value = {},
              .error = "scenario " + tested.name +
                       ": it has no main() that could take arguments; leave out what stands behind --, or args="};
    if (const auto wrong = set.set(assignment))
      return {.value = {}, .error = "scenario " + tested.name + ": " + *wrong};
  }
  return {.value = std::move(set), .error = {}};
}

std::optional<uint64_t> parse_number(std::string_view text, uint64_t minimum, uint64_t maximum) {
  uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = failed == std::errc() && end == text.data() + text.size();
  return whole && number >= minimum && number <= maximum ? std::optional(number) : std::nullopt;
}

std::string read_file(const std::string& name, size_t bytes_max) {
  scheduler::text_or_reason read = scheduler::read_whole(name, bytes_max);
  if (!read.text) throw std::invalid_argument("cannot read the file \"" + name + "\": " + read.reason);
  return std::move(*read.text);
}

std::optional<double> parse_seconds(std::string_view text) {
  double unit_seconds = 1;
  if (text.ends_with('s') || text.ends_with('m') || text.ends_with('h')) {
    unit_seconds = text.back() == 's' ? 1 : text.back() == 'm' ? 60 : 3'600;
    text.remove_suffix(1);
  }
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const bool whole = failed == std::errc() && end == text.data() + text.size();
  const double seconds = number * unit_seconds;
  return whole && seconds > 0 && seconds < 1e9 ? std::optional(seconds) : std::nullopt;
}

std::optional<double> parse_stuck(std::string_view text) {
  return text == "0" ? std::optional(0.0) : parse_seconds(text);
}

}  // namespace heddle::tools
