// Which heddle this is.
#pragma once

#include <string>

namespace heddle::tools {

/// heddle's version.
std::string version();

}  // namespace heddle::tools
