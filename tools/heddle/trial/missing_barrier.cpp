#include <heddle/tools/trial/missing_barrier.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace heddle::tools {
namespace {

using sim::operation_kind;
using sim::run_record;

const run_record::wave& wave_of(const run_record& of, uint32_t actor) { return of.waves[of.actors[actor].wave]; }

bool are_of_one_block(const run_record& of, uint32_t one, uint32_t other) {
  const run_record::wave& first = wave_of(of, one);
  const run_record::wave& second = wave_of(of, other);
  return !first.host && !second.host && first.launched == second.launched && first.block == second.block;
}

/// Broadcasts, ballots and shuffles order nothing.
bool is_meeting(operation_kind kind) {
  return kind == operation_kind::block_barrier || kind == operation_kind::sync_lanes ||
         kind == operation_kind::cluster_wait;
}

/// Looks for what a lane of the block of `stores`, but not it, has told the readers before the step `until`.
class told_lanes {
 public:
  told_lanes(const run_record& of, const step_words& words) : of_(of), words_(words) {}

  uint64_t number_of(const run_record::step& one) const {
    return of_.first_step + static_cast<uint64_t>(&one - of_.steps.data());
  }

  std::string between(const run_record::step& stores, const run_record::step& reads, uint64_t until) const {
    for (uint64_t number = until; number-- > of_.first_step;) {
      const run_record::step& seen = *words_.step_at(number);
      const bool is_for_reader = seen.actor == reads.actor || are_of_one_block(of_, seen.actor, reads.actor);
      if (!is_for_reader || !tells(seen)) continue;
      const run_record::step* const told = words_.step_at(seen.reads);
      if (told == nullptr || told->actor == stores.actor || is_plain_access(told->kind) ||
          !are_of_one_block(of_, told->actor, stores.actor))
        continue;
      const uint64_t stored = number_of(stores);
      if (meets(stores.actor, std::min(stored, seen.reads), std::max(stored, seen.reads))) return {};
      // In a later round it is what the lane comes behind that is missing.
      if (seen.reads < stored && has_been_at(stores, seen.reads)) return {};
      return barrier_of(told->actor, stores.actor) + " between " + words_.where(stores) + " and " +
             words_.where(*told) + ", where " + of_.actors[told->actor].name + " " + words_.deed_of(*told) +
             ", which " + words_.name_of(seen.actor) + " has read";
    }
    return {};
  }

  /// A lane of the wave of `later` was told in time, and has not met its lane since: it lacks what orders lanes of a wave.
  std::string behind_knowing(uint32_t knows, const run_record::step& later) const {
    for (uint64_t number = number_of(later); number-- > of_.first_step;) {
      const run_record::step& seen = *words_.step_at(number);
      if (seen.actor != knows || !tells(seen)) continue;
      return barrier_of(knows, later.actor) + " between " + words_.where(seen) + ", where " + of_.actors[knows].name +
             " " + words_.deed_of(seen) + ", and " + words_.where(later);
    }
    return {};
  }

  /// On the other side: a lane of the reader's block was told in time, and the reader has not met it since.
  std::string to_another(const run_record::step& stores, const run_record::step& reads) const {
    const uint64_t stored = number_of(stores);
    const uint64_t until = number_of(reads);
    for (uint64_t number = until; --number > stored;) {
      const run_record::step& seen = *words_.step_at(number);
      if (seen.actor == reads.actor || !tells(seen) || !are_of_one_block(of_, seen.actor, reads.actor)) continue;
      const run_record::step* const told = words_.step_at(seen.reads);
      if (told == nullptr || seen.reads < stored || is_plain_access(told->kind)) continue;
      const bool is_of_storer = told->actor == stores.actor || (are_of_one_block(of_, told->actor, stores.actor) &&
                                                                meets(told->actor, stored, seen.reads));
      if (!is_of_storer) continue;
      if (meets(reads.actor, number, until)) return {};
      return barrier_of(seen.actor, reads.actor) + " between " + words_.where(seen) + ", where " +
             of_.actors[seen.actor].name + " " + words_.deed_of(seen) + ", and " + words_.where(reads);
    }
    return {};
  }

 private:
  /// Whether its lane may go on by what it has found.
  static bool tells(const run_record::step& seen) {
    return seen.reads != run_record::never && !is_plain_access(seen.kind);
  }
  std::string barrier_of(uint32_t one, uint32_t other) const {
    const run_record::wave& by = wave_of(of_, other);
    const bool one_wave = of_.actors[one].wave == of_.actors[other].wave;
    return "a barrier of " + (one_wave ? by.name : "block " + std::to_string(by.block));
  }
  bool meets(uint32_t actor, uint64_t from, uint64_t to) const {
    for (uint64_t between = from + 1; between < to; ++between) {
      const run_record::step& one = *words_.step_at(between);
      if (one.actor == actor && is_meeting(one.kind)) return true;
    }
    return false;
  }

  /// Whether its lane has made the same step before this one.
  bool has_been_at(const run_record::step& what, uint64_t before) const {
    return std::any_of(of_.steps.begin(), of_.steps.begin() + static_cast<ptrdiff_t>(before - of_.first_step),
                       [&](const run_record::step& one) { return one.actor == what.actor && one.calls == what.calls; });
  }

  const run_record& of_;
  const step_words& words_;
};

}  // namespace

std::string missing_barrier(const run_record& of, const step_words& words, const run_record::step& earlier,
                            const run_record::step& later, std::string_view edge) {
  const told_lanes told(of, words);
  // The memory knows which lane of the wave comes behind the first access. (sim/memory/scoped/race_log.cpp.)
  if (const size_t end = edge.find(" had acquired it, but "); end != std::string_view::npos) {
    const size_t line = edge.rfind('\n', end);
    const std::string_view name = edge.substr(line == std::string_view::npos ? 0 : line + 1, end - line - 1);
    for (uint32_t actor = 0; actor < of.actors.size(); ++actor)
      if (of.actors[actor].name == name) return told.behind_knowing(actor, later);
  }
  // Either came first: a lane may also store when the others have already read.
  std::string found = told.between(earlier, later, told.number_of(later));
  if (found.empty()) found = told.between(later, earlier, told.number_of(earlier));
  return found.empty() ? told.to_another(earlier, later) : found;
}

}  // namespace heddle::tools
