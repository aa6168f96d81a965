// What a program that checks itself prints where it has found itself wrong.
#pragma once

#include <string_view>

namespace heddle::tools {

/// Whether the line says that something failed: "FAIL", "Result mismatch at 5", "3 errors"; not "0 errors", "Max error: 0.000", "no mismatch".
bool is_complaint(std::string_view line);

}  // namespace heddle::tools
