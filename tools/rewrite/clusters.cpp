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

kernel_attributes attributes_before(const token_list& tokens, size_t& at) {
  kernel_attributes found;
  while (at > 0) {
    const size_t open = tokens.is(at - 1, ")") ? tokens.match(at - 1) : token_list::none;
    const bool is_one = open != token_list::none && open != 0;
    if (is_one && (tokens.is(open - 1, "__cluster_dims__") || tokens.is(open - 1, "__launch_bounds__"))) {
      found.add(tokens, open - 1);
      at = open - 1;
    } else if (tokens.is_identifier(at - 1) || tokens.is(at - 1, "\"")) {
      --at;
    } else {
      break;
    }
  }
  return found;
}

void kernel_attributes::add(const token_list& tokens, size_t name) {
  const bool is_clusters = tokens.is(name, "__cluster_dims__");
  if (!is_clusters && !tokens.is(name, "__launch_bounds__")) return;
  const size_t close = tokens.is(name + 1, "(") ? tokens.match(name + 1) : token_list::none;
  if (close == token_list::none) return;
  std::string made;
  for (size_t n = name + 2; n < close; ++n) made += (made.empty() ? "" : " ") + std::string(tokens.text_of(n));
  (is_clusters ? clusters : bounds) = made;
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
