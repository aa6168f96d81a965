// The scenarios of this program. Needs no machine: the commands are built on this, scenarios include scenario.h.
#pragma once

#include <heddle/scheduler/parameters.h>
#include <heddle/scheduler/verdict.h>

#include <cstddef>
#include <string>
#include <vector>

namespace heddle {

/// What a scenario should end with, by its settings: a function that gives one verdict, or one that gives a set of which any will do.
class expectation {
 public:
  using one_of_settings = scheduler::verdict (*)(const parameters&);
  using any_of_settings = scheduler::verdict_set (*)(const parameters&);
  constexpr expectation() = default;
  // Left out, or a function: designated initializers have no room for more words.
  constexpr expectation(std::nullptr_t) {}                           // NOLINT(google-explicit-constructor)
  constexpr expectation(one_of_settings one) : one_(one) {}          // NOLINT(google-explicit-constructor)
  constexpr expectation(any_of_settings several) : any_(several) {}  // NOLINT(google-explicit-constructor)

  scheduler::verdict_set with(const parameters& set) const {
    if (any_ != nullptr) return any_(set);
    return one_ == nullptr ? scheduler::verdict::ok : one_(set);
  }

 private:
  one_of_settings one_ = nullptr;
  any_of_settings any_ = nullptr;
};

struct scenario {
  std::string name;     ///< bytes that cannot be printed are registered as "\xNN"
  std::string summary;  ///< one line
  std::vector<parameter> parameters = {};
  /// What the scenario should end with under its settings; ok when left out.
  expectation expected = {};
  /// Small configurations, "waves=2 lanes=1", of which heddle verify --all proves what is expected, under every progress model.
  std::vector<std::string> proofs = {};
  void (*body)(const heddle::parameters&) = nullptr;

  scheduler::verdict_set expected_verdict(const heddle::parameters& set) const { return expected.with(set); }
};

/// All scenarios that are linked into this program, by name.
const std::vector<scenario>& scenarios();

/// Adds a scenario to the list; use HEDDLE_SCENARIO. Two scenarios of one name end the program with a message.
bool register_scenario(scenario added);
/// Adds the scenario with this body.
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
