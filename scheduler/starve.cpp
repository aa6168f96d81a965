#include <heddle/scheduler/round_robin.h>
#include <heddle/scheduler/starve.h>

#include <algorithm>

namespace heddle::scheduler {
namespace {

/// Log-uniform from lowest to highest: an octave, then a place in it. In whole numbers, because the last bits of a
/// floating-point power differ between processors.
uint32_t drawn_age(random_stream& draws) {
  const uint32_t shortest = starve_strategy::age_lowest << draws.below(10);
  return std::min(shortest + draws.below(shortest), starve_strategy::age_highest);
}

}  // namespace

void starve_strategy::begin(uint64_t seed) {
  seed_ = seed;
  for (uint32_t kind = 0; kind < choice_kind_count; ++kind) streams_[kind] = random_stream(seed, kind);
  random_stream draws(seed, choice_kind_count);
  age_max_ = drawn_age(draws);
  victim_ = given_victim_;
  ages_.clear();
}

uint32_t starve_strategy::pick(const choice& asked) {
  random_stream& stream = streams_[static_cast<size_t>(asked.kind)];
  if (asked.kind != choice_kind::actor) return stream.below(asked.count);

  candidates_.clear();
  for (uint32_t index = 0; index < asked.count; ++index) {
    candidates_.push_back(candidate_at(asked, index));
    if (!given_victim_) consider(candidates_.back().group);
  }
  if (const auto oldest = forced()) return picked(*oldest);

  allowed_.clear();
  for (uint32_t index = 0; index < asked.count; ++index)
    if (candidates_[index].group != victim_) allowed_.push_back(index);
  if (allowed_.empty()) return picked(stream.below(asked.count));
  return picked(allowed_[stream.below(static_cast<uint32_t>(allowed_.size()))]);
}

void starve_strategy::consider(uint32_t group) {
  if (victim_ == group) return;
  const uint64_t hash = split_mix(seed_ ^ split_mix(group).next()).next();
  if (victim_ && hash >= victim_hash_) return;
  victim_ = group;
  victim_hash_ = hash;
  ages_.assign(ages_.size(), 0);
}

uint32_t& starve_strategy::age_of(uint32_t actor) {
  if (actor >= ages_.size()) ages_.resize(actor + 1, 0);
  return ages_[actor];
}

/// The victim's oldest actor that may be passed over no longer.
std::optional<uint32_t> starve_strategy::forced() {
  std::optional<uint32_t> oldest;
  uint32_t oldest_age = 0;
  for (uint32_t index = 0; index < candidates_.size(); ++index) {
    const candidate& looked_at = candidates_[index];
    if (looked_at.group != victim_ || !looked_at.guaranteed) continue;
    const uint32_t age = age_of(looked_at.actor);
    if (age < age_max_ || age <= oldest_age) continue;
    oldest = index;
    oldest_age = age;
  }
  return oldest;
}

/// Ages those of the victim who had a right to this turn and did not get it.
uint32_t starve_strategy::picked(uint32_t index) {
  for (uint32_t other = 0; other < candidates_.size(); ++other) {
    const candidate& looked_at = candidates_[other];
    if (looked_at.group != victim_) continue;
    uint32_t& age = age_of(looked_at.actor);
    age = other == index || !looked_at.guaranteed ? 0 : age + 1;
  }
  return index;
}

}  // namespace heddle::scheduler
