// The help of a command, taken apart: what `heddle help` prints is also what shells complete and what the manual page says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// What `heddle help TOPIC` prints, or `heddle help` for an empty topic. Empty when there is no such command.
std::string help_text(std::string_view topic);

// Of what help_text() gives, the parts that help_topics.cpp holds.
extern const std::string_view import_help;
extern const std::string_view run_help;
extern const std::string_view mend_help;
extern const std::string_view slack_help;
extern const std::string_view zoo_help;

struct help_block {
  enum class kind { paragraph, heading, item };
  kind is = kind::paragraph;
  std::string term;  ///< of an item: "-o, --out FILE"
  std::string text;  ///< one line, however many it was printed in
};

struct help_page {
  std::vector<std::string> usage;  ///< "heddle replay FILE|TOKEN [--trace]", a line each way to call it
  std::vector<help_block> blocks;
};

/// Lines that begin with "heddle" up to the first empty one are usage. A line behind two blanks begins an item: its term, two blanks or more,
/// its text, which goes on in lines that are further in. A line alone in front of an item is a heading.
help_page parse_help(std::string_view text);

struct help_option {
  std::vector<std::string> names;  ///< "-o", "--out"
  std::string value;               ///< "FILE", "KEY=VALUE"; empty: takes none
  std::string meaning;
};

/// Items whose term begins with a dash.
std::vector<help_option> options_of(const help_page& page);

/// What the first usage line names behind the command: "FILE|TOKEN", "SCENARIO"; empty when it takes options alone.
std::string argument_of(const help_page& page);

/// The manual page heddle(1) as roff, made of the help of all commands.
std::string man_page(std::string_view version);

}  // namespace heddle::tools
