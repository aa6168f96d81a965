// The tables that ship: part of the program, so that it has them wherever it is installed.
#pragma once

#include <string_view>
#include <vector>

namespace heddle::litmus {

struct shipped_table {
  std::string_view file;  ///< "ptx.csv"
  std::string_view text;
};

/// Made from tools/heddle/litmus/data/ when heddle is built (embed.cmake).
const std::vector<shipped_table>& shipped_tables();

}  // namespace heddle::litmus
