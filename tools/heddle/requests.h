// Requests that a scenario tells of: with the setting `starvation` the simulator counts how often each is passed over by later ones.
//
// To be told when the request is there for its server to find, and when it is served. On real machines nothing is counted.
#pragma once

#include <heddle/rpc/rpc.h>
#include <stdint.h>

#define HEDDLE_COUNTS_REQUESTS_sim 1
#if HEDDLE_PASTE(HEDDLE_COUNTS_REQUESTS_, HEDDLE_TARGET)
#include <heddle/sim/requests.h>
#endif

namespace heddle {

// request_made(id): a request of the calling lane, whose number no other one of the run has, waits from now on.
// request_served(id): it is served. May come before request_made.
#if HEDDLE_PASTE(HEDDLE_COUNTS_REQUESTS_, HEDDLE_TARGET)
using sim::runtime::request_made;
using sim::runtime::request_served;
#else
HEDDLE_FUNCTION inline void request_made(uint64_t) {}
HEDDLE_FUNCTION inline void request_served(uint64_t) {}
#endif

}  // namespace heddle
