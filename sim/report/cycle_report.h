// What you need to see of steps that are repeated for ever: which lane does what, where, on what, with which values.
#pragma once

#include <heddle/sim/base/outcome.h>

#include <string>
#include <vector>

namespace heddle::sim {

/// Several lines: for each lane its steps in the order of their first time, equal ones counted.
std::string cycle_report(const std::vector<step_record>& steps);

}  // namespace heddle::sim
