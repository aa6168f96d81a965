// What operations cost in virtual time.
#pragma once

#include <heddle/scheduler/parameters.h>

#include <cstdint>
#include <vector>

namespace heddle::sim {

/// Times in picoseconds. A model, and estimates in any case: the defaults are published numbers where there are some (docs/latency.md),
/// and 0 where there are none.
struct time_settings {
  uint64_t posted = 0;         ///< a store across the link, until it is in memory
  uint64_t read = 0;           ///< a load or read-modify-write across the link, until its answer is back
  uint64_t fence = 0;          ///< a fence of system scope on the device
  uint64_t launch = 0;         ///< from a launch to the first step of its kernel
  uint64_t copy = 0;           ///< the fixed part of a copy
  uint64_t copy_byte = 0;      ///< each byte of a copy
  uint64_t device_memory = 0;  ///< a load or read-modify-write of a device in its own memory
  uint64_t host_memory = 0;    ///< a load or read-modify-write of the host in its own memory
  uint64_t wake = 0;           ///< from a ring, or the end of its time, until a thread that slept goes on
  bool drains = true;          ///< fences of the device wait until what is under way has arrived
  bool heavy = false;          ///< times are drawn from a distribution with a heavy tail, of which they are the least
  bool shared_on_device = false;

  static time_settings from(const parameters& values);
};

/// The keys that are about time alone; others are those of the link (link.h).
std::vector<parameter> time_parameters();

}  // namespace heddle::sim
