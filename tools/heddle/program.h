// Programs with a main() of their own, as scenarios: what the sources of heddle_simulate_cuda() and
// heddle_simulate_hip() call (the declarations stand in tools/rewrite/rewrite.cpp too).
#pragma once

namespace heddle {

class parameters;

namespace tools {

/// Adds the scenario `name`, whose body calls one of run_main(). `takes_arguments`: it has the setting `args`.
void register_main(const char* name, void (*body)(const parameters&), bool takes_arguments);

// Calls the program's main(), and ends the program as a return from main() does. A result other than 0 ends the run with verdict `assertion`. The
// arguments are those of the setting `args`: words as a shell takes them apart.
void run_main(int (*main_function)());
void run_main(int (*main_function)(int, char**), const char* name, const parameters& values);

}  // namespace tools
}  // namespace heddle
