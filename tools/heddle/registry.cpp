#include <heddle/scheduler/printable.h>
#include <heddle/tools/registry.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace heddle {
namespace {

// A static inside a function: scenarios register themselves before main, from files in no particular order.
std::vector<scenario>& registry() {
  static std::vector<scenario> all;
  return all;
}

std::optional<real_machine>& machine() {
  static std::optional<real_machine> only;
  return only;
}

}  // namespace

const real_machine* machine_of_program() { return machine() ? &*machine() : nullptr; }

bool register_machine(real_machine added) {
  std::optional<real_machine>& known = machine();
  if (known && (known->name != added.name || known->observed != added.observed)) {
    std::fprintf(stderr, "heddle: parts of this program were built for %s and %s, or only some to be watched\n",
                 known->name.c_str(), added.name.c_str());
    std::abort();
  }
  known = std::move(added);
  return true;
}

const std::vector<scenario>& scenarios() { return registry(); }

bool register_scenario(scenario added) {
  std::vector<scenario>& all = registry();
  // It is known by what can be typed, and stored in traces and journals.
  added.name = scheduler::printable(added.name);
  const auto place = std::lower_bound(all.begin(), all.end(), added.name,
                                      [](const scenario& known, const std::string& name) { return known.name < name; });
  const bool taken = place != all.end() && place->name == added.name;
  if (taken || added.name.empty() || added.body == nullptr) {
    std::fprintf(stderr, "heddle: scenario \"%s\" %s\n", added.name.c_str(),
                 taken ? "is registered twice" : "lacks its name or its body");
    std::abort();
  }
  all.insert(place, std::move(added));
  return true;
}

bool register_scenario(void (*body)(const heddle::parameters&), scenario added) {
  added.body = body;
  return register_scenario(std::move(added));
}

}  // namespace heddle
