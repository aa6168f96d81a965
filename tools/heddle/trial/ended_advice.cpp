#include <heddle/tools/trial/hang_advice.h>

#include <algorithm>

namespace heddle::tools {
namespace {

using sim::run_record;

/// Where `storer`, which has ended, stores what is waited for in other schedules: "FILE:LINE".
struct absent {
  std::string storer;
  std::string where;
};

/// Of wait_edge::why and unknown_wait::why (hang_report::told_of).
absent absent_in(const std::string& why) {
  constexpr std::string_view begins = "in other schedules ";
  constexpr std::string_view ended = ", which has ended here, stored it at ";
  const size_t at = why.find(ended);
  const size_t from = why.rfind(begins, at);
  if (at == std::string::npos || from == std::string::npos) return {};
  const size_t name = from + begins.size(), place = at + ended.size();
  // Of several storers, the first.
  if (why.find(" stored it", name) < at) return {};
  const size_t end = std::min(why.find_first_of(" ,;", place), why.size());
  return {.storer = why.substr(name, at - name), .where = why.substr(place, end - place)};
}

std::string at_stand_of(const run_record& of, const step_words& words, const sim::unknown_wait& each) {
  const run_record::step* const look = words.step_at(last_look_of(of, words, each.from_wave, each.over));
  return look == nullptr || words.where(*look).empty() ? "" : " (" + words.where(*look) + ")";
}

/// The thread that stored there last and has ended, where what waits has read earlier stores of its: it answers no more.
std::string answers_no_more(const run_record& of, const step_words& words, const sim::unknown_wait& each) {
  const auto wave_of = [&](const run_record::step& one) { return of.actors[one.actor].wave; };
  for (size_t n = of.steps.size(); n-- > 0;) {
    const run_record::step& last = of.steps[n];
    if (!last.changes || last.place == run_record::none || !words.is_at(last, each.over)) continue;
    const uint32_t storer = wave_of(last);
    if (storer == each.from_wave || !of.waves[storer].ended) return {};
    const bool is_answered = std::any_of(of.steps.begin(), of.steps.end(), [&](const run_record::step& one) {
      const run_record::step* const read = wave_of(one) == each.from_wave ? words.step_at(one.reads) : nullptr;
      return read != nullptr && !one.changes && wave_of(*read) == storer && words.is_at(*read, each.over);
    });
    const bool goes_on =
        std::any_of(of.steps.begin() + static_cast<std::ptrdiff_t>(n), of.steps.end(),
                    [&](const run_record::step& one) { return wave_of(one) == each.from_wave && one.changes; });
    if (!is_answered || !goes_on) return {};
    return of.waves[storer].name + " has ended, and " + each.from + " waits for more of what it stores to " +
           words.place_of(last) + " at " + words.where(last) + ": let it end only when nothing waits for that" +
           at_stand_of(of, words, each);
  }
  return {};
}

}  // namespace

std::string advice_on_ended(const run_record& of, const step_words& words) {
  for (const sim::unknown_wait& each : of.unknown) {
    if (sort_of(each.over) != wait_sort::memory || waits_for_notice(of, each.from_wave)) continue;
    if (const absent one = absent_in(each.why); !one.storer.empty())
      return one.storer + " has ended and has not stored " + words.part_at(each.over) + ", as it does at " + one.where +
             " in other schedules: do so on each way out, or do not wait for it" + at_stand_of(of, words, each);
    if (const std::string text = answers_no_more(of, words, each); !text.empty()) return text;
  }
  return {};
}

}  // namespace heddle::tools
