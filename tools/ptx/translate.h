// PTX as C++: one function for each kernel and device function, compiled as code under test. Memory instructions are calls
// of the simulator's front end (sim/compat/ptx/), with their order, scope, size and state space.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::ptx {

struct translation {
  std::string text;
  std::vector<std::string> errors;  ///< one line each: "FILE:LINE: kernel NAME: what is wrong"
};

struct translation_options {
  std::string file;      ///< name of the PTX, for lines that know no source
  std::string scenario;  ///< what the main() of the host code becomes; empty for none
};

translation translate(std::string_view text, const translation_options& how);

/// The text of an asm statement as a C++ expression statement, where `%0` and so on are `operands`, which are of these types of
/// registers ("b32"). On error `errors` has one line.
struct asm_operand {
  std::string expression;
  std::string type;
};
translation translate_asm(std::string_view text, const std::vector<asm_operand>& operands);

}  // namespace heddle::ptx
