#include <heddle/tools/trial/hang_advice.h>

#include <algorithm>
#include <set>

namespace heddle::tools {
namespace {

using sim::operation_kind;
using sim::run_record;

/// What has been done to a word that threads wait for.
struct arrivals {
  const run_record::step* set = nullptr;   ///< the last store to it
  const run_record::step* last = nullptr;  ///< the last read-modify-write behind that
  uint64_t set_at = 0;                     ///< their numbers
  uint64_t last_at = 0;
  std::set<uint32_t> waves = {};  ///< that have made these
};

arrivals at_word(const run_record& of, const step_words& words, const std::string& place) {
  arrivals found;
  for (size_t n = 0; n < of.steps.size(); ++n) {
    const run_record::step& one = of.steps[n];
    if (!one.changes || one.place == run_record::none || !words.is_at(one, place)) continue;
    const uint64_t number = of.first_step + n;
    if (!modifies(one.kind)) {
      found = {.set = &one, .set_at = number};
    } else {
      found.last = &one;
      found.last_at = number;
      found.waves.insert(of.actors[one.actor].wave);
    }
  }
  return found;
}

}  // namespace

// A lock that is held is none: what waits for it has not changed it. Nor is a word that a thread has changed that waits elsewhere.
std::string advice_on_arrivals(const run_record& of, const step_words& words) {
  for (const sim::unknown_wait& each : of.unknown) {
    if (sort_of(each.over) != wait_sort::memory) continue;
    const arrivals there = at_word(of, words, each.over);
    std::set<uint32_t> waits;
    for (const sim::unknown_wait& other : of.unknown)
      if (other.over == each.over) waits.insert(other.from_wave);
    const bool have_come =
        std::all_of(waits.begin(), waits.end(), [&](uint32_t wave) { return there.waves.contains(wave); });
    const bool all_wait = std::all_of(there.waves.begin(), there.waves.end(),
                                      [&](uint32_t wave) { return waits.contains(wave) || of.waves[wave].ended; });
    if (there.last == nullptr || !have_come || !all_wait) continue;
    return "to change: all that wait for " + words.part_at(each.over) +
           " have changed it themselves, as one does that comes to a barrier, " + words.name_of(there.last->actor) +
           " as the last" + words.at(there.last_at) + ", and no other is left to come: let as many come as it counts" +
           (there.set == nullptr ? ""
                                 : ", which " + words.name_of(there.set->actor) + " sets" + words.at(there.set_at)) +
           ", or count as many as come";
  }
  return {};
}

}  // namespace heddle::tools
