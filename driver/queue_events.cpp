#include <heddle/driver/queue_events.h>

#include <algorithm>

namespace heddle::driver {

handling queue_events::process(command& next) {
  switch (next.kind) {
    case command_kind::no_op:
      return handling::done;
    case command_kind::record_event: {
      uint64_t& reached = events_[next.event].reached;
      reached = std::max(reached, next.generation);
      return handling::done;
    }
    case command_kind::wait_event:
      return events_[next.event].reached >= next.generation ? handling::done : handling::later;
    default:
      return handling::not_mine;
  }
}

}  // namespace heddle::driver
