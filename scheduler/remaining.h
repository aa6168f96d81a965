// How much each actor still has to do, by an estimate.
#pragma once

#include <heddle/scheduler/crowd.h>
#include <heddle/scheduler/estimate.h>

#include <cstdint>
#include <vector>

namespace heddle::scheduler {

/// Counts of operations still to come: an actor's own, and those of actors that its operations are expected to start.
/// An actor that the estimate does not know has none.
class remaining {
 public:
  /// What each actor has in all is for the caller to say.
  void known(const estimate& of) {
    parents_.clear();
    for (const estimate::of_actor& each : of.actors) parents_.push_back(each.parent);
  }
  void forget() { parents_.clear(); }

  /// A new run; `totals` by actor, no more of them than the estimate knows actors.
  void begin(const std::vector<uint64_t>& totals) {
    totals_ = &totals;
    started_.assign(parents_.size(), 0);
    waiting_.assign(parents_.size(), 0);
    // Children have higher numbers than their parents.
    for (size_t actor = parents_.size(); actor-- > 1;)
      if (parents_[actor] < actor) waiting_[parents_[actor]] += totals[actor] + waiting_[actor];
  }

  /// The actor has started: what it has to do is no longer its parent's. Returns that parent when it is the first time.
  uint32_t started(uint32_t actor) {
    if (actor >= started_.size() || started_[actor] != 0) return estimate::no_actor;
    started_[actor] = 1;
    const uint32_t parent = parents_[actor];
    if (parent >= actor) return estimate::no_actor;
    // In the estimate no actor starts before its parent. Here its parent may be another: then nothing is subtracted twice.
    const uint64_t all = (*totals_)[actor] + waiting_[actor];
    for (uint32_t above = parent; above != estimate::no_actor; above = parents_[above]) {
      waiting_[above] -= waiting_[above] < all ? waiting_[above] : all;
      if (started_[above] != 0) break;
    }
    return parent;
  }

  /// Of an actor that has done `done` operations of its own.
  uint64_t of(uint32_t actor, uint64_t done) const {
    if (actor >= started_.size()) return 0;
    const uint64_t total = (*totals_)[actor];
    return (total > done ? total - done : 0) + waiting_[actor];
  }

 private:
  std::vector<uint32_t> parents_;  ///< by actor
  const std::vector<uint64_t>* totals_ = nullptr;
  std::vector<uint8_t> started_;
  std::vector<uint64_t> waiting_;  ///< of actors not yet started below each
};

}  // namespace heddle::scheduler
