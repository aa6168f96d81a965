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

std::string advice_on_places(const run_record& of, const step_words& words, std::string_view report) {
  constexpr std::string_view told = " not started: the device holds ";
  const size_t at = report.find(told);
  if (at == std::string_view::npos) return {};
  const size_t begin = report.rfind('\n', at) + 1;
  const size_t holds = report.substr(begin, at - begin).find_first_not_of(' ');
  std::string text =
      "to change: " + std::string(report.substr(begin + holds, report.find('\n', at) - begin - holds)) +
      ". Launch no more blocks than have places at a time, or let no wave wait for one that may not have begun";
  for (const sim::unknown_wait& each : of.unknown) {
    if (sort_of(each.over) != wait_sort::memory || of.waves[each.from_wave].host) continue;
    const run_record::step* const look = words.step_at(last_look_of(of, words, each.from_wave, each.over));
    if (look != nullptr) return text + " (" + words.where(*look) + ")";
  }
  return text;
}

}  // namespace heddle::tools
