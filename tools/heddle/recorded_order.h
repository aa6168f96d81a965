// The order of events in a dump, as steps that a simulated machine can be led along.
#pragma once

#include <heddle/scheduler/follow.h>
#include <heddle/tools/dump.h>

namespace heddle::tools {

/// Repetitions are left out: what remains are changes of memory, and reads of something that its reader did not know. They stand in
/// the order of the clocks, mended where values show that it cannot have been so: who reads a value comes behind whoever wrote it, and
/// before whoever overwrote it.
scheduler::recorded_order order_of(const dump& left);

}  // namespace heddle::tools
