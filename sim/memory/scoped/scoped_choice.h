// Which value a load of scoped memory (scoped_memory.h) finds, and what overtook what.
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/scoped/scoped_knowledge.h>
#include <heddle/sim/memory/scoped/scoped_lane.h>
#include <heddle/sim/memory/scoped/scoped_store.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim::scoped {

/// Which value a load sees: that of the location's latest store at or before `cut`, -1 for what it held before all of them.
struct visible {
  int32_t cut = -1;
  uint32_t facts = is_newest | is_known;

  static constexpr uint32_t is_newest = 1;  ///< it is what memory holds
  static constexpr uint32_t is_known = 2;   ///< the lane cannot miss the store at `cut`
  bool newest() const { return (facts & is_newest) != 0; }
  bool known() const { return (facts & is_known) != 0; }
  static visible newest_at(int32_t cut, bool known) { return {cut, known ? is_newest | is_known : is_newest}; }
  static visible older_at(int32_t cut, bool known) { return {cut, known ? is_known : 0}; }
};

class value_choice {
 public:
  value_choice(run_core& core, const knowledge& known) : core_(core), known_(known) {}

  void reset() { overtakings_.clear(); }

  /// `Remembers`: part::place is there.
  template <bool Remembers = true>
  [[gnu::always_inline]] visible choose(const access& made, bool modifies) {
    const auto& [self, mine, at, how, plain] = made;
    const granule& in = *at.in;
    const uint8_t mask = at.mask;
    // Nearly always the lane knows the newest.
    for (int n = in.count - 1; n >= 0; --n) {
      const message& one = *in.order[static_cast<size_t>(n)];
      if ((one.mask & mask) == 0) continue;
      bool known = false;
      if constexpr (Remembers) {
        settled_store& settled = at.place->settled;
        const bool settled_now = settled.serial == one.serial && settled.known;
        known = settled_now || known_.knows(mine, one);
        if (known && !settled_now && !in.races(one)) {
          if (settled.serial != one.serial) settled.begin(one.serial);
          settled.known = true;
        }
      } else {
        known = known_.knows(mine, one);
      }
      if (known && !in.races(one)) return visible::newest_at(n, true);
      if (modifies && known_.morally_strong(mine, plain, reach_of(mine, how), mask, one, false))
        return visible::newest_at(n, false);
      if (!core_.may_be_late(self)) return visible::newest_at(n, false);
      if (!modifies && !in.has_unordered) return choose_among(self, mine, at, n);
      const access copy = made;  // this one lies in memory
      return choose_among_racing(copy, n, known, modifies);
    }
    return {};
  }

  /// Which stores overtook which although a release stood between them, for reports.
  std::string overtakings() const;

 private:
  /// Where the lane may miss the store at `newest`, the last that touches what is loaded.
  [[gnu::noinline, gnu::hot]] visible choose_among(lane& self, lane_facts& mine, const part& at, int newest);
  /// The same, or that one races with older ones; or a read-modify-write.
  [[gnu::noinline]] visible choose_among_racing(const access& made, int newest, bool newest_is_known, bool modifies);
  static bool is_overwritten(const granule& in, int n, const place_list& known);
  [[gnu::noinline]] void note_overtaken(lane_facts& mine, const granule& in, int cut, uint8_t mask);

  run_core& core_;
  const knowledge& known_;
  struct overtaking {
    uint64_t flag_step = 0;
    uint64_t data_step = 0;
    const void* data = nullptr;
  };
  std::vector<overtaking> overtakings_;
};

}  // namespace heddle::sim::scoped
