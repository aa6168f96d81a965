// Fidelity `scoped`: the memory model of PTX 6.0 for device code, C++11 on x86-TSO for host code, or C++11 alone for a host that is weak.
//
// A view machine. Each location keeps the stores that somebody may still read, in modification order. A load returns any of them
// that is not older than one that its lane knows: one that happens before the load, or that a strong load which happens before it
// has read. A store takes any place behind those that its lane knows. Clocks say who knows what (causality.h). Loads are bound when
// they are issued, so load buffering is not shown. (PTX ISA, "Memory Consistency Model"; the operational form follows "view
// machines", as in Kang et al., POPL 2017, without promises.)
#pragma once

#include <heddle/scheduler/append.h>
#include <heddle/sim/base/reused_list.h>
#include <heddle/sim/machine/lane.h>
#include <heddle/sim/memory/causality.h>
#include <heddle/sim/memory/clock_table.h>
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/memory/race.h>
#include <heddle/sim/memory/scoped/race_log.h>
#include <heddle/sim/memory/scoped/scoped_lane.h>
#include <heddle/sim/memory/scoped/scoped_store.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

struct link_settings;
struct settings;

class scoped_memory final : public late_memory {
 public:
  scoped_memory(run_core& core, race_log& races);
  ~scoped_memory() override;

  [[gnu::hot]] void reset() override;
  [[gnu::hot]] void begins(lane& fresh, const lane* by) override;
  void let_arrive(lane& self) override;
  [[gnu::hot]] bool all_arrives(lane& self) override;

  [[gnu::hot]] uint64_t load(lane& self, const operation& how) override;
  [[gnu::hot]] void store(lane& self, const operation& how, uint64_t value) override;
  uint64_t read_modify_write(lane& self, const operation& how, const modification& next) override;
  void fence(lane& self, const operation& how) override;
  wide_value load_wide(lane& self, const operation& how) override;
  void store_wide(lane& self, const operation& how, wide_value value) override;
  wide_value modify_wide(lane& self, const operation& how, const wide_modification& next) override;
  [[gnu::hot]] void before_plain_load(lane& self, const operation& how) override;
  [[gnu::hot]] void before_plain_store(lane& self, const operation& how) override;
  [[gnu::hot]] void after_plain(lane& self) override;
  void see_again(lane& self) override;

  void meet(lane* const* lanes, size_t count) override;
  void order(const lane& first, lane& then) override;
  void arm(arm_event what, lane* const* lanes, size_t count) override;
  bool is_part_of_store(lane& self, const operation& how, const lane& by) override;
  [[gnu::hot]] void release_object(lane& self, const void* object) override;
  [[gnu::hot]] void acquire_object(lane& self, const void* object) override;
  void released(lane& self, const void* address, size_t size_bytes) override;

  bool tell(state_reader& to, const still_to_come& who) override;
  bool finds_nothing_new(const lane& who) override;
  bool is_accessed_beside(const lane& self, const void* address, size_t size_bytes) const override;
  void take_notes(search_notes* into) override { notes_ = into; }

  std::string overtakings() const override;

 private:
  static constexpr size_t granule_bytes = scoped::granule_bytes;
  using granule = scoped::granule;
  using message = scoped::message;
  using observer = scoped::observer;
  using release_entry = scoped::release_entry;
  using release_list = scoped::release_list;
  using place_list = scoped::place_list;
  using per_store = scoped::per_store;
  using part = scoped::part;
  using lane_facts = scoped::lane_facts;
  using remembered_location = scoped::remembered_location;
  using settled_store = scoped::settled_store;
  using checked_access = scoped::checked_access;
  using deferred_read = scoped::deferred_read;
  using pending_acquire = scoped::pending_acquire;

  // -- scoped_memory.cpp: what is kept of lanes and locations

  static lane_facts& facts(const lane& who) { return *static_cast<lane_facts*>(who.memory); }
  static uint8_t between(const lane_facts& a, const lane_facts& b) {
    if (a.wave == b.wave) return same_wave;
    if (a.block == b.block) return same_block;
    return a.side == b.side ? same_device : same_system;
  }
  /// As the machine performs it: an x86 host orders all that it does for all others.
  static uint8_t machine_reach(const lane_facts& who, uint8_t reach) { return who.host ? uint8_t{same_system} : reach; }
  /// As written. A host's compiler knows no scopes: what its threads do is of system scope.
  static uint8_t reach_of(const lane_facts& mine, const operation& how) {
    return std::max(mine.least_reach, static_cast<uint8_t>(how.reach));
  }
  [[gnu::hot]] void clock_changed(lane_facts& mine);
  const snapshot& snapshot_of(lane_facts& mine) {
    if (!mine.now) take_snapshot(mine);
    return mine.now;
  }
  [[gnu::noinline, gnu::hot]] void take_snapshot(lane_facts& mine);
  static void new_epoch(const lane& self, lane_facts& mine) {
    ++mine.epoch;
    raise(mine.clock.ordered, self.id, mine.epoch);
    if (mine.clock.split) raise(mine.clock.seen, self.id, mine.epoch);
  }
  bool wants_reasons() const;

  [[gnu::noinline, gnu::hot]] granule& add_granule(const void* address);
  granule* new_granule(std::byte* address);
  [[gnu::noinline, gnu::hot]] static uint64_t value_at(const granule& in, int cut);
  [[gnu::noinline, gnu::hot]] static bool readable_at(const granule& in, int cut, uint8_t mask);
  static message* latest(const granule& in, int cut, uint8_t mask);
  [[gnu::noinline]] void forget_oldest(granule& in);
  message* take_message();
  [[gnu::cold]] void make_messages();
  void drop_message(message* unused);

  // -- which stores a lane cannot miss, and how strongly an access and a store are related

  /// Whether the lane cannot miss the store: by causality, or because the host's memory is coherent.
  [[gnu::always_inline]] bool knows(const lane& self, const lane_facts& mine, const message& it) const {
    return (it.host_saw && mine.tso) || knows_by_causality(self, mine, it);
  }
  [[gnu::always_inline]] bool knows_by_causality(const lane& self, const lane_facts& mine, const message& it) const {
    if (it.writer == self.id || it.was_observed_by(self.id)) return true;
    // Who has learnt nothing since has learnt nothing of it.
    if (mine.learnt_at < it.step) return mine.host && has_arrived_in_order(mine, it);
    return entry_of(mine.clock.what_is_seen(), it.writer) >= it.epoch || knows_an_observer(mine, it) ||
           has_arrived_in_order(mine, it);
  }
  static bool knows_an_observer(const lane_facts& mine, const message& it) {
    return !it.observers.empty() && knows_one_of(mine, it);
  }
  [[gnu::noinline]] static bool knows_one_of(const lane_facts& mine, const message& it) {
    const clock_entries& seen = mine.clock.what_is_seen();
    return std::any_of(it.observers.begin(), it.observers.end(),
                       [&](const observer& one) { return entry_of(seen, one.lane) >= one.epoch; });
  }
  /// The stores of a device that keeps them in order arrive in order.
  bool has_arrived_in_order(const lane_facts& mine, const message& it) const {
    return arrives_in_order_ && mine.host && !it.host && it.step <= arrived_in_order_;
  }
  /// Whether both are strong, include each other and overlap completely; as written, or as this machine performs them.
  bool morally_strong(const lane_facts& mine, bool plain, uint8_t reach, uint8_t mask, const message& it,
                      bool as_written) const {
    const uint8_t apart = between(*lanes_[it.writer], mine);
    return as_written ? is_strong_as_written(apart, plain, reach, mask, it)
                      : is_strong_as_performed(mine, apart, plain, reach, mask, it);
  }
  static bool is_strong_as_written(uint8_t apart, bool plain, uint8_t reach, uint8_t mask, const message& it) {
    return it.mask == mask && !plain && it.strong && reach >= apart && it.reach >= apart;
  }
  static bool is_strong_as_performed(const lane_facts& mine, uint8_t apart, bool plain, uint8_t reach, uint8_t mask,
                                     const message& it) {
    const bool strong = (!plain || mine.tso) && (it.strong || it.tso);
    return it.mask == mask && strong && machine_reach(mine, reach) >= apart && (it.host || it.reach >= apart);
  }

  // -- scoped_accesses.cpp: what every access does

  bool covers(const void* address) const;
  /// The granule of an address of the heap that somebody has looked at; null for others.
  granule* known_granule(const void* address) const;
  granule& granule_at(const void* address);
  static part part_in(lane_facts& mine, granule& in, const void* address, size_t size_bytes);
  part part_of(lane_facts& mine, const void* address, size_t size_bytes);
  template <typename Each>
  void for_each_part(lane_facts& mine, const void* address, size_t size_bytes, Each&& each);
  /// Where a lane keeps what it remembers of a location, until another one takes the place.
  static remembered_location& remembered(lane_facts& mine, const granule& in, uint8_t mask) {
    const uint32_t half = (mask & 0x0f) != 0 ? 0 : 1;
    remembered_location& place = mine.remembers[(in.number * 2 + half) % mine.remembers.size()];
    if (place.granule != in.serial) place = {.granule = in.serial};
    return place;
  }
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
  visible choose_visible(lane& self, lane_facts& mine, const part& at, bool modifies, bool plain, uint8_t reach);
  /// What a load learns from the store that it has read; `known` as visible::known.
  void has_read(lane& self, lane_facts& mine, message& it, const part& at, const operation& how, bool plain,
                bool known);
  void look_for_race(lane& self, lane_facts& mine, const part& at, const operation& how, bool plain, bool writes);
  /// To who explains the run: which store the lane's load has read, and which it has missed.
  [[gnu::cold]] void tell_found(const lane& self, const part& at, const message* read, bool is_newest);
  static bool repeats(const lane_facts& mine, const part& at, const operation& how);
  uint64_t load_anew(lane& self, lane_facts& mine, const part& at, const operation& how, uint64_t newest);
  bool adds_nothing(const lane_facts& mine, const operation& how, const part& at, const message* read) const;

  // -- scoped_choice.cpp: which value a load finds

  /// Where the lane may miss the store at `newest`, the last that touches what is loaded.
  [[gnu::noinline, gnu::hot]] visible choose_among(lane& self, lane_facts& mine, const part& at, int newest);
  /// The same, or that one races with older ones; or a read-modify-write.
  [[gnu::noinline]] visible choose_among_racing(lane& self, lane_facts& mine, const part& at, int newest,
                                                bool newest_is_known, bool modifies, bool plain, uint8_t reach);
  static bool is_overwritten(const granule& in, int n, const place_list& known);
  [[gnu::noinline]] void note_overtaken(lane_facts& mine, const granule& in, int cut, uint8_t mask);

  // -- scoped_stores.cpp: how a store is made

  [[gnu::hot]] void put(lane& self, lane_facts& mine, const part& at, uint64_t value, const operation& how, bool plain,
                        const message* modified, bool modifies, bool anywhere);
  [[gnu::noinline]] int place_among_unknown(lane& self, lane_facts& mine, const part& at, message& fresh, bool plain,
                                            bool anywhere);
  /// Which stores of the granule the modification order relates to a fresh one at `position`.
  static per_store related_to(const granule& in, int position, uint8_t mask, const per_store& racing);
  static bool fits(const granule& in, int position, uint8_t mask, const per_store& racing);
  void give_releases(lane& self, lane_facts& mine, granule& in, message& fresh, const operation& how, bool plain,
                     const message* modified);
  void add_release(std::vector<release_entry>& to, release_entry&& given) const;
  [[gnu::noinline]] void forget_covered(std::vector<release_entry>& to, const release_entry& given) const;
  [[gnu::noinline]] static void pass_on(std::vector<release_entry>& to, const release_entry& given, bool narrow);

  // -- scoped_acquires.cpp: what a lane learns from stores

  [[gnu::hot]] void has_read_to_know(lane& self, lane_facts& mine, message& it, const part& at, const operation& how,
                                     bool plain);
  void has_read_relaxed(lane& self, lane_facts& mine, message& it, const part& at, uint8_t reach, bool known);
  void learn(lane& self, lane_facts& mine, message& it, const part& at, const operation& how, bool plain,
             settled_store& settled);
  /// Whether the lane does not know all that a release gives.
  [[gnu::always_inline]] static bool teaches(const lane& self, const lane_facts& mine, const release_entry& given) {
    return given.releaser != self.id && (entry_of(mine.clock.ordered, given.releaser) < given.epoch ||
                                         (mine.clock.split && entry_of(mine.clock.seen, given.releaser) < given.epoch));
  }
  void defer(lane& self, lane_facts& mine, const message& it, const part& at, bool as_written, bool seen);
  /// Makes what is deferred pending: of one location, or all.
  [[gnu::noinline]] void look_at_deferred(lane& self, lane_facts& mine, const part* at);
  [[gnu::noinline]] static void add_pending(lane_facts& mine, const pending_acquire& fresh);
  [[gnu::noinline, gnu::hot]] void acquire(lane_facts& mine, const release_entry& given, bool as_written, bool seen);
  [[gnu::noinline]] void note_missing(lane& self, lane_facts& mine, const release_entry& given, missing_order why,
                                      uint64_t load_step);
  /// What the lane has read before, at one location or (a fence) anywhere.
  void acquire_pending(lane& self, lane_facts& mine, uint8_t reach, const part* at) {
    if (!mine.deferred.empty() || !mine.pending.empty()) acquire_what_is_pending(self, mine, reach, at);
  }
  [[gnu::noinline]] void acquire_what_is_pending(lane& self, lane_facts& mine, uint8_t reach, const part* at);
  [[gnu::noinline]] static void forget_pending(lane_facts& mine);
  /// Whether a release of this lane lets older stores of its agent be overtaken on their way to the other.
  bool is_overtaken(const lane_facts& releaser, const lane_facts& mine) const;

  // -- scoped_order.cpp

  static uint64_t instance_of(const lane_facts& who, uint8_t reach);
  void fence_total(lane& self, lane_facts& mine, uint8_t reach);
  void fence_host(lane& self, lane_facts& mine);
  void release_fence(lane& self, lane_facts& mine, uint8_t reach);

  // -- scoped_arms.cpp

  void share_what_was_acquired(lane* const* lanes, size_t count);
  void gather(lane* const* lanes, size_t count);
  static void note_acquired(lane_facts& mine, const release_entry& given, bool as_written, bool seen);
  /// What a release of the lane gives.
  const snapshot& released_view(lane_facts& mine) { return mine.arm_view ? mine.arm_view : snapshot_of(mine); }

  // -- scoped_races.cpp

  [[gnu::cold, gnu::noinline]] void report_race(lane& self, const lane_facts& mine, const access_record& earlier,
                                                bool plain, uint8_t mask);
  /// The access that the lane makes in the step which comes next.
  static access_record record_of(const lane& self, const lane_facts& mine, uint64_t step, uint8_t mask,
                                 const operation& how, bool plain, bool writes) {
    return {.lane = self.id,
            .epoch = mine.epoch,
            .step = step,
            .mask = mask,
            .reach = reach_of(mine, how),
            .plain = plain,
            .writes = writes};
  }
  [[gnu::hot]] void look_before_plain(lane& self, lane_facts& mine, const part& at, const operation& how, bool writes);
  [[gnu::hot]] void look_before_atomic(lane& self, lane_facts& mine, const part& at, const operation& how, bool writes);
  static bool comes_after(const lane& self, const lane_facts& mine, const access_record& earlier) {
    return earlier.lane == self.id || entry_of(mine.clock.ordered, earlier.lane) >= earlier.epoch;
  }
  bool is_race(const lane& self, const lane_facts& mine, const part& at, const operation& how, bool plain,
               const access_record& earlier) const;
  /// An access has been compared with earlier atomic ones: a search must know where.
  void note_compared(const part& at) {
    if (notes_ != nullptr && notes_->compared.insert(at.in->address).second) notes_->grown = true;
  }

  // -- scoped_state.cpp

  class normal_form;
  /// Whether a lane may still read a store of the granule, or what it held before, although that has a newer one behind it.
  bool may_be_read(const granule& in, uint8_t n) const;

  run_core& core_;
  race_log& race_log_;
  const settings& machine_;
  const link_settings& link_;
  pool<causal_clock> snapshots_;
  pool<release_list> release_lists_;
  std::vector<std::unique_ptr<lane_facts>> lanes_;  ///< by id
  size_t lanes_used_ = 0;
  std::deque<message> messages_;
  std::vector<message*> free_messages_;
  reused_list<granule> granules_;
  size_t granules_used_ = 0;
  std::vector<granule*> of_heap_;                     ///< by offset in the heap, in granules
  std::unordered_map<uint64_t, granule*> elsewcore_;  ///< by address
  std::vector<size_t> heap_touched_;
  clock_table totals_;         ///< of seq_cst fences, by reach and instance
  clock_entries host_fences_;  ///< what full fences of host threads have made seen
  clock_table objects_;        ///< by address
  causal_clock meeting_;
  race_finder races_;
  uint64_t serials_ = 0;
  bool arrives_in_order_ = false;  ///< what a device stores for the host
  uint64_t arrived_in_order_ = 0;  ///< then: the latest of its stores that the host has seen
  struct overtaking {
    uint64_t flag_step = 0;
    uint64_t data_step = 0;
    const void* data = nullptr;
  };
  std::vector<overtaking> overtakings_;
  search_notes* notes_ = nullptr;
};

}  // namespace heddle::sim
