// Numbers as reports write them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace heddle::sim {

/// "0x2a"
inline std::string hexadecimal(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

/// "1 byte", "2 bytes"
inline std::string plural(uint64_t n, const char* one, const char* many) {
  return std::to_string(n) + ' ' + (n == 1 ? one : many);
}

}  // namespace heddle::sim
