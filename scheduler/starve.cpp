#include <heddle/scheduler/round_robin.h>
#include <heddle/scheduler/starve.h>

#include <algorithm>

namespace heddle::scheduler {

uint32_t drawn_age_max(random_stream& draws) {
  // An octave, then a place in it.
  const uint32_t shortest = starve_strategy::age_lowest << draws.below(10);
  return std::min(shortest + draws.below(shortest), starve_strategy::age_highest);
}

void starve_strategy::begin(uint64_t seed) {
  seed_ = seed;
  streams_.begin(seed);
  random_stream draws(seed, stream_of_draws);
  age_max_ = drawn_age_max(draws);
  victim_ = given_victim_;
  ages_.clear();
  considered_.clear();
  crowd_.begin();
}

uint32_t starve_strategy::pick(const choice& asked) {
  random_stream& stream = streams_.of(asked.kind);
  if (asked.kind != choice_kind::actor) return stream.below(asked.count);

  look_at(asked);
  if (const auto oldest = forced()) return picked(*oldest);
  if (allowed_.empty()) return picked(stream.below(asked.count));
  return picked(allowed_[stream.below(static_cast<uint32_t>(allowed_.size()))]);
}

/// Parts the candidates into the victim's and the others.
void starve_strategy::look_at(const choice& asked) {
  if (crowd_.look(asked)) return;
  if (!given_victim_)
    for (uint32_t index = 0; index < asked.count; ++index) consider(crowd_[index].group);
  victims_.clear();
  allowed_.clear();
  for (uint32_t index = 0; index < asked.count; ++index)
    (crowd_[index].group == victim_ ? victims_ : allowed_).push_back(index);
}

/// Makes a group that is seen for the first time the victim when its hash is the least.
void starve_strategy::consider(uint32_t group) {
  if (group >= considered_.size()) considered_.resize(group + 1, 0);
  if (considered_[group] != 0) return;
  considered_[group] = 1;
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
  for (const uint32_t index : victims_) {
    if (!crowd_[index].guaranteed) continue;
    const uint32_t age = age_of(crowd_[index].actor);
    if (age < age_max_ || age <= oldest_age) continue;
    oldest = index;
    oldest_age = age;
  }
  return oldest;
}

/// Ages the victim's guaranteed candidates that did not get this turn.
uint32_t starve_strategy::picked(uint32_t index) {
  for (const uint32_t other : victims_) {
    uint32_t& age = age_of(crowd_[other].actor);
    age = other == index || !crowd_[other].guaranteed ? 0 : age + 1;
  }
  return crowd_.pick(index);
}

}  // namespace heddle::scheduler
