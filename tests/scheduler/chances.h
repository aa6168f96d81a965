// What randomised tests may say of how often something happened.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>

namespace heddle::scheduler {

/// The probability of at most `hits` in `trials`, each a hit with probability p.
inline double at_most(uint64_t hits, uint64_t trials, double p) {
  double sum = 0;
  const auto n = static_cast<double>(trials);
  for (uint64_t each = 0; each <= hits; ++each) {
    const auto k = static_cast<double>(each);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) +
                    (n - k) * std::log1p(-p));
  }
  return sum;
}

/// How far counts are from what is expected, as a number of standard deviations of a normal distribution: chi-square by Wilson and
/// Hilferty's cube root. Above 4.75, that is one chance in a million. `expected` has everything that may happen.
template <typename What>
double deviations(const std::map<What, uint64_t>& counts, const std::map<What, double>& expected) {
  double chi_square = 0;
  for (const auto& [what, wanted] : expected) {
    const auto known = counts.find(what);
    const double seen = known == counts.end() ? 0 : static_cast<double>(known->second);
    chi_square += (seen - wanted) * (seen - wanted) / wanted;
  }
  const auto freedom = static_cast<double>(expected.size() - 1);
  const double scale = 2 / (9 * freedom);
  return (std::cbrt(chi_square / freedom) - (1 - scale)) / std::sqrt(scale);
}
inline constexpr double one_in_a_million = 4.75;

}  // namespace heddle::scheduler
