// A recorded run made again, to be shown.
#pragma once

#include <heddle/tools/registry.h>
#include <heddle/tools/report/page.h>

#include <optional>
#include <string>

namespace heddle::tools {

/// A run with all that a page is made of.
struct recording {
  scheduler::replay_result again;
  sim::run_record record;
};

/// `settings` are those of the trace. Whether it was the recorded run, `again` says.
recording record_again(const scheduler::trace& recorded, const scenario& tested, const parameters& settings);

/// One line when the page cannot be written; then none is left behind.
std::optional<std::string> write_page(const reported_run& run, const std::string& file);

}  // namespace heddle::tools
