// Which binary this is.
#pragma once

#include <string>

namespace heddle::tools {

/// The GNU build id of the running program as hexadecimal digits; empty when it was linked without one.
std::string build_id();

}  // namespace heddle::tools
