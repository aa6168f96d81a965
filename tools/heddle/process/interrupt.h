// Ctrl-C, and what a service sends before it ends a job: stop, but print what there is.
#pragma once

#include <atomic>

namespace heddle::tools {

/// From now on the first SIGINT, the first SIGTERM and the first SIGHUP (where it is not ignored, as it is under nohup) only say so and set the flag,
/// and so does the end of the processor time that the shell allows (SIGXCPU; the hard limit behind it still ends the program); a second SIGINT,
/// SIGTERM or SIGHUP ends the program as usual.
void catch_interrupt();

/// Set by one of them. What it refers to changes once, in share_interrupt_flag().
const std::atomic<bool>& interrupt_flag();

/// From now on copies of this process (copied_process.h) see it, too.
void share_interrupt_flag();

/// What the program ends with when it was interrupted: 143 by SIGTERM, 129 by SIGHUP, otherwise 130.
int interrupt_status();

}  // namespace heddle::tools
