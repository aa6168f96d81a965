// What of a scenario may be made smaller, to shrink its traces, or larger.
#pragma once

#include <heddle/scheduler/shrink.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/registry.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::tools {

/// The numbers among the scenario's own parameters, and how it is run with other values of them: only with those under which it expects
/// the verdict that was found as much, or as little, as under `recorded`. Machine and scenario must outlive the options.
scheduler::shrink_options shrink_options_for(sim::simulation& machine, const scenario& tested,
                                             const parameters& recorded, scheduler::verdict found);

/// The settings of a larger program that expects the same verdict: of the numbers among the scenario's own parameters, all that may be are
/// `factor` times what they are in `settings`, or as near to it from below as their bounds allow. Not all of them may: with more of one
/// the scenario may expect another verdict. Then those that come first among its parameters are raised, as far as it expects the same.
/// Keys in `kept` are left alone, and so are all where none may be raised.
parameters raised(const scenario& tested, const parameters& settings, uint32_t factor,
                  const std::vector<std::string>& kept = {});

}  // namespace heddle::tools
