#include <heddle/scheduler/deciding.h>
#include <heddle/scheduler/replay.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/sim/code/source_line.h>
#include <heddle/sim/code/type_names.h>
#include <heddle/sim/observe/run_record.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/process/kept_output.h>
#include <heddle/tools/trial/explain.h>
#include <heddle/tools/trial/kernel_names.h>
#include <heddle/tools/trial/place_names.h>
#include <heddle/tools/trial/story.h>
#include <heddle/tools/trial/traces.h>
#include <heddle/tools/trial/tried_orders.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace heddle::tools {
namespace {

using scheduler::verdict;
using sim::run_record;

constexpr std::string_view one_decided = "what decided, for without it this does not happen:\n";
constexpr std::string_view several_decided = "what decided, for without any one of these this does not happen:\n";
constexpr std::string_view together_decided = "what decided, where all else is as by default:\n";
constexpr size_t most_decided = 5;
constexpr std::string_view good_against_bad = "good against bad: ";

/// Whether a run that ended so can be run again here, as a whole.
bool can_be_repeated(verdict ended) {
  switch (ended) {
    case verdict::ok:
    case verdict::budget:
    case verdict::crash:
    case verdict::stuck:
    case verdict::unsupported:
      return false;
    default:
      return true;
  }
}

bool is_race(verdict ended) { return ended == verdict::race || ended == verdict::scope_race; }

std::string place_of(const run_record& of, const run_record::step& one) {
  if (one.calls == run_record::none || of.call_chains[one.calls].empty()) return {};
  return of.call_chains[one.calls].front().where();
}

/// "wave 1 lane 0 came in at step 12 (store release system of ring+0x8 at FILE:LINE), behind step 11 of wave 0 lane 0 (FILE:LINE)"
std::string turn_in_words(const run_record& of, const scheduler::deciding_choice& one) {
  const uint64_t number = one.number + 1;
  if (number < of.first_step || number - of.first_step >= of.steps.size()) return {};
  const run_record::step& taken = of.steps[number - of.first_step];
  // The driver's actor stands nowhere in the code under test.
  const std::string here = place_of(of, taken);
  std::string text = of.actors[taken.actor].name + " came in at step " + std::to_string(number) + " (" +
                     of.texts[taken.operation] +
                     (taken.place == run_record::none ? "" : " of " + of.texts[taken.place]) +
                     (here.empty() ? "" : " at " + here) + ")";
  if (number == of.first_step) return text;
  const run_record::step& before = of.steps[number - of.first_step - 1];
  if (before.actor == taken.actor) return text;
  const std::string there = place_of(of, before);
  return text + ", behind step " + std::to_string(number - 1) + " of " + of.actors[before.actor].name +
         (there.empty() ? "" : " (" + there + ")");
}

/// Of many the most telling first: what came ahead of something else, and last what only let time pass.
int rank_of(const std::string& line) {
  return line.find(", ahead of ") != std::string::npos ? 0 : line.starts_with("a store went on its way") ? 2 : 1;
}

std::string decided_text(const run_record& of, const scheduler::deciding_choices& found) {
  std::vector<std::string> lines;
  for (const scheduler::deciding_choice& each : found.all) {
    std::string line = each.kind == scheduler::choice_kind::actor ? turn_in_words(of, each)
                       : each.number < of.odd.size()              ? of.odd[each.number]
                                                                  : std::string();
    // When lanes are parted, and which, is drawn one after the other: one line tells of all.
    if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  }
  if (lines.empty()) return {};
  std::stable_sort(lines.begin(), lines.end(),
                   [](const std::string& one, const std::string& other) { return rank_of(one) < rank_of(other); });
  std::string text(!found.each_alone ? together_decided : lines.size() == 1 ? one_decided : several_decided);
  for (size_t n = 0; n < std::min(lines.size(), most_decided); ++n) text += "  " + lines[n] + '\n';
  if (lines.size() > most_decided) text += "  ... and " + std::to_string(lines.size() - most_decided) + " more\n";
  return text;
}

// -- good against bad ---------------------------------------------------------------------------------------------------------------

/// Pointers of two machines differ.
bool may_be_address(uint64_t value) { return value >> 32 != 0 && value >> 47 == 0; }
bool is_bare_address(const std::string& place) { return place.starts_with("0x"); }

std::string text_at(const run_record& of, uint32_t number) {
  return number == run_record::none ? std::string() : of.texts[number];
}

/// What is longer than a word has no value but a digest, of addresses too.
bool tells_value(const run_record::step& one) { return one.has_value && one.size_bytes <= sizeof one.value; }

/// Whether it is the same step of two runs.
bool alike(const run_record& one, const run_record::step& here, const run_record& other,
           const run_record::step& there) {
  if (here.kind != there.kind || here.has_value != there.has_value || here.lost != there.lost ||
      here.is_old != there.is_old || here.spurious != there.spurious ||
      one.actors[here.actor].name != other.actors[there.actor].name ||
      text_at(one, here.operation) != text_at(other, there.operation))
    return false;
  const std::string place = text_at(one, here.place);
  const std::string other_place = text_at(other, there.place);
  if (place != other_place && !(is_bare_address(place) && is_bare_address(other_place))) return false;
  return !tells_value(here) || here.value == there.value || (may_be_address(here.value) && may_be_address(there.value));
}

std::string step_line(const run_record& of, const place_names& names, size_t index, const char* mark,
                      const char* which) {
  const run_record::step& one = of.steps[index];
  const std::string number = std::to_string(of.first_step + index);
  std::string text = std::string("  ") + mark + ' ' + which + "  step " + number + ": " + of.actors[one.actor].name +
                     ", " + text_at(of, one.operation);
  // Addresses differ from process to process, and a finding is to read the same in each.
  if (one.place != run_record::none && !is_bare_address(of.texts[one.place]))
    text += " of " + names.name_of(of.texts[one.place]);
  if (!tells_value(one)) {
    // nothing that a reader could compare
  } else if (may_be_address(one.value)) {
    text += " = an address";
  } else {
    char digits[24];
    std::snprintf(digits, sizeof digits, "0x%llx", static_cast<unsigned long long>(one.value));
    const std::string name = one.values == run_record::none ? "" : of.enumerations[one.values].name_of(one.value);
    text += name.empty() ? std::string(" = ") + digits : " = " + name + " (" + digits + ")";
  }
  if (one.lost) text += ", which is lost";
  if (one.is_old) text += ", an older value";
  if (one.spurious) text += ", which fails for no reason";
  const std::string where = place_of(of, one);
  return text + (where.empty() ? "" : " (" + where + ")") + '\n';
}

/// The failing run beside the passing one that is most like it; empty where there is none, or where both are too long to be compared.
std::string contrast_text(sim::simulation& machine, const scenario& tested, const parameters& settings,
                          const run_record& bad, const place_names& bad_names,
                          const std::vector<scheduler::answer>& passing) {
  if (passing.empty() || bad.first_step != 1) return {};
  scheduler::replay_strategy answers(passing);
  scheduler::choice_source again;
  again.begin(answers, 0);
  run_record good;
  const sim::outcome& ended = [&]() -> const sim::outcome& {
    const run_under_way known(tested, again.seed());
    return machine.run(settings, [&] { tested.body(settings); }, again, true, &good);
  }();
  if (ended.verdict != verdict::ok || ended.stopped_by_source || good.first_step != 1) return {};
  size_t same = 0;
  while (same < bad.steps.size() && same < good.steps.size() && alike(bad, bad.steps[same], good, good.steps[same]))
    ++same;
  std::string text = std::string(good_against_bad) + "a run that is the same up to step " + std::to_string(same) +
                     " ends well, in " + std::to_string(ended.steps) + " steps\n";
  const place_names good_names(good);
  if (same != 0) text += step_line(bad, bad_names, same - 1, " ", "both");
  constexpr size_t most_shown = 3;
  for (size_t n = 0; n < most_shown; ++n) {
    const char* const mark = n == 0 ? ">" : " ";
    if (same + n < bad.steps.size()) text += step_line(bad, bad_names, same + n, mark, "bad ");
    if (same + n < good.steps.size()) text += step_line(good, good_names, same + n, mark, "good");
  }
  return text;
}

/// The stores to these places in some other schedules.
sim::other_schedules others_of(sim::simulation& machine, const scenario& tested, const parameters& settings,
                               const std::vector<std::string>& places) {
  constexpr uint64_t most_runs = 16;
  constexpr uint64_t most_steps = 400'000;
  const std::set<std::string> wanted(places.begin(), places.end());
  std::map<std::tuple<std::string, std::string, std::string>, std::set<std::string>> stores;
  sim::other_schedules known;
  std::string error;
  const auto deciding = scheduler::make_strategy("random", error);
  uint64_t steps = 0;
  for (uint64_t seed = 1; seed <= most_runs && steps < most_steps && !interrupt_flag(); ++seed) {
    scheduler::choice_source choices;
    choices.begin(*deciding, seed);
    run_record record;
    const sim::outcome& ended = [&]() -> const sim::outcome& {
      const run_under_way known_run(tested, seed);
      return machine.run(settings, [&] { tested.body(settings); }, choices, true, &record);
    }();
    steps += ended.steps;
    ++known.runs;
    const auto key_of = [&](const run_record::step& one) {
      return std::tuple(record.texts[one.place], record.actors[one.actor].name, place_of(record, one));
    };
    for (const run_record::step& one : record.steps) {
      if (one.place == run_record::none || !wanted.contains(record.texts[one.place])) continue;
      if (sim::is_store(one.kind) || (sim::may_write(one.kind) && one.changes)) stores[key_of(one)];
      const bool found = one.reads != run_record::never && one.reads >= record.first_step &&
                         one.reads - record.first_step < record.steps.size();
      if (!found) continue;
      const run_record::step& store = record.steps[one.reads - record.first_step];
      const bool is_new = sim::is_store(store.kind) || store.changes;
      if (store.actor != one.actor && store.place == one.place && is_new)
        stores[key_of(store)].insert(record.actors[one.actor].name);
    }
  }
  for (const auto& [key, readers] : stores)
    known.stores.push_back({.place = std::get<0>(key),
                            .actor = std::get<1>(key),
                            .where = std::get<2>(key),
                            .read_by = {readers.begin(), readers.end()}});
  return known;
}

/// What comes behind the step at which a hang was certain shows whether other lanes could have ended it, and is no part of it.
std::string story_until_certain(const run_record& told, const ended_so& how, verdict outcome) {
  const bool goes_on = how.hangs && outcome == verdict::progress && told.judged != run_record::never &&
                       told.judged >= told.first_step && told.judged - told.first_step + 1 < told.steps.size();
  if (!goes_on) return story_text(story_of(told, how));
  run_record until = told;
  until.steps.resize(told.judged - told.first_step + 1);
  return story_text(story_of(until, how));
}

/// Calls words by their names where they stand: in the wait graph, and in what each lane reads. The text of a race is found again by its offsets.
void name_memory(scheduler::run_result& made, const place_names& names) {
  if (is_race(made.outcome)) return;
  made.report = names.in(made.report);
  made.waits = names.in(made.waits);
}

/// What a run prints, and what others print that explain it.
struct output_of_run {
  std::string printed;  ///< last, by the run itself
  kept_output beside{kept_output::from::begin};
};

/// Makes the run. What it prints behind the step at which its hang was certain is no part of it, nor is what other runs print from then on.
const sim::outcome& told_run(sim::simulation& machine, const scenario& tested, const parameters& settings,
                             scheduler::choice_source& choices, run_record& told, output_of_run& output) {
  kept_output::begin_run();
  std::optional<std::string> until_certain;
  machine.when_hang_is_certain([&] {
    until_certain = kept_output::paragraph();
    output.beside.begin();
  });
  const run_under_way known(tested, choices.seed());
  const sim::outcome& ended = machine.run(settings, [&] { tested.body(settings); }, choices, true, &told);
  machine.when_hang_is_certain({});
  const bool goes_on = until_certain && ended.verdict == verdict::progress;
  if (!goes_on) output.beside.show();
  output.printed = goes_on ? *until_certain : kept_output::paragraph();
  output.beside.begin();
  return ended;
}

/// Looks for an order without which the run ends so, and has the story tell first what it is about.
void try_orders(sim::simulation& machine, const scenario& tested, const parameters& settings,
                const scheduler::trace& happened, const run_record& told, ended_so& how) {
  if (is_race(happened.outcome)) return;
  const tried_order helps = order_that_helps(machine, tested, settings, happened, told, how.odd);
  if (helps.runs == 0) return;
  how.advice = helps.advice();
  how.shows = helps.found.steps;
  std::stable_partition(how.odd.begin(), how.odd.end(),
                        [&](const std::string& each) { return step_told_in(each) == helps.found.late; });
}

}  // namespace

scheduler::run_result explained_run(sim::simulation& machine, const scenario& tested, const parameters& settings,
                                    scheduler::choice_source& choices, std::vector<sim::step_record>* steps,
                                    sim::run_record* record) {
  run_record own;
  run_record& told = record == nullptr ? own : *record;
  const auto body = [&] { tested.body(settings); };
  output_of_run output;
  const sim::outcome& first = told_run(machine, tested, settings, choices, told, output);
  if (steps != nullptr) *steps = first.steps_taken;
  scheduler::run_result made = result_of(first);
  if (!can_be_repeated(made.outcome) || first.stopped_by_source || interrupt_flag()) {
    if (made.outcome != verdict::ok) name_memory(made, place_names(told));
    made.report.insert(0, output.printed);
    return made;
  }

  scheduler::trace happened;
  scheduler::failure::of(made).note_in(happened);
  happened.answers = choices.recorded();
  const std::vector<std::string> unexplained = first.unexplained;
  const explaining others_run;
  // Other runs are made by another machine: what is kept of this one's is not disturbed.
  sim::simulation beside;
  const scheduler::run_one run = [&](scheduler::choice_source& given, bool) {
    return run_scenario(beside, tested, settings, given, false);
  };
  const scheduler::deciding_choices decided = scheduler::find_deciding(happened, run, {.stop = &interrupt_flag()});
  if (!unexplained.empty()) {
    const sim::other_schedules others = others_of(beside, tested, settings, unexplained);
    beside.tell_of_others(&others);
    scheduler::replay_strategy answers(happened.answers);
    scheduler::choice_source again;
    again.begin(answers, 0);
    run_record with_others;
    const sim::outcome& second = [&]() -> const sim::outcome& {
      const run_under_way known(tested, again.seed());
      return beside.run(settings, body, again, true, &with_others);
    }();
    const bool is_same = answers.disagreement().empty() && second.digest == made.digest;
    if (is_same) {
      made.report = second.report;
      made.waits = second.waits;
      told = std::move(with_others);
    }
    beside.tell_of_others(nullptr);
  }
  const place_names names(told);
  for (std::string& each : told.odd) each = names.in_choice(each);
  const bool hangs =
      made.outcome == verdict::deadlock || made.outcome == verdict::progress || made.outcome == verdict::livelock;
  ended_so how = {.hangs = hangs && (!told.edges.empty() || !told.unknown.empty()),
                  .message = made.message,
                  .report = made.report,
                  .turns = {},
                  .odd = {}};
  for (const scheduler::deciding_choice& each : decided.all) {
    if (each.kind == scheduler::choice_kind::actor)
      how.turns.push_back(each.number + 1);
    else if (each.number < told.odd.size())
      how.odd.push_back(told.odd[each.number]);
  }
  std::stable_sort(how.odd.begin(), how.odd.end(),
                   [](const std::string& one, const std::string& other) { return rank_of(one) < rank_of(other); });
  try_orders(beside, tested, settings, happened, told, how);
  const std::string story = story_until_certain(told, how, made.outcome);
  const std::string text = names.in(decided_text(told, decided));
  name_memory(made, names);
  const auto [summary, details] = paragraphs(made.report);
  const std::string contrast = contrast_text(beside, tested, settings, told, names, decided.passing);
  // The text of a race is found again by its words.
  const std::string told_summary = is_race(made.outcome) ? std::string(summary) : kernel_names(told).in(summary);
  made.report =
      story + output.printed + told_summary + text + contrast + (details.empty() ? "" : "\n" + std::string(details));
  return made;
}

void prepare_to_explain(const scenario* next) {
  // What is around its body is read then.
  if (next != nullptr && next->body != nullptr) sim::inlined_at(reinterpret_cast<const std::byte*>(next->body) + 1);
  static bool is_prepared = false;
  if (is_prepared) return;
  is_prepared = true;
  sim::source_folder();
  sim::inlined_at(__builtin_return_address(0));
  sim::typed_variable_at(&is_prepared);
}

std::vector<std::string> decided_in(std::string_view report) {
  for (const std::string_view heading : {one_decided, several_decided, together_decided})
    if (const size_t found = report.find(heading); found != std::string_view::npos)
      return list_in(report, found + heading.size());
  return {};
}

std::vector<std::string> contrast_in(std::string_view report) {
  const size_t found = report.find(good_against_bad);
  if (found == std::string_view::npos) return {};
  const size_t begin = found + good_against_bad.size();
  const size_t end = report.find('\n', begin);
  if (end == std::string_view::npos) return {};
  std::vector<std::string> lines = list_in(report, end + 1);
  lines.emplace(lines.begin(), report.substr(begin, end - begin));
  return lines;
}

}  // namespace heddle::tools
