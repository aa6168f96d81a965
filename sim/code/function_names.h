// What reports call the functions of a program.
#pragma once

#include <elfutils/libdw.h>

#include <string>

namespace heddle::sim {

/// Of a function or an inlined call: its name without template arguments; "a lambda of main"; "waits()" of an operator() of a class; empty where it
/// has none.
std::string name_of_function(Dwarf_Die* die);

}  // namespace heddle::sim
