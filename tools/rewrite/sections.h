// The variables of a program that begins anew with each run (sim/code/program_state.h), in sections of their own.
#pragma once

#include <string>

namespace heddle::rewrite {

/// Renames sections of an object file of ELF with 64 bits, as the compiler has written it: those of variables to `heddle_data` and `heddle_bss`, and
/// that of their initialization to `heddle_init`. Nothing on success; otherwise one line that says what is wrong.
std::string set_variables_apart(const std::string& object_file);

/// What set_prebuilt_apart() has done.
struct prebuilt {
  bool is_apart = false;  ///< anything was to be done, and `to` has been written
  std::string wrong;      ///< one line where it could not be
};

/// The same of an object file or an archive that heddle has not compiled, for the objects in it that it has not: writes `to`, with the variables in
/// `heddle_other_data` and `heddle_other_bss`, and `name` in `heddle_unseen`. The index of an archive is that of before. Nothing is done where
/// there are no such objects, the file is none of the two, or malloc() comes from it.
prebuilt set_prebuilt_apart(const std::string& name, const std::string& from, const std::string& to);

/// Whether the object file has the main() of a program that begins anew with each run.
bool is_program(const std::string& object_file);

}  // namespace heddle::rewrite
