#include <heddle/tools/trial/hang_advice.h>

namespace heddle::tools {

using sim::run_record;

std::string advice_on_promise(const run_record& of, const step_words& words) {
  // A server waits for work, and is to: where a wave waits it comes first.
  for (const bool of_host : {false, true})
    for (const sim::wait_edge& each : of.edges) {
      const run_record::step* const look = words.step_at(last_look_of(of, words, each.from_wave, each.over));
      if (sort_of(each.over) == wait_sort::memory && each.from_wave != each.to_wave && look != nullptr &&
          of.waves[each.from_wave].host == of_host && last_wait_of(of, each.to_wave) == nullptr)
        return "to change: " + each.from + " waits for " + words.place_of(*look) + " at " + words.where(*look) +
               ", and " + each.to +
               ", which has it, is promised no turn: have as many of these as waves use them, or have no wave " +
               "wait while it has one";
    }
  return {};
}

}  // namespace heddle::tools
