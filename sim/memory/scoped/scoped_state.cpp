// The state of scoped memory in a normal form. Clocks, epochs and serials count up and never come back; but all that is ever done with
// them is to compare them. So epochs become ranks among those with which one may still be compared; what all lanes know already, and
// what none can read or learn any more, is left out.
#include <heddle/sim/base/state_key.h>
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/scoped/scoped_memory.h>

#include <algorithm>

namespace heddle::sim {

class scoped_memory::normal_form {
 public:
  normal_form(const scoped_memory& of, const still_to_come& others) : of_(of), epochs_(of.known_.count()) {
    joined_.reserve(others.lanes.size());
    for (const uint32_t lane : others.lanes) {
      lanes_.push_back(lane);
      clocks_.push_back(&of.known_[lane].clock);
      for (const still_to_come::end_of_others& each : others.joins) {
        if (each.waits != lane) continue;
        if (clocks_.back() == &of.known_[lane].clock) clocks_.back() = &joined_.emplace_back(of.known_[lane].clock);
        joined_.back().join_all(of.known_[each.ends].clock);
      }
    }
    for (const void* object : others.objects)
      if (const causal_clock* const known = of.known_.objects().find(reinterpret_cast<uintptr_t>(object)))
        clocks_.push_back(known);
  }

  void tell(state_reader& to) {
    // First the epochs that count, then everything in terms of them.
    visit(nullptr);
    for (std::vector<uint32_t>& each : epochs_) {
      std::sort(each.begin(), each.end());
      each.erase(std::unique(each.begin(), each.end()), each.end());
    }
    visit(&to);
  }

  using message = scoped::message;
  using observer = scoped::observer;
  using release_entry = scoped::release_entry;
  using pending_acquire = scoped::pending_acquire;
  using per_store = scoped::per_store;

 private:
  /// Of one thing; null while epochs are collected.
  using maker = key_maker;

  /// Whether all know whose knowledge counts where the visit stands. Notes the lanes that would have made a difference.
  template <typename Knows>
  bool all_know(const Knows& knows) const {
    uint64_t left_out = 0;
    for (size_t n = 0; n < clocks_.size(); ++n) {
      if (knows(n)) continue;
      // An object's clock is that of lanes which are still to begin.
      const bool is_lane = n < lanes_.size();
      if (users_ == all_lanes || (is_lane && (users_ >> lanes_[n] & 1) != 0)) return false;
      left_out |= is_lane ? uint64_t{1} << lanes_[n] : all_lanes << of_.known_.count();
    }
    left_out_ |= left_out;
    return true;
  }
  bool epoch_known(uint32_t lane, uint32_t epoch) const {
    return all_know([&](size_t n) {
      return entry_of(clocks_[n]->ordered, lane) >= epoch && entry_of(clocks_[n]->what_is_seen(), lane) >= epoch;
    });
  }
  /// Whether all lanes know the store by what comes before what, so that lanes that begin later do too.
  bool message_known(const message& it) const {
    return all_know([&](size_t n) {
      if (n < lanes_.size() && (it.writer == lanes_[n] || it.was_observed_by(lanes_[n]))) return true;
      const clock_entries& seen = clocks_[n]->what_is_seen();
      return entry_of(seen, it.writer) >= it.epoch ||
             std::any_of(it.observers.begin(), it.observers.end(),
                         [&](const observer& one) { return entry_of(seen, one.lane) >= one.epoch; });
    });
  }
  bool teaches(const release_entry& given) const {
    return given.is_release && !given.narrow && !epoch_known(given.releaser, given.epoch);
  }

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
  /// Whether a lane can learn from it.
  bool entries(maker* to, const clock_entries& clock) const {
    if (to == nullptr) return false;
    bool any = false;
    for (uint32_t lane = 0; lane < epochs_.size(); ++lane) {
      if (epochs_[lane].empty()) continue;
      const uint64_t place = rank(lane, entry_of(clock, lane));
      any = any || place != 0;
      to->add(place);
    }
    return any;
  }
  bool clock(maker* to, const causal_clock& told) const {
    const bool ordered = entries(to, told.ordered);
    return entries(to, told.what_is_seen()) || ordered;
  }
  void release(maker* to, const release_entry& given) {
    epoch(to, given.releaser, given.epoch);
    if (to == nullptr) return;
    clock(to, *given.view);
    to->add(uint64_t{given.reach} << 16 | uint64_t{given.machine_reach} << 8 | (given.as_written ? 1u : 0u));
  }

  /// Which lanes know that others have ended: it decides beside which lanes their accesses are made (quiet_words.h).
  void tell_known_ends(state_reader& to) const {
    for (size_t n = 0; n < of_.known_.count(); ++n) {
      if (of_.core_.threads.lanes[n].state != lane_state::ended) continue;
      for (const uint32_t lane : lanes_) to.fact(of_.knows_end_of(of_.known_[lane], n) ? 1 : 0);
    }
  }

  void visit(state_reader* to) {
    for (const uint32_t lane : lanes_) visit_lane(to, lane);
    key_sum all;
    for (size_t n = 0; n < of_.locations_.count(); ++n) {
      maker made;
      if (visit_granule(to == nullptr ? nullptr : &made, of_.locations_[n])) all.add(made.key());
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

  static void tell_key(state_reader& to, const maker& made) {
    to.fact(made.key().low);
    to.fact(made.key().high);
  }

  void visit_lane(state_reader* to, uint32_t lane) {
    const lane_facts& mine = of_.known_[lane];
    maker made;
    maker* const into = to == nullptr ? nullptr : &made;
    clock(into, mine.clock);
    if (mine.shares_counter) {
      clock(into, mine.acquired);
      clock(into, mine.parted);
      if (into != nullptr) into->add(mine.arm_view ? 1 : 0);
      if (mine.arm_view) clock(into, *mine.arm_view);
    }
    for (const lane_facts::fence_release& one : mine.fences) {
      if (epoch_known(lane, one.epoch)) continue;
      epoch(into, lane, one.epoch);
      if (into == nullptr) continue;
      clock(into, *one.view);
      into->add(one.reach);
    }
    key_sum all;
    for (const pending_acquire& one : mine.pending) {
      const bool ordered = one.as_written && entry_of(mine.clock.ordered, one.given.releaser) < one.given.epoch;
      const bool seen = one.seen && entry_of(mine.clock.what_is_seen(), one.given.releaser) < one.given.epoch;
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
  bool visit_granule(maker* to, const granule& in) {
    if (of_.notes_ == nullptr || of_.known_.count() >= quiet_words::most_lanes) return visit_granule_for_users(to, in);
    users_ = of_.notes_->quiet.users_of(in.address, of_.known_.count());
    left_out_ = 0;
    const bool tells = visit_granule_for_users(to, in);
    if (left_out_ != 0) of_.notes_->quiet.note_left_out(in.address, left_out_);
    users_ = all_lanes;
    return tells;
  }

  bool visit_granule_for_users(maker* to, const granule& in) {
    bool tells = false;
    if (to != nullptr) to->add(reinterpret_cast<uintptr_t>(in.address));
    // From the newest on: what all lanes know hides what is older.
    per_store kept{};
    per_store known{};
    uint8_t hidden = 0;
    uint8_t open = 0;  // the bytes of which not all lanes know the newest
    for (int n = in.count - 1; n >= 0; --n) {
      const auto slot = static_cast<size_t>(n);
      const message& one = *in.order[slot];
      if ((one.mask & ~hidden) == 0) continue;
      kept[slot] = true;
      known[slot] = message_known(one);
      if (known[slot])
        hidden = static_cast<uint8_t>(hidden | one.mask);
      else
        open = static_cast<uint8_t>(open | one.mask);
    }
    for (size_t n = 0; n < in.count; ++n) {
      if (!kept[n]) continue;
      const message& one = *in.order[n];
      const bool teaching = one.releases && std::any_of(one.releases->entries.begin(), one.releases->entries.end(),
                                                        [&](const release_entry& given) { return teaches(given); });
      if (known[n] && !teaching && (one.mask & open) == 0 && one.unordered.empty()) continue;
      tells = true;
      visit_message(to, in, one, n, known[n]);
    }
    if (open != 0 && to != nullptr) {
      const auto base = static_cast<uint8_t>(in.base_readable & open & ~hidden);
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
    to->add(uint64_t{one.mask} << 24 | uint64_t{one.readable} << 16 | uint64_t{one.reach} << 8 | (known ? 1u : 0u) |
            (one.strong ? 2u : 0u) | (one.modifies ? 4u : 0u) | (one.host ? 8u : 0u) | (one.tso ? 16u : 0u) |
            (one.host_saw ? 32u : 0u) | (of_.known_.has_arrived(one) ? 64u : 0u));
    to->add(one.value);
    to->add(one.writer);
    observers.tell(*to);
    releases.tell(*to);
    for (const message::racing& pair : one.unordered) {
      const auto* const with = std::find(in.order.begin(), in.order.begin() + in.count, pair.with);
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
    const auto visit_one = [&](const access_record& one) {
      if (epoch_known(one.lane, one.epoch)) return;
      any = true;
      maker made;
      epoch(to == nullptr ? nullptr : &made, one.lane, one.epoch);
      made.add(uint64_t{one.mask} << 16 | uint64_t{one.reach} << 8 | (one.plain ? 1u : 0u) | (one.writes ? 2u : 0u));
      all.add(made.key());
    };
    for (const access_record& one : in.accesses.plain_reads) visit_one(one);
    for (const access_record& one : in.accesses.plain_writes) visit_one(one);
    if (of_.notes_ == nullptr || of_.notes_->compared.contains(in.address)) {
      in.accesses.atomic_reads.each(visit_one);
      in.accesses.atomic_writes.each(visit_one);
    }
    if (to != nullptr) all.tell(*to);
    return any;
  }

  const scoped_memory& of_;
  std::vector<uint32_t> lanes_;
  std::vector<const causal_clock*> clocks_;    ///< of the lanes, then of the objects
  std::vector<causal_clock> joined_;           ///< of those that wait for others
  std::vector<std::vector<uint32_t>> epochs_;  ///< by lane: those with which one may still be compared
  // Of the granule that is visited: whose knowledge of it counts, and whose would have told more.
  static constexpr uint64_t all_lanes = ~uint64_t{0};
  uint64_t users_ = all_lanes;
  mutable uint64_t left_out_ = 0;
};

bool scoped_memory::tell(state_reader& to, const still_to_come& others) {
  for (const uint32_t id : others.lanes) learning_.look_at_deferred(core_.threads.lanes[id], known_[id], nullptr);
  normal_form(*this, others).tell(to);
  return true;
}

bool scoped_memory::is_accessed_beside(const lane& self, const void* address, size_t size_bytes) const {
  const clock_entries& ordered = known_[self.id].clock.ordered;
  const auto beside = [&](const access_record& one) {
    return one.lane != self.id && entry_of(ordered, one.lane) < one.epoch;
  };
  for (size_t n = 0; n < locations_.count(); ++n) {
    const granule& in = locations_[n];
    if (static_cast<size_t>(in.address - static_cast<const std::byte*>(address)) >= size_bytes) continue;
    const access_history& all = in.accesses;
    if (std::any_of(all.plain_reads.begin(), all.plain_reads.end(), beside) ||
        std::any_of(all.plain_writes.begin(), all.plain_writes.end(), beside))
      return true;
  }
  return locations_.any_row([&](const scoped::row_store& one) {
    return one.overlaps(address, (size_bytes + granule_bytes - 1) / granule_bytes) && beside(one.access);
  });
}

}  // namespace heddle::sim
