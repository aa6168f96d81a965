#include <heddle/tools/process/complaint.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace heddle::tools {
namespace {

struct token {
  std::string text;    ///< small letters; a number whole: "0.00e+00"
  char behind = '\0';  ///< what ends it
};

bool is_of_word(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0; }

std::vector<token> tokens_of(std::string_view line) {
  std::vector<token> made;
  bool inside = false;
  for (size_t n = 0; n < line.size(); ++n) {
    const char letter = line[n];
    const bool point = letter == '.' && inside && n + 1 < line.size() && is_of_word(line[n + 1]);
    if (is_of_word(letter) || point) {
      if (!inside) made.emplace_back();
      made.back().text += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
      inside = true;
      continue;
    }
    if (inside || (!made.empty() && made.back().behind == ' ')) made.back().behind = letter;
    inside = false;
  }
  return made;
}

bool is_none(const token& each) {
  if (each.text == "no" || each.text == "without") return true;
  // 0, 0.000, the 0.00e of 0.00e+00.
  return !each.text.empty() && each.text[0] == '0' && each.text.find_first_not_of("0.") == each.text.find('e');
}

bool says_so(const token& each) {
  constexpr std::array<std::string_view, 6> words = {"fail", "mismatch", "incorrect", "wrong", "invalid", "error"};
  return std::ranges::any_of(words, [&](std::string_view word) { return each.text.starts_with(word); });
}

}  // namespace

bool is_complaint(std::string_view line) {
  const std::vector<token> all = tokens_of(line);
  const auto ends_in_none = [&] {
    return all.size() > 1 && is_none(all.back()) &&
           (all[all.size() - 2].behind == ':' || all[all.size() - 2].behind == '=');
  };
  for (size_t n = 0; n < all.size(); ++n) {
    if (!says_so(all[n])) continue;
    const bool none = (n > 0 && is_none(all[n - 1])) || (n + 1 < all.size() && is_none(all[n + 1])) || ends_in_none();
    if (!none) return true;
  }
  return false;
}

}  // namespace heddle::tools
