// Fidelity `scoped`: the memory model of PTX 6.0 for device code, C++11 on x86-TSO for host code, or C++11 alone for a host that is weak.
//
// A view machine. Each location keeps the stores that somebody may still read, in modification order. A load returns any of them
// that is not older than one that its lane knows: one that happens before the load, or that a strong load which happens before it
// has read. A store takes any place behind those that its lane knows. Clocks say who knows what (causality.h). Loads are bound when
// they are issued, so load buffering is not shown. (PTX ISA, "Memory Consistency Model"; the operational form follows "view
// machines", as in Kang et al., POPL 2017, without promises.)
#pragma once

#include <heddle/scheduler/append.h>
#include <heddle/sim/lane.h>
#include <heddle/sim/memory/causality.h>
#include <heddle/sim/memory/clock_table.h>
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/memory/race.h>
#include <heddle/sim/reused_list.h>

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
  scoped_memory(world& here, const settings& machine);
  ~scoped_memory() override;

  [[gnu::hot]] void reset() override;
  [[gnu::hot]] void begins(lane& fresh, const lane* by) override;
  void let_arrive(lane& self) override;
  [[gnu::hot]] bool all_arrives(lane& self) override;

  [[gnu::hot]] uint64_t load(lane& self, const operation& how) override;
  [[gnu::hot]] void store(lane& self, const operation& how, uint64_t value) override;
  uint64_t read_modify_write(lane& self, const operation& how, const modification& next) override;
  void fence(lane& self, const operation& how) override;
  [[gnu::hot]] void before_plain_load(lane& self, const operation& how) override;
  [[gnu::hot]] void before_plain_store(lane& self, const operation& how) override;
  [[gnu::hot]] void after_plain(lane& self) override;
  void see_again(lane& self) override;

  void meet(lane* const* lanes, size_t count) override;
  void order(const lane& first, lane& then) override;
  [[gnu::hot]] void release_object(lane& self, const void* object) override;
  [[gnu::hot]] void acquire_object(lane& self, const void* object) override;
  void released(lane& self, const void* address, size_t size_bytes) override;

  bool tell(state_reader& to, const still_to_come& who) override;
  bool finds_nothing_new(const lane& who) override;
  bool is_accessed_beside(const lane& self, const void* address, size_t size_bytes) const override;
  void take_notes(search_notes* into) override { notes_ = into; }

  std::string overtakings() const override;

 private:
  class normal_form;  // scoped_state.cpp

  static constexpr size_t granule_bytes = 8;
  /// Stores of one granule: settings::history of them that may still be read where each byte has a newer one, and a few more.
  static constexpr size_t most_stores = 64;
  using per_store = std::array<bool, most_stores>;

  /// What a release gives to whoever acquires it.
  struct release_entry {
    snapshot view;
    uint32_t releaser = 0;
    uint32_t epoch = 0;
    uint8_t reach = 0;          ///< of the release as written
    uint8_t machine_reach = 0;  ///< as this machine performs it
    bool as_written = false;    ///< the program asked for it; otherwise only the machine does it
    bool narrow = false;        ///< a scope on the way was too narrow: it orders nothing
    bool is_release = false;    ///< false: kept to say what is missing
    uint64_t step = 0;
  };
  /// What a store releases. Does not change once the store is made: the stores that continue it may share it.
  struct release_list {
    std::vector<release_entry> entries;
    void clear() { entries.clear(); }
  };
  struct granule;
  /// A store that a relaxed load of a device's lane has read, as long as it has not been asked what a fence behind the load could
  /// acquire from it. Nearly all loads are never followed by one.
  struct deferred_read {
    const granule* in = nullptr;
    uint64_t serial = 0;  ///< of the store
    uint64_t chain = 0;   ///< message::chain
    uint8_t mask = 0;
    bool as_written = false;  ///< morally strong with the store
    bool seen = false;
    bool comparable = false;  ///< but for the scopes
    pooled<release_list> given;
  };
  /// A release that a relaxed load has read: a fence behind it may still acquire it.
  struct pending_acquire {
    const granule* in = nullptr;  ///< where it was read
    uint8_t mask = 0;
    uint8_t apart = 0;  ///< distance to the releaser
    bool as_written = false;
    bool seen = false;
    bool too_narrow = false;  ///< nobody can acquire it: kept to say so
    release_entry given;

    /// Whoever acquires this one acquires the other too.
    bool includes(const pending_acquire& other) const {
      if (in != other.in || mask != other.mask || apart > other.apart) return false;
      if (as_written < other.as_written || seen < other.seen || too_narrow != other.too_narrow) return false;
      const release_entry& old = other.given;
      if (given.releaser == old.releaser) return given.epoch >= old.epoch;
      return entry_of(given.view->ordered, old.releaser) >= old.epoch &&
             entry_of(given.view->what_is_seen(), old.releaser) >= old.epoch;
    }
  };

  /// What a lane has settled about a store that it may read again and again while it waits. Knowledge only grows: what is true of
  /// a lane and a store stays true.
  struct settled_store {
    uint64_t serial = 0;        ///< of the store
    bool known = false;         ///< the lane cannot miss it
    bool nothing_more = false;  ///< it has nothing more to teach the lane
    bool noted = false;         ///< all that a load of the shape below learns from it, the lane has noted
    // The atomic load that has read it last.
    bool repeats = false;  ///< the same load finds the same again, and there is nothing else to do
    uint64_t newest = 0;   ///< granule::newest of then: while it stays, so does what the load finds
    uint8_t mask = 0;
    uint8_t reach = 0;
    bool acquires = false;

    /// Of a store of which nothing is settled yet. In place: a copy would wait for what was written last.
    void begin(uint64_t of_serial) {
      serial = of_serial;
      known = nothing_more = noted = repeats = acquires = false;
      newest = 0;
      mask = reach = 0;
    }
    void note(uint8_t with_mask, uint8_t with_reach, bool by_acquire) {
      noted = true;
      acquires = by_acquire;
      mask = with_mask;
      reach = with_reach;
    }
    bool is_read_again(uint8_t with_mask, uint8_t with_reach, bool by_acquire) const {
      return mask == with_mask && reach == with_reach && acquires == by_acquire;
    }
  };

  /// An atomic access of a lane that has been compared with all others, and is in the history of its granule.
  struct checked_access {
    uint32_t epoch = 0;  ///< 0: none
    uint32_t plain_changes = 0;
    uint8_t mask = 0;
    uint8_t reach = 0;
    /// Whether nothing has come since with which the same access could race.
    bool still_holds(const access_history& of, uint8_t with_mask, uint8_t with_reach) const {
      return epoch != 0 && plain_changes == of.plain_changes && mask == with_mask && reach == with_reach &&
             of.atomics_agree;
    }
  };
  /// What a lane remembers of a location, in one cache line.
  struct alignas(64) remembered_location {
    uint64_t granule = 0;  ///< its serial
    settled_store settled;
    std::array<checked_access, 2> checked;  ///< a load; a store
  };

  struct alignas(64) lane_facts {
    // What each access looks at comes first.
    uint32_t wave = 0;
    uint32_t epoch = 0;
    uint64_t block = 0;
    uint64_t learnt_at = 0;  ///< the step in which it has last learnt something from somebody
    uint32_t side = 0;       ///< the host, or a GPU and one more
    bool host = false;
    bool tso = false;  ///< a thread of a host that is an x86
    static constexpr size_t most_deferred = 16;
    std::vector<deferred_read> deferred;
    causal_clock clock;
    snapshot now;  ///< of the clock; empty when it has changed since
    struct fence_release {
      snapshot view;
      uint32_t epoch = 0;
      uint8_t reach = 0;
      uint64_t step = 0;
    };
    std::vector<fence_release> fences;  ///< the latest of each reach that is not covered by a later one of wider reach
    static constexpr size_t few_pending = 4;
    std::vector<pending_acquire> pending;
    size_t many_pending = few_pending;  ///< as many are looked through for what is not needed any more
    std::array<remembered_location, 16> remembers;
    // A plain access that the code under test makes now.
    const void* store_address = nullptr;
    size_t store_bytes = 0;
    uint64_t store_step = 0;
    bool stores_strongly = false;  ///< the store in progress is volatile
    void* window_address = nullptr;
    std::vector<std::byte> window_newest;  ///< what memory held before the window was opened
    void* seen_address = nullptr;          ///< of the last window
    std::vector<std::byte> seen;
    std::vector<std::byte> before_store;
    bool sees_again = false;
    uint64_t flag_step = 0;  ///< the store through which the lane learnt what it does not see
  };

  struct observer {
    uint32_t lane = 0;
    uint32_t epoch = 0;
  };
  struct alignas(64) message {
    uint64_t serial = 0;  ///< never used again
    uint64_t value = 0;   ///< in the place of its bytes within the granule
    uint64_t step = 0;
    uint64_t chain =
        0;  ///< serial of the first of a row of read-modify-writes, each of which passes on all that it has read
    uint32_t writer = 0;
    uint32_t epoch = 0;
    uint8_t mask = 0;
    uint8_t readable = 0;  ///< the bytes of `mask` that may still be read
    uint8_t reach = 0;
    bool strong = false;
    bool modifies = false;  ///< by a read-modify-write, which read the store before it
    bool host = false;
    bool tso = false;  ///< by such a thread
    bool host_saw =
        false;  ///< another host thread than its writer has read it: it is in the memory that they all share
    pooled<release_list> releases;  ///< none: it releases nothing
    static constexpr uint32_t first_lanes = 256;
    std::array<uint64_t, first_lanes / 64> observed_by_first{};  ///< which of the first lanes are observers, a bit each
    std::vector<uint64_t> observed_by;  ///< the same of all lanes, as far as somebody behind the first is one
    std::vector<observer> observers;
    bool was_observed_by(uint32_t lane) const {
      if (lane < first_lanes) return (observed_by_first[lane / 64] >> lane % 64 & 1) != 0;
      return lane / 64 < observed_by.size() && (observed_by[lane / 64] >> lane % 64 & 1) != 0;
    }
    void add_observer(const observer& one) {
      scheduler::append(observers, one);
      const uint64_t bit = uint64_t{1} << one.lane % 64;
      if (one.lane < first_lanes) {
        observed_by_first[one.lane / 64] |= bit;
        return;
      }
      if (observed_by.size() <= one.lane / 64) observed_by.resize(one.lane / 64 + size_t{1}, 0);
      observed_by[one.lane / 64] |= bit;
    }
    /// Older stores in the list with which it races: nothing says which of them overwrote the other, and loads may find either.
    struct racing {
      const message* with = nullptr;
      bool found = false;  ///< by a load whose lane knew this one: from then on it is not overwritten by this one
    };
    std::vector<racing> unordered;
    const racing* races_with(const message* older) const {
      const auto known =
          std::find_if(unordered.begin(), unordered.end(), [&](const racing& one) { return one.with == older; });
      return known == unordered.end() ? nullptr : &*known;
    }
  };
  struct alignas(64) granule {
    // What each access looks at comes first.
    uint64_t serial = 0;  ///< of what it held before the first store
    uint64_t newest = 0;  ///< serial of the store that was made last, wherever it stands
    std::byte* address = nullptr;
    uint64_t base = 0;  ///< what it held before the first store
    uint32_t number = 0;
    uint8_t base_readable = 0xff;
    uint8_t count = 0;
    bool has_unordered = false;  ///< of any of the stores
    access_history accesses;
    std::array<message*, most_stores> order{};  ///< in modification order

    /// Whether the store, which is one of these, races with older ones.
    bool races(const message& one) const { return has_unordered && !one.unordered.empty(); }
  };
  /// Places in a granule's order among which one is chosen.
  class place_list {
   public:
    void add(int place) { places_[count_++] = static_cast<int8_t>(place); }
    uint32_t count() const { return count_; }
    int operator[](uint32_t n) const { return places_[n]; }
    const int8_t* begin() const { return places_.data(); }
    const int8_t* end() const { return places_.data() + count_; }

   private:
    std::array<int8_t, most_stores + 2> places_;  ///< all of granule::order, before it and behind it
    uint32_t count_ = 0;
  };
  /// One granule's part of an access.
  struct part {
    granule* in = nullptr;
    uint8_t mask = 0;
    uint32_t shift = 0;                    ///< in bits
    remembered_location* place = nullptr;  ///< of the lane that makes the access
  };

  static lane_facts& facts(const lane& who) { return *static_cast<lane_facts*>(who.memory); }
  /// Where a lane keeps what it remembers of a location, until another one takes the place.
  static remembered_location& remembered(lane_facts& mine, const granule& in, uint8_t mask) {
    const uint32_t half = (mask & 0x0f) != 0 ? 0 : 1;
    remembered_location& place = mine.remembers[(in.number * 2 + half) % mine.remembers.size()];
    if (place.granule != in.serial) place = {.granule = in.serial};
    return place;
  }
  bool covers(const void* address) const;
  /// The granule of an address of the heap that somebody has looked at; null for others.
  granule* known_granule(const void* address) const;
  granule& granule_at(const void* address);
  [[gnu::noinline, gnu::hot]] granule& add_granule(const void* address);
  granule* new_granule(std::byte* address);
  static part part_in(lane_facts& mine, granule& in, const void* address, size_t size_bytes);
  part part_of(lane_facts& mine, const void* address, size_t size_bytes);
  template <typename Each>
  void for_each_part(lane_facts& mine, const void* address, size_t size_bytes, Each&& each);

  static uint8_t between(const lane_facts& a, const lane_facts& b) {
    if (a.wave == b.wave) return same_wave;
    if (a.block == b.block) return same_block;
    return a.side == b.side ? same_device : same_system;
  }
  static uint64_t instance_of(const lane_facts& who, uint8_t reach);
  static uint8_t machine_reach(const lane_facts& who, uint8_t reach) { return who.host ? uint8_t{same_system} : reach; }
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
  [[gnu::noinline, gnu::hot]] static uint64_t value_at(const granule& in, int cut);
  [[gnu::noinline, gnu::hot]] static bool readable_at(const granule& in, int cut, uint8_t mask);
  static message* latest(const granule& in, int cut, uint8_t mask);
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
  static bool repeats(const part& at, const operation& how);
  uint64_t load_anew(lane& self, lane_facts& mine, const part& at, const operation& how, uint64_t newest);
  /// Where the lane may miss the store at `newest`, the last that touches what is loaded.
  [[gnu::noinline, gnu::hot]] visible choose_among(lane& self, lane_facts& mine, const part& at, int newest);
  /// The same, or that one races with older ones; or a read-modify-write.
  [[gnu::noinline]] visible choose_among_racing(lane& self, lane_facts& mine, const part& at, int newest,
                                                bool newest_is_known, bool modifies, bool plain, uint8_t reach);
  /// What a load learns from the store that it has read; `known` as visible::known.
  void has_read(lane& self, lane_facts& mine, message& it, const part& at, const operation& how, bool plain,
                bool known);
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
  bool adds_nothing(const lane_facts& mine, const operation& how, const part& at, const message* read) const;
  [[gnu::hot]] void put(lane& self, lane_facts& mine, const part& at, uint64_t value, const operation& how, bool plain,
                        const message* modified, bool modifies, bool anywhere);
  [[gnu::noinline]] int place_among_unknown(lane& self, lane_facts& mine, const part& at, message& fresh, bool plain,
                                            bool anywhere);
  void give_releases(lane& self, lane_facts& mine, granule& in, message& fresh, const operation& how, bool plain,
                     const message* modified);
  void add_release(std::vector<release_entry>& to, release_entry&& given) const;
  [[gnu::noinline]] void forget_covered(std::vector<release_entry>& to, const release_entry& given) const;
  [[gnu::noinline]] static void pass_on(std::vector<release_entry>& to, const release_entry& given, bool narrow);
  [[gnu::noinline]] void forget_oldest(granule& in);
  /// An access has been compared with earlier atomic ones: a search must know where.
  void note_compared(const part& at) {
    if (notes_ != nullptr && notes_->compared.insert(at.in->address).second) notes_->grown = true;
  }
  /// Whether a lane may still read a store of the granule, or what it held before, although that has a newer one behind it.
  bool may_be_read(const granule& in, uint8_t n) const;
  /// Which stores of the granule the modification order relates to a fresh one at `position`.
  static per_store related_to(const granule& in, int position, uint8_t mask, const per_store& racing);
  static bool fits(const granule& in, int position, uint8_t mask, const per_store& racing);
  const snapshot& snapshot_of(lane_facts& mine) {
    if (!mine.now) take_snapshot(mine);
    return mine.now;
  }
  [[gnu::noinline, gnu::hot]] void take_snapshot(lane_facts& mine);
  [[gnu::hot]] void clock_changed(lane_facts& mine);
  static void new_epoch(const lane& self, lane_facts& mine) {
    ++mine.epoch;
    raise(mine.clock.ordered, self.id, mine.epoch);
    if (mine.clock.split) raise(mine.clock.seen, self.id, mine.epoch);
  }
  [[gnu::cold, gnu::noinline]] void report_race(lane& self, const lane_facts& mine, const access_record& earlier,
                                                bool plain, uint8_t mask);
  /// The access that the lane makes in the step which comes next.
  static access_record record_of(const lane& self, const lane_facts& mine, uint64_t step, uint8_t mask,
                                 const operation& how, bool plain, bool writes) {
    return {.lane = self.id,
            .epoch = mine.epoch,
            .step = step,
            .mask = mask,
            .reach = static_cast<uint8_t>(how.reach),
            .plain = plain,
            .writes = writes};
  }
  void look_for_race(lane& self, lane_facts& mine, const part& at, const operation& how, bool plain, bool writes);
  [[gnu::hot]] void look_before_plain(lane& self, lane_facts& mine, const part& at, const operation& how, bool writes);
  [[gnu::hot]] void look_before_atomic(lane& self, lane_facts& mine, const part& at, const operation& how, bool writes);
  static bool comes_after(const lane& self, const lane_facts& mine, const access_record& earlier) {
    return earlier.lane == self.id || entry_of(mine.clock.ordered, earlier.lane) >= earlier.epoch;
  }
  bool is_race(const lane& self, const lane_facts& mine, const part& at, const operation& how, bool plain,
               const access_record& earlier) const;
  void fence_total(lane& self, lane_facts& mine, uint8_t reach);
  void fence_host(lane& self, lane_facts& mine);
  /// What the lane has read before, at one location or (a fence) anywhere.
  void acquire_pending(lane& self, lane_facts& mine, uint8_t reach, const part* at) {
    if (!mine.deferred.empty() || !mine.pending.empty()) acquire_what_is_pending(self, mine, reach, at);
  }
  [[gnu::noinline]] void acquire_what_is_pending(lane& self, lane_facts& mine, uint8_t reach, const part* at);
  [[gnu::noinline]] static void forget_pending(lane_facts& mine);
  void release_fence(lane& self, lane_facts& mine, uint8_t reach);
  /// Whether a release of this lane lets older stores of its agent be overtaken on their way to the other.
  bool is_overtaken(const lane_facts& releaser, const lane_facts& mine) const;
  [[gnu::noinline]] void note_overtaken(lane_facts& mine, const granule& in, int cut, uint8_t mask);
  bool wants_reasons() const;
  message* take_message();
  [[gnu::cold]] void make_messages();
  void drop_message(message* unused);
  static bool is_overwritten(const granule& in, int n, const place_list& known);

  world& here_;
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
  std::unordered_map<uint64_t, granule*> elsewhere_;  ///< by address
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
