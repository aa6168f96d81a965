// A run in words.
#pragma once

#include <heddle/scheduler/campaign.h>
#include <heddle/sim/observe/run_record.h>
#include <heddle/tools/report/drawn.h>

#include <string>
#include <vector>

namespace heddle::tools {

/// What the verdict means, in one sentence.
std::string meaning_of(scheduler::verdict verdict);

/// What happened, in some sentences: of a hang, where each actor waits and for which others, and in what circle.
std::string explanation_of(const sim::run_record& of, const scheduler::run_result& result, const slot_names& names);

/// What of the run is not in the record, a sentence each.
std::vector<std::string> not_recorded(const sim::run_record& of, uint64_t steps, size_t words_left_out);

}  // namespace heddle::tools
