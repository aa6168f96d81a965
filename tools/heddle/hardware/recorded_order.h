// The order of events in a dump, as steps that a simulated machine can be led along.
#pragma once

#include <heddle/scheduler/follow.h>
#include <heddle/tools/hardware/dump.h>

namespace heddle::tools {

/// Repetitions are left out: what remains are changes of memory, and reads of values that were new to their reader.
/// They stand in the order of the clocks, mended where values show that it cannot have been so: a read comes behind the
/// write of its value, and before the write that overwrote it.
scheduler::recorded_order order_of(const dump& left);

}  // namespace heddle::tools
