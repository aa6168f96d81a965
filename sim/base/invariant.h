// Invariants of the simulator itself. One that does not hold means that no verdict of the run counts: the process ends, and says which.
#pragma once

#include <heddle/scheduler/own_errors.h>

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace heddle::sim {

/// Ends the program with one line, which names the invariant and the place, where it does not hold.
inline void must_hold(bool holds, const char* what,
                      const std::source_location& where = std::source_location::current()) {
  if (holds) [[likely]]
    return;
  dprintf(scheduler::own_errors,
          "heddle: an invariant of the simulator does not hold: %s (%s:%u); please report this\n", what,
          where.file_name(), where.line());
  std::abort();
}

}  // namespace heddle::sim
