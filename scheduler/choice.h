// One choice at a time: everything that a simulated machine leaves open goes through choice_source::pick.
#pragma once

#include <heddle/scheduler/append.h>
#include <heddle/scheduler/choice_streams.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace heddle::scheduler {

/// The answer that stops the run: the source has nothing valid to say (see replay).
inline constexpr uint32_t no_answer = ~uint32_t{0};

/// What a strategy may know of an enabled actor: one that can take the next step.
struct candidate {
  uint32_t actor = 0;       ///< dense, stable within a run
  uint32_t group = 0;       ///< its scheduling group: the lanes of one wave share it; dense, in order of creation
  uint32_t member = 0;      ///< its number within its group
  bool guaranteed = false;  ///< whether the progress model promises it a turn
  bool writes = false;      ///< whether its pending operation may change memory
  uint64_t location = 0;    ///< what its pending operation touches; 0 when it touches nothing
  uint32_t operations = 0;  ///< how many it has performed
  uint32_t fruitless =
      0;  ///< of these, those performed in spin iterations that observed no change: a lane that only spins adds to both
  uint64_t headway = 0;  ///< how far it has come; only where the strategy looks at it (strategy::looks_at_headway)
};

/// The candidates of one choice, looked at only by strategies that need to.
class candidate_list {
 public:
  using look = candidate (*)(const void* context, uint32_t index);
  using next = uint32_t (*)(const void* context, uint32_t actor);
  constexpr candidate_list() = default;
  candidate_list(const void* context, look look_at, next follows = nullptr, const uint64_t* version = nullptr,
                 const uint32_t* highest = nullptr)
      : context_(context), look_at_(look_at), next_in_turn_(follows), version_(version), highest_(highest) {}
  candidate operator[](uint32_t index) const { return look_at_(context_, index); }
  bool known() const { return look_at_ != nullptr; }
  /// Whether the machine finds the next in turn itself, without a look at every candidate.
  bool in_order() const { return next_in_turn_ != nullptr; }
  /// As scheduler::next_in_turn (round_robin.h).
  uint32_t next_in_turn(uint32_t actor) const { return next_in_turn_(context_, actor); }
  /// Two choices with one version, not 0, have the same candidates at the same indices, and only the candidate that was
  /// picked last may have changed. 0 where the machine does not say.
  uint64_t version() const { return version_ == nullptr ? 0 : *version_; }
  /// The highest actor that has been a candidate in this run, of `count` candidates now.
  uint32_t highest_actor(uint32_t count) const {
    if (highest_ != nullptr) return *highest_;
    uint32_t highest = 0;
    for (uint32_t index = 0; index < count; ++index) highest = std::max(highest, (*this)[index].actor);
    return highest;
  }

 private:
  const void* context_ = nullptr;
  look look_at_ = nullptr;
  next next_in_turn_ = nullptr;
  const uint64_t* version_ = nullptr;
  const uint32_t* highest_ = nullptr;  ///< null where the machine does not say
};

struct choice {
  choice_kind kind = choice_kind::actor;
  uint32_t count = 0;         ///< how many answers there are, at least 2
  candidate_list candidates;  ///< known for choice_kind::actor
};

/// One recorded answer.
struct answer {
  choice_kind kind = choice_kind::actor;
  uint32_t count = 0;
  uint32_t picked = 0;
  friend bool operator==(const answer&, const answer&) = default;
};

class strategy;

/// Asks a strategy and records what it answered. A choice among one is no choice: it is neither asked nor recorded.
class choice_source {
 public:
  /// Starts a run: forgets the last recording and tells the strategy its seed. The strategy must outlive the run.
  [[gnu::hot]] void begin(strategy& deciding, uint64_t seed);

  /// An index in [0, count), or no_answer when the run cannot go on. `count` must be at least 1.
  uint32_t pick(uint32_t count, choice_kind kind) { return pick(count, kind, no_actor); }
  [[gnu::hot]] uint32_t pick(uint32_t count, choice_kind kind, const candidate_list& candidates);

  /// As pick() of two or more, in few instructions, for where most choices are made. False where that cannot be: then
  /// nothing has been picked or drawn, and pick() is to be called.
  [[gnu::always_inline]] bool try_pick(uint32_t count, choice_kind kind, uint32_t& picked) {
    if (uniform_ == nullptr || recorded_.size() == recorded_.capacity()) [[unlikely]]
      return false;
    random_stream& stream = uniform_->of(kind);
    // As random_stream::below, which may have to draw once more.
    const uint64_t product = (stream.upcoming() >> 32) * count;
    if (static_cast<uint32_t>(product) < count) [[unlikely]]
      return false;
    stream.advance();
    picked = static_cast<uint32_t>(product >> 32);
    append(recorded_, {.kind = kind, .count = count, .picked = picked});
    return true;
  }

  /// Whether the strategy says when and how the run's end game is played; otherwise the machine does, when the budget is used up.
  [[gnu::hot]] bool draws_end_game() const;
  /// Whether candidates must say how far they have come.
  bool looks_at_headway() const { return uniform_ == nullptr && strategy_looks_at_headway(); }
  /// Whether the strategy is to be told of every operation, asked or not.
  bool looks_at_steps() const { return uniform_ == nullptr && strategy_looks_at_steps(); }
  /// Tells the strategy which actor has performed which operation (strategy::performed).
  void performed(const candidate& who);

  const std::vector<answer>& recorded() const { return recorded_; }
  /// Of the run that was begun last.
  uint64_t seed() const { return seed_; }

 private:
  uint32_t ask(uint32_t count, choice_kind kind, const candidate_list& candidates);
  bool strategy_looks_at_headway() const;
  bool strategy_looks_at_steps() const;

  static constexpr candidate_list no_actor = {};

  strategy* deciding_ = nullptr;
  choice_streams* uniform_ = nullptr;  ///< the strategy's, in a run in which it answers out of them alone
  std::vector<answer> recorded_;
  uint64_t seed_ = 0;
};

}  // namespace heddle::scheduler
