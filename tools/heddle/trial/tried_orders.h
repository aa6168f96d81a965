// Orders that a finding lacks, tried before they are told.
#pragma once

#include <heddle/scheduler/trace.h>
#include <heddle/tools/trial/missing_orders.h>
#include <heddle/tools/trial/trial.h>

#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

struct tried_order {
  missing_order found;
  uint64_t runs = 0;  ///< that end well with it; 0: none of those that were tried helps

  std::string advice() const;  ///< "to change: ...; tried: ..."; empty where none helps
};

/// Of the recorded run, whose deciding answers of the machine these sentences are: the first of its missing orders with which the schedule and some
/// others end well, without the changes that it does not need.
tried_order order_that_helps(sim::simulation& machine, const scenario& tested, const parameters& settings,
                             const scheduler::trace& happened, const sim::run_record& told,
                             const std::vector<std::string>& odd);

/// The number behind "step " in the text, from `from` on; run_record::never where there is none.
uint64_t step_told_in(std::string_view text, size_t from = 0);

}  // namespace heddle::tools
