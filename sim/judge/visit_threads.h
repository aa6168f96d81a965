// What of lanes and waves can influence the future of a run. Two comparisons of states ask: the fair tail's, whether the run is back in a state
// of its own, and the search's, whether a run is in a state in which any run was.
#pragma once

#include <heddle/sim/base/state_reader.h>
#include <heddle/sim/machine/lane.h>
#include <heddle/sim/settings.h>

namespace heddle::sim {

/// Which comparison of states the visit is for: it decides what is told.
enum class comparison : uint8_t {
  /// Of states of one run that is in its fair tail: kernel, block and device of a wave do not change there, no wait ends spuriously, and
  /// arguments of a call are compared as bytes of its frame.
  of_one_run,
  /// Of states of any two runs: also what differs between runs, and nothing that the pending operation does not use; else states would be told
  /// apart that are one.
  of_all_runs,
};

/// Whether only the lane's own frame knows the arguments of its pending call.
bool hides_operands(const lane& who);

/// False when the visitor needs no more. `is_running`: it is the lane that runs now.
bool visit_lane(state_reader& to, const lane& who, bool is_running);
/// visit_lane() of a lane that does not run, for comparison::of_all_runs.
bool visit_lane_of_any_run(state_reader& to, const lane& who, const settings& machine);
bool visit_wave(state_reader& to, const wave& of, comparison what);

}  // namespace heddle::sim
