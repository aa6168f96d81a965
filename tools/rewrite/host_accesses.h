// asm statements of x86 that read and write memory, as C that the simulator sees: moves, exchanges and what a lock prefix stands before.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::rewrite {

struct asm_operand {
  std::string name;  ///< in brackets; mostly none
  std::string constraint;
  std::string expression;
};

struct asm_statement {
  std::string text;  ///< as `normal` in host_instructions.cpp makes it: in lower case, ';' between instructions
  std::vector<asm_operand> operands;  ///< outputs, then inputs
  size_t outputs = 0;
  bool orders_memory = false;  ///< "memory" is among what it clobbers

  bool reaches_memory() const;
};

/// A statement of C or C++ that does the same; nothing where it reaches no memory, or does what is not known here.
///
///   mov from memory               a load that acquires
///   mov to memory                 a store that releases
///   xchg, or behind a lock prefix a read-modify-write of sequential consistency
///   others on memory              a load, and a store: not atomic together
///   cmp, test                     a load of what lies in memory
///   jumps                         to labels of the statement
std::optional<std::string> accesses_of(const asm_statement& statement, bool is_c);

/// The functions that these statements call, in one line.
std::string_view functions_of_accesses();

}  // namespace heddle::rewrite
