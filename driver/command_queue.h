// A queue of commands: each begins when the one before has ended.
#pragma once

#include <heddle/driver/command.h>
#include <heddle/driver/dirty_marks.h>
#include <heddle/driver/fifo.h>
#include <heddle/driver/ids.h>

#include <optional>

namespace heddle::driver {

struct command_queue {
  queue_id id = 0;
  context_id context = 0;
  process_id process = 0;
  device_id device = 0;    ///< that of its launches
  fifo<command*> waiting;  ///< the first one stays until it has ended
  bool running = false;    ///< whether the first one has begun
  queue_marks marks;
  std::optional<error> fault;  ///< the first one since it was last asked for
};

}  // namespace heddle::driver
