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

/// The index of the lowest bit that is set in `bits`, which is not 0. The compilers' own count of zeros is not for every device.
HEDDLE_FUNCTION inline uint32_t lowest_bit(uint64_t bits) {
  uint32_t index = 0;
  for (; (bits & 1) == 0; bits >>= 1) ++index;
  return index;
}

/// Parameters of a bug that has a twin.
inline std::vector<parameter> with_twin(std::vector<parameter> all) {
  all.push_back(fixed());
  return all;
}

/// Whether the device reaches shared memory over a link that is simulated. A real machine has no such settings, and its link is as it is.
inline bool link_is_crossed(const parameters& set) {
  return set.has("buffer") && set.text("buffer") == "host" && set.text("fidelity") == "link";
}

/// `bug` needs the parameter fixed(), or names a fault of the machine's driver, `driver.fault`: its twin has none.
inline bool register_bug(void (*body)(const parameters&), const scenario& bug) {
  scenario twin = bug;
  twin.name += ".fixed";
  twin.summary = bug.name + " without the bug";
  for (parameter& each : twin.parameters)
    if (each.key == "fixed")
      each.default_text = "yes";
    else if (each.key == "driver.fault")
      each.default_text = "none";
  return register_scenario(body, bug) && register_scenario(body, twin);
}

}  // namespace heddle::tests::zoo

/// As HEDDLE_SCENARIO, for a bug and its twin.
#define HEDDLE_ZOO(function, ...)                                   \
  [[maybe_unused]] static const bool heddle_registered_##function = \
      ::heddle::tests::zoo::register_bug(function, __VA_ARGS__)
