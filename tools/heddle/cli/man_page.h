#pragma once

#include <string>
#include <string_view>

namespace heddle::tools {

/// The manual page heddle(1) as roff, made of the help of all commands.
std::string man_page(std::string_view version);

}  // namespace heddle::tools
