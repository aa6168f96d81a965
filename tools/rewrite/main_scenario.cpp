#include "main_scenario.h"

namespace heddle::rewrite {

std::string scenario_of_main(const std::string& name, bool with_arguments) {
  const std::string call = with_arguments
                               ? "reinterpret_cast<int (*)(int, char**)>(&heddle_main), \"" + name + "\", heddle_values"
                               : "&heddle_main";
  return "namespace heddle { class parameters; } namespace heddle::tools { void run_main(int (*main_function)()); "
         "void run_main(int (*main_function)(int, char**), const char* name, const parameters& values); "
         "void register_main(const char* name, void (*body)(const parameters&), bool takes_arguments); } "
         "extern \"C\" { extern const char heddle_is_program __attribute__((weak)); const char heddle_is_program = 1; "
         "} "
         "__attribute__((constructor(1000))) static void heddle_registers_main() { ::heddle::tools::register_main(\"" +
         name + "\", []([[maybe_unused]] const ::heddle::parameters& heddle_values) { ::heddle::tools::run_main(" +
         call + "); }, " + (with_arguments ? "true" : "false") + "); }\n";
}

}  // namespace heddle::rewrite
