// The parts that shrink.cpp is made of: runs that fail as a recorded one does, and how many more there may be (shrink_runs.cpp); smaller
// schedules (shrink_schedules.cpp); smaller settings (shrink_settings.cpp).
#pragma once

#include <heddle/scheduler/campaign.h>
#include <heddle/scheduler/choice.h>
#include <heddle/scheduler/replay.h>
#include <heddle/scheduler/schedule.h>
#include <heddle/scheduler/shrink.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/scheduler/trace.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

namespace heddle::scheduler::shrinking {

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
inline std::tuple<uint64_t, uint64_t, uint64_t> cost_of(const run_size& size) {
  return {size.steps + size.switches + size.odd_answers, size.preemptions, size.steps};
}

inline bool is_smaller(const run_size& one, const run_size& other) { return cost_of(one) < cost_of(other); }

inline uint64_t total(const run_size& size) { return std::get<0>(cost_of(size)); }

/// Runs the program and says whether it failed as the recorded run did. Counts what that costs.
class failing_runs {
 public:
  failing_runs(const trace& recorded, const shrink_options& options)
      : recorded_(recorded), options_(options), start_(std::chrono::steady_clock::now()) {}

  /// To be called first: repeats the recorded run. Why that does not work; empty when it does.
  std::string begin(const setup& original);

  /// The recorded run.
  const failing_run& original() const { return original_; }
  /// Its failure.
  const failure& wanted() const { return failure_; }
  bool fits(const run_size& size) const {
    return size.steps <= original_.size.steps && size.switches <= original_.size.switches;
  }

  bool may_run();
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  uint64_t runs() const { return runs_; }
  /// What they have cost, of shrink_options::runs_max.
  uint64_t spent() const { return spent_; }
  bool exhausted() const { return exhausted_; }

  /// While it lives, may_run() allows no more than this part of all runs.
  class allowance {
   public:
    allowance(failing_runs& of, uint64_t part) : of_(of), before_(of.allowed_until_) {
      of_.allowed_until_ = std::min(before_, of_.spent_ + std::max<uint64_t>(1, of_.options_.runs_max / part));
    }
    ~allowance() { of_.allowed_until_ = before_; }
    allowance(const allowance&) = delete;
    allowance& operator=(const allowance&) = delete;

   private:
    failing_runs& of_;
    uint64_t before_;
  };

  /// The run that comes of a schedule, or of deviations; nothing when it does not fail as it should, or is far larger.
  std::optional<failing_run> played(const setup& under, const schedule& wanted, const failing_run& larger);
  std::optional<failing_run> played(const setup& under, const deviations& wanted, const failing_run& larger);

  /// To be called before runs of seeds under other settings.
  void begin_draws(const setup& under);
  /// The run of a seed; nothing when it does not fail as it should.
  std::optional<failing_run> drawn(const setup& under, uint64_t seed);

 private:
  void count(const run_result& result);
  /// The actors that wait may be others.
  bool is_same_failure(const run_result& result) const;
  bool fails_alike(const setup& under, const run_result& result) const;
  /// The run with these answers; nothing when it does not fail as it should.
  std::optional<failing_run> noted(const setup& under, const std::vector<answer>& answers);
  template <typename Plays, typename Wanted>
  std::optional<failing_run> played_by(const setup& under, const Wanted& wanted, const failing_run& larger);

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
  std::set<std::string> kinds_waiting_;
};

/// A smaller run under the same settings: parts of its schedule are left out or moved, and what comes of that is run.
class schedule_shrinker {
 public:
  schedule_shrinker(failing_runs& runs, const shrink_options& options) : runs_(runs), options_(options) {}

  /// By all means, until none helps any more. `may_grow`: on the way the run may get longer.
  void minimise(const setup& under, failing_run& best, bool may_grow);
  /// By the quick means, each once: what the run clearly does not need.
  void leave_out_the_needless(const setup& under, failing_run& best);

 private:
  /// Takes what comes of the schedule if it is smaller.
  bool take_if_smaller(const setup& under, failing_run& best, const schedule& wanted);
  /// Fewer decisions first (ddmin): what is left are those that the failure needs, and the rest is quickly told from
  /// them. `may_grow`: also where the run gets longer.
  void leave_out_deviations(const setup& under, failing_run& best, bool may_grow);
  bool leave_out_end_game(const setup& under, failing_run& best);
  /// Chunks of [first, end), from half of all down to the length that is given, from the end to the beginning.
  template <typename Range, typename Without>
  bool leave_out(const setup& under, failing_run& best, size_t least, Range range, Without without);
  bool leave_out_turns(const setup& under, failing_run& best);
  bool leave_out_odd_answers(const setup& under, failing_run& best);
  /// Leaves out what an actor does in a row, or from there on; moves it before or behind what others do, where its own turns are.
  bool move_segments(const setup& under, failing_run& best);

  failing_runs& runs_;
  const shrink_options& options_;
  std::unordered_set<uint64_t> tried_;  ///< digests of schedules that were run under the current settings
};

/// A smaller program that fails alike: fewer waves, calls and so on, as far as runs of seeds find the failure there.
class setting_shrinker {
 public:
  setting_shrinker(failing_runs& runs, schedule_shrinker& schedules, const shrink_options& options)
      : runs_(runs), schedules_(schedules), options_(options), seen_(runs.original()) {}

  /// Roughly first: what is far too large cannot be afforded to be made smaller otherwise.
  void reduce_settings(setup& current);

  /// A small run under the settings that reduce_settings() has come to.
  const failing_run& seen() const { return seen_; }

 private:
  /// How far runs under other settings are made smaller before they are compared.
  enum class care : uint8_t {
    none,  ///< as seeds give them: quick, and good enough for programs that are far too large
    some,  ///< without what they clearly do not need
  };

  /// Takes the values if the failure can be had with them, in a run that is hardly larger.
  bool take_if_failing(setup& current, const setting_values& values);
  /// The smallest run of the schedule seen last and of some seeds; nothing when none fails.
  std::optional<failing_run> smallest_of(const setup& under);
  /// All to their least values, else all together by halves, and then one after the other, as far as it goes.
  void reduce_all_settings(setup& current);
  /// The least value, else by halves towards it. Whether anything has changed.
  bool reduce(setup& current, const reducible& what);

  failing_runs& runs_;
  schedule_shrinker& schedules_;
  const shrink_options& options_;
  failing_run seen_;  ///< a small one under the settings that are allowed now
  care care_ = care::none;
  std::set<setting_values> settings_tried_;            ///< with the care that is taken now
  std::set<setting_values> settings_without_failure_;  ///< by whatever care
};

}  // namespace heddle::scheduler::shrinking
