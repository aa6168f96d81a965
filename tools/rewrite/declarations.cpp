#include "declarations.h"

namespace heddle::rewrite {
size_t behind_attribute(const token_list& tokens, size_t n) {
  const bool with_brackets = tokens.is(n, "__attribute__") || tokens.is(n, "alignas") || tokens.is(n, "decltype") ||
                             tokens.is(n, "__declspec") || tokens.is(n, "__cluster_dims__") ||
                             tokens.is(n, "__launch_bounds__");
  if (with_brackets && tokens.is(n + 1, "(") && tokens.match(n + 1) != token_list::none) return tokens.match(n + 1) + 1;
  return n;
}

size_t begin_of_shared(const token_list& tokens, size_t n) {
  const auto is_of_type = [&](size_t at) {
    return tokens.is(at, "<") || tokens.is(at, ">") || tokens.is(at, ":") || tokens.is(at, "*");
  };
  while (n > 0) {
    const size_t open = tokens.is(n - 1, ")") || tokens.is(n - 1, "]") ? tokens.match(n - 1) : token_list::none;
    if (tokens.is_identifier(n - 1) || is_of_type(n - 1))
      --n;
    else if (open != token_list::none && open > 0 &&
             (tokens.is(open - 1, "alignas") || tokens.is(open - 1, "__attribute__")))
      n = open - 1;
    else if (open != token_list::none && tokens.is(open, "[") && tokens.is(open + 1, "["))
      n = open;
    else
      break;
  }
  return n;
}

bool names_of(const token_list& tokens, size_t begin, size_t end, std::vector<size_t>& names) {
  size_t name = token_list::none;
  bool named = false;
  for (size_t at = begin; at <= end; ++at) {
    if (const size_t behind = behind_attribute(tokens, at); behind != at) {
      at = behind - 1;
      continue;
    }
    if (tokens.is(at, "<") && at < end) {
      size_t depth = 0;
      for (; at < end; ++at) {
        if (tokens.is(at, "<")) ++depth;
        if (tokens.is(at, ">") && --depth == 0) break;
        if (tokens.is(at, "(") && tokens.match(at) != token_list::none) at = tokens.match(at);
      }
      continue;
    }
    if (tokens.is(at, ",") || tokens.is(at, ";")) {
      if (name == token_list::none) return false;
      names.push_back(name);
      name = token_list::none;
      named = false;
    } else if (tokens.is(at, "[")) {
      named = true;
      at = tokens.match(at);
    } else if (tokens.is(at, "{")) {
      // The members of a type; behind a name it would be a value.
      at = tokens.match(at);
    } else if (tokens.is(at, "=") || tokens.is(at, "(")) {
      return false;
    } else if (tokens.is_identifier(at) && !named) {
      name = at;
    }
    if (at == token_list::none) return false;
  }
  return true;
}

size_t opened_around(const token_list& tokens, size_t n) {
  for (size_t at = n; at-- > 0;) {
    if (tokens.is(at, "{")) return at;
    if (tokens.is(at, "}") && tokens.match(at) != token_list::none) at = tokens.match(at);
  }
  return token_list::none;
}

bool stands_before_values(const token_list& tokens, size_t n) {
  return tokens.is(n, "return") || tokens.is(n, "else") || tokens.is(n, "do") || tokens.is(n, "case") ||
         tokens.is(n, "sizeof") || tokens.is(n, "throw");
}

size_t begin_of_use(const token_list& tokens, size_t n) {
  const bool is_member =
      n != 0 && (tokens.is(n - 1, ".") || (n >= 2 && tokens.is(n - 1, ">") && tokens.is(n - 2, "-")));
  if (is_member || tokens.is(n + 1, "(") || tokens.is(n + 1, "{")) return token_list::none;
  size_t first = n;
  while (first >= 2 && tokens.is(first - 1, ":") && tokens.is(first - 2, ":")) {
    first -= 2;
    if (first != 0 && tokens.is_identifier(first - 1) && !stands_before_values(tokens, first - 1)) --first;
  }
  const bool accessed = tokens.is(n + 1, ".") || (tokens.is(n + 1, "-") && tokens.is(n + 2, ">"));
  const bool behind_type =
      first != 0 && ((tokens.is_identifier(first - 1) && !stands_before_values(tokens, first - 1)) ||
                     tokens.is(first - 1, "*") || tokens.is(first - 1, "&") || tokens.is(first - 1, ">"));
  return behind_type && !accessed ? token_list::none : first;
}

}  // namespace heddle::rewrite
