// A run that failed, explained: with what other schedules say of what it waits for, and with the choices that decided it.
#pragma once

#include <heddle/tools/trial/trial.h>

#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// Runs the scenario's body once, explained. Where it fails, its schedule is then run again with some of its choices as
/// they are by default (scheduler/deciding.h), and, of hangs of which the run itself does not say what would end them,
/// up to 16 other schedules are. What came of that is told in the report. The machine makes the one run alone.
scheduler::run_result explained_run(sim::simulation& machine, const scenario& tested, const parameters& settings,
                                    scheduler::choice_source& choices, std::vector<sim::step_record>* steps = nullptr,
                                    sim::run_record* record = nullptr);

/// As scheduler::run_one asks for it.
inline scheduler::run_result run_or_explain(sim::simulation& machine, const scenario& tested,
                                            const parameters& settings, scheduler::choice_source& choices,
                                            bool explain) {
  return explain ? explained_run(machine, tested, settings, choices)
                 : run_scenario(machine, tested, settings, choices, false);
}

/// Before copies of this process are made that explain findings: they have the names of the program from here, and need not read them each.
/// `next`: the scenario that they run, where that is known.
void prepare_to_explain(const scenario* next = nullptr);

/// The choices that decided, as the report has them, each in a sentence.
std::vector<std::string> decided_in(std::string_view report);
/// The run beside the most alike one that ends well, as the report has it: what that one is, then the last step that both have, and the steps of
/// each from the first that differs on.
std::vector<std::string> contrast_in(std::string_view report);

}  // namespace heddle::tools
