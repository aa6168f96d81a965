// A schedule that can be cut: the actors of its turns, and the answers that were not the machine's default. Any part of
// one is a whole schedule again, so nothing of it diverges; replay.h is for recordings, where each disagreement counts.
#pragma once

#include <heddle/scheduler/strategy.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heddle::scheduler {

/// An answer that is not the default, of a choice about something else than actors.
struct odd_answer {
  choice_kind kind = choice_kind::visible;
  uint32_t ordinal = 0;  ///< among the choices of its kind within the turn, from 0
  uint32_t picked = 0;   ///< never 0
  friend bool operator==(const odd_answer&, const odd_answer&) = default;
};

/// From one choice of an actor to the next; also a step without a choice, where the machine tells of these
/// (strategy::looks_at_steps): because no other actor was enabled, or in the end game.
struct turn {
  uint32_t actor = 0;
  std::vector<odd_answer> odd = {};
  bool asked = true;  ///< whether there was a choice; of no effect where the schedule is played
  friend bool operator==(const turn&, const turn&) = default;
};

struct schedule {
  std::vector<answer> end_game =
      {};  ///< the answers of kind `end`; empty: the machine plays its own (strategy::draws_end_game)
  std::vector<odd_answer> before = {};  ///< before the first turn
  std::vector<turn> turns = {};
  friend bool operator==(const schedule&, const schedule&) = default;

  /// Answers that are not the default, but for those of the kinds `actor` and `end`.
  uint64_t odd_count() const;
};

/// A schedule as its differences from the run that needs no decisions: there, the current actor goes on for as long as it can,
/// then the next in order of ids, and every other answer is the default. Any subset of the deviations gives a whole run again.
struct deviation {
  uint32_t actor = 0;   ///< that of the last turn
  uint32_t turns = 0;   ///< how many it had had by then
  uint32_t target = 0;  ///< the actor that takes the next one instead; none (~0) of an odd answer
  odd_answer odd = {};  ///< within that last turn, where there is no `target`
  friend bool operator==(const deviation&, const deviation&) = default;
};

struct deviations {
  std::vector<answer> end_game = {};  ///< as of a schedule
  std::vector<deviation> all = {};    ///< in order
};

inline constexpr uint32_t no_actor = ~uint32_t{0};

/// Tells what schedule a run had, from the choices and their answers in order.
class schedule_notes {
 public:
  void begin();
  /// The actor that was picked, and the one by default; `could_go_on`: whether the actor of the last turn was enabled.
  void actor_picked(uint32_t actor, uint32_t by_default, bool could_go_on);
  void other_picked(const choice& asked, uint32_t picked);
  /// An actor has performed an operation. True when that was a turn without a choice.
  bool performed(uint32_t actor);

  const schedule& noted() const { return noted_; }
  const deviations& deviating() const { return deviating_; }
  /// Turns that were taken from an actor that was still enabled.
  uint64_t preemptions() const { return preemptions_; }
  /// That of the last turn; none (~0) before the first.
  uint32_t last_actor() const { return last_actor_; }
  /// How many choices of this kind there were before, within the turn.
  uint32_t asked_in_turn(choice_kind kind) const { return asked_[static_cast<size_t>(kind)]; }
  /// How many turns the actor of the last one has had.
  uint32_t turns_of_last_actor() const;

 private:
  schedule noted_;
  deviations deviating_;
  uint64_t preemptions_ = 0;
  std::vector<uint32_t> turns_;  ///< by actor
  uint32_t last_actor_ = no_actor;
  bool awaits_operation_ = false;  ///< of the last actor, since it was picked
  std::vector<uint32_t> asked_;    ///< by kind

  void begin_turn(uint32_t actor, bool asked);
};

struct run_limit {
  uint64_t turns_max = ~uint64_t{0};
  uint64_t choices_max = ~uint64_t{0};
};

/// Plays a schedule as far as it fits. A turn whose actor cannot take it is left out; an odd answer that there is not, is the default. Where
/// the schedule is at its end, the current actor goes on for as long as it can, then the next in order of ids.
class schedule_strategy final : public strategy {
 public:
  /// The schedule must outlive it. A run that has more turns, or more choices, than it may is stopped at its next choice.
  schedule_strategy(const schedule& played, run_limit limit) : played_(played), limit_(limit) {}

  /// The seed means nothing here.
  void begin(uint64_t seed) override;
  uint32_t pick(const choice& asked) override;
  bool draws_end_game() const override { return !played_.end_game.empty(); }
  bool looks_at_steps() const override { return true; }
  void performed(const candidate& who) override;
  std::string_view name() const override { return "schedule"; }

  /// Of the run, as it really happened.
  const schedule_notes& notes() const { return notes_; }
  bool was_stopped() const { return stopped_; }

 private:
  uint32_t pick_actor(const choice& asked);
  uint32_t pick_other(const choice& asked) const;

  const schedule& played_;
  run_limit limit_;
  uint64_t choices_ = 0;
  bool stopped_ = false;
  schedule_notes notes_;
  size_t next_turn_ = 0;
  size_t next_end_ = 0;
  const std::vector<odd_answer>* odd_ = nullptr;  ///< of the current turn; null in turns that are not of the schedule
};

/// Plays deviations as far as they fit: one whose moment does not come, or whose answer there is not, is left out.
class deviating_strategy final : public strategy {
 public:
  /// The deviations must outlive it. As schedule_strategy otherwise.
  deviating_strategy(const deviations& played, run_limit limit);

  void begin(uint64_t seed) override;
  uint32_t pick(const choice& asked) override;
  bool draws_end_game() const override { return !played_.end_game.empty(); }
  bool looks_at_steps() const override { return true; }
  void performed(const candidate& who) override { notes_.performed(who.actor); }
  std::string_view name() const override { return "deviations"; }

  const schedule_notes& notes() const { return notes_; }
  bool was_stopped() const { return stopped_; }

 private:
  static uint64_t moment(uint32_t actor, uint32_t turns) { return uint64_t{actor} << 32 | turns; }

  const deviations& played_;
  run_limit limit_;
  uint64_t choices_ = 0;
  bool stopped_ = false;
  schedule_notes notes_;
  size_t next_end_ = 0;
  std::unordered_multimap<uint64_t, const deviation*> at_;
};

/// Gives recorded answers, strictly, and tells what schedule they are.
class noted_replay final : public strategy {
 public:
  explicit noted_replay(const std::vector<answer>& recorded) : recorded_(recorded) {}

  void begin(uint64_t seed) override;
  uint32_t pick(const choice& asked) override;
  bool draws_end_game() const override { return !recorded_.empty() && recorded_.front().kind == choice_kind::end; }
  bool looks_at_steps() const override { return true; }
  void performed(const candidate& who) override { notes_.performed(who.actor); }
  std::string_view name() const override { return "replay"; }

  const schedule_notes& notes() const { return notes_; }
  /// Whether every recorded answer was asked for, and no other.
  bool agrees() const { return agrees_ && next_ == recorded_.size(); }

 private:
  const std::vector<answer>& recorded_;
  size_t next_ = 0;
  bool agrees_ = true;
  schedule_notes notes_;
};

}  // namespace heddle::scheduler
