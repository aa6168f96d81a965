#include <heddle/scheduler/shrink_parts.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace heddle::scheduler::shrinking {
namespace {

constexpr uint64_t seeds_for_a_setting = 200;
constexpr uint32_t hits_for_a_setting = 10;
constexpr uint64_t part_for_a_setting = 20;  ///< of all runs, at most
constexpr uint32_t tries_for_a_setting = 6;  ///< in a row

std::string* value_of(setting_values& settings, const std::string& key) {
  const auto found =
      std::find_if(settings.begin(), settings.end(), [&](const auto& each) { return each.first == key; });
  return found == settings.end() ? nullptr : &found->second;
}

int64_t number_of(setting_values& settings, const std::string& key) {
  const std::string* const value = value_of(settings, key);
  return value == nullptr ? 0 : std::strtoll(value->c_str(), nullptr, 10);
}

/// The value that there is next to the number, upwards.
int64_t allowed_from(const reducible& what, int64_t number) {
  if (what.allowed.empty()) return number;
  const auto next = std::lower_bound(what.allowed.begin(), what.allowed.end(), number);
  return next == what.allowed.end() ? std::numeric_limits<int64_t>::max() : *next;
}

}  // namespace

void setting_shrinker::reduce_settings(setup& current) {
  if (options_.with_settings == nullptr || options_.reducibles.empty()) return;
  for (const care how : {care::none, care::some}) {
    care_ = how;
    settings_tried_.clear();
    if (auto small = smallest_of(current); small && total(small->size) <= total(seen_.size)) seen_ = std::move(*small);
    reduce_all_settings(current);
  }
}

bool setting_shrinker::take_if_failing(setup& current, const setting_values& values) {
  if (values == current.settings || !runs_.may_run() || !settings_tried_.insert(values).second) return false;
  if (settings_without_failure_.count(values) != 0) return false;
  setup tried = {.settings = values, .run = options_.with_settings(values), .is_original = false};
  if (tried.run == nullptr) return false;
  std::optional<failing_run> small = smallest_of(tried);
  if (!small && runs_.may_run()) settings_without_failure_.insert(values);
  if (!small) return false;
  if (total(small->size) > total(seen_.size) + total(seen_.size) / 8) return false;
  seen_ = std::move(*small);
  current = std::move(tried);
  return true;
}

std::optional<failing_run> setting_shrinker::smallest_of(const setup& under) {
  std::optional<failing_run> best = runs_.played(under, seen_.happened, runs_.original());
  {
    const failing_runs::allowance seeds_only(runs_, part_for_a_setting);
    runs_.begin_draws(under);
    uint32_t hits = 0;
    for (uint64_t seed = 1; seed <= seeds_for_a_setting && hits < hits_for_a_setting && runs_.may_run(); ++seed) {
      auto hit = runs_.drawn(under, seed);
      if (hit) ++hits;
      if (hit && (!best || is_smaller(hit->size, best->size))) best = std::move(hit);
    }
  }
  if (best && care_ == care::some) {
    const failing_runs::allowance some(runs_, part_for_a_setting);
    schedules_.leave_out_the_needless(under, *best);
  }
  return best;
}

void setting_shrinker::reduce_all_settings(setup& current) {
  const auto together = [&](auto value_for) {
    setting_values less = current.settings;
    for (const reducible& each : options_.reducibles) {
      const int64_t now = number_of(less, each.key);
      const int64_t value = allowed_from(each, value_for(each, now));
      if (value < now) *value_of(less, each.key) = std::to_string(value);
    }
    return take_if_failing(current, less);
  };
  if (together([](const reducible& each, int64_t) { return each.minimum; })) return;
  while (together([](const reducible& each, int64_t now) { return std::max(each.minimum, now / 2); })) {
  }
  bool changed = true;
  while (changed && runs_.may_run()) {
    changed = false;
    for (const reducible& each : options_.reducibles) changed = reduce(current, each) || changed;
  }
}

bool setting_shrinker::reduce(setup& current, const reducible& what) {
  if (value_of(current.settings, what.key) == nullptr) return false;
  bool changed = false;
  int64_t too_low = what.minimum - 1;  // fails not, or has not been tried
  for (uint32_t tries = 0; tries < tries_for_a_setting && runs_.may_run(); ++tries) {
    const int64_t high = number_of(current.settings, what.key);
    const int64_t value = allowed_from(what, tries == 0 ? what.minimum : too_low + (high - too_low + 1) / 2);
    if (value >= high) break;
    setting_values tried = current.settings;
    *value_of(tried, what.key) = std::to_string(value);
    if (take_if_failing(current, tried))
      changed = true;
    else
      too_low = value;
  }
  return changed;
}

}  // namespace heddle::scheduler::shrinking
