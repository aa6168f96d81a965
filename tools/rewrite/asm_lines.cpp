#include "asm_lines.h"

#include <algorithm>
#include <utility>

#include "asm_words.h"

namespace heddle::rewrite {
namespace {

constexpr std::string_view digits = "0123456789";

/// `lock`, or `rep` of `rep; nop`: mostly on a line of its own.
bool take_prefix(std::string& words, std::string_view prefix) {
  if (words == prefix) {
    words.clear();
    return true;
  }
  if (!words.starts_with(prefix) || words.size() <= prefix.size() || words[prefix.size()] != ' ') return false;
  words.erase(0, prefix.size() + 1);
  return true;
}

/// A number may stand at several lines: `1f` is the next of them, `1b` the last.
std::string target_of(const std::vector<std::string>& numbers, size_t from, std::string_view word) {
  if (word.size() < 2 || word.substr(0, word.size() - 1).find_first_not_of(digits) != std::string_view::npos) return {};
  const std::string_view number = word.substr(0, word.size() - 1);
  if (word.back() == 'f')
    for (size_t n = from + 1; n < numbers.size(); ++n)
      if (numbers[n] == number) return "heddle_l" + std::to_string(n);
  if (word.back() == 'b')
    for (size_t n = from + 1; n-- > 0;)
      if (numbers[n] == number) return "heddle_l" + std::to_string(n);
  return {};
}

}  // namespace

std::optional<std::vector<asm_line>> lines_of(std::string_view text) {
  std::vector<asm_line> lines;
  std::vector<std::string> numbers;  // of the label before each line
  const auto add = [&](std::string words, bool is_locked, std::string number) {
    asm_line& made = lines.emplace_back();
    made.words = std::move(words);
    made.is_locked = is_locked;
    if (!number.empty()) made.label = "heddle_l" + std::to_string(numbers.size());
    numbers.push_back(std::move(number));
  };
  bool is_locked = false;
  bool is_repeated = false;
  for (std::string& words : divided(text, ';')) {
    for (size_t end = words.find_first_not_of(digits); end != 0 && end != std::string::npos && words[end] == ':';
         end = words.find_first_not_of(digits)) {
      add({}, false, words.substr(0, end));
      words.erase(0, words.find_first_not_of(' ', end + 1));
    }
    is_locked = take_prefix(words, "lock") || is_locked;
    is_repeated = take_prefix(words, "rep") || is_repeated;
    if (words.empty()) continue;
    if (is_repeated && words != "nop") return std::nullopt;
    add(std::move(words), std::exchange(is_locked, false), {});
    is_repeated = false;
  }
  if (is_locked || is_repeated) return std::nullopt;
  for (size_t n = 0; n < lines.size(); ++n) {
    asm_line& line = lines[n];
    if (!line.words.starts_with('j')) continue;
    const size_t blank = line.words.find(' ');
    if (blank == std::string::npos || line.is_locked) return std::nullopt;
    const std::string name = line.words.substr(1, blank - 1);
    if (name != "mp") line.condition = condition_of(name);
    line.target = target_of(numbers, n, std::string_view(line.words).substr(blank + 1));
    if (line.target.empty() || (name != "mp" && line.condition.empty())) return std::nullopt;
    line.words.clear();
  }
  return lines;
}

}  // namespace heddle::rewrite
