// What bounds a random run must be as good as unbounded where all runs are gone through (sim/verify/search.h).
#pragma once

#include <heddle/scheduler/parameters.h>

#include <string>
#include <vector>

namespace heddle::tools {

/// The settings of a search: spurious wakes, old values, stores that are kept and stores in flight without a bound; unless one of
/// the "key=value" assignments has set it. Where races end a run, plain accesses are no points: a lane that could notice has a race.
parameters without_bounds(const parameters& settings, const std::vector<std::string>& assignments);

}  // namespace heddle::tools
