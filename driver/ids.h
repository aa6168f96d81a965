// The names by which a program and its driver speak of things.
#pragma once

#include <cstdint>

namespace heddle::driver {

/// The CPU is device 0; GPUs and unified devices follow in the order in which they were made.
using device_id = uint32_t;
inline constexpr device_id cpu_device = 0;

/// An address space. 0 is none.
using process_id = uint32_t;

/// What a program opens first: a process, and the device that its next calls are for.
using context_id = uint32_t;

/// A command queue, the runtimes' stream. Never given out twice.
using queue_id = uint64_t;

/// A place in a queue that others can wait for.
using event_id = uint32_t;

/// Virtual time.
using picoseconds = uint64_t;
inline constexpr picoseconds never = ~uint64_t{0};

}  // namespace heddle::driver
