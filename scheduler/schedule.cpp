#include <heddle/scheduler/round_robin.h>
#include <heddle/scheduler/schedule.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace heddle::scheduler {
namespace {

/// The index of the actor among the candidates; nothing when it is none of them.
std::optional<uint32_t> index_of(const choice& asked, uint32_t actor) {
  if (actor == no_actor) return std::nullopt;
  // The one that follows the id below is the actor itself, if it is a candidate.
  const uint32_t index = next_in_turn(asked, actor - 1);
  return candidate_at(asked, index).actor == actor ? std::optional(index) : std::nullopt;
}

/// The candidate that has the turn where nothing is decided.
uint32_t index_by_default(const choice& asked, const std::optional<uint32_t>& current, uint32_t last_actor) {
  return current ? *current : next_in_turn(asked, last_actor);
}

bool is_over(const run_limit& limit, uint64_t choices, const schedule_notes& notes) {
  return choices > limit.choices_max || notes.noted().turns.size() > limit.turns_max;
}

/// Notes the turn of the candidate that was picked.
void note_actor(schedule_notes& notes, const choice& asked, uint32_t picked, const std::optional<uint32_t>& current,
                uint32_t by_default) {
  notes.actor_picked(candidate_at(asked, picked).actor, candidate_at(asked, by_default).actor, current.has_value());
}

/// The next of the recorded answers with as many to choose from: an end game that begins at another time may have been
/// asked more, or less.
uint32_t next_end_answer(const std::vector<answer>& recorded, size_t& next, uint32_t count) {
  for (size_t index = next; index < recorded.size(); ++index) {
    if (recorded[index].count != count) continue;
    next = index + 1;
    return recorded[index].picked;
  }
  return 0;
}

}  // namespace

uint64_t schedule::odd_count() const {
  return std::accumulate(turns.begin(), turns.end(), uint64_t{before.size()},
                         [](uint64_t sum, const turn& each) { return sum + each.odd.size(); });
}

// -- notes ---------------------------------------------------------------------------------------------------------------------------

void schedule_notes::begin() {
  noted_ = {};
  deviating_ = {};
  preemptions_ = 0;
  turns_.clear();
  last_actor_ = no_actor;
  awaits_operation_ = false;
  asked_.assign(choice_kind_count, 0);
}

uint32_t schedule_notes::turns_of_last_actor() const { return last_actor_ == no_actor ? 0 : turns_[last_actor_]; }

void schedule_notes::actor_picked(uint32_t actor, uint32_t by_default, bool could_go_on) {
  if (could_go_on && actor != last_actor_) ++preemptions_;
  if (actor != by_default)
    deviating_.all.push_back({.actor = last_actor_, .turns = turns_of_last_actor(), .target = actor});
  begin_turn(actor, true);
  awaits_operation_ = true;
}

bool schedule_notes::performed(uint32_t actor) {
  const bool was_picked = awaits_operation_ && actor == last_actor_;
  awaits_operation_ = false;
  if (!was_picked) begin_turn(actor, false);
  return !was_picked;
}

void schedule_notes::begin_turn(uint32_t actor, bool asked) {
  last_actor_ = actor;
  if (actor >= turns_.size()) turns_.resize(actor + size_t{1}, 0);
  ++turns_[actor];
  noted_.turns.push_back({.actor = actor, .asked = asked});
  std::fill(asked_.begin(), asked_.end(), 0);
}

void schedule_notes::other_picked(const choice& asked, uint32_t picked) {
  if (asked.kind == choice_kind::end) {
    const answer given = {.kind = asked.kind, .count = asked.count, .picked = picked};
    noted_.end_game.push_back(given);
    deviating_.end_game.push_back(given);
    return;
  }
  const uint32_t ordinal = asked_[static_cast<size_t>(asked.kind)]++;
  if (picked == 0) return;
  const odd_answer odd = {.kind = asked.kind, .ordinal = ordinal, .picked = picked};
  (noted_.turns.empty() ? noted_.before : noted_.turns.back().odd).push_back(odd);
  deviating_.all.push_back({.actor = last_actor_, .turns = turns_of_last_actor(), .target = no_actor, .odd = odd});
}

// -- playing -------------------------------------------------------------------------------------------------------------------------

void schedule_strategy::begin(uint64_t) {
  choices_ = 0;
  stopped_ = false;
  notes_.begin();
  next_turn_ = 0;
  next_end_ = 0;
  odd_ = &played_.before;
}

uint32_t schedule_strategy::pick(const choice& asked) {
  stopped_ = stopped_ || is_over(limit_, ++choices_, notes_);
  if (stopped_) return no_answer;
  if (asked.kind == choice_kind::actor) return pick_actor(asked);
  const uint32_t picked =
      asked.kind == choice_kind::end ? next_end_answer(played_.end_game, next_end_, asked.count) : pick_other(asked);
  notes_.other_picked(asked, picked);
  return picked;
}

uint32_t schedule_strategy::pick_actor(const choice& asked) {
  const std::optional<uint32_t> current = index_of(asked, notes_.last_actor());
  std::optional<uint32_t> picked;
  odd_ = nullptr;
  while (!picked && next_turn_ < played_.turns.size()) {
    const turn& next = played_.turns[next_turn_++];
    picked = index_of(asked, next.actor);
    if (picked) odd_ = &next.odd;
  }
  const uint32_t by_default = index_by_default(asked, current, notes_.last_actor());
  if (!picked) picked = by_default;
  note_actor(notes_, asked, *picked, current, by_default);
  return *picked;
}

void schedule_strategy::performed(const candidate& who) {
  if (!notes_.performed(who.actor)) return;
  odd_ = nullptr;
  if (next_turn_ == played_.turns.size() || played_.turns[next_turn_].actor != who.actor) return;
  odd_ = &played_.turns[next_turn_++].odd;
}

uint32_t schedule_strategy::pick_other(const choice& asked) const {
  if (odd_ == nullptr) return 0;
  const uint32_t ordinal = notes_.asked_in_turn(asked.kind);
  for (const odd_answer& each : *odd_)
    if (each.kind == asked.kind && each.ordinal == ordinal) return each.picked < asked.count ? each.picked : 0;
  return 0;
}

deviating_strategy::deviating_strategy(const deviations& played, run_limit limit) : played_(played), limit_(limit) {
  for (const deviation& each : played.all) at_.emplace(moment(each.actor, each.turns), &each);
}

void deviating_strategy::begin(uint64_t) {
  choices_ = 0;
  stopped_ = false;
  notes_.begin();
  next_end_ = 0;
}

uint32_t deviating_strategy::pick(const choice& asked) {
  stopped_ = stopped_ || is_over(limit_, ++choices_, notes_);
  if (stopped_) return no_answer;
  const auto [first, last] = at_.equal_range(moment(notes_.last_actor(), notes_.turns_of_last_actor()));
  if (asked.kind == choice_kind::actor) {
    const std::optional<uint32_t> current = index_of(asked, notes_.last_actor());
    const uint32_t by_default = index_by_default(asked, current, notes_.last_actor());
    uint32_t picked = by_default;
    for (auto each = first; each != last; ++each)
      if (const auto index = index_of(asked, each->second->target)) picked = *index;
    note_actor(notes_, asked, picked, current, by_default);
    return picked;
  }
  uint32_t picked = 0;
  if (asked.kind == choice_kind::end) {
    picked = next_end_answer(played_.end_game, next_end_, asked.count);
  } else {
    const uint32_t ordinal = notes_.asked_in_turn(asked.kind);
    for (auto each = first; each != last; ++each) {
      const odd_answer& odd = each->second->odd;
      const bool is_meant = each->second->target == no_actor && odd.kind == asked.kind && odd.ordinal == ordinal;
      if (is_meant && odd.picked < asked.count) picked = odd.picked;
    }
  }
  notes_.other_picked(asked, picked);
  return picked;
}

// -- recordings ----------------------------------------------------------------------------------------------------------------------

void noted_replay::begin(uint64_t) {
  next_ = 0;
  agrees_ = true;
  notes_.begin();
}

uint32_t noted_replay::pick(const choice& asked) {
  if (!agrees_ || next_ == recorded_.size() || recorded_[next_].kind != asked.kind ||
      recorded_[next_].count != asked.count) {
    agrees_ = false;
    return no_answer;
  }
  const uint32_t picked = recorded_[next_++].picked;
  if (asked.kind == choice_kind::actor) {
    const std::optional<uint32_t> current = index_of(asked, notes_.last_actor());
    note_actor(notes_, asked, picked, current, index_by_default(asked, current, notes_.last_actor()));
  } else {
    notes_.other_picked(asked, picked);
  }
  return picked;
}

}  // namespace heddle::scheduler
