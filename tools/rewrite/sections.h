// The variables of a program that begins anew with each run (sim/code/program_state.h), in sections of their own.
#pragma once

#include <string>

namespace heddle::rewrite {

/// Renames sections of an object file of ELF with 64 bits, as the compiler has written it: those of variables to `heddle_data` and `heddle_bss`, and
/// that of their initialization to `heddle_init`. Nothing on success; otherwise one line that says what is wrong.
std::string set_variables_apart(const std::string& object_file);

}  // namespace heddle::rewrite
