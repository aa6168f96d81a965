// What a lane of scoped memory (scoped_memory.h) learns from the stores that it reads.
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/race.h>
#include <heddle/sim/memory/scoped/scoped_knowledge.h>
#include <heddle/sim/memory/scoped/scoped_lane.h>
#include <heddle/sim/memory/scoped/scoped_races.h>
#include <heddle/sim/memory/scoped/scoped_store.h>
#include <heddle/sim/settings/link.h>

#include <cstdint>

namespace heddle::sim::scoped {

class learning {
 public:
  learning(const run_core& core, knowledge& known, race_check& races)
      : core_(core), link_(core.machine.link), known_(known), races_(races) {}

  /// The access has read the store; `known`: the lane could not miss it.
  [[gnu::always_inline]] void has_read(const access& made, message& it, bool known) {
    const auto& [self, mine, at, how, plain] = made;
    settled_store& settled = at.place->settled;
    if (settled.serial != it.serial) {
      settled.begin(it.serial);
    } else {
      if (settled.nothing_more) return;
      if (settled.noted && !plain && settled.is_read_again(at.mask, reach_of(mine, how), acquires(how.order))) return;
    }
    if (plain || mine.tso || acquires(how.order) || core_.asks_what_would_order())
      has_read_to_know(self, mine, it, at, how, plain);
    else
      has_read_relaxed(mine, it, at, reach_of(mine, how), known);
  }
  /// The lane acquires what it has read before, at one location or (a fence) anywhere.
  void acquire_pending(lane_facts& mine, uint8_t reach, const part* at) {
    if (!mine.deferred.empty() || !mine.pending.empty()) acquire_what_is_pending(mine, reach, at);
  }
  /// Makes what is deferred pending: of one location, or all.
  [[gnu::noinline]] void look_at_deferred(lane_facts& mine, const part* at);

 private:
  [[gnu::hot]] void has_read_to_know(lane& self, lane_facts& mine, message& it, const part& at, const operation& how,
                                     bool plain);
  void has_read_relaxed(lane_facts& mine, message& it, const part& at, uint8_t reach, bool known);
  void learn(const access& made, message& it, settled_store& settled);
  void defer(lane_facts& mine, const message& it, const part& at, bool as_written, bool seen);
  [[gnu::noinline]] static void add_pending(lane_facts& mine, const pending_acquire& fresh);
  [[gnu::noinline]] void acquire_what_is_pending(lane_facts& mine, uint8_t reach, const part* at);
  [[gnu::noinline]] static void forget_pending(lane_facts& mine);
  /// Whether a release of this lane lets older stores of its agent be overtaken on their way to the other.
  bool is_overtaken(const lane_facts& releaser, const lane_facts& mine) const;

  const run_core& core_;
  const link_settings& link_;
  knowledge& known_;
  race_check& races_;
};

}  // namespace heddle::sim::scoped
