// How a bug of the zoo becomes two scenarios: zoo.NAME, which has it, and zoo.NAME.fixed, its twin, which is the same program with the
// cause away.
//
// `heddle zoo` takes every pair of such names for an entry. A bug's file says in its header where it shipped and what is the smallest
// configuration that shows it.
#pragma once

#include <heddle/tools/scenario.h>

#include <string>
#include <vector>

namespace heddle::tests::zoo {

/// The twin is the same program with `fixed=yes`.
inline parameter fixed() { return parameter::one_of("fixed", "no", {"no", "yes"}, "without the bug"); }

inline bool is_fixed(const parameters& set) { return set.text("fixed") == "yes"; }

/// Parameters of a bug that has a twin.
inline std::vector<parameter> with_twin(std::vector<parameter> all) {
  all.push_back(fixed());
  return all;
}

/// `bug` needs the parameter fixed().
inline bool register_bug(void (*body)(const parameters&), const scenario& bug) {
  scenario twin = bug;
  twin.name += ".fixed";
  twin.summary = bug.name + " without the bug";
  for (parameter& each : twin.parameters)
    if (each.key == "fixed") each.default_text = "yes";
  return register_scenario(body, bug) && register_scenario(body, twin);
}

}  // namespace heddle::tests::zoo

/// As HEDDLE_SCENARIO, for a bug and its twin.
#define HEDDLE_ZOO(function, ...)                                   \
  [[maybe_unused]] static const bool heddle_registered_##function = \
      ::heddle::tests::zoo::register_bug(function, __VA_ARGS__)
