// A recorded run in the trace event format of Chrome, in JSON, which ui.perfetto.dev and speedscope read.
#pragma once

#include <heddle/sim/observe/run_record.h>

#include <ostream>

namespace heddle::tools {

/// One step is one microsecond. A track for each host thread and lane with its steps, its waits and the times in which it was enabled and did
/// not run; a track for each named slot with its calls; arrows from stores to the loads that saw them first, and along each call; how many
/// calls are under way. ("Trace Event Format", Google, 2016; what Perfetto takes of it: perfetto.dev/docs/getting-started/other-formats.)
void write_perfetto(std::ostream& out, const sim::run_record& of);

}  // namespace heddle::tools
