// The main() of a program as a scenario.
#pragma once

#include <string>

namespace heddle::rewrite {

/// What stands behind a source whose main() is called heddle_main() now: it registers the scenario of that name, which calls it.
std::string scenario_of_main(const std::string& name, bool with_arguments);

}  // namespace heddle::rewrite
