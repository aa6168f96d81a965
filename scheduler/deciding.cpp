#include <heddle/scheduler/deciding.h>
#include <heddle/scheduler/schedule.h>

#include <algorithm>
#include <optional>

namespace heddle::scheduler {
namespace {

/// Gives recorded answers, and notes before which operation each choice was that was not answered by default.
class placing_replay final : public strategy {
 public:
  explicit placing_replay(const std::vector<answer>& recorded) : replayed_(recorded) {}

  void begin(uint64_t seed) override {
    replayed_.begin(seed);
    operations_ = 0;
    before_.clear();
  }
  uint32_t pick(const choice& asked) override {
    const uint32_t picked = replayed_.pick(asked);
    before_.resize(replayed_.notes().deviating().all.size(), operations_);
    return picked;
  }
  bool draws_end_game() const override { return replayed_.draws_end_game(); }
  bool looks_at_steps() const override { return true; }
  void performed(const candidate& who) override {
    ++operations_;
    replayed_.performed(who);
  }
  std::string_view name() const override { return replayed_.name(); }

  const noted_replay& replayed() const { return replayed_; }
  /// By deviation: how many operations came before it.
  const std::vector<uint64_t>& before() const { return before_; }

 private:
  noted_replay replayed_;
  uint64_t operations_ = 0;
  std::vector<uint64_t> before_;
};

class decider {
 public:
  decider(const trace& recorded, const run_one& run, const deciding_options& options)
      : recorded_(recorded), run_(run), options_(options) {}

  deciding_choices make() {
    placing_replay replayed(recorded_.answers);
    choice_source choices;
    choices.begin(replayed, recorded_.seed);
    const run_result result = run_(choices, false);
    count(result);
    if (!replayed.replayed().agrees() || failure::of(result) != failure::of(recorded_)) return made_;
    happened_ = replayed.replayed().notes().noted();
    deviating_ = replayed.replayed().notes().deviating();
    before_ = replayed.before();
    const uint64_t turns = happened_.turns.size();
    constexpr uint64_t times = 4;
    constexpr uint64_t some = 1000;
    limit_ = {.turns_max = times * turns + some, .choices_max = times * recorded_.answers.size() + some};

    const size_t odd = happened_.odd_count();
    if (odd != 0) among_odd_answers(odd);
    if (made_.all.empty()) among_turns();
    find_passing();
    return made_;
  }

 private:
  void count(const run_result& result) {
    ++made_.runs;
    steps_ += result.steps;
  }
  bool may_run() const {
    const bool stopped = options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
    return !stopped && made_.runs < options_.runs_max && steps_ < options_.steps_max;
  }

  /// Whether the run fails so; nothing where it was too long to be followed to its end.
  template <typename Plays, typename Wanted>
  std::optional<bool> fails(const Wanted& wanted) {
    Plays plays(wanted, limit_);
    choice_source choices;
    choices.begin(plays, recorded_.seed);
    const run_result result = run_(choices, false);
    count(result);
    if (plays.was_stopped()) return std::nullopt;
    note_if_passing(result, choices.recorded());
    return failure::of(result) == failure::of(recorded_);
  }

  /// The schedule with those of the odd answers alone whose number is marked.
  schedule with_odd(const std::vector<bool>& kept) const {
    schedule less = happened_;
    size_t number = 0;
    const auto cut = [&](std::vector<odd_answer>& odd) {
      std::erase_if(odd, [&](const odd_answer&) { return !kept[number++]; });
    };
    cut(less.before);
    for (turn& each : less.turns) cut(each.odd);
    return less;
  }

  deciding_choice odd_choice(size_t number) const {
    size_t n = 0;
    const auto among = [&](const std::vector<odd_answer>& odd) -> std::optional<deciding_choice> {
      if (number < n + odd.size()) return deciding_choice{.kind = odd[number - n].kind, .number = number};
      n += odd.size();
      return std::nullopt;
    };
    if (const auto found = among(happened_.before)) return *found;
    for (const turn& each : happened_.turns)
      if (const auto found = among(each.odd)) return *found;
    return {};
  }

  void among_odd_answers(size_t odd) {
    const auto fails_with = [&](const std::vector<bool>& kept) { return fails<schedule_strategy>(with_odd(kept)); };
    // Whether any of them matters.
    if (fails_with(std::vector<bool>(odd, false)) != false) return;
    if (odd < options_.runs_max / 2) {
      for (size_t n = 0; n < odd && may_run(); ++n)
        if (decides_alone(n, odd)) made_.all.push_back(odd_choice(n));
      if (!made_.all.empty()) return;
    }
    // None alone: as few as are needed.
    std::vector<bool> kept(odd, true);
    if (!leave_out(kept, fails_with)) return;
    made_.each_alone = false;
    for (size_t n = 0; n < odd; ++n)
      if (kept[n]) made_.all.push_back(odd_choice(n));
  }

  /// Whether the run does not fail without it, nor where the choices of its kind behind it in the turn are as many
  /// fewer: what it decided may be whether these are asked at all.
  bool decides_alone(size_t number, size_t odd) {
    std::vector<bool> kept(odd, true);
    kept[number] = false;
    const schedule without = with_odd(kept);
    if (fails<schedule_strategy>(without) != false) return false;
    constexpr uint32_t most_fewer = 2;
    for (uint32_t fewer = 1; fewer <= most_fewer && may_run(); ++fewer) {
      const schedule shifted = with_fewer_asked(without, number, fewer);
      if (shifted == without) return true;
      if (fails<schedule_strategy>(shifted) != false) return false;
    }
    return true;
  }

  /// The schedule without that odd answer, with those of its kind that came behind it in its turn moved to the front.
  schedule with_fewer_asked(schedule without, size_t number, uint32_t fewer) const {
    size_t n = 0;
    const auto shift = [&](const std::vector<odd_answer>& all, std::vector<odd_answer>& left) {
      if (number >= n && number < n + all.size()) {
        const odd_answer& gone = all[number - n];
        for (odd_answer& each : left)
          if (each.kind == gone.kind && each.ordinal > gone.ordinal) each.ordinal -= std::min(fewer, each.ordinal);
      }
      n += all.size();
    };
    shift(happened_.before, without.before);
    for (size_t place = 0; place < without.turns.size(); ++place)
      shift(happened_.turns[place].odd, without.turns[place].odd);
    return without;
  }

  /// Leaves out what is not needed, by halves; whether that came to its end.
  template <typename Fails>
  bool leave_out(std::vector<bool>& kept, const Fails& fails_with) {
    const size_t size = kept.size();
    for (size_t chunk = (size + 1) / 2; chunk != 0;) {
      bool fewer = false;
      for (size_t end = size; end != 0;) {
        const size_t first = end > chunk ? end - chunk : 0;
        std::vector<bool> less = kept;
        std::fill(less.begin() + static_cast<ptrdiff_t>(first), less.begin() + static_cast<ptrdiff_t>(end), false);
        if (less != kept) {
          if (!may_run()) return false;
          if (fails_with(less) == true) {
            kept = std::move(less);
            fewer = true;
          }
        }
        end = first;
      }
      if (chunk == 1 && !fewer) return true;
      chunk = chunk == 1 ? 1 : (chunk + 1) / 2;
    }
    return true;
  }

  void among_turns() {
    const auto with = [&](const std::vector<bool>& kept) {
      deviations less = {.end_game = deviating_.end_game};
      for (size_t n = 0; n < kept.size(); ++n)
        if (kept[n]) less.all.push_back(deviating_.all[n]);
      return less;
    };
    const auto fails_with = [&](const std::vector<bool>& kept) { return fails<deviating_strategy>(with(kept)); };
    const size_t all = deviating_.all.size();
    if (all == 0 || fails_with(std::vector<bool>(all, false)) != false) return;
    std::vector<bool> kept(all, true);
    if (!leave_out(kept, fails_with)) return;
    made_.each_alone = false;
    for (size_t n = 0; n < all; ++n) {
      const deviation& one = deviating_.all[n];
      if (!kept[n] || one.target == no_actor) continue;
      made_.all.push_back({.kind = choice_kind::actor, .number = before_[n], .actor = one.target, .after = one.actor});
    }
  }

  /// Whether the run ends well with the first of its deviations alone.
  bool passes_with(size_t count) {
    deviations less = deviating_;
    less.all.resize(count);
    deviating_strategy plays(less, limit_);
    choice_source choices;
    choices.begin(plays, recorded_.seed);
    const run_result result = run_(choices, false);
    ++passing_runs_;
    passing_steps_ += result.steps;
    if (plays.was_stopped() || result.abandoned || result.outcome != verdict::ok) return false;
    note_if_passing(result, choices.recorded());
    return true;
  }
  void note_if_passing(const run_result& result, const std::vector<answer>& answers) {
    if (result.outcome != verdict::ok || result.abandoned) return;
    const auto parted =
        std::mismatch(answers.begin(), answers.end(), recorded_.answers.begin(), recorded_.answers.end());
    const auto same = static_cast<uint64_t>(parted.first - answers.begin());
    if (!made_.passing.empty() && same <= passing_same_) return;
    made_.passing = answers;
    passing_same_ = same;
  }
  bool may_try_to_pass() const {
    constexpr uint64_t runs_most = 40;
    constexpr uint64_t steps_most = 1'000'000;
    const bool stopped = options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
    return !stopped && passing_runs_ < runs_most && passing_steps_ < steps_most;
  }
  void find_passing() {
    size_t good = 0;
    size_t bad = deviating_.all.size();
    if (bad == 0 || !may_try_to_pass() || !passes_with(0)) return;
    while (bad - good > 1 && may_try_to_pass()) {
      const size_t middle = good + (bad - good) / 2;
      (passes_with(middle) ? good : bad) = middle;
    }
  }

  const trace& recorded_;
  const run_one& run_;
  const deciding_options& options_;
  uint64_t passing_runs_ = 0;
  uint64_t passing_steps_ = 0;
  uint64_t passing_same_ = 0;  ///< so many first answers of the passing run are the recorded ones
  deciding_choices made_;
  uint64_t steps_ = 0;
  schedule happened_;
  deviations deviating_;
  std::vector<uint64_t> before_;
  run_limit limit_;
};

}  // namespace

deciding_choices find_deciding(const trace& recorded, const run_one& run, const deciding_options& options) {
  return decider(recorded, run, options).make();
}

}  // namespace heddle::scheduler
