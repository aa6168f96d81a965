// Ctrl-C: stop, but print what there is.
#pragma once

#include <atomic>

namespace heddle::tools {

/// From now on the first SIGINT only sets the flag; a second one ends the program as usual.
void catch_interrupt();

/// Set by SIGINT.
const std::atomic<bool>& interrupt_flag();

}  // namespace heddle::tools
