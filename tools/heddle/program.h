// Programs with a main() of their own, as scenarios: what the sources of heddle_simulate_cuda() and
// heddle_simulate_hip() call (the declarations stand in tools/rewrite/rewrite.cpp too).
#pragma once

namespace heddle {

class parameters;

namespace tools {

/// Adds the scenario `name`, whose body calls one of run_main(). True.
bool register_main(const char* name, void (*body)(const parameters&));

// Calls the program's main(), without arguments. A result other than 0 ends the run with verdict `assertion`.
void run_main(int (*main_function)());
void run_main(int (*main_function)(int, char**), const char* name);

}  // namespace tools
}  // namespace heddle
