// The state of scoped memory in a normal form. Clocks, epochs and serials count up and never come back; but all that is ever done with
// them is to compare them. So epochs become ranks among those with which one may still be compared; what all lanes know already, and
// what none can read or learn any more, is left out.
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/scoped/scoped_common.h>

#include <algorithm>

namespace heddle::sim {

class scoped_memory::normal_form : common_knowledge {
 public:
  normal_form(const scoped_memory& of, const still_to_come& others)
      : common_knowledge(of, others), epochs_(of.known_.count()) {}

  void tell(state_reader& to) {
    // First the epochs that count, then everything in terms of them.
    stores_.reserve(of_.locations_.count());
    visit(nullptr);
    for (std::vector<uint32_t>& each : epochs_) {
      std::sort(each.begin(), each.end());
      each.erase(std::unique(each.begin(), each.end()), each.end());
    }
    visit(&to);
  }

 private:
  static constexpr uint32_t no_lane = ~uint32_t{0};

  /// Of one thing; null while epochs are collected.
  using maker = key_maker;

  void epoch(maker* to, uint32_t lane, uint32_t epoch) {
    if (to == nullptr) {
      epochs_[lane].push_back(epoch);
      return;
    }
    to->add(lane);
    to->add(rank(lane, epoch));
  }
  /// How many of the epochs that count are not later.
  uint64_t rank(uint32_t lane, uint32_t epoch) const {
    const std::vector<uint32_t>& known = epochs_[lane];
    return static_cast<uint64_t>(std::upper_bound(known.begin(), known.end(), epoch) - known.begin());
  }
  /// Whether a lane can learn from it. Of `but` it says nothing: what gives the clock says more of that lane.
  bool entries(maker* to, const clock_entries& clock, uint32_t but = no_lane) const {
    if (to == nullptr) return false;
    bool any = false;
    for (uint32_t lane = 0; lane < epochs_.size(); ++lane) {
      if (epochs_[lane].empty() || lane == but) continue;
      const uint64_t place = rank(lane, entry_of(clock, lane));
      any = any || place != 0;
      to->add(place);
    }
    return any;
  }
  bool clock(maker* to, const causal_clock& told, uint32_t but = no_lane) const {
    const bool ordered = entries(to, told.ordered, but);
    return entries(to, told.what_is_seen(), but) || ordered;
  }
  void release(maker* to, const release_entry& given) {
    epoch(to, given.releaser, given.epoch);
    if (to == nullptr) return;
    clock(to, *given.view, given.releaser);
    to->add(uint64_t{given.reach} << 16 | uint64_t{given.machine_reach} << 8 | (given.as_written ? 1u : 0u));
  }

  void visit(state_reader* to) {
    for (const uint32_t lane : lanes_) visit_lane(to, lane);
    visit_given(to);
    key_sum all;
    for (size_t n = 0; n < of_.locations_.count(); ++n) {
      maker made;
      if (visit_granule(to == nullptr ? nullptr : &made, n)) all.add(made.key());
    }
    if (to == nullptr) return;
    all.tell(*to);
    for (const clock_table* each : {&of_.known_.totals(), &of_.known_.objects()}) {
      key_sum told;
      each->each([&](uint64_t key, const causal_clock& known) {
        maker made;
        made.add(key);
        if (clock(&made, known)) told.add(made.key());
      });
      told.tell(*to);
    }
    tell_known_ends(*to);
    maker fences;
    entries(&fences, of_.known_.host_fences());
    tell_key(*to, fences);
  }

  /// Frames of which not all lanes know that what their owner stored there comes before.
  void visit_given(state_reader* to) {
    maker told;
    for (const scoped::given_frames& each : of_.locations_.given()) {
      if (epoch_known(each.stored.lane, each.stored.epoch)) continue;
      epoch(to == nullptr ? nullptr : &told, each.stored.lane, each.stored.epoch);
      if (to == nullptr) continue;
      told.add(reinterpret_cast<uintptr_t>(each.low));
      told.add(reinterpret_cast<uintptr_t>(each.end));
    }
    if (to != nullptr) tell_key(*to, told);
  }

  static void tell_key(state_reader& to, const maker& made) {
    to.fact(made.key().low);
    to.fact(made.key().high);
  }

  void visit_lane(state_reader* to, uint32_t lane) {
    const lane_facts& mine = of_.known_[lane];
    maker made;
    maker* const into = to == nullptr ? nullptr : &made;
    clock(into, mine.whole_clock());
    if (mine.shares_counter) {
      clock(into, *mine.acquired);
      clock(into, *mine.parted);
      if (into != nullptr) into->add(mine.arm_view ? 1 : 0);
      if (mine.arm_view) clock(into, *mine.arm_view);
    }
    for (const lane_facts::fence_release& one : mine.fences) {
      if (epoch_known(lane, one.epoch)) continue;
      epoch(into, lane, one.epoch);
      if (into == nullptr) continue;
      clock(into, *one.view, lane);
      into->add(one.reach);
    }
    key_sum all;
    for (const pending_acquire& one : mine.pending) {
      const bool ordered = one.as_written && mine.ordered_to(one.given.releaser) < one.given.epoch;
      const bool seen = one.seen && mine.sees_to(one.given.releaser) < one.given.epoch;
      if (!ordered && !seen) continue;
      maker of_one;
      release(to == nullptr ? nullptr : &of_one, one.given);
      if (to == nullptr) continue;
      of_one.add(reinterpret_cast<uintptr_t>(one.in->address));
      of_one.add(uint64_t{one.mask} << 16 | uint64_t{one.apart} << 8 | (ordered ? 1u : 0u) | (seen ? 2u : 0u));
      all.add(of_one.key());
    }
    if (to == nullptr) return;
    all.tell(*to);
    tell_key(*to, made);
  }

  /// False where there is nothing to tell but the newest value.
  bool visit_granule(maker* to, size_t number) {
    const granule& in = of_.locations_[number];
    return for_users(in, [&] {
      if (to == nullptr) stores_.push_back(told_of(in));
      return visit_granule_for_users(to, in, stores_[number]);
    });
  }

  /// The stores of a granule that are part of the state; `kept` is whether they are told.
  kept_stores told_of(const granule& in) const {
    kept_stores made = kept_of(in);
    for (size_t n = 0; n < in.count; ++n) {
      const message& one = *in.order[n];
      made.kept[n] = made.kept[n] && made.is_told(n, one, is_teaching(one));
    }
    return made;
  }

  bool visit_granule_for_users(maker* to, const granule& in, const kept_stores& stores) {
    bool tells = false;
    if (to != nullptr) to->add(reinterpret_cast<uintptr_t>(in.address));
    for (size_t n = 0; n < in.count; ++n) {
      if (!stores.kept[n]) continue;
      tells = true;
      visit_message(to, in, *in.order[n], n, stores.known[n]);
    }
    if (stores.open != 0 && to != nullptr) {
      const auto base = static_cast<uint8_t>(in.base_readable & stores.open & ~stores.hidden);
      to->add(base);
      for (uint32_t byte = 0; byte < 8; ++byte)
        if ((base >> byte & 1) != 0) to->add(in.base >> (8 * byte) & 0xff);
    }
    tells = visit_accesses(to, in) || tells;
    // What lies in no allocation is told here or nowhere.
    if (!of_.core_.map.heap.contains(in.address)) {
      tells = true;
      if (to != nullptr) to->bytes(in.address, granule_bytes);
    }
    return tells;
  }

  void visit_message(maker* to, const granule& in, const message& one, size_t n, bool known) {
    if (!known) epoch(to, one.writer, one.epoch);
    key_sum observers;
    key_sum releases;
    for (const observer& each : one.observers) {
      if (known || epoch_known(each.lane, each.epoch) || knows_newer(in, n, each)) continue;
      maker made;
      epoch(to == nullptr ? nullptr : &made, each.lane, each.epoch);
      observers.add(made.key());
    }
    if (one.releases)
      for (const release_entry& given : one.releases->entries) {
        if (!teaches(given)) continue;
        maker made;
        release(to == nullptr ? nullptr : &made, given);
        releases.add(made.key());
      }
    if (to == nullptr) return;
    to->add(known ? 1 : 0);
    add_shape(*to, one);
    observers.tell(*to);
    releases.tell(*to);
    for (const message::racing& pair : one.unordered) {
      message* const* const with = std::find(in.order.begin(), in.order.begin() + in.count, pair.with);
      to->add(static_cast<uint64_t>(with - in.order.begin()) << 8 | static_cast<uint64_t>(n) << 1 |
              (pair.found ? 1u : 0u));
    }
  }

  /// Whether a lane that knows of this observation knows of a newer store to the same bytes too, which hides this one.
  static bool knows_newer(const granule& in, size_t n, const observer& of) {
    for (size_t later = n + 1; later < in.count; ++later) {
      const message& newer = *in.order[later];
      if ((in.order[n]->mask & ~newer.mask) != 0 || !newer.unordered.empty()) continue;
      if (newer.writer == of.lane && newer.epoch <= of.epoch) return true;
      for (const observer& other : newer.observers)
        if (other.lane == of.lane && other.epoch <= of.epoch) return true;
    }
    return false;
  }

  bool visit_accesses(maker* to, const granule& in) {
    key_sum all;
    bool any = false;
    each_access(in, [&](const access_record& one) {
      if (epoch_known(one.lane, one.epoch)) return;
      any = true;
      maker made;
      epoch(to == nullptr ? nullptr : &made, one.lane, one.epoch);
      made.add(uint64_t{one.vector_of} << 24 | uint64_t{one.mask} << 16 | uint64_t{one.reach} << 8 |
               (one.plain ? 1u : 0u) | (one.writes ? 2u : 0u) | (one.given ? 4u : 0u));
      all.add(made.key());
    });
    if (to != nullptr) all.tell(*to);
    return any;
  }

  std::vector<kept_stores> stores_;            ///< by granule
  std::vector<std::vector<uint32_t>> epochs_;  ///< by lane: those with which one may still be compared
};

bool scoped_memory::tell(state_reader& to, const still_to_come& others) {
  if (known_.shares_slots()) return false;
  for (const uint32_t id : others.lanes) learning_.look_at_deferred(known_[id], nullptr);
  normal_form(*this, others).tell(to);
  return true;
}

bool scoped_memory::is_accessed_beside(const lane& self, const void* address, size_t size_bytes) const {
  const lane_facts& mine = known_[self.id];
  const auto beside = [&](const access_record& one) { return !scoped::comes_after(mine, one); };
  const auto in_beside = [&](const granule& in) {
    const access_history& all = in.accesses;
    return std::any_of(all.plain_reads.begin(), all.plain_reads.end(), beside) ||
           std::any_of(all.plain_writes.begin(), all.plain_writes.end(), beside);
  };
  const auto* const base = static_cast<const std::byte*>(address);
  if (size_bytes / granule_bytes < locations_.count()) {
    for (size_t at = 0; at < size_bytes; at += granule_bytes)
      if (const granule* const in = locations_.find(base + at); in != nullptr && in_beside(*in)) return true;
  } else {
    for (size_t n = 0; n < locations_.count(); ++n)
      if (static_cast<size_t>(locations_[n].address - base) < size_bytes && in_beside(locations_[n])) return true;
  }
  return locations_.any_row([&](const scoped::row_access& one) {
    return one.overlaps(address, (size_bytes + granule_bytes - 1) / granule_bytes) && beside(one.access);
  });
}

}  // namespace heddle::sim
