// Waves with one program counter: what their lanes do as one (convergence=lockstep).
//
// On such a machine the counters by which a fence waits are the wave's, and so are the caches that it empties (LLVM, "User Guide for AMDGPU
// Backend", "Memory Model"). So what releases gives along what all lanes of its arm have done, and what those had done that are masked off when they
// parted from it; and what one lane acquires, its arm has acquired, and the lanes that meet it later. Nothing else: a plain access of one lane is not
// ordered before one of another, as compilers may exchange the two.
#include <heddle/sim/memory/scoped/scoped_knowledge.h>

namespace heddle::sim::scoped {

// What the lanes have done, and what those had done from which they have parted.
snapshot knowledge::gather(lane* const* lanes, size_t count) {
  snapshot made = join_clocks(lanes, count);
  const lane_facts* before = nullptr;
  for (size_t n = 0; n < count; ++n) {
    const lane_facts& known = facts(*lanes[n]);
    if (before == nullptr || !known.parted.is_same(before->parted)) made.edit().join_all(*known.parted);
    before = &known;
  }
  return made;
}

// Of lanes that share a clock the first changes it for all.
void knowledge::join_to_all(lane* const* lanes, size_t count, const causal_clock& learnt) {
  shared_clock before;
  snapshot after;
  for (size_t n = 0; n < count; ++n) {
    lane_facts& mine = facts(*lanes[n]);
    if (after && mine.clock.is_same(before)) {
      mine.clock.share(after);
    } else {
      before = mine.clock;
      mine.clock.edit(snapshots_).join_all(learnt);
      after = mine.clock.as_snapshot();
    }
    clock_changed(mine);
  }
}

void knowledge::share_what_was_acquired(lane* const* lanes, size_t count) {
  snapshot all = snapshots_.take();
  const lane_facts* before = nullptr;
  for (size_t n = 0; n < count; ++n) {
    const lane_facts& known = facts(*lanes[n]);
    if (before == nullptr || !known.acquired.is_same(before->acquired)) all.edit().join_all(*known.acquired);
    before = &known;
  }
  for (size_t n = 0; n < count; ++n) facts(*lanes[n]).acquired.share(all);
  join_to_all(lanes, count, *all);
}

void knowledge::arm(arm_event what, lane* const* lanes, size_t count) {
  if (what == arm_event::acquired || what == arm_event::meets) return share_what_was_acquired(lanes, count);
  const snapshot all = gather(lanes, count);
  if (what == arm_event::acquires_and_releases) join_to_all(lanes, count, *all);
  for (size_t n = 0; n < count; ++n) {
    lane_facts& mine = facts(*lanes[n]);
    mine.arm_view = what == arm_event::releases ? all : snapshot();
    if (what == arm_event::parts) mine.parted.share(all);
    // What the lane does from here on is not part of what was gathered.
    new_epoch(mine);
  }
}

}  // namespace heddle::sim::scoped
