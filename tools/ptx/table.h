// The instructions of PTX that are simulated, one row each: the translator, inline PTX and docs/ptx.md are made from it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module.h"

namespace heddle::ptx {

/// How an instruction becomes C++.
enum class form : uint8_t {
  call,      ///< d = i_NAME<types, modifiers>(sources) of sim/compat/ptx/
  move,      ///< mov: of registers, addresses, special registers, vectors
  load,      ///< from a state space
  store,     ///< to one
  atomic,    ///< atom and red
  multimem,  ///< of the memory of several devices
  jump,      ///< bra, brx.idx
  function,  ///< call
  leave,     ///< ret, exit
  barrier,   ///< bar and barrier
  copy,      ///< cp.async
  bulk,      ///< cp.async.bulk
  mbarrier,  ///< mbarrier
  nothing,   ///< a hint
};

/// A row of the table.
///
///   modifiers  what may follow the name, in any order; `a|b` are alternatives, `!a|b` one of which must be there; `*` ends
///              a name of which any end will do
///   types      for each type that the instruction has, which ones; ` / ` stands between the first and the second
///   operands   d a destination, d|p with a second one that may be left out, a b c sources of the first type; `a:2` of the
///              second type, `a:u32` of that one; [a] an address; ?c may be left out
struct row {
  const char* name;
  form how;
  const char* modifiers;
  const char* types;
  const char* operands;
  const char* does;
};

std::span<const row> table();

/// What an instruction is by its row.
struct matched {
  const row* of = nullptr;
  std::vector<std::string> types;      ///< in order
  std::vector<std::string> modifiers;  ///< all others
  std::string wrong;                   ///< why it is none of the table's; empty when it is
};

matched match(const instruction& what);

/// The instruction as it is written, without its operands: "ld.global.u32".
std::string opcode_of(const instruction& what);

/// The table as a page for people (docs/ptx.md).
std::string table_as_markdown();

}  // namespace heddle::ptx
