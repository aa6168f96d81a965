#include <heddle/scheduler/verdict.h>

#include <array>

namespace heddle::scheduler {
namespace {

constexpr std::array<std::string_view, verdict_count> names = {
    "ok",   "deadlock", "progress",  "livelock", "starvation", "race",  "scope race",  "protocol",
    "mask", "memory",   "assertion", "budget",   "crash",      "stuck", "unsupported",
};
static_assert(!names.back().empty(), "a verdict lacks its name");

}  // namespace

std::string_view to_string(verdict value) { return names.at(static_cast<size_t>(value)); }

std::optional<verdict> parse_verdict(std::string_view text) {
  for (size_t index = 0; index < names.size(); ++index)
    if (names[index] == text) return static_cast<verdict>(index);
  return std::nullopt;
}

std::string to_string(const verdict_set& any) {
  if (any == verdict_set::any_violation()) return "any violation";
  std::string text;
  for (size_t index = 0; index < verdict_count; ++index)
    if (const auto each = static_cast<verdict>(index); any.contains(each))
      text += (text.empty() ? "" : " or ") + std::string(to_string(each));
  return text;
}

}  // namespace heddle::scheduler
