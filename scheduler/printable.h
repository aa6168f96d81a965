// Text that programs under test have chosen, as it can be shown anywhere: on a terminal, in XML, in the DOT language.
#pragma once

#include <string>
#include <string_view>

namespace heddle::scheduler {

/// What is no printable character of UTF-8 is written as "\xNN" for each of its bytes, and line ends and tabs as "\n",
/// "\r" and "\t": so no sequence for a terminal is left, and one line stays one line. Everything else stays as it is.
std::string printable(std::string_view text);

/// As printable(), but line ends and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace heddle::scheduler
