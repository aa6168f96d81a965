#include <heddle/tools/verify/unbounded.h>

#include <algorithm>

namespace heddle::tools {

parameters without_bounds(const parameters& settings, const std::vector<std::string>& assignments) {
  parameters made = settings;
  const auto widen = [&](const std::string& key, const std::string& value) {
    const bool is_set = std::any_of(assignments.begin(), assignments.end(),
                                    [&](const std::string& each) { return each.starts_with(key + "="); });
    if (!is_set) made.set(key + "=" + value);
  };
  if (made.has("wakes")) widen("wakes", "1000");
  if (!made.has("fidelity")) return made;
  const std::string fidelity = made.text("fidelity");
  if (fidelity == "scoped") {
    widen("late", "1000");
    widen("history", "60");
    if (made.text("races") == "end") widen("points", "atomics");
  }
  if (fidelity == "link") {
    widen("late", "1000");
    if (made.text("link.latency") == "off") {
      widen("link.age", "1000000000");
      // How long nothing arrives follows from the order of turns.
      widen("link.lull", "off");
    }
  }
  return made;
}

}  // namespace heddle::tools
