// Seconds in words.
#pragma once

#include <cstdio>
#include <string>

namespace heddle::tools {

/// "0.3 s"
inline std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", seconds);
  return text;
}

}  // namespace heddle::tools
