// The scenarios of this program. Needs no machine: the commands are built on this, scenarios include scenario.h.
#pragma once

#include <heddle/scheduler/parameters.h>
#include <heddle/scheduler/verdict.h>

#include <string>
#include <vector>

namespace heddle {

struct scenario {
  std::string name;
  std::string summary;  ///< one line
  std::vector<parameter> parameters = {};
  /// The verdict that the scenario should have with these settings; ok when left out.
  scheduler::verdict (*expected)(const heddle::parameters&) = nullptr;
  /// Small configurations, "waves=2 lanes=1", of which heddle verify --all proves what is expected, under every progress model.
  std::vector<std::string> proofs = {};
  void (*body)(const heddle::parameters&) = nullptr;

  scheduler::verdict expected_verdict(const heddle::parameters& set) const {
    return expected == nullptr ? scheduler::verdict::ok : expected(set);
  }
};

/// All scenarios that are linked into this program, by name.
const std::vector<scenario>& scenarios();

/// Adds a scenario to the list; use HEDDLE_SCENARIO. Two scenarios of one name end the program with a message.
bool register_scenario(scenario added);
/// The same with this body.
bool register_scenario(void (*body)(const heddle::parameters&), scenario added);

/// A real machine that this program was built for.
struct real_machine {
  std::string name;             ///< host, cuda or hip
  bool (*present)() = nullptr;  ///< whether such a device answers here
  bool observed = false;        ///< built to be watched: HEDDLE_OBSERVED
};

/// That of this program; null where no scenario named one.
const real_machine* machine_of_program();

/// scenario.h calls it in each source file; all of a program are built for one machine.
bool register_machine(real_machine machine);

}  // namespace heddle
