// A recorded run made again, to be shown.
#pragma once

#include <heddle/sim/call_times.h>
#include <heddle/sim/observe/run_record.h>
#include <heddle/tools/registry.h>
#include <heddle/tools/report/page.h>

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace heddle::tools {

/// A run with all that a page is made of.
struct recording {
  scheduler::replay_result again;
  sim::run_record record;
  std::vector<sim::call_times::reading> clocks;  ///< of machines whose memory is late; empty for others
};

/// `settings` are those of the trace. Whether it was the recorded run, `again` says.
recording record_again(const scheduler::trace& recorded, const scenario& tested, const parameters& settings);

/// One line when the page cannot be written; then none is left behind.
std::optional<std::string> write_page(const reported_run& run, const std::string& file);

// A recorded run in the trace event format of Chrome, in JSON, which ui.perfetto.dev and speedscope read.

/// One step is one microsecond. A track for each host thread and lane with its steps, its waits and the times in which it was enabled and did
/// not run; a track for each named slot with its calls; arrows from stores to the loads that saw them first, and along each call; how many
/// calls are under way. ("Trace Event Format", Google, 2016; what Perfetto takes of it: perfetto.dev/docs/getting-started/other-formats.)
void write_perfetto(std::ostream& out, const sim::run_record& of);

}  // namespace heddle::tools
