// Where a host thread stands in its launch: the hints from which scans start.
#pragma once

#include <stdint.h>

namespace heddle::host {

struct position {
  uint32_t block = 0;
  uint32_t wave = 0;
};

/// This thread's own. A device sets it when it starts the thread; any other thread stands at the beginning.
inline constinit thread_local position this_position;

}  // namespace heddle::host
