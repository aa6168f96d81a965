// A smaller run under the same settings: parts of its schedule are left out or moved, and what comes of that is run.
#pragma once

#include <heddle/scheduler/shrink.h>
#include <heddle/scheduler/shrink_runs.h>

#include <cstddef>
#include <cstdint>
#include <unordered_set>

namespace heddle::scheduler::shrinking {

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

}  // namespace heddle::scheduler::shrinking
