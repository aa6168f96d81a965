// Ctrl-C, and what a service sends before it ends a job: stop, but print what there is.
#pragma once

#include <atomic>

namespace heddle::tools {

/// From now on the first SIGINT and the first SIGTERM only set the flag, and so does the end of the processor time that the shell allows
/// (SIGXCPU; the hard limit behind it still ends the program); a second SIGINT or SIGTERM ends the program as usual.
void catch_interrupt();

/// Set by one of them.
const std::atomic<bool>& interrupt_flag();

}  // namespace heddle::tools
