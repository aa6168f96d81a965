// What of a reconvergence stack is told: why a lane does not run, and whether two are equal.
#include <heddle/sim/convergence/divergence_stack.h>

#include <bit>

namespace heddle::sim {
namespace {

uint64_t mix(uint64_t state, uint64_t word) { return (state ^ word) * 0x9e3779b97f4a7c15u + (state >> 29); }

}  // namespace

uint64_t divergence_stack::digest() const {
  uint64_t state = depth_;
  for (size_t n = 0; n < depth_; ++n) {
    const entry& one = entries_[n];
    for (const uint64_t word : {one.lanes, uint64_t{one.here.node}, uint64_t{one.here.depth}, uint64_t{one.until.node}})
      state = mix(state, word);
  }
  for (uint64_t left = leaving_; left != 0; left &= left - 1) {
    const auto lane = static_cast<size_t>(std::countr_zero(left));
    for (const uint64_t word : {uint64_t{lane}, uint64_t{aims_[lane].node}, uint64_t{aims_[lane].depth}})
      state = mix(state, word);
  }
  return state;
}

divergence_stack::hold divergence_stack::hold_of(uint32_t lane, uint64_t ended) const {
  const uint64_t bit = uint64_t{1} << lane;
  size_t own = depth_;
  while (own != 0 && (entries_[own - 1].lanes & bit) == 0) --own;
  hold found;
  if (own == 0 || own == depth_) return found;
  // The entries above its own run first; the lowest of these is the last that has to arrive.
  for (size_t n = own; n < depth_; ++n) found.runs |= entries_[n].lanes & ~ended;
  const entry& last = entries_[own];
  found.in = last.until.in;
  if (found.in != nullptr && last.until.node != found.in->exit())
    found.until = reinterpret_cast<const void*>(found.in->at(last.until.node).end);
  return found;
}

}  // namespace heddle::sim
