// PTX as C++: one function for each kernel and device function, compiled as code under test. Memory instructions are calls
// of the simulator's front end (sim/compat/ptx/), with their order, scope, size and state space.
#pragma once

#include <optional>
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
  /// Of a file that the program loads by itself: its bytes, by which it is known then. Its kernels and variables are those of the module.
  std::optional<std::string_view> image = std::nullopt;
};

translation translate(std::string_view text, const translation_options& how);

/// What `--extract` writes behind the PTX of an object whose device code is linked with that of other files (nvcc -rdc=true), and then the name by
/// which the host code registers it. With it, what is visible to other files has a symbol of its own: the linker brings them together.
inline constexpr std::string_view linked_as = "\n// heddle: linked as ";

/// A register that inline PTX is given: `%operand0`, `%operand1` and so on in its text.
struct asm_register {
  std::string expression;  ///< C++
  std::string type;        ///< "b32"
};

/// The text of an asm statement as statements of C++, without line ends. `number` is another one for each of a file: labels have it.
/// `errors` are without a place.
translation translate_asm(std::string_view text, const std::vector<asm_register>& registers, size_t number);

/// The C++ type that holds a register of this type, from outside of all namespaces.
std::string register_type(std::string_view type);

}  // namespace heddle::ptx
