// What observes a run and changes nothing of it: the recorder, and the watches for starvation, requests and headway.
#pragma once

#include <heddle/sim/observe/headway.h>
#include <heddle/sim/observe/recorder.h>
#include <heddle/sim/observe/starvation.h>

#include <memory>

namespace heddle::sim {

struct observers {
  std::unique_ptr<sim::recorder> recorder;
  starvation_watch starvation;
  request_watch requests;
  headway_watch headway;
  bool records = false;      ///< the run's record is asked for; then it holds waits, too
  bool tells_steps = false;  ///< the strategy is told of each
  bool on = false;           ///< any of them

  void look_whether_on() { on = recorder != nullptr || starvation.on() || headway.on() || tells_steps; }
};

}  // namespace heddle::sim
