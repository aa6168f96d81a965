#include <heddle/scheduler/digest.h>
#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/schedule.h>
#include <heddle/scheduler/shrink.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_set>

namespace heddle::scheduler {
namespace {

/// A run that fails as it should.
struct failing_run {
  schedule happened;
  deviations deviating;
  std::vector<answer> answers;
  run_result result;
  run_size size;
};

/// Settings under which the failure is looked for.
struct setup {
  setting_values settings;
  run_one run;
  bool is_original = true;
};

/// What counts, in one number, and what decides where that is equal.
std::tuple<uint64_t, uint64_t, uint64_t> cost_of(const run_size& size) {
  return {size.steps + size.switches + size.odd_answers, size.preemptions, size.steps};
}

bool is_smaller(const run_size& one, const run_size& other) { return cost_of(one) < cost_of(other); }

/// The kind of an actor, its name without the number: "wave", "host server".
std::string_view kind_of(std::string_view actor) {
  const size_t number = actor.find_first_of("0123456789");
  return actor.substr(0, number);
}

uint64_t digest_of(const schedule& played) {
  digest all;
  const auto add = [&](const std::vector<odd_answer>& odd) {
    all.add(odd.size());
    for (const odd_answer& each : odd) all.add(static_cast<uint64_t>(each.kind), each.ordinal, each.picked);
  };
  for (const answer& each : played.end_game) all.add(each.count, each.picked);
  add(played.before);
  for (const turn& each : played.turns) {
    all.add(each.actor);
    add(each.odd);
  }
  return all.value();
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

class shrinker {
 public:
  shrinker(const trace& recorded, const shrink_options& options)
      : recorded_(recorded), options_(options), start_(std::chrono::steady_clock::now()) {}

  shrunk make(const run_one& run) {
    const setup original = {.settings = recorded_.parameters, .run = run};
    shrunk made;
    made.smallest = recorded_;
    if (recorded_.outcome == verdict::ok || recorded_.outcome == verdict::budget) {
      made.error = "there is nothing to shrink: the recorded run ended with verdict " +
                   std::string(to_string(recorded_.outcome));
      return made;
    }
    const replay_result again = run_again(recorded_, run, false);
    if (!again.disagreement.empty()) {
      made.error = "not the recorded run: " + again.disagreement;
      return made;
    }
    failure_ = failure::of(again.result);
    auto first = noted(original, recorded_.answers);
    if (!first) {
      made.error = "not the recorded run: a second repetition differs";
      return made;
    }
    original_ = seen_ = *first;
    for (const std::string& each : original_.result.waiting) kinds_waiting_.insert(std::string(kind_of(each)));
    strategy_ = make_strategy(recorded_.strategy, made.error);
    if (strategy_ == nullptr) strategy_ = make_strategy("mix", made.error);
    made.error.clear();

    setup best_setup = original;
    reduce_settings(best_setup);
    failing_run best = smallest_under(best_setup);
    if (!fits(best.size)) {
      best_setup = original;
      best = original_;
      minimise(best_setup, best, false);
    }

    fill(made, best_setup, best);
    return made;
  }

 private:
  // -- runs --------------------------------------------------------------------------------------------------------------------------

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  bool may_run() {
    const bool stopped = options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
    const bool late = options_.seconds_max > 0 && seconds() >= options_.seconds_max;
    if (stopped || late || spent_ >= options_.runs_max) exhausted_ = true;
    return !exhausted_ && spent_ < allowed_until_;
  }

  /// While it lives, may_run() allows no more than this part of all runs.
  class allowance {
   public:
    allowance(shrinker& of, uint64_t part) : of_(of), before_(of.allowed_until_) {
      of_.allowed_until_ = std::min(before_, of_.spent_ + std::max<uint64_t>(1, of_.options_.runs_max / part));
    }
    ~allowance() { of_.allowed_until_ = before_; }
    allowance(const allowance&) = delete;
    allowance& operator=(const allowance&) = delete;

   private:
    shrinker& of_;
    uint64_t before_;
  };

  void count(const run_result& result) {
    ++runs_;
    spent_ += 1 + result.steps / shrink_options::steps_of_a_run;
  }

  /// What is over this is larger.
  static run_limit limit_of(const failing_run& run) {
    constexpr uint64_t some = 64;
    const uint64_t turns = run.happened.turns.size() + some;
    return {.turns_max = turns, .choices_max = run.answers.size() + turns};
  }

  bool fits(const run_size& size) const {
    return size.steps <= original_.size.steps && size.switches <= original_.size.switches;
  }

  /// The actors that wait may be others.
  bool is_same_failure(const run_result& result) const {
    return result.outcome == failure_.outcome && result.where == failure_.where &&
           (result.hang.empty() ? failure::of(result).gist == failure_.gist : !failure_.hang.empty());
  }

  bool fails_alike(const setup& under, const run_result& result) const {
    if (!is_same_failure(result)) return false;
    if (under.is_original) return result.waiting == original_.result.waiting;
    return result.waiting.empty() == kinds_waiting_.empty() &&
           std::all_of(result.waiting.begin(), result.waiting.end(),
                       [&](const std::string& each) { return kinds_waiting_.count(std::string(kind_of(each))) != 0; });
  }

  static run_size size_of(const run_result& result, const schedule_notes& notes) {
    return {.steps = result.steps,
            .switches = result.switches,
            .preemptions = notes.preemptions(),
            .odd_answers = notes.noted().odd_count()};
  }

  /// The run with these answers; nothing when it does not fail as it should.
  std::optional<failing_run> noted(const setup& under, const std::vector<answer>& answers) {
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

  /// The run that comes of a schedule, or of deviations; nothing when it does not fail as it should, or is far larger.
  template <typename Plays, typename Wanted>
  std::optional<failing_run> played_by(const setup& under, const Wanted& wanted, const failing_run& larger) {
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
  std::optional<failing_run> played(const setup& under, const schedule& wanted, const failing_run& larger) {
    return played_by<schedule_strategy>(under, wanted, larger);
  }
  std::optional<failing_run> played(const setup& under, const deviations& wanted, const failing_run& larger) {
    return played_by<deviating_strategy>(under, wanted, larger);
  }

  /// The run of a seed; nothing when it does not fail as it should.
  std::optional<failing_run> drawn(const setup& under, uint64_t seed) {
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

  // -- settings ----------------------------------------------------------------------------------------------------------------------

  static std::string* value_of(setting_values& settings, const std::string& key) {
    const auto found =
        std::find_if(settings.begin(), settings.end(), [&](const auto& each) { return each.first == key; });
    return found == settings.end() ? nullptr : &found->second;
  }

  static int64_t number_of(setting_values& settings, const std::string& key) {
    const std::string* const value = value_of(settings, key);
    return value == nullptr ? 0 : std::strtoll(value->c_str(), nullptr, 10);
  }

  /// How far runs under other settings are made smaller before they are compared.
  enum class care : uint8_t {
    none,  ///< as seeds give them: quick, and good enough for programs that are far too large
    some,  ///< without what they clearly do not need
  };

  /// Takes the values if the failure can be had with them, in a run that is hardly larger.
  bool take_if_failing(setup& current, const setting_values& values) {
    if (values == current.settings || !may_run() || !settings_tried_.insert(values).second) return false;
    if (settings_without_failure_.count(values) != 0) return false;
    setup tried = {.settings = values, .run = options_.with_settings(values), .is_original = false};
    if (tried.run == nullptr) return false;
    std::optional<failing_run> small = smallest_of(tried);
    if (!small && may_run()) settings_without_failure_.insert(values);
    if (!small) return false;
    if (total(small->size) > total(seen_.size) + total(seen_.size) / 8) return false;
    seen_ = std::move(*small);
    current = std::move(tried);
    return true;
  }

  static uint64_t total(const run_size& size) { return std::get<0>(cost_of(size)); }

  /// The smallest run of the schedule seen last and of some seeds; nothing when none fails.
  std::optional<failing_run> smallest_of(const setup& under) {
    std::optional<failing_run> best = played(under, seen_.happened, original_);
    {
      const allowance seeds_only(*this, part_for_a_setting);
      begin_draws(under);
      uint32_t hits = 0;
      for (uint64_t seed = 1; seed <= seeds_for_a_setting && hits < hits_for_a_setting && may_run(); ++seed) {
        auto hit = drawn(under, seed);
        if (hit) ++hits;
        if (hit && (!best || is_smaller(hit->size, best->size))) best = std::move(hit);
      }
    }
    if (best && care_ == care::some) {
      const allowance some(*this, part_for_a_setting);
      tried_.clear();
      leave_out_deviations(under, *best, false);
      leave_out_turns(under, *best);
    }
    return best;
  }

  /// To be called before runs of seeds under other settings.
  void begin_draws(const setup& under) {
    strategy_->estimated(estimate_for(*strategy_, [&](choice_source& choices) { count(under.run(choices, false)); }));
  }

  /// Roughly first: what is far too large cannot be afforded to be made smaller otherwise.
  void reduce_settings(setup& current) {
    if (options_.with_settings == nullptr || options_.reducibles.empty()) return;
    for (const care how : {care::none, care::some}) {
      care_ = how;
      settings_tried_.clear();
      if (auto small = smallest_of(current); small && total(small->size) <= total(seen_.size))
        seen_ = std::move(*small);
      reduce_all_settings(current);
    }
  }

  /// All to their least values, else all together by halves, and then one after the other, as far as it goes.
  void reduce_all_settings(setup& current) {
    const auto together = [&](auto value_for) {
      setting_values less = current.settings;
      for (const reducible& each : options_.reducibles) {
        const int64_t now = number_of(less, each.key);
        const int64_t value = allowed_from(each, value_for(each, now));
        if (value < now) *value_of(less, each.key) = std::to_string(value);
      }
      return take_if_failing(current, less);
    };
    if (together([](const reducible& each, int64_t) { return each.minimum; })) return;
    while (together([](const reducible& each, int64_t now) { return std::max(each.minimum, now / 2); })) {
    }
    bool changed = true;
    while (changed && may_run()) {
      changed = false;
      for (const reducible& each : options_.reducibles) changed = reduce(current, each) || changed;
    }
  }

  /// The value that there is next to the number, upwards.
  static int64_t allowed_from(const reducible& what, int64_t number) {
    if (what.allowed.empty()) return number;
    const auto next = std::lower_bound(what.allowed.begin(), what.allowed.end(), number);
    return next == what.allowed.end() ? std::numeric_limits<int64_t>::max() : *next;
  }

  /// The least value, else by halves towards it. Whether anything has changed.
  bool reduce(setup& current, const reducible& what) {
    if (value_of(current.settings, what.key) == nullptr) return false;
    bool changed = false;
    int64_t too_low = what.minimum - 1;  // fails not, or has not been tried
    for (uint32_t tries = 0; tries < tries_for_a_setting && may_run(); ++tries) {
      const int64_t high = number_of(current.settings, what.key);
      const int64_t value = allowed_from(what, tries == 0 ? what.minimum : too_low + (high - too_low + 1) / 2);
      if (value >= high) break;
      setting_values tried = current.settings;
      *value_of(tried, what.key) = std::to_string(value);
      if (take_if_failing(current, tried))
        changed = true;
      else
        too_low = value;
    }
    return changed;
  }

  // -- schedules ---------------------------------------------------------------------------------------------------------------------

  /// Many seeds, the smallest few of their runs made smaller, and the smallest of these.
  failing_run smallest_under(const setup& under) {
    std::vector<failing_run> starts;
    if (auto again = played(under, seen_.happened, original_)) starts.push_back(std::move(*again));
    if (under.is_original) starts.push_back(original_);
    const auto add = [&](failing_run found) {
      const auto place = std::find_if(starts.begin(), starts.end(),
                                      [&](const failing_run& each) { return is_smaller(found.size, each.size); });
      starts.insert(place, std::move(found));
      if (starts.size() > starts_max) starts.pop_back();
    };
    if (starts.empty()) starts.push_back(seen_);
    begin_draws(under);
    const uint64_t until = spent_ + options_.runs_max / 5;
    for (uint64_t seed = 1; spent_ < until && may_run(); ++seed)
      if (auto hit = drawn(under, seed)) add(std::move(*hit));
    failing_run best = starts.front();
    // The two ways end in different places. The smallest goes both, the others take turns.
    starts.insert(starts.begin(), starts.front());
    for (size_t n = 0; n < starts.size() && may_run(); ++n) {
      minimise(under, starts[n], n % 2 == 1);
      if (is_smaller(starts[n].size, best.size)) best = std::move(starts[n]);
    }
    return best;
  }

  void minimise(const setup& under, failing_run& best, bool may_grow) {
    tried_.clear();
    leave_out_deviations(under, best, may_grow);
    bool smaller = true;
    while (smaller && may_run()) {
      smaller = leave_out_end_game(under, best);
      smaller = leave_out_turns(under, best) || smaller;
      smaller = leave_out_odd_answers(under, best) || smaller;
      smaller = move_segments(under, best) || smaller;
      if (options_.progress) options_.progress(best.size, runs_);
    }
  }

  /// Takes what comes of the schedule if it is smaller.
  bool take_if_smaller(const setup& under, failing_run& best, const schedule& wanted) {
    if (!tried_.insert(digest_of(wanted)).second || !may_run()) return false;
    auto run = played(under, wanted, best);
    if (!run || !is_smaller(run->size, best.size)) return false;
    best = std::move(*run);
    return true;
  }

  /// Fewer decisions first (ddmin): what is left are those that the failure needs, and the rest is quickly told from
  /// them. `may_grow`: also where the run gets longer.
  void leave_out_deviations(const setup& under, failing_run& best, bool may_grow) {
    for (size_t chunk = (best.deviating.all.size() + 1) / 2; chunk != 0;) {
      bool fewer = false;
      for (size_t end = best.deviating.all.size(); end != 0 && may_run();) {
        const size_t first = end > chunk ? end - chunk : 0;
        deviations less = best.deviating;
        less.all.erase(less.all.begin() + static_cast<ptrdiff_t>(first),
                       less.all.begin() + static_cast<ptrdiff_t>(end));
        auto run = played(under, less, original_);
        const bool fewer_decisions = run && run->deviating.all.size() < best.deviating.all.size();
        if (fewer_decisions && (may_grow ? fits(run->size) : total(run->size) <= total(best.size))) {
          best = std::move(*run);
          fewer = true;
        }
        end = std::min(first, best.deviating.all.size());
      }
      if (!may_run()) return;
      if (!fewer) chunk = chunk == 1 ? 0 : (chunk + 1) / 2;
    }
  }

  bool leave_out_end_game(const setup& under, failing_run& best) {
    if (best.happened.end_game.empty()) return false;
    schedule without = best.happened;
    without.end_game.clear();
    bool smaller = take_if_smaller(under, best, without);
    for (size_t index = 0; index < best.happened.end_game.size(); ++index) {
      for (uint32_t picked = 0; index < best.happened.end_game.size() && picked < best.happened.end_game[index].picked;
           picked = picked * 2 + 1) {
        schedule other = best.happened;
        other.end_game[index].picked = picked;
        if (!take_if_smaller(under, best, other)) continue;
        smaller = true;
        break;
      }
    }
    return smaller;
  }

  /// Chunks of [first, end), from half of all down to the length that is given, from the end to the beginning.
  template <typename Range, typename Without>
  bool leave_out(const setup& under, failing_run& best, size_t least, Range range, Without without) {
    bool smaller = false;
    const auto [begin, all_end] = range(best.happened);
    for (size_t chunk = (all_end - begin + 1) / 2; chunk >= least; chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
      size_t end = range(best.happened).second;
      while (end > begin && may_run()) {
        const size_t first = end - begin > chunk ? end - chunk : begin;
        smaller = take_if_smaller(under, best, without(best.happened, first, end)) || smaller;
        end = std::min(first, range(best.happened).second);
      }
      if (chunk == least) break;
    }
    return smaller;
  }

  static schedule without_turns(const schedule& from, size_t first, size_t end) {
    schedule less = from;
    less.turns.erase(less.turns.begin() + static_cast<ptrdiff_t>(first),
                     less.turns.begin() + static_cast<ptrdiff_t>(end));
    return less;
  }

  /// What comes before the first choice and behind the last one is as it is.
  static std::pair<size_t, size_t> turns_with_choices(const schedule& from) {
    const auto asked = [](const turn& each) { return each.asked; };
    const auto first = std::find_if(from.turns.begin(), from.turns.end(), asked);
    const auto last = std::find_if(from.turns.rbegin(), from.turns.rend(), asked);
    const auto begin = static_cast<size_t>(first - from.turns.begin());
    return {begin, std::max(begin, static_cast<size_t>(from.turns.rend() - last))};
  }

  bool leave_out_turns(const setup& under, failing_run& best) {
    bool smaller = leave_out(under, best, 2, turns_with_choices, without_turns);
    // A turn without a choice comes again when it is left out alone.
    for (size_t index = best.happened.turns.size(); index-- != 0 && may_run();)
      if (index < best.happened.turns.size() && best.happened.turns[index].asked)
        smaller = take_if_smaller(under, best, without_turns(best.happened, index, index + 1)) || smaller;
    return smaller;
  }

  bool leave_out_odd_answers(const setup& under, failing_run& best) {
    return leave_out(
        under, best, 1,
        [](const schedule& from) { return std::pair(size_t{0}, static_cast<size_t>(from.odd_count())); },
        [](const schedule& from, size_t first, size_t end) {
          schedule less = from;
          size_t index = 0;
          const auto cut = [&](std::vector<odd_answer>& odd) {
            std::erase_if(odd, [&](const odd_answer&) {
              const bool is_cut = index >= first && index < end;
              ++index;
              return is_cut;
            });
          };
          cut(less.before);
          for (turn& each : less.turns) cut(each.odd);
          return less;
        });
  }

  /// Turns in a row of one actor, [first, end).
  struct segment {
    size_t first = 0;
    size_t end = 0;
    uint32_t actor = 0;
  };

  static std::vector<segment> segments_of(const schedule& from) {
    std::vector<segment> all;
    for (size_t index = 0; index < from.turns.size(); ++index) {
      if (all.empty() || all.back().actor != from.turns[index].actor)
        all.push_back({.first = index, .end = index, .actor = from.turns[index].actor});
      all.back().end = index + 1;
    }
    return all;
  }

  /// Leaves out what an actor does in a row, or from there on; moves it before or behind what others do, where its own turns are.
  bool move_segments(const setup& under, failing_run& best) {
    bool smaller = false;
    for (size_t place = segments_of(best.happened).size(); place-- != 0 && may_run();) {
      const std::vector<segment> all = segments_of(best.happened);
      if (place >= all.size()) continue;
      const segment here = all[place];
      const auto [begin, end] = turns_with_choices(best.happened);
      if (here.end <= begin || here.first >= end) continue;
      const auto at = [](schedule& of, size_t index) { return of.turns.begin() + static_cast<ptrdiff_t>(index); };

      schedule other = best.happened;
      other.turns.erase(at(other, here.first), at(other, here.end));
      bool taken = take_if_smaller(under, best, other);
      if (!taken) {
        other = best.happened;
        other.turns.erase(std::remove_if(at(other, here.first), other.turns.end(),
                                         [&](const turn& each) { return each.actor == here.actor; }),
                          other.turns.end());
        taken = take_if_smaller(under, best, other);
      }
      // To the next segment of the same actor, which comes later, or that one to this.
      size_t same = place + 1;
      while (same < all.size() && all[same].actor != here.actor) ++same;
      if (!taken && same < all.size()) {
        other = best.happened;
        std::rotate(at(other, here.first), at(other, here.end), at(other, all[same].first));
        taken = take_if_smaller(under, best, other);
        if (!taken) {
          other = best.happened;
          std::rotate(at(other, here.end), at(other, all[same].first), at(other, all[same].end));
          taken = take_if_smaller(under, best, other);
        }
      }
      // Before the one that comes before it.
      if (!taken && place != 0) {
        other = best.happened;
        std::rotate(at(other, all[place - 1].first), at(other, here.first), at(other, here.end));
        taken = take_if_smaller(under, best, other);
      }
      smaller = smaller || taken;
    }
    return smaller;
  }

  // -- the result --------------------------------------------------------------------------------------------------------------------

  void fill(shrunk& made, const setup& under, failing_run& best) {
    trace& small = made.smallest;
    small.parameters = under.settings;
    small.answers = std::move(best.answers);
    small.steps = best.result.steps;
    small.where = failure_.where;
    small.hang = best.result.hang;
    small.gist = failure_.gist;
    small.digest = best.result.digest;
    if (small.answers != recorded_.answers || !under.is_original) small.strategy = shrunk_strategy;
    made.before = original_.size;
    made.after = best.size;
    for (size_t index = 0; index < under.settings.size(); ++index)
      if (under.settings[index] != recorded_.parameters[index])
        made.changed.push_back({.key = under.settings[index].first,
                                .before = recorded_.parameters[index].second,
                                .after = under.settings[index].second});
    made.runs = runs_;
    made.seconds = seconds();
    made.finished = !exhausted_;
  }

  static constexpr uint64_t seeds_for_a_setting = 200;
  static constexpr uint32_t hits_for_a_setting = 10;
  static constexpr uint64_t part_for_a_setting = 20;  ///< of all runs, at most
  static constexpr uint32_t tries_for_a_setting = 6;  ///< in a row
  static constexpr size_t starts_max = 16;

  const trace& recorded_;
  failure failure_;  ///< that of the recorded run
  const shrink_options& options_;
  std::chrono::steady_clock::time_point start_;
  uint64_t runs_ = 0;
  uint64_t spent_ = 0;
  uint64_t allowed_until_ = ~uint64_t{0};  ///< what `spent_` may be; an allowance says more
  bool exhausted_ = false;
  std::unique_ptr<strategy> strategy_;
  failing_run original_;
  failing_run seen_;  ///< a small one under the settings that are allowed now
  std::set<std::string> kinds_waiting_;
  care care_ = care::none;
  std::set<setting_values> settings_tried_;            ///< with the care that is taken now
  std::set<setting_values> settings_without_failure_;  ///< by whatever care
  std::unordered_set<uint64_t> tried_;  ///< digests of schedules that were run under the current settings
};

}  // namespace

shrunk shrink(const trace& recorded, const run_one& run, const shrink_options& options) {
  return shrinker(recorded, options).make(run);
}

}  // namespace heddle::scheduler
