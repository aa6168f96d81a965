// Text in columns, and colour on terminals.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

enum class colour : uint8_t { none, good, bad, warning, faint };

/// Whether stdout (1) or stderr (2) is a terminal that can show colours and write a line anew.
bool is_terminal(int file);

/// Whether to colour stdout: it is such a terminal, and NO_COLOR (no-color.org) is unset or empty.
bool wants_colour();

/// The text in that colour, as it is when wants_colour() is false.
std::string painted(std::string_view text, colour wanted);

/// Columns two blanks apart. The first column gives way, its entries cut in the middle, when a line would be too wide.
class table {
 public:
  enum class align : uint8_t { left, right };
  struct column {
    std::string title;  ///< all empty: no title line
    align side = align::left;
  };
  struct cell {
    std::string text;
    colour shown = colour::none;
  };

  explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<cell> row) { rows_.push_back(std::move(row)); }
  /// `width_max` in characters; 0 is without limit.
  void print(std::ostream& out, size_t width_max) const;
  /// A row at once, in columns of widths that are known before; the titles where it is empty.
  void print_now(std::ostream& out, const std::vector<size_t>& widths, const std::vector<cell>& row = {}) const;

 private:
  std::vector<size_t> widths(size_t width_max) const;
  void print_row(std::ostream& out, const std::vector<cell>& row, const std::vector<size_t>& widths) const;

  std::vector<column> columns_;
  std::vector<std::vector<cell>> rows_;
};

/// The text cut in the middle to so many characters, "rpc/po...box.h".
std::string shortened(std::string_view text, size_t width_max);

/// Every line of a text with so many blanks before it; ends with a line feed unless the text is empty.
std::string indented(std::string_view text, size_t blanks);

/// The text in lines of at most so many characters, broken at blanks; a longer word has a line of its own. Lines that there are stay.
std::string wrapped(std::string_view text, size_t width_max);

/// "90 s", "3 min", "2 h": how long something takes.
std::string duration_text(double seconds);

/// "1,234,567"
std::string grouped(uint64_t number);

/// The 16 hexadecimal digits of a run's or a campaign's digest.
std::string digest_digits(uint64_t digest);

}  // namespace heddle::tools
