// Which way lanes are known to take at a branch, because it has told or because they leave.
#include <heddle/sim/convergence/divergence_stack.h>

#include <bit>

namespace heddle::sim {

void divergence_stack::set_aim(uint64_t lanes, const point& aim) {
  leaving_ |= lanes;
  for (; lanes != 0; lanes &= lanes - 1) aims_[static_cast<size_t>(std::countr_zero(lanes))] = aim;
}

// The lanes are no more within so many calls.
void divergence_stack::forget_aims(uint64_t lanes, uint32_t depth) {
  for (uint64_t left = lanes & leaving_; left != 0; left &= left - 1)
    if (aims_[static_cast<size_t>(std::countr_zero(left))].depth >= depth) leaving_ &= ~(left & (~left + 1));
}

// Lanes that left are among the others again where these have come to where they went. False when there are none.
bool divergence_stack::arrive(const entry& one) {
  uint64_t there = 0;
  for (uint64_t left = one.lanes & leaving_; left != 0; left &= left - 1)
    if (aims_[static_cast<size_t>(std::countr_zero(left))] == one.here) there |= left & (~left + 1);
  leaving_ &= ~there;
  return there != 0;
}

// The way that the group is known to take at this branch, or `none`.
uint32_t divergence_stack::way_of(const seen& group, uint32_t branch) const {
  const point& here = entries_[depth_ - 1].here;
  const control_flow::node& at = here.in->at(branch);
  if (at.is_gate) {
    if (is_leaving(group, here)) return here.in->way_to(branch, group.aim.node);
    const uint32_t usual = here.in->usual_aim(branch);
    return at.is_certain && usual != control_flow::none ? here.in->way_to(branch, usual) : control_flow::none;
  }
  if (at.probe == 0 || is_leaving(group, here)) return control_flow::none;
  const branch_log::decision told = group.log->next();
  return told.probe == at.probe ? here.in->way(branch, told.taken) : control_flow::none;
}

// Asks each group which way it has told it takes at this branch, if it has.
void divergence_stack::decide(const control_flow& in, uint32_t branch) {
  decided_.assign(seen_.size(), control_flow::none);
  const control_flow::node& at = in.at(branch);
  if (at.probe == 0 && !at.is_gate) return;
  for (size_t n = 0; n < seen_.size(); ++n) {
    const uint32_t way = decided_[n] = way_of(seen_[n], branch);
    if (way == control_flow::none || at.is_gate) continue;
    for (uint64_t left = seen_[n].lanes; left != 0; left &= left - 1)
      (*logs_)[static_cast<size_t>(std::countr_zero(left))].pass();
    // A gate stands between.
    if (const uint32_t aim = in.aims(branch)[way]; aim != in.next(branch)[way])
      set_aim(seen_[n].lanes, {&in, aim, top().here.depth});
  }
}

}  // namespace heddle::sim
