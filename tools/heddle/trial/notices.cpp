#include <heddle/tools/trial/hang_advice.h>
#include <heddle/tools/trial/last_waits.h>

#include <algorithm>
#include <set>
#include <vector>

namespace heddle::tools {

using sim::operation_kind;
using sim::run_record;

namespace {

/// A host thread and the object at which it waits for notice.
struct waiter {
  uint32_t wave = 0;
  uint64_t address = 0;
  uint64_t since = 0;  ///< the step in which it came there last
};

std::vector<waiter> waiters_of(const run_record& of) {
  std::vector<waiter> all;
  for (uint32_t wave = 0; wave < of.waves.size(); ++wave) {
    if (!waits_for_notice(of, wave)) continue;
    for (size_t n = of.steps.size(); n-- > 0;) {
      const run_record::step& one = of.steps[n];
      if (of.actors[one.actor].wave != wave || one.kind != operation_kind::wait_notice) continue;
      all.push_back({.wave = wave, .address = one.address, .since = of.first_step + n});
      break;
    }
  }
  return all;
}

/// The step behind that index in which a thread goes on by the notice given there; null: none does.
const run_record::step* taker_of(const run_record& of, size_t given) {
  std::set<uint32_t> seen;
  for (size_t n = given + 1; n < of.steps.size(); ++n) {
    const run_record::step& one = of.steps[n];
    if (!seen.insert(one.actor).second || one.kind != operation_kind::wait_notice ||
        one.address != of.steps[given].address)
      continue;
    size_t before = given;
    while (before > 0 && of.steps[before].actor != one.actor) --before;
    // One that goes on for no reason has had no notice.
    if (of.steps[before].actor == one.actor && !of.steps[before].woke) return &one;
  }
  return nullptr;
}

bool waits_from_before(const run_record& of, const waiter& one, size_t given) {
  for (size_t n = given; n-- > 0;)
    if (of.actors[of.steps[n].actor].wave == one.wave && of.steps[n].kind == operation_kind::wait_notice &&
        of.steps[n].address == one.address)
      return true;
  return false;
}

/// The step in which the one that waits has looked, for the last time before its wait, at a word that the giver changed between that look and the notice;
/// 0: there is none.
uint64_t early_look_of(const run_record& of, const waiter& one, size_t given) {
  const auto wave_of = [&](const run_record::step& each) { return of.actors[each.actor].wave; };
  const uint32_t giver = wave_of(of.steps[given]);
  for (size_t change = given; change-- > 0;) {
    const run_record::step& made = of.steps[change];
    if (wave_of(made) != giver || !made.changes || made.place == run_record::none) continue;
    for (size_t n = one.since - of.first_step; n-- > 0;) {
      const run_record::step& look = of.steps[n];
      if (wave_of(look) != one.wave || look.address != made.address || !look.has_value) continue;
      if (n < change && !sim::may_write(look.kind)) return of.first_step + n;
      break;
    }
  }
  return 0;
}

}  // namespace

std::string advice_on_lost_notice(const run_record& of, const step_words& words) {
  for (const waiter& one : waiters_of(of))
    for (size_t given = of.steps.size(); given-- > 0;) {
      const run_record::step& notice = of.steps[given];
      if (notice.kind != operation_kind::give_notice || notice.address != one.address) continue;
      const uint64_t number = of.first_step + given;
      if (number > one.since || of.actors[notice.actor].wave == one.wave) break;
      const uint64_t early = early_look_of(of, one, given);
      if (early == 0) break;
      const std::string& waits = of.waves[one.wave].name;
      return waits + " looks at " + words.place_of(*words.step_at(early)) + words.at(early) + " before " +
             words.name_of(notice.actor) + " changes it, and waits" + words.at(one.since) + " behind the notice" +
             words.at(number) + ", which is lost: have " + words.name_of(notice.actor) + " change it, and " + waits +
             " look at it and wait, while they hold the mutex of that wait";
    }
  return {};
}

wrong_notice wrong_notice_in(const run_record& of, const step_words& words) {
  const std::vector<waiter> all = waiters_of(of);
  for (size_t given = of.steps.size(); given-- > 0;) {
    const run_record::step& notice = of.steps[given];
    if (notice.kind != operation_kind::give_notice) continue;
    const run_record::step* const taken = taker_of(of, given);
    if (taken == nullptr) continue;
    const uint32_t taker = of.actors[taken->actor].wave;
    const auto again = std::find_if(all.begin(), all.end(), [&](const waiter& each) {
      return each.wave == taker && each.address == notice.address;
    });
    const auto passed_over = std::find_if(all.begin(), all.end(), [&](const waiter& each) {
      return each.wave != taker && each.address == notice.address && waits_from_before(of, each, given);
    });
    if (again == all.end() || passed_over == all.end()) continue;
    const auto stand = [&](const waiter& each) { return " (" + words.where(*words.step_at(each.since)) + ")"; };
    const uint64_t number = of.first_step + given;
    return {.given = number,
            .advice = "to change: the notice of " + words.name_of(notice.actor) + words.at(number) + " goes to " +
                      of.waves[taker].name + ", which waits again" + stand(*again) + ", and " +
                      of.waves[passed_over->wave].name + " waits on" + stand(*passed_over) +
                      ": give notice to all, or have for each that they wait for a condition of its own"};
  }
  return {};
}

}  // namespace heddle::tools
