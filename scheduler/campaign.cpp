#include <heddle/scheduler/campaign.h>
#include <heddle/scheduler/digest.h>
#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/replay.h>

#include <algorithm>
#include <chrono>

namespace heddle::scheduler {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool goes_on(const campaign_options& options, const campaign_result& so_far) {
  if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) return false;
  if (options.schedules != 0 && so_far.schedules >= options.schedules) return false;
  return options.seconds_max <= 0 || so_far.schedules == 0 || so_far.seconds < options.seconds_max;
}

/// A finding that another part of the campaign has explained.
finding counted(uint64_t seed, const run_result& result) {
  finding made;
  made.first.seed = seed;
  failure::of(result).note_in(made.first);
  made.count = 1;
  return made;
}

finding explained(const campaign_options& options, uint64_t seed, const run_result& result,
                  const std::vector<answer>& answers, const run_one& run) {
  finding made;
  made.count = 1;
  made.first = options.header;
  made.first.seed = seed;
  failure::of(result).note_in(made.first);
  made.first.digest = result.digest;
  made.first.steps = result.steps;
  made.first.answers = answers;
  made.message = result.message;
  replay_result again = run_again(made.first, run, true);
  made.not_reproducible = std::move(again.disagreement);
  if (made.not_reproducible.empty()) made.report = std::move(again.result.report);
  return made;
}

std::string otherwise_ended(const trace& recorded, const run_result& result) {
  const auto told = [](verdict outcome, const std::string& where) {
    return std::string(to_string(outcome)) + (where.empty() ? "" : " at " + where);
  };
  const std::string now = told(result.outcome, result.where);
  const std::string before = told(recorded.outcome, recorded.where);
  return "every choice agrees, but the run ended with " + now +
         (now == before ? " in another way: " + result.message : " instead of " + before);
}

/// "+0x10940" of "ring+0x10940"; empty where the place is a line or a function.
std::string_view offset_in(std::string_view where) {
  const size_t at = where.rfind("+0x");
  const bool is_one = at != std::string_view::npos && at + 3 < where.size() &&
                      where.find_first_not_of("0123456789abcdef", at + 3) == std::string_view::npos;
  return is_one ? where.substr(at) : std::string_view();
}

bool is_letter(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || each == '_' || (each >= '0' && each <= '9');
}

bool is_digit(char each) { return each >= '0' && each <= '9'; }

}  // namespace

std::string gist_of(std::string_view message) {
  std::string made;
  for (size_t at = 0; at < message.size(); ++at) {
    const char each = message[at];
    if (!is_digit(each) || (at != 0 && is_letter(message[at - 1]))) {
      made += each;
      continue;
    }
    // "0x7f", "1,000", "2.5", with the unit that stands at it.
    while (at + 1 < message.size() &&
           (is_letter(message[at + 1]) || ((message[at + 1] == ',' || message[at + 1] == '.') &&
                                           at + 2 < message.size() && is_digit(message[at + 2]))))
      ++at;
    // A word and a word 8 bytes on, one lane and lanes 0, 2-3.
    while (!made.empty() && std::string_view(" ,+-#").find(made.back()) != std::string_view::npos) made.pop_back();
    if (made.ends_with("lanes") || made.ends_with("waves")) made.pop_back();
  }
  return made;
}

failure failure::of(const run_result& result) {
  const bool has_gist = result.outcome != verdict::ok && result.hang.empty();
  return {result.outcome, result.where, result.hang, has_gist ? gist_of(result.message) : ""};
}

void failure::note_in(trace& recorded) const {
  recorded.outcome = outcome;
  recorded.where = where;
  recorded.hang = hang;
  recorded.gist = gist;
}

finding* campaign_result::find(const failure& how) {
  const auto same = std::find_if(findings.begin(), findings.end(),
                                 [&](const finding& known) { return failure::of(known.first) == how; });
  return same == findings.end() ? nullptr : &*same;
}

void campaign_result::add(campaign_result part) {
  schedules += part.schedules;
  steps += part.steps;
  library_steps += part.library_steps;
  choices += part.choices;
  for (const auto& [what, count] : part.excused) excused[what] += count;
  seen.add(part.seen);
  digest += part.digest;
  seconds = std::max(seconds, part.seconds);
  for (finding& each : part.findings) {
    finding* const same = find(failure::of(each.first));
    if (same == nullptr) {
      findings.push_back(std::move(each));
      continue;
    }
    const uint64_t count = same->count + each.count;
    if (each.first.seed < same->first.seed) *same = std::move(each);
    same->count = count;
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const finding& one, const finding& other) { return one.first.seed < other.first.seed; });
}

campaign_result run_campaign(const campaign_options& options, strategy& deciding, const run_one& run) {
  const auto start = std::chrono::steady_clock::now();
  deciding.estimated(options.known_estimate != nullptr
                         ? options.known_estimate
                         : estimate_for(deciding, [&](choice_source& choices) { run(choices, false); }));
  campaign_result so_far;
  choice_source choices;
  while (goes_on(options, so_far)) {
    const uint64_t seed = options.first_seed + so_far.schedules;
    choices.begin(deciding, seed);
    const run_result result = run(choices, false);
    if (result.abandoned) break;
    digest of_run;
    of_run.add(seed);
    of_run.add(result.digest);
    ++so_far.schedules;
    so_far.steps += result.steps;
    so_far.library_steps += result.library_steps;
    for (const auto& [what, count] : result.excused) so_far.excused[what] += count;
    so_far.choices += choices.recorded().size();
    so_far.digest += of_run.value();
    if (result.behaviour != 0) {
      digest of_behaviour;
      of_behaviour.add(result.behaviour, static_cast<uint64_t>(result.outcome));
      so_far.seen.add(of_behaviour.value(), seed);
    }
    so_far.seconds = seconds_since(start);

    if (result.outcome != verdict::ok) {
      const failure how = failure::of(result);
      finding* const same = so_far.find(how);
      if (same != nullptr) {
        ++same->count;
      } else if (options.is_news && !options.is_news(how, seed)) {
        so_far.findings.push_back(counted(seed, result));
      } else {
        so_far.findings.push_back(explained(options, seed, result, choices.recorded(), run));
        so_far.stopped = options.found && !options.found(so_far.findings.back());
      }
    }
    if (options.progress) options.progress(so_far);
    if (so_far.stopped) break;
  }
  if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) so_far.stopped = true;
  so_far.seconds = seconds_since(start);
  return so_far;
}

bool is_same_place(std::string_view one, std::string_view other) {
  const std::string_view here = offset_in(one), there = offset_in(other);
  if (here.empty() && there.empty()) return one == other;
  return here.empty() || there.empty() ? !one.empty() && !other.empty() : here == there;
}

bool is_same_failure(const trace& recorded, const run_result& result) {
  failure now = failure::of(result);
  if (recorded.gist.empty()) now.gist.clear();
  // The names of variables that messages have are gone with the lines.
  if (offset_in(now.where).empty() != offset_in(recorded.where).empty()) now.gist = recorded.gist;
  if (is_same_place(now.where, recorded.where)) now.where = recorded.where;
  return now == failure::of(recorded);
}

replay_result run_again_elsewhere(const trace& recorded, const run_one& run, bool explain) {
  replay_strategy answers(recorded.answers);
  choice_source choices;
  choices.begin(answers, recorded.seed);
  replay_result again;
  again.result = run(choices, explain);
  again.disagreement = answers.disagreement();
  if (again.disagreement.empty() && !is_same_failure(recorded, again.result))
    again.disagreement = otherwise_ended(recorded, again.result);
  return again;
}

replay_result run_again(const trace& recorded, const run_one& run, bool explain) {
  replay_strategy answers(recorded.answers);
  choice_source choices;
  choices.begin(answers, recorded.seed);
  replay_result again;
  again.result = run(choices, explain);
  const run_result& result = again.result;
  again.disagreement = answers.disagreement();
  if (!again.disagreement.empty()) return again;
  if (result.abandoned) {
    again.disagreement = "the run that was to repeat it was stopped before its end";
    return again;
  }
  // Where a run that stands still is met does not depend on its choices alone.
  const bool at_same_place = is_same_place(result.where, recorded.where) || recorded.outcome == verdict::stuck;
  if (result.outcome != recorded.outcome || !at_same_place) {
    again.disagreement = otherwise_ended(recorded, result);
  } else if (result.digest != recorded.digest || result.steps != recorded.steps) {
    again.disagreement = "every choice agrees, but the steps do not (" + std::to_string(result.steps) +
                         " steps instead of " + std::to_string(recorded.steps) +
                         (result.steps == recorded.steps ? ", other values)" : ")");
  }
  return again;
}

}  // namespace heddle::scheduler
