#include <heddle/scheduler/behaviours.h>

#include <algorithm>
#include <cmath>

namespace heddle::scheduler {
namespace {

/// The highest chance by which `hits` of `draws`, or fewer, come in one case of twenty or more.
double highest_chance(uint64_t hits, uint64_t draws) {
  if (draws == 0 || hits >= draws) return 1;
  const auto count = static_cast<double>(draws);
  const double share = static_cast<double>(hits) / count;
  const auto divergence = [&](double chance) {
    const double of_hits = share == 0 ? 0 : share * std::log(share / chance);
    return of_hits + (1 - share) * std::log((1 - share) / (1 - chance));
  };
  const double most = std::log(20.0) / count;
  double low = share, high = 1;
  for (int n = 0; n < 60; ++n) {
    const double middle = (low + high) / 2;
    (divergence(middle) < most ? low : high) = middle;
  }
  return high;
}

}  // namespace

void behaviours::add(uint64_t behaviour, const shown& by) {
  const auto known = all_.find(behaviour);
  if (known != all_.end()) {
    known->second.runs += by.runs;
    known->second.first_seed = std::min(known->second.first_seed, by.first_seed);
    return;
  }
  if (all_.size() == most) {
    more_ = true;
    return;
  }
  all_.emplace(behaviour, by);
}

void behaviours::add(const behaviours& part) {
  for (const auto& [behaviour, by] : part.all_) add(behaviour, by);
  more_ = more_ || part.more_;
}

uint64_t behaviours::last_new() const {
  uint64_t last = 0;
  for (const auto& [behaviour, by] : all_) last = std::max(last, by.first_seed);
  return last;
}

uint64_t behaviours::runs_without_news(uint64_t first_seed, uint64_t runs) const {
  const uint64_t with_news = last_new() - first_seed + 1;
  return runs - std::min(runs, with_news);
}

double behaviours::chance_of_new(uint64_t first_seed, uint64_t runs) const {
  const uint64_t first_half = runs / 2;
  uint64_t hits = 0;
  for (const auto& [behaviour, by] : all_)
    if (by.first_seed - first_seed >= first_half) hits += by.runs;
  return more_ ? 1 : highest_chance(hits, runs - first_half);
}

}  // namespace heddle::scheduler
