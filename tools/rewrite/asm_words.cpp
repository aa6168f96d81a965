#include "asm_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace heddle::rewrite {

char register_of(std::string_view word, size_t& size_bytes) {
  if (!word.starts_with("%%")) return 0;
  word.remove_prefix(2);
  const bool wide = word.starts_with('r') || word.starts_with('e');
  if (word.size() == 3 && wide && word[2] == 'x') {
    size_bytes = word[0] == 'r' ? 8 : 4;
    return known_registers.find(word[1]) == std::string_view::npos ? char{0} : word[1];
  }
  if (word.size() != 2 || known_registers.find(word[0]) == std::string_view::npos) return 0;
  if (word[1] != 'l' && word[1] != 'x') return 0;
  size_bytes = word[1] == 'l' ? 1 : 2;
  return word[0];
}

std::vector<std::string> divided(std::string_view text, char at) {
  std::vector<std::string> made;
  int depth = 0;
  std::string word;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == at && depth == 0)
      made.push_back(std::exchange(word, {}));
    else if (c != ' ' || !word.empty())
      word += c;
  }
  made.push_back(word);
  for (std::string& each : made)
    while (!each.empty() && each.back() == ' ') each.pop_back();
  return made;
}

bool is_named(std::string_view name, std::string_view lower) {
  return !name.empty() && std::equal(name.begin(), name.end(), lower.begin(), lower.end(),
                                     [](unsigned char a, char b) { return std::tolower(a) == b; });
}

std::string_view without_casts(std::string_view output) {
  while (output.starts_with('(')) {
    size_t end = 0;
    int depth = 0;
    for (; end < output.size(); ++end) {
      depth += output[end] == '(' ? 1 : output[end] == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    const size_t next = output.find_first_not_of(' ', end + 1);
    if (next == std::string_view::npos) break;
    const char first = output[next];
    if (std::isalpha(static_cast<unsigned char>(first)) == 0 && first != '_' && first != '(' && first != '*') break;
    output.remove_prefix(next);
  }
  return output;
}

std::string size_by_suffix(std::string& name) {
  constexpr std::array<std::string_view, 17> names = {"mov", "xchg", "xadd", "cmpxchg", "add", "sub",
                                                      "and", "or",   "xor",  "inc",     "dec", "neg",
                                                      "not", "sbb",  "cmp",  "test",    "shl"};
  constexpr std::array<std::string_view, 4> bits = {"bts", "btr", "btc", "bt"};
  const auto is_known = [&](std::string_view one) {
    return std::find(names.begin(), names.end(), one) != names.end() ||
           std::find(bits.begin(), bits.end(), one) != bits.end();
  };
  if (is_known(name) || name.empty()) return {};
  constexpr std::string_view suffixes = "bwlq";
  const size_t at = suffixes.find(name.back());
  if (at == std::string_view::npos || !is_known(std::string_view(name).substr(0, name.size() - 1))) return {};
  name.pop_back();
  return std::to_string(1u << at);
}

std::string condition_of(std::string_view name) {
  constexpr std::string_view less = "(heddle_sf != heddle_of)";
  constexpr std::array<std::pair<std::string_view, std::string_view>, 20> all = {
      {{"z", "heddle_zf"},
       {"e", "heddle_zf"},
       {"nz", "!heddle_zf"},
       {"ne", "!heddle_zf"},
       {"c", "heddle_cf"},
       {"b", "heddle_cf"},
       {"nc", "!heddle_cf"},
       {"ae", "!heddle_cf"},
       {"nae", "heddle_cf"},
       {"nb", "!heddle_cf"},
       {"a", "(!heddle_cf && !heddle_zf)"},
       {"nbe", "(!heddle_cf && !heddle_zf)"},
       {"be", "(heddle_cf || heddle_zf)"},
       {"na", "(heddle_cf || heddle_zf)"},
       {"s", "heddle_sf"},
       {"ns", "!heddle_sf"},
       {"l", less},
       {"ge", "(heddle_sf == heddle_of)"},
       {"le", "(heddle_zf || heddle_sf != heddle_of)"},
       {"g", "(!heddle_zf && heddle_sf == heddle_of)"}}};
  const auto* const found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == name; });
  return found == all.end() ? std::string() : std::string(found->second);
}

}  // namespace heddle::rewrite
