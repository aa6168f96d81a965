#include <heddle/tools/cli/table.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace heddle::tools {
namespace {

constexpr size_t gap = 2;
constexpr size_t first_column_min = 8;

}  // namespace

bool is_terminal(int file) {
  const char* const kind = std::getenv("TERM");
  return ::isatty(file) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

bool wants_colour() {
  static const bool wanted = [] {
    const char* refused = std::getenv("NO_COLOR");
    if (refused != nullptr && *refused != '\0') return false;
    return is_terminal(STDOUT_FILENO);
  }();
  return wanted;
}

std::string painted(std::string_view text, colour wanted) {
  if (text.empty() || wanted == colour::none || !wants_colour()) return std::string(text);
  const char* code = wanted == colour::good      ? "32"
                     : wanted == colour::bad     ? "1;31"
                     : wanted == colour::warning ? "33"
                                                 : "2";
  return "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m";
}

std::vector<size_t> table::widths(size_t width_max) const {
  std::vector<size_t> wide;
  for (const column& each : columns_) wide.push_back(each.title.size());
  for (const auto& row : rows_)
    for (size_t index = 0; index < row.size(); ++index) wide[index] = std::max(wide[index], row[index].text.size());
  const size_t total = std::accumulate(wide.begin(), wide.end(), gap * (wide.size() - 1));
  if (width_max != 0 && total > width_max) {
    const size_t others = total - wide[0];
    wide[0] = others + first_column_min < width_max ? width_max - others : first_column_min;
  }
  return wide;
}

void table::print_row(std::ostream& out, const std::vector<cell>& row, const std::vector<size_t>& wide) const {
  std::string line;
  for (size_t index = 0; index < row.size(); ++index) {
    const std::string text = shortened(row[index].text, wide[index]);
    const std::string blanks(wide[index] - text.size(), ' ');
    const bool last = index + 1 == row.size();
    const bool right = columns_[index].side == align::right;
    line += (right ? blanks : "") + painted(text, row[index].shown) + (right || last ? "" : blanks);
    if (!last) line += std::string(gap, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

void table::print(std::ostream& out, size_t width_max) const {
  const std::vector<size_t> wide = widths(width_max);
  std::vector<cell> titles;
  for (const column& each : columns_) titles.push_back({.text = each.title, .shown = colour::faint});
  const auto has_title = [](const column& each) { return !each.title.empty(); };
  if (std::any_of(columns_.begin(), columns_.end(), has_title)) print_row(out, titles, wide);
  for (const auto& row : rows_) print_row(out, row, wide);
}

void table::print_now(std::ostream& out, const std::vector<size_t>& widths, const std::vector<cell>& row) const {
  std::vector<cell> titles;
  for (const column& each : columns_) titles.push_back({.text = each.title, .shown = colour::faint});
  const std::vector<cell>& shown = row.empty() ? titles : row;
  // What is wider than was thought moves the others; only the first column gives way.
  std::vector<size_t> wide = widths;
  for (size_t index = 1; index < shown.size(); ++index) wide[index] = std::max(wide[index], shown[index].text.size());
  print_row(out, shown, wide);
  out.flush();
}

std::string shortened(std::string_view text, size_t width_max) {
  if (text.size() <= width_max) return std::string(text);
  if (width_max <= 3) return std::string(text.substr(0, width_max));
  const size_t kept = width_max - 3;
  const size_t front = kept / 2;
  return std::string(text.substr(0, front)) + "..." + std::string(text.substr(text.size() - (kept - front)));
}

std::string indented(std::string_view text, size_t blanks) {
  std::string all;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) all += std::string(blanks, ' ');
    all += std::string(text.substr(0, end)) + '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

std::string wrapped(std::string_view text, size_t width_max) {
  std::string all;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    while (line.size() > width_max) {
      size_t at = line.rfind(' ', width_max);
      if (at == std::string_view::npos || at == 0) at = line.find(' ', 1);
      if (at == std::string_view::npos) break;
      all += std::string(line.substr(0, at)) + '\n';
      line.remove_prefix(at + 1);
    }
    all += std::string(line) + '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

std::string digest_digits(uint64_t digest) {
  std::string digits(16, '0');
  for (size_t place = 16; place > 0; --place, digest >>= 4) digits[place - 1] = "0123456789abcdef"[digest & 15];
  return digits;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<uint64_t>(std::ceil(seconds));
  if (whole < 120) return std::to_string(whole) + " s";
  if (whole < 7'200) return std::to_string(whole / 60) + " min";
  return std::to_string(whole / 3'600) + " h";
}

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
  return digits;
}

}  // namespace heddle::tools
