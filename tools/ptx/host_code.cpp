#include "host_code.h"

#include <cctype>

namespace heddle::ptx {

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += c == '\n' ? ' ' : c;
  }
  return made + "\"";
}

std::string scenario_of_main(const std::string& scenario) {
  std::string symbol = "heddle_ptx_main_";
  for (const char c : scenario) symbol += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return "extern \"C\" [[gnu::weak]] int host_main(int, char**) asm(" + quoted(symbol) +
         ");\n"
         "namespace heddle { class parameters; }\nnamespace heddle::tools {\n"
         "[[gnu::weak]] void run_main(int (*main_function)(int, char**), const char* name, const parameters& values);\n"
         "[[gnu::weak]] void register_main(const char* name, void (*body)(const parameters&), bool "
         "takes_arguments);\n}\n"
         "__attribute__((constructor(1000))) static void heddle_registers_main() {\n"
         "  if (host_main == nullptr || heddle::tools::register_main == nullptr) return;\n"
         "  heddle::tools::register_main(" +
         quoted(scenario) + ", [](const heddle::parameters& values) { heddle::tools::run_main(&host_main, " +
         quoted(scenario) + ", values); }, true);\n}\n";
}

std::string registration_of(const std::string& linked) {
  return "extern \"C\" void** __cudaRegisterFatBinary(void*);\n"
         "extern \"C\" void __cudaRegisterLinkedBinary" +
         linked +
         "(void (*tell)(void**), void* binary, void*, void (*)(void*)) { tell(__cudaRegisterFatBinary(binary)); }\n";
}

}  // namespace heddle::ptx
