#include <heddle/scheduler/printable.h>

#include <cstddef>
#include <cstdint>

namespace heddle::scheduler {
namespace {

/// How many bytes the printable character that the text begins with has; 0 where it begins with none. (Unicode 15,
/// table 3-7, without control characters and what is no character.)
size_t printable_length(std::string_view text) {
  const auto at = [&](size_t n) { return static_cast<uint8_t>(text[n]); };
  const uint8_t first = at(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                        : first >= 0xe0 && first <= 0xef ? 3
                        : first >= 0xf0 && first <= 0xf4 ? 4
                                                         : 0;
  if (length == 0 || length > text.size()) return 0;
  uint32_t character = first & (0x7f >> length);
  for (size_t n = 1; n < length; ++n) {
    if ((at(n) & 0xc0) != 0x80) return 0;
    character = character << 6 | (at(n) & 0x3fu);
  }
  const bool overlong = (length == 3 && character < 0x800) || (length == 4 && character < 0x10000);
  const bool none = (character >= 0xd800 && character <= 0xdfff) || character > 0x10ffff || character < 0xa0 ||
                    (character & 0xfffe) == 0xfffe || character == 0x2028 || character == 0x2029;
  return overlong || none ? 0 : length;
}

std::string printable_but(std::string_view text, std::string_view kept) {
  constexpr const char* digits = "0123456789abcdef";
  std::string made;
  made.reserve(text.size());
  while (!text.empty()) {
    const char first = text.front();
    size_t length = printable_length(text);
    if (length != 0 || kept.find(first) != std::string_view::npos) {
      if (length == 0) length = 1;
      made += text.substr(0, length);
    } else {
      length = 1;
      const auto byte = static_cast<uint8_t>(first);
      made += '\\';
      if (first == '\n')
        made += 'n';
      else if (first == '\r')
        made += 'r';
      else if (first == '\t')
        made += 't';
      else
        made += {'x', digits[byte >> 4], digits[byte & 15]};
    }
    text.remove_prefix(length);
  }
  return made;
}

}  // namespace

std::string printable(std::string_view text) { return printable_but(text, ""); }

std::string printable_lines(std::string_view text) { return printable_but(text, "\n\t"); }

}  // namespace heddle::scheduler
