#include <heddle/sim/core/enabled_set.h>

#include <algorithm>

namespace heddle::sim {

void enabled_set::forget_order() {
  order_.clear();
  keeps_order_ = false;
}

uint32_t enabled_set::next_in_turn(uint32_t after) const {
  if (!keeps_order_) [[unlikely]] {
    keeps_order_ = true;
    for (const lane* each : lanes) order_.add(each->id);
  }
  const uint32_t next = after == turn_order::none ? turn_order::none : order_.next(after + uint64_t{1});
  return next != turn_order::none ? next : order_.next(0);
}

bool enabled_set::owes_a_start() const {
  return fair.owes_a_start() && std::any_of(lanes.begin(), lanes.end(),
                                            [](const lane* each) { return !each->is_host() && !each->of->stepped; });
}

}  // namespace heddle::sim
