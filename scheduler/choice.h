// One choice at a time: everything that a simulated machine leaves open goes through choice_source::pick.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace heddle::scheduler {

/// What a choice decides. Each kind draws from its own random stream, so that a new kind does not shift the others.
/// For every kind but `actor`, answer 0 is what the machine does by default.
enum class choice_kind : uint8_t {
  actor,        ///< who takes the next step
  active_mask,  ///< which lanes stand together when a lane asks
  wake,         ///< whether a wait ends although nothing changed
  visible,      ///< which of the values that a load may see it sees; 0 is the newest
  place,        ///< where in its location's modification order a store stands; 0 is the end
  arrive,       ///< what is under way and arrives now; 0 is nothing
  start,        ///< which of the blocks that have not started starts next; 0 is that of the lowest number
  end,          ///< when the end game begins, and how many turns in a row who has in it
  arm,          ///< which arm runs next where the lanes of a wave have parted; 0 is the one written first
  spurious,     ///< whether a weak compare-exchange fails that found what it expected
};
inline constexpr uint32_t choice_kind_count = 10;

/// The kind as traces spell it: "actor", "mask", "wake", "visible", "place", "arrive",
/// "start", "end", "arm", "spurious".
std::string_view to_string(choice_kind kind);

/// The inverse of to_string; nothing when the text names no kind.
std::optional<choice_kind> parse_choice_kind(std::string_view text);

/// The answer that stops the run: the source has nothing valid to say (see replay).
inline constexpr uint32_t no_answer = ~uint32_t{0};

/// What a strategy may know of somebody who can take the next step.
struct candidate {
  uint32_t actor = 0;   ///< dense, stable within a run
  uint32_t group = 0;   ///< the actors that hang together share it (the lanes of one wave); dense, in order of creation
  uint32_t member = 0;  ///< its number within its group
  bool guaranteed = false;  ///< whether the progress model promises it a turn
  bool writes = false;      ///< whether its pending operation may change memory
  uint64_t location = 0;    ///< what its pending operation touches; 0 when it touches nothing
  uint32_t operations = 0;  ///< that it has performed
  uint32_t fruitless =
      0;  ///< of these, the ones of turns in waiting loops that led nowhere: a lane that only waits adds to both
  uint64_t headway = 0;  ///< how far it has come; only where the strategy looks at it (strategy::looks_at_headway)
};

/// The candidates of one choice, looked at only by strategies that need to.
class candidate_list {
 public:
  using look = candidate (*)(const void* context, uint32_t index);
  using next = uint32_t (*)(const void* context, uint32_t actor);
  candidate_list() = default;
  candidate_list(const void* context, look look_at, next follows = nullptr, const uint64_t* version = nullptr)
      : context_(context), look_at_(look_at), next_in_turn_(follows), version_(version) {}
  candidate operator[](uint32_t index) const { return look_at_(context_, index); }
  bool known() const { return look_at_ != nullptr; }
  /// Whether the machine finds the next in turn itself; then without a look at everybody.
  bool in_order() const { return next_in_turn_ != nullptr; }
  /// As scheduler::next_in_turn (round_robin.h).
  uint32_t next_in_turn(uint32_t actor) const { return next_in_turn_(context_, actor); }
  /// Two choices of one version, not 0, have the same candidates at the same places, of which only the one that was picked last
  /// may look another way. 0 where the machine does not say.
  uint64_t version() const { return version_ == nullptr ? 0 : *version_; }

 private:
  const void* context_ = nullptr;
  look look_at_ = nullptr;
  next next_in_turn_ = nullptr;
  const uint64_t* version_ = nullptr;
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
  void begin(strategy& deciding, uint64_t seed);

  /// An index in [0, count), or no_answer when the run cannot go on. `count` must be at least 1.
  uint32_t pick(uint32_t count, choice_kind kind, candidate_list candidates = {}) {
    if (count == 1) return 0;
    return ask(count, kind, candidates);
  }

  /// Whether the strategy says when and how the run's end game is played; otherwise the machine does, when the budget is used up.
  bool draws_end_game() const;
  /// Whether candidates must say how far they have come.
  bool looks_at_headway() const;
  /// Whether the strategy is to be told of every operation, asked or not.
  bool looks_at_steps() const;
  /// Who has performed the operation that it looks like.
  void performed(const candidate& who);

  const std::vector<answer>& recorded() const { return recorded_; }

 private:
  uint32_t ask(uint32_t count, choice_kind kind, const candidate_list& candidates);

  strategy* deciding_ = nullptr;
  std::vector<answer> recorded_;
};

}  // namespace heddle::scheduler
