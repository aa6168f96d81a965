// What the commands have in common: exit status, errors of one line, choosing scenarios, settings.
#pragma once

#include <heddle/scheduler/parameters.h>
#include <heddle/scheduler/whole_file.h>
#include <heddle/tools/registry.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// What the program ends with.
enum exit_status : int {
  as_expected = 0,      ///< every scenario gave its expected verdict
  not_as_expected = 1,  ///< one did not, or replay reproduced a violation
  wrong_input = 2,      ///< one line says what was wrong and how to mend it
  cannot_go_on = 3,     ///< disk full, out of memory; nothing already found is lost
  interrupted = 130,    ///< Ctrl-C, SIGXCPU; 143 after SIGTERM, 129 after SIGHUP; what was found until then is printed
};

/// Prints "heddle: LINE" to stderr, as one line whatever is in it, and gives the status back.
int fail(exit_status status, std::string_view line);

/// Flushes stdout. `status`, or cannot_go_on with a line when not all that was printed could be written.
int finish_output(int status);

// With --json standard output is JSON and nothing else, whatever programs print while they run.

/// While one lives that is wanted, what this process, its copies and the programs they run print to standard output goes to standard error; only
/// write_json writes to standard output. One that is made while another one lives has no effect.
class json_alone {
 public:
  explicit json_alone(bool wanted);
  ~json_alone();
  json_alone(const json_alone&) = delete;
  json_alone& operator=(const json_alone&) = delete;

 private:
  bool is_first_ = false;
};

/// Writes the text and a line end to standard output. When that fails, std::cout is bad, which finish_output() tells.
void write_json_text(std::string_view text);

/// The value of nlohmann::json or nlohmann::ordered_json, indented. Text that is no UTF-8 is mended.
template <typename Json>
void write_json(const Json& value) {
  write_json_text(value.dump(2, ' ', false, Json::error_handler_t::replace));
}

/// The same in one line, as a text.
template <typename Json>
std::string json_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The text without control characters, so that what comes from a file can be printed on a terminal.
std::string one_line(std::string_view text);

/// The text as one word of a POSIX shell.
std::string shell_word(std::string_view text);

/// Moves what is a setting, as "waves=2" is, from the names that were typed to the settings.
void take_settings_beside_names(std::vector<std::string>& names, std::vector<std::string>& settings);

/// How this program lists its scenarios, as it is typed: "./tests list". Until that is told, messages about names that there are not leave it out.
void tell_how_to_list(std::string typed);
/// "; see ./tests list", or nothing.
std::string see_list();

/// The scenarios that a list of names and shell patterns ("port.*") selects, by name and each once; all for an empty
/// list.
struct selection {
  std::vector<const scenario*> chosen;
  std::string error;  ///< one line when a name or pattern selects nothing
};
selection select_scenarios(const std::vector<std::string>& patterns);
/// Of a command that takes one: without a name it is the program's only one.
selection select_one_scenario(const std::vector<std::string>& patterns, std::string_view command);

/// The settings of a scenario on a machine: its own parameters override the machine's of the same key.
parameters settings_of(const scenario& tested, const std::vector<parameter>& machine);

/// Settings with "key=value" assignments applied, or what is wrong with an assignment.
struct settings_or_error {
  std::optional<parameters> value;
  std::string error;  ///< one line; names the scenario
};
settings_or_error settings_of(const scenario& tested, const std::vector<parameter>& machine,
                              const std::vector<std::string>& assignments);

/// A longer token is not printed: Linux takes no single argument of 128 KiB or more (MAX_ARG_STRLEN).
inline constexpr size_t token_on_command_line_max = 120'000;

/// A whole number in [minimum, maximum] and nothing else.
std::optional<uint64_t> parse_number(std::string_view text, uint64_t minimum, uint64_t maximum);

/// What is in the file. Throws std::invalid_argument with one line when it cannot be read, or has more than bytes_max.
std::string read_file(const std::string& name, size_t bytes_max = size_t{64} << 20);

using scheduler::cannot_write;

/// A time in seconds: "30", "0.5", "30s", "5m", "2h"; more than 0.
std::optional<double> parse_seconds(std::string_view text);

/// How long a run may stand still, as --stuck and HEDDLE_STUCK take it: a time, or "0", which is never.
std::optional<double> parse_stuck(std::string_view text);
/// What one must be, for messages.
inline constexpr std::string_view stuck_is = "it must be a time such as 10, 0.5s or 1m, or 0";

/// One line about a word that is none of the known ones: `unknown WHAT "TEXT"; did you mean "NEAREST"?`
std::string unknown(std::string_view what, std::string_view text, const std::vector<std::string>& known);

}  // namespace heddle::tools
