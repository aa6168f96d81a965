#include <heddle/scheduler/digest.h>
#include <heddle/scheduler/own_errors.h>
#include <heddle/tools/fuzz/campaign/jobs.h>
#include <heddle/tools/fuzz/campaign/piece_worker.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/process/kept_output.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace heddle::tools {

struct campaign_jobs::threads {
  threads(uint32_t count, const std::string& strategy)
      : allowed(tbb::global_control::max_allowed_parallelism, count),
        arena(static_cast<int>(count)),
        workers([strategy] { return make_worker(strategy); }) {}

  tbb::global_control allowed;  // also more threads than there are cores
  tbb::task_arena arena;
  tbb::enumerable_thread_specific<std::unique_ptr<campaign_worker>> workers;
};

std::unique_ptr<campaign_worker> make_worker(const std::string& strategy) {
  auto made = std::make_unique<campaign_worker>();
  std::string error;
  made->deciding = scheduler::make_strategy(strategy, error);
  return made;
}

campaign_jobs::campaign_jobs(uint32_t count, const std::string& strategy)
    : count_(count), threads_(std::make_unique<threads>(count, strategy)) {}

campaign_jobs::~campaign_jobs() = default;

void campaign_jobs::work_on(scenario_campaign& campaign) {
  using piece = std::pair<seed_range, scheduler::campaign_result>;
  const auto work = [&] {
    tbb::parallel_pipeline(
        size_t{count_},
        tbb::make_filter<void, seed_range>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
          const std::optional<seed_range> dealt = campaign.next();
          if (!dealt) control.stop();
          return dealt.value_or(seed_range{});
        }) & tbb::make_filter<seed_range, piece>(tbb::filter_mode::parallel, [&](seed_range dealt) {
          return piece{dealt, campaign.run(*threads_->workers.local(), dealt)};
        }) & tbb::make_filter<piece, void>(tbb::filter_mode::serial_out_of_order, [&](piece made) {
          campaign.add(made.first, std::move(made.second));
        }));
  };
  do {
    threads_->arena.execute(work);
  } while (campaign.holds_back());
  campaign.complete(*threads_->workers.local());
}

namespace {

// The first letter of what a copy sends.
constexpr char says_found = 'F';
constexpr char says_done = 'D';

constexpr uint64_t answers_logged_max = 4'000'000;
constexpr uint32_t kills_believed = 2;  ///< as often the same seed's copy may be killed from outside for other reasons
constexpr uint32_t early_ends_most = 3;

/// What one run adds to a campaign.
scheduler::campaign_result sum_of_one(uint64_t seed, const scheduler::finding& found, uint64_t steps, uint64_t choices,
                                      uint64_t digest) {
  scheduler::campaign_result made;
  made.schedules = 1;
  made.steps = steps;
  made.choices = choices;
  scheduler::digest of_run;
  of_run.add(seed);
  of_run.add(digest);
  made.digest = of_run.value();
  made.findings.push_back(found);
  return made;
}

scheduler::failure failure_of(const sudden_end& seen) {
  return scheduler::failure::of(
      scheduler::run_result{.outcome = seen.outcome, .where = seen.where, .message = seen.message, .hang = seen.hang});
}

scheduler::finding named(const sudden_end& seen, uint64_t seed) {
  scheduler::finding made;
  failure_of(seen).note_in(made.first);
  made.first.seed = seed;
  made.count = 1;
  return made;
}

}  // namespace

copied_jobs::copied_jobs(uint32_t count, std::string strategy)
    : count_(count), strategy_(std::move(strategy)), members_(count) {}

void copied_jobs::start(member& who, const scenario_campaign& campaign) {
  who.copy = std::make_unique<copied_process>(
      [&](const message_line& line) {
        const kept_output keeps;
        piece_worker worker(campaign.tested(), campaign.settings(), strategy_, without_estimate_);
        while (true) {
          const piece_to_run asked = piece_to_run_of(line.receive());
          piece_done done{.number = asked.number, .result = {}};
          done.result = worker.run(asked, [&](const scheduler::finding& found) {
            line.send(says_found + to_text(piece_found{.number = asked.number, .found = found}));
            // The next seed is started when this one's trace is on the disk.
            return line.receive() == "1";
          });
          line.send(says_done + to_text(done));
        }
      },
      copied_process::options{.seeds_come_once = true});
}

/// Whether there were seeds to deal out.
bool copied_jobs::deal(member& who, scenario_campaign& campaign) {
  const std::optional<seed_range> seeds = campaign.next();
  if (!seeds) return false;
  if (who.copy == nullptr) {
    start(who, campaign);
    who.stuck_runs = 0;
  }
  if (!who.copy->error().empty()) {
    campaign.give_up(who.copy->error());
    campaign.add(*seeds, {});
    who.copy = nullptr;
    return false;
  }
  who.works = true;
  who.seeds = *seeds;
  who.runs_shown = 0;
  who.found.clear();
  who.copy->send(to_text(piece_to_run{.scenario = campaign.tested().name,
                                      .strategy = strategy_,
                                      .seeds = *seeds,
                                      .seconds_max = campaign.seconds_left(),
                                      .known = campaign.known()}));
  return true;
}

void copied_jobs::take_messages(member& who, scenario_campaign& campaign) {
  while (const std::optional<std::string> text = who.copy->receive()) {
    ended_early_ = 0;
    if (text->front() == says_found) {
      scheduler::finding found = piece_found_of(text->substr(1)).found;
      const bool goes_on = campaign.keep(found);
      who.found.push_back(std::move(found));
      who.copy->send(goes_on ? "1" : "0");
      continue;
    }
    piece_done done = piece_done_of(text->substr(1));
    if (const copy_page& page = who.copy->page(); campaign.is_late() && done.result.schedules < who.seeds.count)
      if (who.copy->has_ended_a_run())
        campaign.cut_short(page.seed.load(std::memory_order_relaxed),
                           page.watched.steps.load(std::memory_order_relaxed));
    const uint64_t stuck_runs = who.copy->page().watched.stuck_runs.load(std::memory_order_relaxed);
    if (stuck_runs != who.stuck_runs)
      for (const scheduler::finding& each : done.result.findings)
        if (each.first.outcome == scheduler::verdict::stuck) campaign.stood_still(each.count);
    who.stuck_runs = stuck_runs;
    campaign.made_runs(static_cast<int64_t>(done.result.schedules) - static_cast<int64_t>(who.runs_shown));
    if (const copy_page& page = who.copy->page(); page.complaints.load(std::memory_order_relaxed) != 0)
      campaign.complained({.count = page.complaints, .seed = page.complaint_seed, .line = page.complaint});
    campaign.add(who.seeds, std::move(done.result));
    who.works = false;
  }
  if (!who.works) return;
  campaign.made_steps(who.copy->page().watched.steps.load(std::memory_order_relaxed));
  const uint64_t runs = who.copy->page().runs_of_piece.load(std::memory_order_relaxed);
  if (runs > who.runs_shown && runs < who.seeds.count) {
    campaign.made_runs(static_cast<int64_t>(runs - who.runs_shown));
    who.runs_shown = runs;
  }
}

/// The copy was stopped in the middle of its piece, which it has not summed up: what it has found is not lost.
void copied_jobs::finish_stopped(member& who, scenario_campaign& campaign) {
  for (const scheduler::finding& each : who.found)
    campaign.add({each.first.seed, 1},
                 sum_of_one(each.first.seed, each, each.first.steps, each.first.answers.size(), each.first.digest));
}

void copied_jobs::give_up(member& who, scenario_campaign& campaign) {
  campaign.add(who.seeds, {});  // none of them has been run
  if (++ended_early_ >= early_ends_most)
    campaign.give_up("copies of this program end before they have run a schedule: " + who.copy->how_it_ended().message);
}

/// The copy has ended in the middle of its piece, by what it ran or from outside.
void copied_jobs::look_back(member& who, scenario_campaign& campaign) {
  campaign.made_runs(-static_cast<int64_t>(who.runs_shown));
  who.works = false;
  if (who.copy->was_stopped() && campaign.is_late())
    campaign.cut_short(who.copy->page().seed.load(std::memory_order_relaxed),
                       who.copy->page().watched.steps.load(std::memory_order_relaxed));
  if (who.copy->was_stopped() || interrupt_flag().load(std::memory_order_relaxed)) return finish_stopped(who, campaign);
  const sudden_end seen = who.copy->how_it_ended();
  if (who.copy->page().estimates.load(std::memory_order_relaxed)) {
    constexpr uint64_t of_estimate = ~uint64_t{0};
    // All copies do without: what a seed means must not depend on the copy that runs it.
    if (!seen.was_killed || ++killed_[of_estimate] > kills_believed) without_estimate_ = true;
    return campaign.add(who.seeds, {});
  }
  const uint64_t seed = seen.seed;
  const bool known = seen.tested != nullptr && seed - who.seeds.first < who.seeds.count;
  if (!known) return give_up(who, campaign);
  ended_early_ = 0;
  if (seen.was_killed && !seen.is_told && ++killed_[seed] <= kills_believed) {
    // Most likely it was killed from outside, as a system does that is short of memory.
    dprintf(scheduler::own_errors, "heddle: a process of this campaign was killed; its schedules are run again\n");
    return campaign.add(who.seeds, {});
  }
  scheduler::finding found = named(seen, seed);
  uint64_t steps = seen.steps, choices = seen.choices, digest = seen.digest;
  if (!seen.is_told || campaign.is_news(scheduler::failure::of(found.first), seed)) {
    found = explain(seed, seen, campaign);
    if (!seen.is_told) {
      steps = found.first.steps;
      choices = found.first.answers.size();
      digest = found.first.digest;
    }
    campaign.keep(found);
  }
  // The others of the piece are run again.
  const uint64_t before = seed - who.seeds.first;
  campaign.add({seed + 1, who.seeds.count - before - 1}, {});
  campaign.add({who.seeds.first, before}, {});
  if (found.first.outcome == scheduler::verdict::stuck) campaign.stood_still(1);
  campaign.add({seed, 1}, sum_of_one(seed, found, steps, choices, digest));
}

/// Runs the seed once more, alone in a copy of its own, to have its choices, and its report.
scheduler::finding copied_jobs::explain(uint64_t seed, const sudden_end& seen, scenario_campaign& campaign) {
  const bool stands_still = seen.outcome == scheduler::verdict::stuck;
  copied_process copy(
      [&](const message_line& line) {
        const kept_output keeps;
        piece_worker worker(campaign.tested(), campaign.settings(), strategy_, without_estimate_);
        const auto tell = [&](const scheduler::finding& one) { line.send(to_text(piece_found{.found = one})); };
        tell(worker.explain(seed, tell));
      },
      {.survives_damage = true,
       .answers_logged = answers_logged_max,
       .stood_still = stands_still && seen.is_told ? std::optional(standstill{seed, seen.steps}) : std::nullopt});
  std::optional<std::string> said;
  while (true) {
    const bool over = copy.has_ended();
    while (std::optional<std::string> more = copy.receive()) said = std::move(more);
    if (over) break;
    wait_for_any({&copy});
  }
  scheduler::finding made;
  const sudden_end again = copy.how_it_ended();
  // What a process tells whose heap may be damaged may be damaged, too. What it has noted beside its heap is not.
  if (said && !again.is_doubtful) {
    made = piece_found_of(*said).found;
  } else {
    made.first = trace_header(campaign.tested(), campaign.settings(), strategy_);
    made.first.seed = seed;
    failure_of(again).note_in(made.first);
    made.first.steps = again.steps;
    made.first.digest = again.digest;
    made.first.answers = again.answers;
    made.message = again.message;
    made.report = again.report;
    made.count = 1;
  }
  const bool same = made.first.outcome == seen.outcome && (made.first.where == seen.where || stands_still) &&
                    made.first.hang == seen.hang;
  if (same && !stands_still) return made;
  // What a damaged heap hits, and where that shows, depends on where its blocks lie: another place in each process. What a fresh
  // process shows is what a replay is going to show.
  const bool both_crash = made.first.outcome == scheduler::verdict::crash && seen.outcome == scheduler::verdict::crash;
  if (!same && both_crash && seen.is_told && (seen.is_doubtful || again.is_doubtful)) {
    made.report += "in the process of the campaign the same schedule ended " +
                   (seen.where.empty() ? "" : "at " + seen.where + " ") + "with " + seen.message + '\n';
    return made;
  }
  if (!same) {
    made.not_reproducible = "alone in a fresh process its seed ends with " +
                            std::string(to_string(made.first.outcome)) +
                            (made.first.where.empty() ? "" : " at " + made.first.where) +
                            "; an earlier schedule may have damaged the memory of the process";
    made.report = seen.report;
    made.message = seen.message;
  }
  failure_of(seen).note_in(made.first);
  return made;
}

void copied_jobs::work_on(scenario_campaign& campaign) {
  run_all(campaign, [] {});
  complete(campaign);
}

void copied_jobs::run_all(scenario_campaign& campaign, const std::function<void()>& after_look) {
  without_estimate_ = false;
  killed_.clear();
  ended_early_ = 0;
  while (true) {
    std::vector<copied_process*> busy;
    for (member& each : members_) {
      if (!each.works) deal(each, campaign);
      if (each.works) busy.push_back(each.copy.get());
    }
    if (busy.empty()) break;
    wait_for_any(busy);
    if (campaign.is_late())
      for (copied_process* each : busy) each->end_runs();
    after_look();
    for (member& each : members_) {
      if (!each.works) continue;
      const bool over = each.copy->has_ended();
      take_messages(each, campaign);
      if (!over) continue;
      if (each.works) look_back(each, campaign);
      each.copy = nullptr;
    }
  }
  for (member& each : members_) each.copy = nullptr;
}

void copied_jobs::complete(scenario_campaign& campaign) {
  for (const scheduler::finding& each : campaign.unexplained()) {
    if (interrupt_flag().load(std::memory_order_relaxed)) return;
    sudden_end seen;
    seen.outcome = each.first.outcome;
    seen.where = each.first.where;
    seen.hang = each.first.hang;
    seen.message = each.message;
    scheduler::finding made = explain(each.first.seed, seen, campaign);
    scheduler::failure::of(each.first).note_in(made.first);  // a journal has the gist of the message alone
    campaign.explained(each, std::move(made));
  }
}

std::unique_ptr<campaign_crew> make_crew(uint32_t jobs, const std::string& strategy) {
  if (care_of_runs().in_process || this_copy() != nullptr) return std::make_unique<campaign_jobs>(jobs, strategy);
  return std::make_unique<copied_jobs>(jobs, strategy);
}

}  // namespace heddle::tools
