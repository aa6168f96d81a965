// How a store of scoped memory (scoped_memory.h) is made: what it releases, and where it comes in its location's order.
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/memory/scoped/scoped_knowledge.h>
#include <heddle/sim/memory/scoped/scoped_lane.h>
#include <heddle/sim/memory/scoped/scoped_locations.h>
#include <heddle/sim/memory/scoped/scoped_store.h>

#include <cstdint>
#include <vector>

namespace heddle::sim::scoped {

/// A store, or what a read-modify-write stores.
struct new_value {
  uint64_t value = 0;  ///< in the place of its bytes within the granule
  bool plain = false;
  bool modifies = false;              ///< by a read-modify-write
  const message* modified = nullptr;  ///< the store that this one read; null for what was there before all stores
  bool anywhere = false;              ///< it may come before stores that its lane does not know
};

class store_maker {
 public:
  store_maker(run_core& core, knowledge& known, locations& all)
      : core_(core), machine_(core.machine), known_(known), locations_(all) {}

  void take_notes(search_notes* into) { notes_ = into; }

  [[gnu::hot]] void put(lane& self, lane_facts& mine, const part& at, const operation& how, const new_value& stored);

  /// What a plain store to a row of granules is (row_access::stored); its serial is there already.
  void describe_row(lane& self, lane_facts& mine, const operation& how, message& fresh);

 private:
  void describe(const access& made, message& fresh, const new_value& stored);
  [[gnu::noinline]] int place_among_unknown(lane& self, lane_facts& mine, const part& at, message& fresh, bool plain,
                                            bool anywhere);
  /// Which stores of the granule the modification order relates to a fresh one at `position`.
  static per_store related_to(const granule& in, int position, uint8_t mask, const per_store& racing);
  static bool fits(const granule& in, int position, uint8_t mask, const per_store& racing);
  void give_releases(const access& made, message& fresh, const message* modified);
  void add_release(std::vector<release_entry>& to, release_entry&& given) const;
  [[gnu::noinline]] void forget_covered(std::vector<release_entry>& to, const release_entry& given) const;
  [[gnu::noinline]] void pass_on(std::vector<release_entry>& to, const release_entry& given, bool narrow) const;
  /// A store of the granule is about to be forgotten: a search must know when a lane could still have read it.
  void note_forgotten(const granule& in);
  /// Whether a lane may still read a store of the granule, or what it held before, although that has a newer one behind it.
  bool may_be_read(const granule& in, uint8_t n) const;

  run_core& core_;
  const settings& machine_;
  knowledge& known_;
  locations& locations_;
  search_notes* notes_ = nullptr;
};

}  // namespace heddle::sim::scoped
