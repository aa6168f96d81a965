// How much of a search is still to come, by runs at random.
#pragma once

#include <heddle/sim/verify/explorer.h>
#include <heddle/sim/verify/search.h>
#include <heddle/sim/verify/shared_states.h>

#include <sys/types.h>

namespace heddle::sim {

/// Makes forecasts, each in a copy of this process, so that the search is the same with them and without them.
class forecaster {
 public:
  forecaster(explorer& deciding, shared_states& known, const explored_run& run, const search_options& options)
      : deciding_(deciding), known_(known), run_(run), options_(options) {}

  /// A new one, where the last one is so old that it is worth the time.
  void now_and_then(search_result& so_far) {
    if (!options_.forecasts || so_far.seconds < next_) return;
    make(so_far);
    next_ = each_times * so_far.seconds;
  }
  /// Of a search that ends here, before its end.
  void at_last(search_result& result) {
    if (!options_.forecasts || !deciding_.is_matching()) return;
    make(result);
    result.goes_round = deciding_.deepest_rounds(run_);
  }

 private:
  static constexpr double first_seconds = 5;
  static constexpr double each_times = 1.5;

  void make(search_result& so_far) const;
  /// Whether the copy has something to tell; it is ended when it takes too long, as where a run stands still.
  bool wait_for(pid_t copy, int told) const;
  [[noreturn]] void be_the_copy(int told) const;

  explorer& deciding_;
  shared_states& known_;
  const explored_run& run_;
  const search_options& options_;
  double next_ = first_seconds;
};

}  // namespace heddle::sim
