// The state of scoped memory taken apart: what is known in it, and what is the same in states of which one may know more than the other.
//
// A fact is a store that a lane may not know of, an access that a lane may race with, or the end of a lane. What may know of it is a lane, an object
// that lanes acquire, or what a store or a fence releases and a lane may yet acquire. A state in which less is known allows each run that one with more
// allows: its lanes may read what they may read there, race where they race there, and learn no more. So the search need not go through the other.
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/scoped/scoped_common.h>

#include <algorithm>
#include <initializer_list>

namespace heddle::sim {

class scoped_memory::apart_form : common_knowledge {
 public:
  apart_form(const scoped_memory& of, const still_to_come& others, known_facts& into)
      : common_knowledge(of, others), into_(into) {
    into_.begin();
  }

  /// False where lanes share a program counter, or where stores of a device arrive one behind the other: what an arm knows, and what has
  /// arrived, is not taken apart.
  bool tell(state_reader& to) {
    if (!of_.core_.machine.link.pool) return false;
    if (std::any_of(lanes_.begin(), lanes_.end(), [&](uint32_t each) { return of_.known_[each].shares_counter; }))
      return false;
    collect_knowers();
    key_sum elsewhere;
    for (size_t n = 0; n < of_.locations_.count(); ++n) {
      const granule& in = of_.locations_[n];
      for_users(in, [&] {
        add_stores(in);
        add_accesses(in);
        return true;
      });
      // What lies in no allocation is told here or nowhere.
      if (of_.core_.map.heap.contains(in.address)) continue;
      key_maker made;
      made.add(reinterpret_cast<uintptr_t>(in.address));
      made.bytes(in.address, granule_bytes);
      elsewhere.add(made.key());
    }
    elsewhere.tell(to);
    add_given();
    add_ends();
    tell_known_ends(to);
    return true;
  }

 private:
  static constexpr uint32_t no_lane = ~uint32_t{0};
  struct knower {
    const clock_entries* ordered = nullptr;
    const clock_entries* seen = nullptr;
    uint32_t lane = no_lane;      ///< of a lane
    uint32_t releaser = no_lane;  ///< of a release, with which all up to this epoch of its lane is known
    uint32_t epoch = 0;

    bool knows(const clock_entries& by, uint32_t of, uint32_t asked) const {
      return entry_of(by, of) >= asked || (of == releaser && epoch >= asked);
    }
  };
  /// What a name begins with.
  struct kind {
    static constexpr uint64_t lane = 1, total = 2, object = 3, host_fences = 4, fence = 5, pending = 6, release = 7;
    static constexpr uint64_t store = 8, before = 9, access = 10, end = 11, given = 12;
  };

  static uint64_t name_of(std::initializer_list<uint64_t> parts) {
    key_maker made;
    for (const uint64_t part : parts) made.add(part);
    return made.key().low;
  }

  void add_knower(std::initializer_list<uint64_t> name, const causal_clock& known, uint32_t of_lane = no_lane) {
    into_.add_knower(name_of(name));
    knowers_.push_back({.ordered = &known.ordered, .seen = &known.what_is_seen(), .lane = of_lane});
  }
  void add_release(std::initializer_list<uint64_t> name, const causal_clock& view, uint32_t releaser, uint32_t epoch) {
    add_knower(name, view);
    knowers_.back().releaser = releaser;
    knowers_.back().epoch = epoch;
  }

  void collect_knowers() {
    clocks_of_lanes_.reserve(lanes_.size());
    for (const uint32_t each : lanes_) {
      add_knower({kind::lane, each}, clocks_of_lanes_.emplace_back(of_.known_[each].whole_clock()), each);
      add_knowers_of(each);
    }
    of_.known_.totals().each([&](uint64_t key, const causal_clock& known) { add_knower({kind::total, key}, known); });
    of_.known_.objects().each([&](uint64_t key, const causal_clock& known) { add_knower({kind::object, key}, known); });
    into_.add_knower(name_of({kind::host_fences}));
    knowers_.push_back({.ordered = &of_.known_.host_fences(), .seen = &of_.known_.host_fences()});
    for (size_t n = 0; n < of_.locations_.count(); ++n)
      for_users(of_.locations_[n], [&] {
        add_releases_of(of_.locations_[n]);
        return true;
      });
  }

  void add_knowers_of(uint32_t of_lane) {
    const lane_facts& mine = of_.known_[of_lane];
    for (const lane_facts::fence_release& one : mine.fences)
      if (!epoch_known(of_lane, one.epoch))
        add_release({kind::fence, of_lane, one.reach}, *one.view, of_lane, one.epoch);
    for (const pending_acquire& one : mine.pending) {
      const release_entry& given = one.given;
      const bool ordered = one.as_written && mine.ordered_to(given.releaser) < given.epoch;
      const bool seen = one.seen && mine.sees_to(given.releaser) < given.epoch;
      if (!ordered && !seen) continue;
      add_release({kind::pending, of_lane, reinterpret_cast<uintptr_t>(one.in->address), one.mask, one.apart, ordered,
                   seen, given.releaser, given.reach, given.machine_reach, given.as_written},
                  *given.view, given.releaser, given.epoch);
    }
  }

  void add_releases_of(const granule& in) {
    const kept_stores stores = kept_of(in);
    for (size_t n = 0; n < in.count; ++n) {
      if (!stores.kept[n] || !in.order[n]->releases) continue;
      for (const release_entry& given : in.order[n]->releases->entries)
        if (teaches(given))
          add_release({kind::release, reinterpret_cast<uintptr_t>(in.address), in.count - n, given.releaser,
                       given.reach, given.machine_reach, given.as_written},
                      *given.view, given.releaser, given.epoch);
    }
  }

  // How many stores are newer is part of the name: a bound on the history counts them.
  void add_stores(const granule& in) {
    const auto address = reinterpret_cast<uintptr_t>(in.address);
    const kept_stores stores = kept_of(in);
    for (size_t n = 0; n < in.count; ++n) {
      const message& one = *in.order[n];
      if (!stores.kept[n] || !stores.is_told(n, one, is_teaching(one))) continue;
      key_maker made;
      made.add(kind::store);
      made.add(address);
      made.add(in.count - n);
      add_shape(made, one);
      for (const message::racing& pair : one.unordered) {
        message* const* const with = std::find(in.order.begin(), in.order.begin() + in.count, pair.with);
        made.add(static_cast<uint64_t>(in.order.begin() + in.count - with) << 1 | (pair.found ? 1u : 0u));
      }
      into_.add_fact(made.key().low, stores.known[n] && one.unordered.empty());
      for (size_t by = 0; by < knowers_.size(); ++by)
        if (stores.known[n] || knows_store(knowers_[by], one)) into_.know(by);
    }
    const auto base = static_cast<uint8_t>(in.base_readable & stores.open & ~stores.hidden);
    for (uint64_t byte = 0; byte < granule_bytes; ++byte)
      if ((base >> byte & 1) != 0)
        into_.add_fact(name_of({kind::before, address, byte, in.base >> (8 * byte) & 0xff}), false);
  }
  bool knows_store(const knower& by, const message& one) const {
    if (by.lane != no_lane && of_.known_.knows_by_causality(of_.known_[by.lane], one)) return true;
    return by.knows(*by.seen, one.writer, one.epoch) ||
           std::any_of(one.observers.begin(), one.observers.end(),
                       [&](const observer& each) { return by.knows(*by.seen, each.lane, each.epoch); });
  }

  void add_accesses(const granule& in) {
    each_access(in, [&](const access_record& one) {
      if (epoch_ordered(one.lane, one.epoch)) return;
      into_.add_fact(name_of({kind::access, reinterpret_cast<uintptr_t>(in.address), one.lane,
                              uint64_t{one.vector_of} << 8 | one.mask, one.reach, one.plain, one.writes, one.given}),
                     false);
      for (size_t by = 0; by < knowers_.size(); ++by)
        if (knowers_[by].lane == one.lane || knowers_[by].knows(*knowers_[by].ordered, one.lane, one.epoch))
          into_.know(by);
    });
  }

  void add_given() {
    for (const scoped::given_frames& each : of_.locations_.given()) {
      const access_record& one = each.stored;
      if (epoch_ordered(one.lane, one.epoch)) continue;
      into_.add_fact(name_of({kind::given, reinterpret_cast<uintptr_t>(each.low), one.lane}), false);
      for (size_t by = 0; by < knowers_.size(); ++by)
        if (knowers_[by].lane == one.lane || knowers_[by].knows(*knowers_[by].ordered, one.lane, one.epoch))
          into_.know(by);
    }
  }

  // As knows_end_of(), which lanes may still come to.
  void add_ends() {
    for (uint32_t n = 0; n < of_.known_.count(); ++n) {
      if (of_.core_.threads.lanes[n].state != lane_state::ended) continue;
      into_.add_fact(name_of({kind::end, n}), false);
      for (size_t by = 0; by < knowers_.size(); ++by)
        if (knowers_[by].knows(*knowers_[by].ordered, n, of_.known_[n].epoch - 1)) into_.know(by);
    }
  }

  known_facts& into_;
  std::vector<knower> knowers_;
  std::vector<causal_clock> clocks_of_lanes_;
};

bool scoped_memory::tell_apart(state_reader& to, const still_to_come& others, known_facts& known) {
  return !known_.shares_slots() && apart_form(*this, others, known).tell(to);
}

}  // namespace heddle::sim
