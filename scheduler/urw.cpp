#include <heddle/scheduler/urw.h>

namespace heddle::scheduler {

void urw_strategy::estimated(const std::shared_ptr<const estimate>& known) {
  totals_.clear();
  remaining_.forget();
  if (known == nullptr) return;
  for (const estimate::of_actor& each : known->actors) totals_.push_back(each.operations);
  remaining_.known(*known);
}

void urw_strategy::begin(uint64_t seed) {
  streams_.begin(seed);
  crowd_.begin();
  remaining_.begin(totals_);
}

uint32_t urw_strategy::pick(const choice& asked) {
  random_stream& stream = streams_.of(asked.kind);
  if (asked.kind != choice_kind::actor) return stream.below(asked.count);
  if (crowd_.look(asked)) {
    sum_ -= weights_[crowd_.picked()];
    weigh(crowd_.picked());
  } else {
    weights_.resize(asked.count);
    sum_ = 0;
    for (uint32_t index = 0; index < asked.count; ++index) remaining_.started(crowd_[index].actor);
    for (uint32_t index = 0; index < asked.count; ++index) weigh(index);
  }
  return crowd_.pick(drawn_by_weight(stream, weights_, sum_));
}

void urw_strategy::weigh(uint32_t index) {
  weights_[index] = weight_of(crowd_[index]);
  sum_ += weights_[index];
}

uint64_t urw_strategy::weight_of(const candidate& who) const {
  const uint64_t left = remaining_.of(who.actor, useful(who));
  return left == 0 ? 1 : left;
}

}  // namespace heddle::scheduler
