#include <heddle/scheduler/estimate.h>
#include <heddle/tools/fuzz/campaign/piece_worker.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/process/kept_output.h>
#include <heddle/tools/trial/explain.h>

namespace heddle::tools {
namespace {

using scheduler::choice;
using scheduler::strategy;

/// Answers as another strategy, and notes each answer where this copy's parent can read it, whatever becomes of the copy.
class logged_strategy final : public strategy {
 public:
  explicit logged_strategy(strategy& real) : real_(real) {}

  void begin(uint64_t seed) override {
    real_.begin(seed);
    streams_ = real_.answers_out_of();
    if (copy_page* const page = this_copy()) page->answers.store(0, std::memory_order_relaxed);
  }
  uint32_t pick(const choice& asked) override {
    const uint32_t picked = streams_ != nullptr ? streams_->of(asked.kind).below(asked.count) : real_.pick(asked);
    copy_page* const page = this_copy();
    if (page == nullptr || picked == scheduler::no_answer) return picked;
    const uint64_t index = page->answers.load(std::memory_order_relaxed);
    if (index < page->answers_max) page->log()[index] = {.kind = asked.kind, .count = asked.count, .picked = picked};
    // Pairs with the parent's acquire, when it looks at how the copy ended.
    page->answers.store(index + 1, std::memory_order_release);
    return picked;
  }
  bool draws_end_game() const override { return real_.draws_end_game(); }
  bool looks_at_headway() const override { return streams_ == nullptr && real_.looks_at_headway(); }
  bool looks_at_steps() const override { return streams_ == nullptr && real_.looks_at_steps(); }
  void performed(const scheduler::candidate& who) override { real_.performed(who); }
  std::string_view name() const override { return real_.name(); }

 private:
  strategy& real_;
  scheduler::choice_streams* streams_ = nullptr;
};

void note_complaint(copy_page& page, uint64_t seed, const std::string& line) {
  const uint64_t before = page.complaints.load(std::memory_order_relaxed);
  if (before == 0) {
    page.complaint_seed = seed;
    page.complaint[line.copy(page.complaint, sizeof page.complaint - 1)] = '\0';
  }
  page.complaints.store(before + 1, std::memory_order_relaxed);
}

}  // namespace

piece_worker::piece_worker(const scenario& tested, const parameters& settings, const std::string& strategy,
                           bool without_estimate)
    : tested_(tested),
      settings_(settings),
      strategy_(strategy),
      worker_(make_worker(strategy)),
      estimated_(without_estimate) {
  if (without_estimate) estimate_ = std::make_shared<const scheduler::estimate>();
}

void piece_worker::estimate() {
  if (estimated_) return;
  copy_page* const page = this_copy();
  if (page != nullptr) page->estimates.store(true, std::memory_order_relaxed);
  estimate_ = scheduler::estimate_for(*worker_->deciding, [&](scheduler::choice_source& choices) {
    run_scenario(worker_->machine, tested_, settings_, choices, false);
  });
  if (page != nullptr) page->estimates.store(false, std::memory_order_relaxed);
  estimated_ = true;
}

void piece_worker::learn(const scheduler::trace& found) {
  scheduler::campaign_result one;
  one.findings.emplace_back();
  scheduler::failure::of(found).note_in(one.findings[0].first);
  one.findings[0].first.seed = found.seed;
  known_.add(std::move(one));
}

scheduler::campaign_result piece_worker::run(const piece_to_run& asked,
                                             const std::function<bool(const scheduler::finding&)>& found) {
  estimate();
  for (const scheduler::finding& each : asked.known) learn(each.first);
  scheduler::campaign_options piece;
  piece.first_seed = asked.seeds.first;
  piece.schedules = asked.seeds.count;
  piece.seconds_max = asked.seconds_max;
  piece.known_estimate = estimate_;
  piece.header = trace_header(tested_, settings_, strategy_);
  piece.is_news = [&](const scheduler::failure& how, uint64_t seed) {
    const scheduler::finding* const same = known_.find(how);
    return same == nullptr || seed < same->first.seed;
  };
  piece.found = [&](const scheduler::finding& one) {
    learn(one.first);
    return found(one);
  };
  std::atomic<bool> stop = false;
  piece.stop = &stop;
  copy_page* const page = this_copy();
  const uint64_t stuck_before = page == nullptr ? 0 : page->watched.stuck_runs.load(std::memory_order_relaxed);
  piece.progress = [&](const scheduler::campaign_result& so_far) {
    if (page != nullptr) page->runs_of_piece.store(so_far.schedules, std::memory_order_relaxed);
    // A run that stood still took so long that the piece ends here: whether to go on is decided anew.
    const bool stood_still =
        page != nullptr && page->watched.stuck_runs.load(std::memory_order_relaxed) != stuck_before;
    if (stood_still || interrupt_flag().load(std::memory_order_relaxed)) stop.store(true, std::memory_order_relaxed);
  };
  // What is no program has its checks in its scenario.
  const bool is_program = page != nullptr && settings_.has("args");
  if (is_program) {
    page->complaints.store(0, std::memory_order_relaxed);
    kept_output::complaint();  // of the run for the estimate
  }
  return scheduler::run_campaign(piece, *worker_->deciding, [&](scheduler::choice_source& choices, bool explain) {
    scheduler::run_result made = run_or_explain(worker_->machine, tested_, settings_, choices, explain);
    if (is_program) {
      // Also where it is another run's, so that it is not taken for the next one's.
      const std::string line = kept_output::complaint();
      if (made.outcome == scheduler::verdict::ok && !explain && !line.empty())
        note_complaint(*page, choices.seed(), line);
    }
    if (interrupt_flag().load(std::memory_order_relaxed)) stop.store(true, std::memory_order_relaxed);
    return made;
  });
}

scheduler::finding piece_worker::explain(uint64_t seed, const std::function<void(const scheduler::finding&)>& told) {
  estimate();
  worker_->deciding->estimated(estimate_);
  logged_strategy logged(*worker_->deciding);
  scheduler::choice_source choices;
  choices.begin(logged, seed);
  const auto run = [&](scheduler::choice_source& by, bool explain) {
    return run_scenario(worker_->machine, tested_, settings_, by, explain);
  };
  const scheduler::run_result result = run(choices, true);
  scheduler::finding made;
  made.count = 1;
  made.first = trace_header(tested_, settings_, strategy_);
  made.first.seed = seed;
  scheduler::failure::of(result).note_in(made.first);
  made.first.digest = result.digest;
  made.first.steps = result.steps;
  made.first.answers = choices.recorded();
  made.message = result.message;
  made.report = result.report;
  // A process that a run may have damaged runs nothing more.
  copy_page* const page = this_copy();
  const bool may_run = page == nullptr || !page->watched.is_damaged.load(std::memory_order_relaxed);
  if (result.outcome == scheduler::verdict::ok || result.outcome == scheduler::verdict::stuck || !may_run) return made;
  // What follows tells more, and may be the end of this process.
  told(made);
  scheduler::replay_result again = scheduler::run_again(
      made.first,
      [&](scheduler::choice_source& by, bool explain) {
        return run_or_explain(worker_->machine, tested_, settings_, by, explain);
      },
      true);
  made.not_reproducible = std::move(again.disagreement);
  made.report = made.not_reproducible.empty() ? std::move(again.result.report) : "";
  return made;
}

}  // namespace heddle::tools
