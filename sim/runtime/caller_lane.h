// The lane that calls an entry point.
#pragma once

#include <heddle/sim/machine/lane.h>
#include <heddle/sim/run/execution.h>

#include <cstdio>
#include <cstdlib>

namespace heddle::sim::runtime {

/// Aborts outside of a run, where `what` has no meaning.
inline lane& caller_lane(const char* what) {
  if (execution::current == nullptr) {
    std::fprintf(stderr, "heddle: sim::%s is called outside of a simulated run\n", what);
    std::abort();
  }
  return *execution::current;
}

}  // namespace heddle::sim::runtime
