// From an address in the program to the line that a person wrote, by the program's DWARF.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim {

/// A line of source. Paths are as the compiler recorded them, shortened to what lies below source_folder(): the same from whichever folder
/// the program is started.
struct source_line {
  std::string file;  ///< empty when the program has no line for the address
  int line = 0;
  std::string function;  ///< the function that the line belongs to, inlined or not; may be empty

  /// "rpc/mailbox.h:52"; without a line the function, and without that the program or library and the offset of the call in it,
  /// "ring+0x10940", which addr2line and gdb take.
  std::string where() const;
  const void* address = nullptr;
  std::string module = {};  ///< "ring+0x10940"; only where there is neither a line nor a function
};

/// The folder that holds the sources of this program and, where that is not just the root of a disk or a folder in it, also those in which
/// they were compiled; empty when the compiler recorded no such names.
std::string source_folder();

/// The line of the call that returns to this address: the innermost one that is neither the simulator's nor the standard
/// library's. Of the call, not of what follows it. Remembers what it has looked up.
source_line source_of(const void* return_address);

/// The line and those that it was inlined into, innermost first; ends with the function that really is called.
std::vector<source_line> inlined_at(const void* return_address);

/// Return addresses, innermost first: where an operation was asked for, and the calls that led there. Zeros behind the last.
using call_chain = std::array<const void*, 12>;
/// The calls that a lane is in, outermost first: return addresses, the last one that of its operation.
using call_path = std::vector<const void*>;

/// The innermost line of a chain that is neither the simulator's nor the standard library's; code that was not optimised has
/// frames of theirs in between.
source_line source_of(const call_chain& calls);

/// The lines of the code under test that led there, innermost first, up to where the lane began; not those of the simulator or the
/// standard library. At most `most`.
std::vector<source_line> lines_of(const call_chain& calls, size_t most = 8);

/// The code of one function, or of a part of it that the compiler has laid out elsewhere ("f.cold").
struct code_range {
  const std::byte* low = nullptr;  ///< null when the program has no symbol for the address
  size_t size_bytes = 0;
  std::string symbol;
};

/// The function that holds the address, by the program's symbols.
code_range function_at(const void* address);

/// All functions of that symbol, in the program or library that holds the address.
std::vector<code_range> functions_named(const void* address, const std::string& symbol);

/// A function or variable of the program by its symbol. Remembers what it has looked up.
struct symbol_range {
  const std::byte* low = nullptr;  ///< null where there is none
  size_t size_bytes = 0;
};
symbol_range symbol_named(const std::string& symbol);

/// A symbol in readable form.
std::string readable_symbol(const std::string& symbol);

/// Whether the line belongs to the simulator's own headers or the standard library's.
bool is_plumbing(const source_line& line);

/// Whether the line is in that file; of its path the end is enough.
bool is_in_file(const source_line& line, const std::string& file);

/// Whether the compiler has made code of that line, in the program or in a library that it has loaded.
bool has_code(const std::string& file, int line);

/// The variable with static storage that the address lies in, with the offset: "flags+0x4"; empty when there is none.
std::string variable_at(const void* address);

}  // namespace heddle::sim
