#include <cxxabi.h>
#include <dwarf.h>
#include <heddle/sim/code/function_names.h>
#include <heddle/sim/code/source_line.h>
#include <heddle/sim/code/unit_entries.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace heddle::sim {
namespace {

/// main() of a program under test has another name when it is compiled, or linked.
std::string as_in_source(const std::string& name) {
  return name == "heddle_main" || name.starts_with("heddle_ptx_main_") ? "main" : name;
}

/// Of an operator().
std::string name_of_called(const Dwarf_Die& die) {
  Dwarf_Die function = die;
  // From the call that was inlined to the code, and from there to the declaration in its class.
  for (const unsigned up : {DW_AT_abstract_origin, DW_AT_specification}) {
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    if (dwarf_attr(&function, up, &attribute) != nullptr && dwarf_formref_die(&attribute, &origin) != nullptr)
      function = origin;
  }
  Dwarf_Die unit;
  std::vector<Dwarf_Die> around;  // its class first
  if (dwarf_diecu(&function, &unit, nullptr, nullptr) != nullptr) around = entries_of(unit).around(function);
  const char* const written = around.empty() ? nullptr : dwarf_diename(&around.front());
  const std::string_view of = written == nullptr ? "" : written;
  if (!of.empty() && !of.starts_with("<lambda")) return std::string(of.substr(0, of.find('<'))) + "()";
  const auto outer = std::find_if(around.begin() + std::min<ptrdiff_t>(1, std::ssize(around)), around.end(),
                                  [](Dwarf_Die& each) { return dwarf_tag(&each) == DW_TAG_subprogram; });
  std::string name = outer == around.end() ? "" : name_of_function(&*outer);
  constexpr std::string_view of_lambda = "a lambda of ";
  if (name.empty()) return "operator()";
  return name.starts_with(of_lambda) ? name : std::string(of_lambda) + name;
}

}  // namespace

std::string name_of_function(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  const char* const written = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
  if (written == nullptr) return {};
  std::string name = written;
  // What the compiler has made of a part of a function, such as a region of OpenMP, has the function's symbol.
  if (name.starts_with("_Z")) {
    name = readable_symbol(name);
    name.resize(std::min(name.size(), name.find('(')));
  }
  // The function that converts a lambda to a pointer is called _FUN.
  if (name.starts_with("operator()") || name == "_FUN") return name_of_called(*die);
  // Template arguments fill a screen and tell nothing that the line does not; "operator<" is a name of its own.
  const size_t arguments = name.find('<', name.starts_with("operator") ? 10 : 0);
  name.resize(std::min(name.size(), arguments));
  return as_in_source(name);
}

std::string readable_symbol(const std::string& symbol) {
  // Variables of C, and those of C++ in no namespace, have their own names, of which `i` would be read as a type.
  if (!symbol.starts_with("_Z")) return as_in_source(symbol);
  int status = 0;
  char* const name = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string text = status == 0 ? name : symbol;
  std::free(name);
  return text;
}

}  // namespace heddle::sim
