#include <heddle/sim/runtime/calls.h>
#include <heddle/tools/program.h>
#include <heddle/tools/registry.h>

#include <string>

namespace heddle::tools {
namespace {

void check_result(int result) {
  if (result != 0) sim::runtime::trap(fault::assertion, ("main() returned " + std::to_string(result)).c_str());
}

}  // namespace

bool register_main(const char* name, void (*body)(const parameters&)) {
  scenario added;
  added.name = name;
  added.summary = "main() of this program";
  added.body = body;
  return register_scenario(std::move(added));
}

void run_main(int (*main_function)()) { check_result(main_function()); }

void run_main(int (*main_function)(int, char**), const char* name) {
  std::string program = name;
  char* arguments[] = {program.data(), nullptr};
  check_result(main_function(1, arguments));
}

}  // namespace heddle::tools
