// Ways of a search that follow from others. Two lanes stand in one state before steps that touch nothing in common: both orders lead to one state. The
// four ways are a diamond, and when three of them are known no run has to be made for the fourth.
//
// A search without states leaves such a step out altogether (sleep sets: Godefroid, LNCS 1032, 1996, chapter 5). Here its way is kept, because hangs
// are cycles of ways. Why nothing is lost: docs/verify.md.
#pragma once

#include <heddle/sim/base/state_key.h>
#include <heddle/sim/memory/footprint.h>
#include <heddle/sim/verify/shared_ways.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim {

class diamonds {
 public:
  static constexpr uint32_t none = shared_ways::none;

  explicit diamonds(shared_ways& known) : known_(known) {}

  /// What a step may have changed beside memory: which lanes are enabled, what is allocated. A step that has is part of no diamond.
  struct standing {
    uint64_t enabled = 0;  ///< lanes, a bit each
    uint64_t allocated = 0;
    state_key machine = {};  ///< what calls of host threads change beside memory; of other lanes it does not count
    friend bool operator==(const standing&, const standing&) = default;
  };
  /// A step of one lane from one state to another.
  struct way {
    uint64_t label = 0;  ///< the lane, and all that was answered in the step
    uint32_t to = none;
    uint32_t lane = 0;
    uint32_t first = 0;  ///< of its ranges in ranges_
    uint32_t end = 0;
    bool commutes = false;  ///< with steps that touch nothing in common with it
    bool host = false;      ///< of a thread of the host: what one of them has read, all know
    bool lasts = false;     ///< it may be taken for ever (state_graph::steps)
  };

  /// The search stands in a new state, behind the one where it stood.
  void push(uint32_t state, const standing& in) {
    levels_.push_back({.state = state,
                       .in = in,
                       .spoilt = 0,
                       .ways = static_cast<uint32_t>(ways_.size()),
                       .ranges = static_cast<uint32_t>(ranges_.size())});
  }
  /// The same of a state where others have been before: which of its ways they know is not known here.
  void push_met(uint32_t state, const standing& in) {
    push(state, in);
    levels_.back().spoilt = ~uint64_t{0};
  }
  void pop() {
    ways_.resize(levels_.back().ways);
    ranges_.resize(levels_.back().ranges);
    levels_.pop_back();
  }
  /// How many states lie on the way to where the search stands.
  size_t depth() const { return levels_.size(); }
  void go_back() {
    while (!levels_.empty()) pop();
  }

  const standing& in() const { return levels_.back().in; }
  /// The step that `taken` is has been made from the state where the search stands, and has touched this.
  void arrive(const way& taken, const footprint& touched);
  /// Not all that the lane may do next in the state of that level is gone through here.
  void spoil(size_t level, uint32_t lane) { levels_[level].spoilt |= uint64_t{1} << lane; }

  /// The search stands in a state that is new, behind the step that was made last: adds all ways that follow, and calls `each` with them. The lanes
  /// of which no more are left.
  template <typename Each>
  uint64_t follow(const Each& each) {
    if (levels_.size() < 2) return 0;
    const size_t behind = find_followed();
    for (size_t n = behind; n < ways_.size(); ++n) {
      each(ways_[n]);
      keep(levels_.back().state, ways_[n]);
    }
    return followed_;
  }

 private:
  struct level {
    uint32_t state = none;
    standing in;
    uint64_t spoilt = 0;  ///< lanes
    uint32_t ways = 0;    ///< where its own begin
    uint32_t ranges = 0;
  };

  /// Adds to the state's ways those that follow; where they begin.
  size_t find_followed();
  bool add_followed(size_t first, size_t end, const way& last);
  bool touch(const way& one, const way& other) const;
  void keep(uint32_t from, const way& taken) {
    if (taken.commutes) known_.keep(from, taken.label, taken.to);
  }

  std::vector<level> levels_;
  std::vector<way> ways_;  ///< of all levels; at each one those of a lane lie side by side
  std::vector<footprint::range> ranges_;
  uint64_t followed_ = 0;
  shared_ways& known_;
};

}  // namespace heddle::sim
