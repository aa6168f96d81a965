// A kind of memory that no GPU's program should share with others, and some do by mistake.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace heddle::sim::runtime {

/// From now on the device caches the allocation at `memory`, and nothing keeps its cache coherent with what others store: a line that a lane
/// has read stays as it was until the device stores there, modifies it or begins a kernel. (Coarse-grained memory of AMD GPUs between
/// devices; memory that is not mapped uncached.) Atomic loads see the cache; plain ones do not.
void map_cached(void* memory);

}  // namespace heddle::sim::runtime
