// A queue of commands: each begins when the one before has ended.
#pragma once

#include <heddle/sim/driver/command.h>
#include <heddle/sim/driver/dirty_marks.h>
#include <heddle/sim/driver/fifo.h>
#include <heddle/sim/driver/ids.h>

#include <optional>

namespace heddle::sim::driver {

struct command_queue {
  queue_id id = 0;
  context_id context = 0;
  process_id process = 0;
  device_id device = 0;    ///< that of its launches
  fifo<command*> waiting;  ///< the first one stays until it has ended
  bool running = false;    ///< whether the first one has begun
  queue_marks marks;
  std::optional<error> fault;  ///< the first one since somebody asked
};

}  // namespace heddle::sim::driver
