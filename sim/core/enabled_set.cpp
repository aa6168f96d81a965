#include <heddle/sim/base/invariant.h>
#include <heddle/sim/core/enabled_set.h>

#include <algorithm>
#include <bit>

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

void enabled_set::check_invariants() const {
  uint32_t guaranteed = 0;
  for (size_t n = 0; n < lanes.size(); ++n) {
    const lane& each = *lanes[n];
    must_hold(each.candidate_slot == n, "enabled: candidate_slot points back");
    must_hold(each.state == lane_state::candidate, "enabled: a lane of the set is in the state of one");
    must_hold(each.of->live(), "enabled: the wave of an enabled lane is live");
    must_hold(each.of->resident, "enabled: the wave of an enabled lane has a place");
    must_hold(each.of->candidates != 0, "enabled: the wave counts its enabled lanes");
    must_hold((each.of->ended_mask & lane_bit(each)) == 0, "enabled: an enabled lane has not ended");
    // It stands for the lanes that it leads.
    if (each.of->guaranteed) guaranteed += each.leads == 0 ? 1 : static_cast<uint32_t>(std::popcount(each.leads));
  }
  must_hold(fair.candidates() == guaranteed,
            "enabled: the fair set counts the enabled lanes that are guaranteed a turn");
  must_hold(next_limit >= asks_until || asks_until == 0, "enabled: no limit is passed without being asked");
  if (!keeps_order_) return;
  uint32_t next = turn_order::none;
  uint64_t from = 0;
  size_t count = 0;
  while ((next = order_.next(from)) != turn_order::none) {
    ++count;
    from = uint64_t{next} + 1;
  }
  must_hold(count == lanes.size(), "enabled: the order holds as many lanes");
  for (const lane* each : lanes)
    must_hold(order_.next(each->id) == each->id, "enabled: the order holds each enabled lane");
}

}  // namespace heddle::sim
