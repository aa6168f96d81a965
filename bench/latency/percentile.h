// Percentiles of samples that are all there.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace heddle::bench {

/// The smallest sample that at least `share` of all samples do not exceed (nearest rank); share in [0, 1], `sorted` not empty.
inline double percentile(const std::vector<double>& sorted, double share) {
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  const auto index = rank < 1 ? size_t{0} : static_cast<size_t>(rank) - 1;
  return sorted[index < sorted.size() ? index : sorted.size() - 1];
}

}  // namespace heddle::bench
