#include <heddle/tools/cli/version.h>

namespace heddle::tools {

std::string version() { return HEDDLE_VERSION; }

}  // namespace heddle::tools
