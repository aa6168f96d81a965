// What all lanes of scoped memory (scoped_memory.h) know whose knowledge may still count: for what is told of a state.
#pragma once

#include <heddle/sim/base/state_key.h>
#include <heddle/sim/memory/scoped/scoped_memory.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim {

class scoped_memory::common_knowledge {
 protected:
  using message = scoped::message;
  using observer = scoped::observer;
  using release_entry = scoped::release_entry;
  using pending_acquire = scoped::pending_acquire;
  using per_store = scoped::per_store;

  common_knowledge(const scoped_memory& of, const still_to_come& others) : of_(of) {
    joined_.reserve(others.lanes.size());
    for (const uint32_t lane : others.lanes) {
      lanes_.push_back(lane);
      causal_clock& known = joined_.emplace_back(of.known_[lane].whole_clock());
      clocks_.push_back(&known);
      for (const still_to_come::end_of_others& each : others.joins) {
        if (each.waits == lane) of.known_[each.ends].join_to(known);
      }
    }
    for (const void* object : others.objects)
      if (const causal_clock* const known = of.known_.objects().find(reinterpret_cast<uintptr_t>(object)))
        clocks_.push_back(known);
  }

  /// Looks at a granule, of which the knowledge of those lanes counts that use it.
  template <typename Look>
  bool for_users(const granule& in, const Look& look) {
    if (of_.notes_ == nullptr || of_.known_.count() >= quiet_words::most_lanes) return look();
    users_ = of_.notes_->quiet.users_of(in.address, of_.known_.count());
    left_out_ = 0;
    const bool made = look();
    if (left_out_ != 0) of_.notes_->quiet.note_left_out(in.address, left_out_);
    users_ = all_lanes;
    return made;
  }

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
  bool epoch_ordered(uint32_t lane, uint32_t epoch) const {
    return all_know([&](size_t n) { return entry_of(clocks_[n]->ordered, lane) >= epoch; });
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
  bool is_teaching(const message& one) const {
    return one.releases && std::any_of(one.releases->entries.begin(), one.releases->entries.end(),
                                       [&](const release_entry& given) { return teaches(given); });
  }

  /// The stores of a granule that some lane may still read, or that hide others.
  struct kept_stores {
    per_store kept{};
    per_store known{};   ///< by all
    uint8_t hidden = 0;  ///< bytes of which all know a store
    uint8_t open = 0;    ///< bytes of which not all know the newest
    bool is_told(size_t n, const message& one, bool teaching) const {
      return kept[n] && (!known[n] || teaching || (one.mask & open) != 0 || !one.unordered.empty());
    }
  };
  // From the newest on: what all lanes know hides what is older.
  kept_stores kept_of(const granule& in) const {
    kept_stores made;
    for (int n = in.count - 1; n >= 0; --n) {
      const auto slot = static_cast<size_t>(n);
      const message& one = *in.order[slot];
      if ((one.mask & ~made.hidden) == 0) continue;
      made.kept[slot] = true;
      made.known[slot] = message_known(one);
      if (made.known[slot])
        made.hidden = static_cast<uint8_t>(made.hidden | one.mask);
      else
        made.open = static_cast<uint8_t>(made.open | one.mask);
    }
    return made;
  }

  /// What two stores have in common that are read alike.
  template <typename Maker>
  void add_shape(Maker& to, const message& one) const {
    to.add(uint64_t{one.vector_of} << 32 | uint64_t{one.mask} << 24 | uint64_t{one.readable} << 16 |
           uint64_t{one.reach} << 8 | (one.strong ? 2u : 0u) | (one.modifies ? 4u : 0u) | (one.host ? 8u : 0u) |
           (one.tso ? 16u : 0u) | (one.host_saw ? 32u : 0u) | (of_.known_.has_arrived(one) ? 64u : 0u));
    to.add(one.value);
    to.add(one.writer);
  }

  /// Calls `look` with each access with which a later one may still be compared.
  template <typename Look>
  void each_access(const granule& in, const Look& look) const {
    for (const access_record& one : in.accesses.plain_reads) look(one);
    for (const access_record& one : in.accesses.plain_writes) look(one);
    if (of_.notes_ != nullptr && !of_.notes_->compared.contains(in.address)) return;
    in.accesses.atomic_reads.each(look);
    in.accesses.atomic_writes.each(look);
  }

  /// Which lanes know that others have ended: it decides beside which lanes their accesses are made (quiet_words.h).
  void tell_known_ends(state_reader& to) const {
    for (size_t n = 0; n < of_.known_.count(); ++n) {
      if (of_.core_.threads.lanes[n].state != lane_state::ended) continue;
      for (const uint32_t lane : lanes_) to.fact(of_.known_.knows_end_of(of_.known_[lane], n) ? 1 : 0);
    }
  }

  const scoped_memory& of_;
  std::vector<uint32_t> lanes_;
  std::vector<const causal_clock*> clocks_;  ///< of the lanes, then of the objects

 private:
  std::vector<causal_clock> joined_;  ///< of the lanes, with what comes of those that they wait for
  // Of the granule that is visited: whose knowledge of it counts, and whose would have told more.
  static constexpr uint64_t all_lanes = ~uint64_t{0};
  uint64_t users_ = all_lanes;
  mutable uint64_t left_out_ = 0;
};

}  // namespace heddle::sim
