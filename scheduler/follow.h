// follow: keeps to an order that was recorded elsewhere, as far as that can be had.
#pragma once

#include <heddle/scheduler/choice_streams.h>
#include <heddle/scheduler/strategy.h>

#include <unordered_map>
#include <vector>

namespace heddle::scheduler {

/// The headway of an actor, its progress as one number that only grows: how often it has changed memory, and how many
/// new values it has read since then. Repetitions count for nothing, so that a spin loop makes no headway.
constexpr uint64_t headway_of(uint64_t changes, uint64_t news) {
  constexpr uint64_t news_bits = 20;
  constexpr uint64_t news_max = (uint64_t{1} << news_bits) - 1;
  return changes << news_bits | (news < news_max ? news : news_max);
}

/// A step of the recording: the actor reaches this headway.
struct recorded_step {
  uint32_t group = 0;
  uint32_t member = 0;
  uint64_t headway = 0;
};

/// The steps in the order in which they were made elsewhere. Of what an actor did before its entry in `starts`, nothing is known.
struct recorded_order {
  std::vector<recorded_step> steps = {};
  std::vector<recorded_step> starts = {};
};

/// The next actor in the recorded order runs until its headway is the recorded one. An actor that does not exist yet, is blocked,
/// or runs for `patience` choices without getting there is passed over for those behind it. Behind the end of the order, and
/// where the order says nothing, all candidates are equally likely. Choices other than of actors get the machine's default.
///
/// The seed says how freely: the first keeps to the order strictly, each later one answers every choice at random a
/// little more often, half of them at most.
class follow_strategy final : public strategy {
 public:
  static constexpr uint32_t patience = 512;  ///< choices in a row for one step

  /// `first_seed` is the strict one. The order must outlive the strategy.
  follow_strategy(const recorded_order& order, uint64_t first_seed) : order_(order), first_seed_(first_seed) {}

  void begin(uint64_t seed) override;
  uint32_t pick(const choice& asked) override;
  bool looks_at_headway() const override { return true; }
  std::string_view name() const override { return "follow"; }

 private:
  static uint64_t key(uint32_t group, uint32_t member) { return uint64_t{group} << 32 | member; }
  bool is_free(choice_kind kind);
  uint32_t among(const std::vector<uint32_t>& indices);
  void look_at(const choice& asked);
  void pass_steps_made();
  bool has_unknown_past() const;

  const recorded_order& order_;
  uint64_t first_seed_;
  uint32_t freedom_ = 0;  ///< of 1024 answers, those that are random
  choice_streams streams_;
  size_t next_ = 0;                                 ///< the step that is to be made
  uint32_t waited_ = 0;                             ///< choices that were spent on it
  std::unordered_map<uint64_t, uint64_t> headway_;  ///< by key: when it was last a candidate
  std::unordered_map<uint64_t, uint32_t> here_;     ///< by key: the index among the current candidates
  std::vector<uint32_t> indices_;                   ///< of the current choice; a member to keep its memory
};

}  // namespace heddle::scheduler
