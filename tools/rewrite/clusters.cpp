#include "clusters.h"

namespace heddle::rewrite {

size_t angle_before(const token_list& tokens, size_t close) {
  size_t depth = 0;
  for (size_t n = close;; --n) {
    if (tokens.is(n, ">") && !tokens.is(n - 1, "-")) ++depth;
    if (tokens.is(n, "<") && --depth == 0) return n;
    if ((tokens.is(n, ")") || tokens.is(n, "]") || tokens.is(n, "}")) && tokens.match(n) != token_list::none)
      n = tokens.match(n);
    if (n == 0 || tokens.is(n, ";") || tokens.is(n, "{")) return token_list::none;
  }
}

std::string declared_clusters::before(size_t close) const {
  const size_t open = tokens_.is(close, ")") ? tokens_.match(close) : token_list::none;
  if (open == token_list::none || open == 0 || !tokens_.is(open - 1, "__cluster_dims__")) return {};
  std::string made;
  for (size_t n = open + 1; n < close; ++n) made += (made.empty() ? "" : " ") + std::string(tokens_.text_of(n));
  return made;
}

std::string declared_clusters::of_launch(size_t open) const {
  size_t name = open - 1;
  if (tokens_.is(name, ">")) name = angle_before(tokens_, name);
  if (name == token_list::none || name == 0) return {};
  if (!tokens_.is_identifier(name)) --name;
  return of(std::string(tokens_.text_of(name)));
}

std::string declared_clusters::of(const std::string& kernel) const {
  const auto known = of_.find(kernel);
  return known == of_.end() ? "" : known->second;
}

}  // namespace heddle::rewrite
