// Fidelity `scoped`: the memory model of PTX 6.0 for device code, C++11 on x86-TSO for host code, or C++11 alone for a host that is weak.
//
// A view machine. Each location keeps the stores that a lane may still read, in modification order. A load returns any of them
// that is not older than one that its lane knows: one that happens before the load, or that a strong load which happens before it
// has read. A store takes any place behind those that its lane knows. Clocks say which lane knows what (causality.h). Loads are bound when
// they are issued, so load buffering is not shown. (PTX ISA, "Memory Consistency Model"; the operational form follows "view
// machines", as in Kang et al., POPL 2017, without promises.)
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/machine/lane.h>
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/memory/scoped/race_log.h>
#include <heddle/sim/memory/scoped/scoped_choice.h>
#include <heddle/sim/memory/scoped/scoped_copies.h>
#include <heddle/sim/memory/scoped/scoped_knowledge.h>
#include <heddle/sim/memory/scoped/scoped_lane.h>
#include <heddle/sim/memory/scoped/scoped_learning.h>
#include <heddle/sim/memory/scoped/scoped_locations.h>
#include <heddle/sim/memory/scoped/scoped_proxies.h>
#include <heddle/sim/memory/scoped/scoped_races.h>
#include <heddle/sim/memory/scoped/scoped_store.h>
#include <heddle/sim/memory/scoped/scoped_stores.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::sim {

class scoped_memory final : public late_memory {
 public:
  scoped_memory(run_core& core, race_log& races);
  ~scoped_memory() override;

  [[gnu::hot]] void reset() override;
  [[gnu::hot]] void begins(lane& fresh, const lane* by) override { known_.begins(fresh, by); }
  void has_begun(const lane& fresh) override { known_.takes_place(fresh); }
  void has_ended(const lane& last) override { known_.ended(last); }
  void let_arrive(lane& self) override;
  [[gnu::hot]] bool all_arrives(lane& self) override;

  [[gnu::hot]] uint64_t load(lane& self, const operation& how) override;
  [[gnu::hot]] void store(lane& self, const operation& how, uint64_t value) override;
  uint64_t read_modify_write(lane& self, const operation& how, const modification& next) override;
  void fence(lane& self, const operation& how) override;
  void proxy_fence(lane& self, uint32_t spaces) override;
  void before_bulk(lane& self, const bulk_copy& what) override;
  void copy_begins(lane& self, const async_copy& what) override;
  void copy_ends(lane& self, const async_copy& what) override { copies_.end(self, what); }
  wide_value load_wide(lane& self, const operation& how) override;
  void store_wide(lane& self, const operation& how, wide_value value) override;
  wide_value modify_wide(lane& self, const operation& how, const wide_modification& next) override;
  [[gnu::hot]] void before_plain_load(lane& self, const operation& how) override;
  [[gnu::hot]] void before_plain_store(lane& self, const operation& how) override;
  filled fill(lane& self, const operation& how, std::byte byte) override;
  [[gnu::hot]] void after_plain(lane& self) override;
  void see_again(lane& self) override;

  void meet(lane* const* lanes, size_t count) override { known_.meet(lanes, count); }
  void order(const lane& first, lane& then) override { known_.order(first, then); }
  void arm(arm_event what, lane* const* lanes, size_t count) override { known_.arm(what, lanes, count); }
  bool is_part_of_store(lane& self, const operation& how, const lane& by) override;
  [[gnu::hot]] void release_object(lane& self, const void* object) override { known_.release_object(self, object); }
  [[gnu::hot]] void acquire_object(lane& self, const void* object) override { known_.acquire_object(self, object); }

  bool tell(state_reader& to, const still_to_come& others) override;
  bool tell_apart(state_reader& to, const still_to_come& others, known_facts& known) override;
  bool finds_nothing_new(const lane& self) override;
  bool is_quiet(const lane& self) override;
  void gives_frames(const lane& self, const std::byte* low, const std::byte* end) override;
  void note_freed(const lane& self, const void* address, size_t size_bytes) override;
  bool is_accessed_beside(const lane& self, const void* address, size_t size_bytes) const override;
  void take_notes(search_notes* into) override;

  std::string overtakings() const override { return choice_.overtakings(); }

 private:
  using granule = scoped::granule;
  using message = scoped::message;
  using part = scoped::part;
  using access = scoped::access;
  using visible = scoped::visible;
  using lane_facts = scoped::lane_facts;
  using settled_store = scoped::settled_store;
  static constexpr size_t granule_bytes = scoped::granule_bytes;

  // -- scoped_parts.h, scoped_accesses.cpp, scoped_wide.cpp

  part part_of(lane_facts& mine, const void* address, size_t size_bytes);
  template <typename Each>
  void for_each_part(lane_facts& mine, const void* address, size_t size_bytes, Each&& each);
  /// The same, without what the lane remembers of the places.
  template <typename Each>
  void for_each_plain_part(const void* address, size_t size_bytes, Each&& each);
  /// Of a plain store that the lane is about to make: whether it races.
  void look_before_store(lane& self, lane_facts& mine, const operation& how);
  [[gnu::noinline]] void open_window(lane& self, lane_facts& mine, std::byte* address, size_t size_bytes,
                                     const part& at, int cut);
  /// Explains a run: which store the lane's load has read, and which it has missed.
  [[gnu::cold]] void tell_found(const lane& self, const part& at, const message* read, bool is_newest);
  class total_order;
  uint64_t load_anew(const access& made, uint64_t newest);

  // -- scoped_memory.cpp

  /// Whether a plain access is one that is made row by row, where no lane has accessed the memory yet. A search tells what is at each location. A
  /// lane whose load races with stores of an x86 can tell that they become visible one after another, and a load tells what has arrived in order.
  bool is_row(const lane_facts& mine, size_t size_bytes, bool stores) const {
    return size_bytes >= scoped::locations::least_row_bytes && notes_ == nullptr &&
           (stores ? !mine.stores_strongly && (!mine.tso || core_.machine.races_end()) : core_.machine.link.pool);
  }
  /// Calls `by_granule` for what is not loaded as a row.
  void load_parts(lane& self, lane_facts& mine, const operation& how, bool plain, std::byte* from, size_t size_bytes);
  template <typename ByGranule>
  void load_rows(lane& self, lane_facts& mine, const operation& how, const ByGranule& by_granule);
  bool follows_row(const lane_facts& mine, const scoped::row_access& one) const;
  void before_row_store(lane& self, lane_facts& mine, const operation& how);
  void after_row_store(lane& self, lane_facts& mine, const operation& how, const void* address, size_t size_bytes);

  /// Whether no other lane is left, nor any work that began before what the lane does next, and it knows all that the others did. What comes later
  /// comes behind it: of its plain accesses there is nothing to keep.
  bool is_alone(const lane& self, const lane_facts& mine) {
    if (core_.threads.live_lanes != 1 || core_.threads.kernels_under_way != 0) return false;
    if (alone_.of == self.id && alone_.lanes == known_.count() && alone_.learnt_at == mine.learnt_at)
      return alone_.is_alone;
    return look_whether_alone(self, mine);
  }
  [[gnu::noinline]] bool look_whether_alone(const lane& self, const lane_facts& mine);

  // -- scoped_quiet.cpp

  /// In a search: the lane is about to access memory.
  void note_access(const lane& self, const operation& how, bool writes) {
    if (notes_ != nullptr && notes_->is_new) [[unlikely]]
      note_new_access(self, how, writes);
  }
  [[gnu::cold, gnu::noinline]] void note_new_access(const lane& self, const operation& how, bool writes);
  /// The same of a plain access.
  void note_plain_access(const lane& self, const operation& how) {
    if (notes_ != nullptr && notes_->is_new) [[unlikely]]
      note_user(self, how);
  }
  [[gnu::cold, gnu::noinline]] void note_user(const lane& self, const operation& how);
  /// A thread of an x86 host performs a full fence, and learns what other fences of the host have made seen.
  void note_host_fence(const lane& self, const lane_facts& mine) {
    if (notes_ != nullptr && notes_->is_new && mine.tso) [[unlikely]]
      note_new_host_fence(self);
  }
  [[gnu::cold, gnu::noinline]] void note_new_host_fence(const lane& self);

  // -- scoped_state.cpp, scoped_apart.cpp

  class common_knowledge;
  class normal_form;
  class apart_form;

  run_core& core_;
  scoped::knowledge known_;  // before the others, which refer to what it owns
  scoped::locations locations_;
  scoped::race_check races_;
  scoped::learning learning_;
  scoped::value_choice choice_;
  scoped::store_maker stores_;
  scoped::proxies proxies_;
  scoped::copies_under_way copies_;
  search_notes* notes_ = nullptr;
  /// The last answer of is_alone(), and what it depends on: knowledge only grows.
  struct {
    uint32_t of = ~uint32_t{0};
    size_t lanes = 0;
    uint64_t learnt_at = 0;
    size_t known_to_end = 0;  ///< the lanes before this one, but for itself, are known to have ended
    bool is_alone = false;
  } alone_;
};

}  // namespace heddle::sim
