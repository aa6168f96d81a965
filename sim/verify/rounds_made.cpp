#include <heddle/sim/verify/rounds_made.h>

#include <algorithm>

namespace heddle::sim {

std::string rounds_made::told() const {
  constexpr uint64_t many = 500;
  const auto most = std::max_element(places_.begin(), places_.end(), [](const auto& one, const auto& other) {
    return one.second.count < other.second.count;
  });
  if (most == places_.end() || most->second.count < many) return {};
  const place& at = most->second;
  return at.lane + " goes round" + (at.where.empty() ? "" : " at " + at.where) + ", " + std::to_string(at.count) +
         " times on the longest way, and comes to no state that it has been in";
}

}  // namespace heddle::sim
