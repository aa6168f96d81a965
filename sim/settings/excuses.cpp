#include <heddle/scheduler/whole_file.h>
#include <heddle/sim/settings/excuses.h>

#include <charconv>

namespace heddle::sim {
namespace {

/// Of a list or a source; a file without an end must not be read for ever.
constexpr size_t bytes_max = size_t{64} << 20;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const size_t first = text.find_first_not_of(blanks);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t end = 0; (end = text.find(at)) != std::string_view::npos; text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

void read_source(const std::string& file, const std::vector<std::string_view>& lines, std::vector<excuse>& into) {
  for (size_t n = 0; n < lines.size(); ++n) {
    if (lines[n].find(excuse_comment) == std::string_view::npos) continue;
    const std::string_view text = trimmed(lines[n]);
    const bool alone = text.starts_with("//") || text.starts_with("/*") || text.starts_with('*');
    into.push_back({.file = file,
                    .line = static_cast<int>(n) + (alone ? 2 : 1),
                    .variable = {},
                    .from = file + ':' + std::to_string(n + 1)});
  }
}

/// One line of a list; an empty `from` where it says nothing of this kind.
excuse excuse_of(std::string_view text) {
  constexpr std::string_view place = "place ";
  constexpr std::string_view variable = "variable ";
  excuse made;
  if (text.starts_with(variable)) made.variable = trimmed(text.substr(variable.size()));
  if (!text.starts_with(place)) return made;
  const std::string_view where = trimmed(text.substr(place.size()));
  const size_t colon = where.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return made;
  const std::string_view number = where.substr(colon + 1);
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), made.line);
  if (failed == std::errc() && end == number.data() + number.size() && made.line > 0)
    made.file = where.substr(0, colon);
  return made;
}

std::optional<std::string> read_list(const std::string& file, const std::vector<std::string_view>& lines,
                                     std::vector<excuse>& into) {
  for (size_t n = 0; n < lines.size(); ++n) {
    const std::string_view text = trimmed(lines[n].substr(0, lines[n].find('#')));
    if (text.empty()) continue;
    excuse made = excuse_of(text);
    made.from = file + ':' + std::to_string(n + 1);
    if (made.file.empty() && made.variable.empty())
      return made.from + ": \"" + std::string(text) +
             "\" excuses nothing; a line is \"place FILE:LINE\" or \"variable NAME\"";
    into.push_back(std::move(made));
  }
  return std::nullopt;
}

/// Without the "./" that a shell completes.
std::string_view plain_path(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  return path;
}

bool is_end_of(std::string_view path, std::string_view end) {
  return path.ends_with(end) && (path.size() == end.size() || path[path.size() - end.size() - 1] == '/');
}

}  // namespace

std::string excuse::text() const {
  return file.empty() ? "variable " + variable : "place " + file + ':' + std::to_string(line);
}

bool excuse::is_at(std::string_view source, int source_line) const {
  if (file.empty() || source.empty() || line != source_line) return false;
  return is_end_of(source, plain_path(file)) || is_end_of(plain_path(file), source);
}

bool excuse::is_of(std::string_view location) const {
  if (variable.empty() || !location.starts_with(variable)) return false;
  const std::string_view offset = location.substr(variable.size());
  return offset.empty() || offset.starts_with("+0x");
}

std::optional<std::string> read_excuses(std::string_view files, std::vector<excuse>& into) {
  for (const std::string_view each : split(files, ',')) {
    if (each.empty()) continue;
    const std::string name(each);
    const scheduler::text_or_reason read = scheduler::read_whole(name, bytes_max);
    if (!read.text) return "cannot read the excuses in \"" + name + "\": " + read.reason;
    const std::string& text = *read.text;
    const std::vector<std::string_view> lines = split(text, '\n');
    if (text.find(excuse_comment) != std::string::npos)
      read_source(name, lines, into);
    else if (const auto wrong = read_list(name, lines, into))
      return wrong;
  }
  return std::nullopt;
}

}  // namespace heddle::sim
