#include "tokens.h"

#include <algorithm>
#include <cctype>

namespace heddle::rewrite {
namespace {

bool begins_identifier(char letter) {
  // Letters beyond ASCII may stand in names too.
  return std::isalpha(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '$' ||
         static_cast<unsigned char>(letter) >= 0x80;
}
bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool continues_identifier(char letter) { return begins_identifier(letter) || is_digit(letter); }

/// Behind the literal whose opening quote is at `at`.
size_t end_of_literal(std::string_view text, size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote) at += text[at] == '\\' ? 2 : 1;
  return at < text.size() ? at + 1 : text.size();
}

/// Behind the raw string whose opening quote is at `at`.
size_t end_of_raw_string(std::string_view text, size_t at) {
  const size_t open = text.find('(', at);
  if (open == std::string_view::npos) return text.size();
  const std::string close = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
  const size_t found = text.find(close, open);
  return found == std::string_view::npos ? text.size() : found + close.size();
}

/// Behind the number at `at`: 0x1p-3, 1'000, 1e+5, 2.5f.
size_t end_of_number(std::string_view text, size_t at) {
  while (at < text.size()) {
    const char letter = text[at];
    const bool exponent = (letter == 'e' || letter == 'E' || letter == 'p' || letter == 'P') && at + 1 < text.size() &&
                          (text[at + 1] == '+' || text[at + 1] == '-');
    const bool separator = letter == '\'' && at + 1 < text.size() && continues_identifier(text[at + 1]);
    if (exponent || separator)
      at += 2;
    else if (continues_identifier(letter) || letter == '.')
      ++at;
    else
      break;
  }
  return at;
}

}  // namespace

token_list::token_list(std::string_view text) : text_(text) {
  bool line_begins = true;
  size_t at = 0;
  const auto add = [&](token_kind kind, size_t end) {
    tokens_.push_back({kind, at, end});
    at = end;
  };
  while (at < text.size()) {
    const char letter = text[at];
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (letter == '\n') {
      line_begins = true;
      ++at;
    } else if (std::isspace(static_cast<unsigned char>(letter)) != 0) {
      ++at;
    } else if (letter == '#' && line_begins) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const size_t word = text.find_first_not_of(" \t", at + 1);
      if (at != 0 && text[at - 1] != '\n' && word < end && text.substr(word, 6) == "pragma")
        pragmas_.push_back({at, end});
      at = end;
    } else {
      line_begins = false;
      if (letter == '/' && next == '/') {
        at = text.find('\n', at);
        if (at == std::string_view::npos) at = text.size();
      } else if (letter == '/' && next == '*') {
        at = text.find("*/", at + 2);
        at = at == std::string_view::npos ? text.size() : at + 2;
      } else if (letter == '"' || letter == '\'') {
        add(token_kind::literal, end_of_literal(text, at));
      } else if (begins_identifier(letter)) {
        size_t end = at;
        while (end < text.size() && continues_identifier(text[end])) ++end;
        const bool prefix = end < text.size() && (text[end] == '"' || text[end] == '\'') && end - at <= 3;
        if (prefix && text[end - 1] == 'R' && text[end] == '"')
          add(token_kind::literal, end_of_raw_string(text, end));
        else if (prefix)
          add(token_kind::literal, end_of_literal(text, end));
        else
          add(token_kind::identifier, end);
      } else if (is_digit(letter) || (letter == '.' && is_digit(next))) {
        add(token_kind::number, end_of_number(text, at));
      } else {
        add(token_kind::punctuation, at + 1);
      }
    }
  }
  find_matches();
}

void token_list::find_matches() {
  match_.assign(tokens_.size(), none);
  std::vector<size_t> open;
  for (size_t n = 0; n < tokens_.size(); ++n) {
    if (tokens_[n].kind != token_kind::punctuation) continue;
    const char letter = text_[tokens_[n].begin];
    if (letter == '(' || letter == '[' || letter == '{') open.push_back(n);
    if (letter != ')' && letter != ']' && letter != '}') continue;
    if (open.empty()) continue;
    match_[n] = open.back();
    match_[open.back()] = n;
    open.pop_back();
  }
}

token_list::place token_list::place_of(size_t offset) const {
  std::string file = "the source";
  size_t line = 1;
  for (size_t at = 0; at < offset;) {
    size_t end = text_.find('\n', at);
    if (end == std::string_view::npos || end >= offset) break;
    const std::string_view one = text_.substr(at, end - at);
    // # 12 "file.cu" 1
    size_t digit = one.starts_with("#line ") ? 6 : one.starts_with("# ") ? 2 : one.size();
    if (digit < one.size() && is_digit(one[digit])) {
      size_t number = 0;
      while (digit < one.size() && is_digit(one[digit])) number = number * 10 + static_cast<size_t>(one[digit++] - '0');
      line = number;
      const size_t open = one.find('"', digit);
      const size_t close = one.rfind('"');
      if (open != std::string_view::npos && close > open) file = one.substr(open + 1, close - open - 1);
    } else {
      ++line;
    }
    at = end + 1;
  }
  return {file, line};
}

namespace {

bool opens_function(const token_list& tokens, size_t brace) {
  for (size_t n = brace; n-- > 0;) {
    if (tokens.is(n, ")")) return true;
    if (tokens.is(n, ";") || tokens.is(n, "}") || tokens.is(n, "{")) return false;
    for (const std::string_view word : {"namespace", "extern", "struct", "class", "union", "enum"})
      if (tokens.is(n, word)) return false;
    // The value of a variable.
    if (tokens.is(n, "=")) return true;
  }
  return false;
}

}  // namespace

std::vector<bool> tokens_in_functions(const token_list& tokens) {
  std::vector<bool> in_function(tokens.size(), false);
  std::vector<bool> open;
  size_t functions = 0;
  for (size_t n = 0; n < tokens.size(); ++n) {
    if (tokens.is(n, "}") && !open.empty()) {
      if (open.back()) --functions;
      open.pop_back();
    }
    in_function[n] = functions != 0;
    if (tokens.is(n, "{")) {
      const bool function = functions != 0 || opens_function(tokens, n);
      open.push_back(function);
      if (function) ++functions;
    }
  }
  return in_function;
}

size_t end_of_handler(const token_list& tokens, size_t n) {
  constexpr size_t none = token_list::none;
  if (!tokens.is(n, "catch") || !tokens.is(n + 1, "(") || tokens.match(n + 1) == none) return none;
  const size_t open = tokens.match(n + 1) + 1;
  return tokens.is(open, "{") ? tokens.match(open) : none;
}

}  // namespace heddle::rewrite
