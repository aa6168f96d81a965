#include <heddle/scheduler/shrink.h>
#include <heddle/scheduler/shrink_parts.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace heddle::scheduler {
namespace {

using namespace shrinking;

class shrinker {
 public:
  shrinker(const trace& recorded, const shrink_options& options)
      : recorded_(recorded), options_(options), runs_(recorded, options), schedules_(runs_, options) {}

  shrunk make(const run_one& run) {
    const setup original = {.settings = recorded_.parameters, .run = run};
    shrunk made;
    made.smallest = recorded_;
    if (recorded_.outcome == verdict::ok || recorded_.outcome == verdict::budget) {
      made.error = "there is nothing to shrink: the recorded run ended with verdict " +
                   std::string(to_string(recorded_.outcome));
      return made;
    }
    made.error = runs_.begin(original);
    if (!made.error.empty()) return made;

    setup best_setup = original;
    setting_shrinker settings(runs_, schedules_, options_);
    settings.reduce_settings(best_setup);
    failing_run best = smallest_under(best_setup, settings.seen());
    if (!runs_.fits(best.size)) {
      best_setup = original;
      best = runs_.original();
      schedules_.minimise(best_setup, best, false);
    }

    fill(made, best_setup, best);
    return made;
  }

 private:
  /// Many seeds, the smallest few of their runs made smaller, and the smallest of these.
  failing_run smallest_under(const setup& under, const failing_run& seen) {
    std::vector<failing_run> starts;
    if (auto again = runs_.played(under, seen.happened, runs_.original())) starts.push_back(std::move(*again));
    if (under.is_original) starts.push_back(runs_.original());
    const auto add = [&](failing_run found) {
      const auto place = std::find_if(starts.begin(), starts.end(),
                                      [&](const failing_run& each) { return is_smaller(found.size, each.size); });
      starts.insert(place, std::move(found));
      if (starts.size() > starts_max) starts.pop_back();
    };
    if (starts.empty()) starts.push_back(seen);
    runs_.begin_draws(under);
    const uint64_t until = runs_.spent() + options_.runs_max / 5;
    for (uint64_t seed = 1; runs_.spent() < until && runs_.may_run(); ++seed)
      if (auto hit = runs_.drawn(under, seed)) add(std::move(*hit));
    failing_run best = starts.front();
    // The two ways end in different places. The smallest goes both, the others take turns.
    starts.insert(starts.begin(), starts.front());
    for (size_t n = 0; n < starts.size() && runs_.may_run(); ++n) {
      schedules_.minimise(under, starts[n], n % 2 == 1);
      if (is_smaller(starts[n].size, best.size)) best = std::move(starts[n]);
    }
    return best;
  }

  void fill(shrunk& made, const setup& under, failing_run& best) {
    trace& small = made.smallest;
    small.parameters = under.settings;
    small.answers = std::move(best.answers);
    small.steps = best.result.steps;
    small.where = runs_.wanted().where;
    small.hang = best.result.hang;
    small.gist = runs_.wanted().gist;
    small.digest = best.result.digest;
    if (small.answers != recorded_.answers || !under.is_original) small.strategy = shrunk_strategy;
    made.before = runs_.original().size;
    made.after = best.size;
    for (size_t index = 0; index < under.settings.size(); ++index)
      if (under.settings[index] != recorded_.parameters[index])
        made.changed.push_back({.key = under.settings[index].first,
                                .before = recorded_.parameters[index].second,
                                .after = under.settings[index].second});
    made.runs = runs_.runs();
    made.seconds = runs_.seconds();
    made.finished = !runs_.exhausted();
  }

  static constexpr size_t starts_max = 16;

  const trace& recorded_;
  const shrink_options& options_;
  failing_runs runs_;
  schedule_shrinker schedules_;
};

}  // namespace

shrunk shrink(const trace& recorded, const run_one& run, const shrink_options& options) {
  return shrinker(recorded, options).make(run);
}

}  // namespace heddle::scheduler
