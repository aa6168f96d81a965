#include <heddle/scheduler/pos.h>

#include <algorithm>

namespace heddle::scheduler {

void pos_strategy::begin(uint64_t seed) {
  streams_.begin(seed);
  crowd_.begin();
  tickets_.clear();
  since_renewal_ = 0;
}

uint32_t pos_strategy::pick(const choice& asked) {
  if (asked.kind != choice_kind::actor) return streams_.of(asked.kind).below(asked.count);
  if (crowd_.look(asked)) {
    look_at(crowd_.picked());
  } else {
    numbers_.resize(asked.count);
    locations_.resize(asked.count);
    for (uint32_t index = 0; index < asked.count; ++index) look_at(index);
  }
  if (++since_renewal_ == choices_between_renewals) {
    since_renewal_ = 0;
    for (uint32_t index = 0; index < asked.count; ++index) numbers_[index] = draw(crowd_[index].actor);
  }
  const auto highest = static_cast<uint32_t>(std::max_element(numbers_.begin(), numbers_.end()) - numbers_.begin());
  const candidate& next = crowd_[highest];
  tickets_[next.actor].of = ~uint64_t{0};
  if (next.location != 0)
    for (uint32_t index = 0; index < asked.count; ++index)
      if (locations_[index] == next.location && index != highest && depend(crowd_[index], next))
        numbers_[index] = draw(crowd_[index].actor);
  return crowd_.pick(highest);
}

void pos_strategy::look_at(uint32_t index) {
  const candidate& who = crowd_[index];
  ticket& its = tickets_[who.actor];
  // An actor that was blocked has more fruitless operations since: it draws anew.
  const uint64_t operation = uint64_t{who.fruitless} << 32 | who.operations;
  if (its.of != operation) {
    its.of = operation;
    draw(who.actor);
  }
  numbers_[index] = its.number;
  locations_[index] = who.location;
}

uint64_t pos_strategy::draw(uint32_t actor) { return tickets_[actor].number = streams_.of(choice_kind::actor).next(); }

}  // namespace heddle::scheduler
