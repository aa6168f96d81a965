// Waves with one program counter: what their lanes do as one (convergence=lockstep).
//
// On such a machine the counters by which a fence waits are the wave's, and so are the caches that it empties (LLVM, "User Guide for AMDGPU
// Backend", "Memory Model"). So what releases gives along what all lanes of its arm have done, and what those had done that are masked off when they
// parted from it; and what one lane acquires, its arm has acquired, and the lanes that meet it later. Nothing else: a plain access of one lane is not
// ordered before one of another, as compilers may exchange the two.
#include <heddle/sim/memory/scoped/scoped_knowledge.h>

#include <algorithm>

namespace heddle::sim::scoped {

void knowledge::note_acquired(lane_facts& mine, const release_entry& given, bool as_written, bool seen) {
  if (as_written != seen || given.view->split) mine.acquired.separate();
  if (as_written) {
    join(mine.acquired.ordered, given.view->ordered);
    raise(mine.acquired.ordered, given.releaser, given.epoch);
  }
  if (seen && mine.acquired.split) {
    join(mine.acquired.seen, given.view->what_is_seen());
    raise(mine.acquired.seen, given.releaser, given.epoch);
  }
}

// Into meeting_: what the lanes have done, and what those had done from which they have parted.
void knowledge::gather(lane* const* lanes, size_t count) {
  meeting_.clear();
  for (size_t n = 0; n < count; ++n) {
    meeting_.join_all(facts(*lanes[n]).clock);
    meeting_.join_all(facts(*lanes[n]).parted);
  }
}

void knowledge::share_what_was_acquired(lane* const* lanes, size_t count) {
  meeting_.clear();
  for (size_t n = 0; n < count; ++n) meeting_.join_all(facts(*lanes[n]).acquired);
  for (size_t n = 0; n < count; ++n) {
    lane_facts& mine = facts(*lanes[n]);
    mine.acquired.assign(meeting_);
    mine.clock.join_all(meeting_);
    clock_changed(mine);
  }
}

void knowledge::arm(arm_event what, lane* const* lanes, size_t count) {
  if (what == arm_event::acquired || what == arm_event::meets) return share_what_was_acquired(lanes, count);
  gather(lanes, count);
  snapshot view;
  if (what == arm_event::releases) {
    view = snapshots_.take();
    view.edit().assign(meeting_);
  }
  for (size_t n = 0; n < count; ++n) {
    lane_facts& mine = facts(*lanes[n]);
    mine.arm_view = view;
    if (what == arm_event::parts) mine.parted.assign(meeting_);
    if (what == arm_event::acquires_and_releases) {
      mine.clock.join_all(meeting_);
      clock_changed(mine);
    }
    // What the lane does from here on is not part of what was gathered.
    new_epoch(*lanes[n], mine);
  }
}

}  // namespace heddle::sim::scoped
