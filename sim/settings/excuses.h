// Races that have been looked at, and are left alone: places and variables, as files name them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::sim {

/// One of them: a line of source in which one of the two accesses is made, or a variable.
struct excuse {
  std::string file;      ///< of the place; empty: it is a variable
  int line = 0;          ///< from 1
  std::string variable;  ///< as reports name it, without an offset
  std::string from;      ///< where it stands: "excuses.txt:3"

  /// "place ring.cu:52", "variable ports"
  std::string text() const;
  /// Whether it means this line. Paths are the same when one is the end of the other.
  bool is_at(std::string_view source, int source_line) const;
  /// Whether it means what reports name so: "ports+0x40" is in "ports".
  bool is_of(std::string_view location) const;
};

/// What such a comment says, in a source: of its own line, or where it stands alone, of the next one.
inline constexpr std::string_view excuse_comment = "heddle: excuse race";

/// Reads files, with commas between their names. A file is a source that has such comments, or a list with a line each, `place FILE:LINE` or
/// `variable NAME`, where `#` begins a comment. Nothing on success; otherwise one line that says what is wrong, and where.
std::optional<std::string> read_excuses(std::string_view files, std::vector<excuse>& into);

}  // namespace heddle::sim
