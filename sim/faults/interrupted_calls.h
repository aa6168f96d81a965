// The calls that led to the place where a signal has interrupted a lane.
#pragma once

#include <heddle/sim/code/source_line.h>
#include <heddle/sim/faults/registers.h>

namespace heddle::sim {

struct lane;

/// To be called in a signal handler. `by_jump`: the lane has jumped to where no code is.
void find_calls(const lane& who, const registers& at, bool by_jump, call_chain& calls);

}  // namespace heddle::sim
