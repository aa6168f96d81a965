#include <heddle/scheduler/starve.h>
#include <heddle/scheduler/unfair.h>

#include <algorithm>

namespace heddle::scheduler {

void unfair_strategy::begin(uint64_t seed) {
  streams_.begin(seed);
  random_stream draws(seed, stream_of_draws);
  const uint32_t drawn = drawn_age_max(draws);
  age_max_ = given_age_max_.value_or(drawn);
  crowd_.begin();
  standings_.clear();
  ageing_.clear();
  now_ = 0;
  due_ = never;
  current_ = current_index_ = no_actor;
}

uint32_t unfair_strategy::pick(const choice& asked) {
  random_stream& stream = streams_.of(asked.kind);
  if (asked.kind != choice_kind::actor) return stream.below(asked.count);
  if (!crowd_.look(asked)) look_at_all();

  uint32_t next = now_ >= due_ ? forced() : no_actor;
  if (next == no_actor) {
    if (current_index_ == no_actor) {
      current_index_ = stream.below(asked.count);
      current_ = crowd_[current_index_].actor;
    }
    next = current_index_;
  }
  ++now_;
  standing& its = standings_[crowd_[next].actor];
  its = {.age = 0, .from = now_};
  return crowd_.pick(next);
}

void unfair_strategy::look_at_all() {
  for (const uint32_t actor : ageing_) {
    standing& its = standings_[actor];
    its.age += now_ - its.from;
  }
  ageing_.clear();
  due_ = never;
  current_index_ = no_actor;
  for (uint32_t index = 0; index < crowd_.count(); ++index) {
    const candidate& who = crowd_[index];
    if (who.actor == current_) current_index_ = index;
    standing& its = standings_[who.actor];
    its.from = now_;
    if (!who.guaranteed) {
      its.age = 0;
      continue;
    }
    ageing_.push_back(who.actor);
    due_ = std::min(due_, now_ + age_max_ - std::min<uint64_t>(age_max_, its.age));
  }
}

uint32_t unfair_strategy::forced() {
  uint32_t oldest = no_actor;
  uint64_t oldest_age = 0;
  due_ = never;
  for (uint32_t index = 0; index < crowd_.count(); ++index) {
    if (!crowd_[index].guaranteed) continue;
    const standing& its = standings_[crowd_[index].actor];
    const uint64_t age = its.age + now_ - its.from;
    if (age >= age_max_ && (oldest == no_actor || age > oldest_age)) {
      oldest = index;
      oldest_age = age;
    }
    due_ = std::min(due_, now_ + age_max_ - std::min<uint64_t>(age_max_, age));
  }
  return oldest;
}

}  // namespace heddle::scheduler
