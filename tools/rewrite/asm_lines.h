// An asm statement of x86 as instructions: where its labels are, and to which of them its jumps go.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::rewrite {

struct asm_line {
  std::string words;  ///< the instruction without what stands before it; empty of a label alone and of a jump
  bool is_locked = false;
  std::string label;      ///< that stands before it, by its name in C; mostly none
  std::string target;     ///< of a jump: a label, by its name in C
  std::string condition;  ///< of a jump that has one, in C
};

/// Of a text as `asm_statement` has it. Nothing where a jump goes out of the statement, or asks for a flag that is not known.
/// Labels are numbers, as `2` of `jnz 2b`.
std::optional<std::vector<asm_line>> lines_of(std::string_view text);

}  // namespace heddle::rewrite
