// A simulator that simulates nothing: a scenario's body says itself how the run ends.
#pragma once

#include <heddle/sim/observe/run_record.h>
#include <heddle/sim/simulation.h>

#include <string>
#include <vector>

namespace heddle::tests {

/// The run that the calling body is in.
struct fake_run {
  scheduler::choice_source& choices;
  sim::outcome& ended;
};
fake_run& current_run();

/// The record of a run with such steps.
sim::run_record fake_record(const std::vector<sim::step_record>& steps);

/// Asks for a choice and makes a step of it.
uint32_t fake_pick(uint32_t count);

/// Makes the run end with this verdict.
void fake_violation(scheduler::verdict verdict, std::string where, std::string message, std::string hang = {});

}  // namespace heddle::tests
