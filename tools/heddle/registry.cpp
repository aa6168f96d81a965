#include <heddle/tools/registry.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace heddle {
namespace {

// A static inside a function: scenarios register themselves before main, from files in no particular order.
std::vector<scenario>& registry() {
  static std::vector<scenario> all;
  return all;
}

}  // namespace

const std::vector<scenario>& scenarios() { return registry(); }

bool register_scenario(scenario added) {
  std::vector<scenario>& all = registry();
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

}  // namespace heddle
