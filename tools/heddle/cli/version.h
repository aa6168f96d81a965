// Which heddle this is, and which binary.
#pragma once

#include <string>

namespace heddle::tools {

/// heddle's version.
std::string version();

/// The GNU build id of the running program as hexadecimal digits; empty when it was linked without one.
std::string build_id();

}  // namespace heddle::tools
