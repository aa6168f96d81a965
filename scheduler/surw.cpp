#include <heddle/scheduler/surw.h>

#include <algorithm>
#include <bit>

namespace heddle::scheduler {

void surw_strategy::estimated(const std::shared_ptr<const estimate>& known) {
  known_ = known;
  remaining_.forget();
  if (known_ != nullptr) remaining_.known(*known_);
}

void surw_strategy::begin(uint64_t seed) {
  streams_.begin(seed);
  location_ = 0;
  everything_ = false;
  totals_.assign(known_ == nullptr ? 0 : known_->actors.size(), 0);
  if (known_ != nullptr && !known_->shared.empty()) {
    random_stream draws(seed, stream_of_draws);
    const auto& drawn = known_->shared[draws.below(static_cast<uint32_t>(known_->shared.size()))];
    location_ = drawn.location;
    for (const estimate::use& each : drawn.uses) totals_[each.actor] = each.operations;
  } else if (known_ != nullptr) {
    everything_ = true;
    for (size_t actor = 0; actor < totals_.size(); ++actor) totals_[actor] = known_->actors[actor].operations;
  }
  remaining_.begin(totals_);
  crowd_.begin();
  standings_.clear();
  round_ = 1;
  held_ = 0;
  intended_ = no_actor;
}

uint32_t surw_strategy::pick(const choice& asked) {
  if (asked.kind != choice_kind::actor) return streams_.of(asked.kind).below(asked.count);
  if (!crowd_.look(asked))
    for (uint32_t index = 0; index < asked.count; ++index) meet(crowd_[index].actor);
  // Every operation counts: the intended actor runs at once.
  if (everything_) return crowd_.pick(intend());
  if (held_ != 0) find_free();
  while (true) {
    const uint32_t index = free_one(asked.count);
    if (index == no_actor) {
      // All candidates are held, and the intended actor is blocked: another is drawn.
      release_all();
      continue;
    }
    const candidate& who = crowd_[index];
    if (!counts(who)) return crowd_.pick(index);
    if (intended_ == no_actor) intended_ = crowd_[intend()].actor;
    if (who.actor == intended_) {
      release_all();
      return crowd_.pick(index);
    }
    hold(index);
  }
}

void surw_strategy::find_free() {
  free_.clear();
  for (uint32_t index = 0; index < crowd_.count(); ++index)
    if (standings_[crowd_[index].actor].held_in != round_) free_.push_back(index);
}

void surw_strategy::hold(uint32_t index) {
  standings_[crowd_[index].actor].held_in = round_;
  if (held_++ == 0)
    find_free();
  else
    free_.erase(std::lower_bound(free_.begin(), free_.end(), index));
}

/// One of those that are not held, drawn uniformly.
uint32_t surw_strategy::free_one(uint32_t count) {
  random_stream& stream = streams_.of(choice_kind::actor);
  if (held_ == 0) return stream.below(count);
  return free_.empty() ? no_actor : free_[stream.below(static_cast<uint32_t>(free_.size()))];
}

/// The index of the candidate that is to make the next access, of those that are not held.
uint32_t surw_strategy::intend() {
  uint64_t sum = 0;
  weights_.resize(crowd_.count());
  for (uint32_t index = 0; index < crowd_.count(); ++index) {
    const candidate& who = crowd_[index];
    const standing& its = standings_[who.actor];
    uint64_t left = its.held_in == round_ ? 0 : remaining_.of(who.actor, its.accesses);
    // Its pending operation is one, whatever the estimate says.
    if (left == 0 && its.held_in != round_ && counts(who)) left = 1;
    weights_[index] = left;
    sum += left;
  }
  return drawn_by_weight(streams_.of(choice_kind::actor), weights_, sum);
}

void surw_strategy::release_all() {
  ++round_;
  held_ = 0;
  intended_ = no_actor;
}

/// Notes a candidate. When the intended actor has started it, the intended access may have been its: that is drawn.
void surw_strategy::meet(uint32_t actor) {
  const uint32_t parent = remaining_.started(actor);
  if (parent == no_actor || parent != intended_) return;
  const uint64_t its = remaining_.of(actor, 0);
  const uint64_t all = its + remaining_.of(parent, standings_[parent].accesses);
  if (its != 0 && streams_.of(choice_kind::actor).below(static_cast<uint32_t>(all)) < its) intended_ = actor;
}

void surw_strategy::performed(const candidate& who) {
  standing& its = standings_[who.actor];
  const bool access = counts(who);
  its.accesses += access ? 1 : 0;
  its.recent = its.recent << 1 | (access ? 1 : 0);
  // Operations that have turned out to be fruitless are the last that it did.
  const uint32_t in_vain = who.fruitless - its.fruitless;
  if (in_vain == 0) return;
  its.fruitless = who.fruitless;
  const uint64_t last = in_vain < 64 ? (uint64_t{1} << in_vain) - 1 : ~uint64_t{0};
  its.accesses -= static_cast<uint64_t>(std::popcount(its.recent & last));
  its.recent = in_vain < 64 ? its.recent >> in_vain : 0;
}

}  // namespace heddle::scheduler
