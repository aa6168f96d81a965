// What of a scenario may be made smaller, for whoever shrinks its traces.
#pragma once

#include <heddle/scheduler/shrink.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/registry.h>

namespace heddle::tools {

/// The numbers among the scenario's own parameters, and how it is run with other values of them: only with those under which it expects
/// the verdict that was found as much, or as little, as under `recorded`. Machine and scenario must outlive the options.
scheduler::shrink_options shrink_options_for(sim::simulation& machine, const scenario& tested,
                                             const parameters& recorded, scheduler::verdict found);

}  // namespace heddle::tools
