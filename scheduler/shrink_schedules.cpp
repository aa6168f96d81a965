#include <heddle/scheduler/digest.h>
#include <heddle/scheduler/shrink_parts.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace heddle::scheduler::shrinking {
namespace {

uint64_t digest_of(const schedule& played) {
  digest all;
  const auto add = [&](const std::vector<odd_answer>& odd) {
    all.add(odd.size());
    for (const odd_answer& each : odd) all.add(static_cast<uint64_t>(each.kind), each.ordinal, each.picked);
  };
  for (const answer& each : played.end_game) all.add(each.count, each.picked);
  add(played.before);
  for (const turn& each : played.turns) {
    all.add(each.actor);
    add(each.odd);
  }
  return all.value();
}

schedule without_turns(const schedule& from, size_t first, size_t end) {
  schedule less = from;
  less.turns.erase(less.turns.begin() + static_cast<ptrdiff_t>(first),
                   less.turns.begin() + static_cast<ptrdiff_t>(end));
  return less;
}

/// What comes before the first choice and behind the last one is as it is.
std::pair<size_t, size_t> turns_with_choices(const schedule& from) {
  const auto asked = [](const turn& each) { return each.asked; };
  const auto first = std::find_if(from.turns.begin(), from.turns.end(), asked);
  const auto last = std::find_if(from.turns.rbegin(), from.turns.rend(), asked);
  const auto begin = static_cast<size_t>(first - from.turns.begin());
  return {begin, std::max(begin, static_cast<size_t>(from.turns.rend() - last))};
}

/// Turns in a row of one actor, [first, end).
struct segment {
  size_t first = 0;
  size_t end = 0;
  uint32_t actor = 0;
};

std::vector<segment> segments_of(const schedule& from) {
  std::vector<segment> all;
  for (size_t index = 0; index < from.turns.size(); ++index) {
    if (all.empty() || all.back().actor != from.turns[index].actor)
      all.push_back({.first = index, .end = index, .actor = from.turns[index].actor});
    all.back().end = index + 1;
  }
  return all;
}

}  // namespace

void schedule_shrinker::minimise(const setup& under, failing_run& best, bool may_grow) {
  tried_.clear();
  leave_out_deviations(under, best, may_grow);
  bool smaller = true;
  while (smaller && runs_.may_run()) {
    smaller = leave_out_end_game(under, best);
    smaller = leave_out_turns(under, best) || smaller;
    smaller = leave_out_odd_answers(under, best) || smaller;
    smaller = move_segments(under, best) || smaller;
    if (options_.progress) options_.progress(best.size, runs_.runs());
  }
}

void schedule_shrinker::leave_out_the_needless(const setup& under, failing_run& best) {
  tried_.clear();
  leave_out_deviations(under, best, false);
  leave_out_turns(under, best);
}

bool schedule_shrinker::take_if_smaller(const setup& under, failing_run& best, const schedule& wanted) {
  if (!tried_.insert(digest_of(wanted)).second || !runs_.may_run()) return false;
  auto run = runs_.played(under, wanted, best);
  if (!run || !is_smaller(run->size, best.size)) return false;
  best = std::move(*run);
  return true;
}

void schedule_shrinker::leave_out_deviations(const setup& under, failing_run& best, bool may_grow) {
  for (size_t chunk = (best.deviating.all.size() + 1) / 2; chunk != 0;) {
    bool fewer = false;
    for (size_t end = best.deviating.all.size(); end != 0 && runs_.may_run();) {
      const size_t first = end > chunk ? end - chunk : 0;
      deviations less = best.deviating;
      less.all.erase(less.all.begin() + static_cast<ptrdiff_t>(first), less.all.begin() + static_cast<ptrdiff_t>(end));
      auto run = runs_.played(under, less, runs_.original());
      const bool fewer_decisions = run && run->deviating.all.size() < best.deviating.all.size();
      if (fewer_decisions && (may_grow ? runs_.fits(run->size) : total(run->size) <= total(best.size))) {
        best = std::move(*run);
        fewer = true;
      }
      end = std::min(first, best.deviating.all.size());
    }
    if (!runs_.may_run()) return;
    if (!fewer) chunk = chunk == 1 ? 0 : (chunk + 1) / 2;
  }
}

bool schedule_shrinker::leave_out_end_game(const setup& under, failing_run& best) {
  if (best.happened.end_game.empty()) return false;
  schedule without = best.happened;
  without.end_game.clear();
  bool smaller = take_if_smaller(under, best, without);
  for (size_t index = 0; index < best.happened.end_game.size(); ++index) {
    for (uint32_t picked = 0; index < best.happened.end_game.size() && picked < best.happened.end_game[index].picked;
         picked = picked * 2 + 1) {
      schedule other = best.happened;
      other.end_game[index].picked = picked;
      if (!take_if_smaller(under, best, other)) continue;
      smaller = true;
      break;
    }
  }
  return smaller;
}

template <typename Range, typename Without>
bool schedule_shrinker::leave_out(const setup& under, failing_run& best, size_t least, Range range, Without without) {
  bool smaller = false;
  const auto [begin, all_end] = range(best.happened);
  for (size_t chunk = (all_end - begin + 1) / 2; chunk >= least; chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
    size_t end = range(best.happened).second;
    while (end > begin && runs_.may_run()) {
      const size_t first = end - begin > chunk ? end - chunk : begin;
      smaller = take_if_smaller(under, best, without(best.happened, first, end)) || smaller;
      end = std::min(first, range(best.happened).second);
    }
    if (chunk == least) break;
  }
  return smaller;
}

bool schedule_shrinker::leave_out_turns(const setup& under, failing_run& best) {
  bool smaller = leave_out(under, best, 2, turns_with_choices, without_turns);
  // A turn without a choice comes again when it is left out alone.
  for (size_t index = best.happened.turns.size(); index-- != 0 && runs_.may_run();)
    if (index < best.happened.turns.size() && best.happened.turns[index].asked)
      smaller = take_if_smaller(under, best, without_turns(best.happened, index, index + 1)) || smaller;
  return smaller;
}

bool schedule_shrinker::leave_out_odd_answers(const setup& under, failing_run& best) {
  return leave_out(
      under, best, 1, [](const schedule& from) { return std::pair(size_t{0}, static_cast<size_t>(from.odd_count())); },
      [](const schedule& from, size_t first, size_t end) {
        schedule less = from;
        size_t index = 0;
        const auto cut = [&](std::vector<odd_answer>& odd) {
          std::erase_if(odd, [&](const odd_answer&) {
            const bool is_cut = index >= first && index < end;
            ++index;
            return is_cut;
          });
        };
        cut(less.before);
        for (turn& each : less.turns) cut(each.odd);
        return less;
      });
}

bool schedule_shrinker::move_segments(const setup& under, failing_run& best) {
  bool smaller = false;
  for (size_t place = segments_of(best.happened).size(); place-- != 0 && runs_.may_run();) {
    const std::vector<segment> all = segments_of(best.happened);
    if (place >= all.size()) continue;
    const segment here = all[place];
    const auto [begin, end] = turns_with_choices(best.happened);
    if (here.end <= begin || here.first >= end) continue;
    const auto at = [](schedule& of, size_t index) { return of.turns.begin() + static_cast<ptrdiff_t>(index); };

    schedule other = best.happened;
    other.turns.erase(at(other, here.first), at(other, here.end));
    bool taken = take_if_smaller(under, best, other);
    if (!taken) {
      other = best.happened;
      other.turns.erase(std::remove_if(at(other, here.first), other.turns.end(),
                                       [&](const turn& each) { return each.actor == here.actor; }),
                        other.turns.end());
      taken = take_if_smaller(under, best, other);
    }
    // To the next segment of the same actor, which comes later, or that one to this.
    size_t same = place + 1;
    while (same < all.size() && all[same].actor != here.actor) ++same;
    if (!taken && same < all.size()) {
      other = best.happened;
      std::rotate(at(other, here.first), at(other, here.end), at(other, all[same].first));
      taken = take_if_smaller(under, best, other);
      if (!taken) {
        other = best.happened;
        std::rotate(at(other, here.end), at(other, all[same].first), at(other, all[same].end));
        taken = take_if_smaller(under, best, other);
      }
    }
    // Before the one that comes before it.
    if (!taken && place != 0) {
      other = best.happened;
      std::rotate(at(other, all[place - 1].first), at(other, here.first), at(other, here.end));
      taken = take_if_smaller(under, best, other);
    }
    smaller = smaller || taken;
  }
  return smaller;
}

}  // namespace heddle::scheduler::shrinking
