// What a program may tell the simulator of its requests.
#pragma once

#include <stdint.h>

namespace heddle::sim::runtime {

/// The calling lane has made a request, which waits to be served. `id` is the program's own, and of one request of a run.
void request_made(uint64_t id);
/// The request is served. With `starvation=N` the run ends when another one, made before it, has been passed over more than N times so.
void request_served(uint64_t id);

}  // namespace heddle::sim::runtime
