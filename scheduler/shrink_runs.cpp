#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/shrink_parts.h>

#include <algorithm>
#include <string_view>

namespace heddle::scheduler::shrinking {
namespace {

/// The kind of an actor, its name without the number: "wave", "host server".
std::string_view kind_of(std::string_view actor) {
  const size_t number = actor.find_first_of("0123456789");
  return actor.substr(0, number);
}

/// Another strategy, for so many choices.
class limited_strategy final : public strategy {
 public:
  limited_strategy(strategy& deciding, uint64_t choices_max) : deciding_(deciding), choices_max_(choices_max) {}

  void begin(uint64_t seed) override { deciding_.begin(seed); }
  uint32_t pick(const choice& asked) override { return ++choices_ > choices_max_ ? no_answer : deciding_.pick(asked); }
  bool draws_end_game() const override { return deciding_.draws_end_game(); }
  bool looks_at_headway() const override { return deciding_.looks_at_headway(); }
  bool looks_at_steps() const override { return deciding_.looks_at_steps(); }
  void performed(const candidate& who) override { deciding_.performed(who); }
  std::string_view name() const override { return deciding_.name(); }

  bool was_stopped() const { return choices_ > choices_max_; }

 private:
  strategy& deciding_;
  uint64_t choices_max_;
  uint64_t choices_ = 0;
};

/// What is over this is larger.
run_limit limit_of(const failing_run& run) {
  constexpr uint64_t some = 64;
  const uint64_t turns = run.happened.turns.size() + some;
  return {.turns_max = turns, .choices_max = run.answers.size() + turns};
}

run_size size_of(const run_result& result, const schedule_notes& notes) {
  return {.steps = result.steps,
          .switches = result.switches,
          .preemptions = notes.preemptions(),
          .odd_answers = notes.noted().odd_count()};
}

}  // namespace

std::string failing_runs::begin(const setup& original) {
  const replay_result again = run_again(recorded_, original.run, false);
  if (!again.disagreement.empty()) return "not the recorded run: " + again.disagreement;
  failure_ = failure::of(again.result);
  auto first = noted(original, recorded_.answers);
  if (!first) return "not the recorded run: a second repetition differs";
  original_ = *first;
  for (const std::string& each : original_.result.waiting) kinds_waiting_.insert(std::string(kind_of(each)));
  std::string unknown;
  strategy_ = make_strategy(recorded_.strategy, unknown);
  if (strategy_ == nullptr) strategy_ = make_strategy("mix", unknown);
  return {};
}

bool failing_runs::may_run() {
  const bool stopped = options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  const bool late = options_.seconds_max > 0 && seconds() >= options_.seconds_max;
  if (stopped || late || spent_ >= options_.runs_max) exhausted_ = true;
  return !exhausted_ && spent_ < allowed_until_;
}

void failing_runs::count(const run_result& result) {
  ++runs_;
  spent_ += 1 + result.steps / shrink_options::steps_of_a_run;
}

bool failing_runs::is_same_failure(const run_result& result) const {
  return result.outcome == failure_.outcome && result.where == failure_.where &&
         (result.hang.empty() ? failure::of(result).gist == failure_.gist : !failure_.hang.empty());
}

bool failing_runs::fails_alike(const setup& under, const run_result& result) const {
  if (!is_same_failure(result)) return false;
  if (under.is_original) return result.waiting == original_.result.waiting;
  return result.waiting.empty() == kinds_waiting_.empty() &&
         std::all_of(result.waiting.begin(), result.waiting.end(),
                     [&](const std::string& each) { return kinds_waiting_.count(std::string(kind_of(each))) != 0; });
}

std::optional<failing_run> failing_runs::noted(const setup& under, const std::vector<answer>& answers) {
  noted_replay replayed(answers);
  choice_source choices;
  choices.begin(replayed, recorded_.seed);
  run_result result = under.run(choices, false);
  count(result);
  if (!replayed.agrees() || !is_same_failure(result)) return std::nullopt;
  const run_size size = size_of(result, replayed.notes());
  return failing_run{.happened = replayed.notes().noted(),
                     .deviating = replayed.notes().deviating(),
                     .answers = answers,
                     .result = std::move(result),
                     .size = size};
}

template <typename Plays, typename Wanted>
std::optional<failing_run> failing_runs::played_by(const setup& under, const Wanted& wanted,
                                                   const failing_run& larger) {
  Plays plays(wanted, limit_of(larger));
  choice_source choices;
  choices.begin(plays, recorded_.seed);
  run_result result = under.run(choices, false);
  count(result);
  if (plays.was_stopped() || !fails_alike(under, result)) return std::nullopt;
  const run_size size = size_of(result, plays.notes());
  return failing_run{.happened = plays.notes().noted(),
                     .deviating = plays.notes().deviating(),
                     .answers = choices.recorded(),
                     .result = std::move(result),
                     .size = size};
}

std::optional<failing_run> failing_runs::played(const setup& under, const schedule& wanted, const failing_run& larger) {
  return played_by<schedule_strategy>(under, wanted, larger);
}

std::optional<failing_run> failing_runs::played(const setup& under, const deviations& wanted,
                                                const failing_run& larger) {
  return played_by<deviating_strategy>(under, wanted, larger);
}

std::optional<failing_run> failing_runs::drawn(const setup& under, uint64_t seed) {
  choice_source choices;
  // Far larger runs than the trace are of no use.
  constexpr uint64_t times = 4;
  limited_strategy limited(*strategy_, times * limit_of(original_).choices_max);
  choices.begin(limited, seed);
  const run_result result = under.run(choices, false);
  count(result);
  if (limited.was_stopped() || !fails_alike(under, result)) return std::nullopt;
  return noted(under, choices.recorded());
}

void failing_runs::begin_draws(const setup& under) {
  strategy_->estimated(estimate_for(*strategy_, [&](choice_source& choices) { count(under.run(choices, false)); }));
}

}  // namespace heddle::scheduler::shrinking
