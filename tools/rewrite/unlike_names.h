// Names in a source for nvcc or hipcc that the simulator takes, and gives another meaning than a GPU does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::rewrite {

/// One line for each line of the source that uses such a name, with file and line: what is different, and what to use instead.
std::vector<std::string> unlike_names(std::string_view preprocessed);

}  // namespace heddle::rewrite
