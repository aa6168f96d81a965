// The steps of a run for reading: aligned, and with repetitions folded.
#pragma once

#include <heddle/sim/simulation.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

namespace heddle::tools {

/// Prints the steps. A group of up to 8 steps that comes again and again is printed once, with how often: a spin loop
/// is a line or two, however long it spins.
void print_steps(std::ostream& out, const std::vector<sim::step_record>& steps);

/// The same for programs: an array with an object for each step, none folded.
nlohmann::ordered_json steps_as_json(const std::vector<sim::step_record>& steps);

}  // namespace heddle::tools
