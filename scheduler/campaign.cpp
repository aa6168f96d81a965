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

/// A finding that others have explained.
finding counted(uint64_t seed, const run_result& result) {
  finding made;
  made.first.seed = seed;
  made.first.outcome = result.outcome;
  made.first.where = result.where;
  made.first.hang = result.hang;
  made.count = 1;
  return made;
}

finding explained(const campaign_options& options, uint64_t seed, const run_result& result,
                  const std::vector<answer>& answers, const run_one& run) {
  finding made;
  made.count = 1;
  made.first = options.header;
  made.first.seed = seed;
  made.first.outcome = result.outcome;
  made.first.where = result.where;
  made.first.hang = result.hang;
  made.first.digest = result.digest;
  made.first.steps = result.steps;
  made.first.answers = answers;
  made.message = result.message;
  replay_result again = run_again(made.first, run, true);
  made.not_reproducible = std::move(again.disagreement);
  if (made.not_reproducible.empty()) made.report = std::move(again.result.report);
  return made;
}

}  // namespace

finding* campaign_result::find(const failure& how) {
  const auto same = std::find_if(findings.begin(), findings.end(),
                                 [&](const finding& known) { return failure::of(known.first) == how; });
  return same == findings.end() ? nullptr : &*same;
}

void campaign_result::add(campaign_result part) {
  schedules += part.schedules;
  steps += part.steps;
  choices += part.choices;
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
    if (result.abandoned && options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) break;
    digest of_run;
    of_run.add(seed);
    of_run.add(result.digest);
    ++so_far.schedules;
    so_far.steps += result.steps;
    so_far.choices += choices.recorded().size();
    so_far.digest += of_run.value();
    so_far.seconds = seconds_since(start);

    if (result.outcome != verdict::ok) {
      finding* const same = so_far.find(failure::of(result));
      if (same != nullptr) {
        ++same->count;
      } else if (options.is_news && !options.is_news(failure::of(result), seed)) {
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

replay_result run_again(const trace& recorded, const run_one& run, bool explain) {
  replay_strategy answers(recorded.answers);
  choice_source choices;
  choices.begin(answers, recorded.seed);
  replay_result again;
  again.result = run(choices, explain);
  const run_result& result = again.result;
  again.disagreement = answers.disagreement();
  if (!again.disagreement.empty()) return again;
  // Where a run that stands still is met does not depend on its choices alone.
  const bool at_same_place = result.where == recorded.where || recorded.outcome == verdict::stuck;
  if (result.outcome != recorded.outcome || !at_same_place) {
    again.disagreement = "every choice agrees, but the run ended with " + std::string(to_string(result.outcome)) +
                         (result.where.empty() ? "" : " at " + result.where) + " instead of " +
                         std::string(to_string(recorded.outcome)) +
                         (recorded.where.empty() ? "" : " at " + recorded.where);
  } else if (result.digest != recorded.digest || result.steps != recorded.steps) {
    again.disagreement = "every choice agrees, but the steps do not (" + std::to_string(result.steps) +
                         " steps instead of " + std::to_string(recorded.steps) +
                         (result.steps == recorded.steps ? ", other values)" : ")");
  }
  return again;
}

}  // namespace heddle::scheduler
