// How long calls take in the virtual time of the simulated machine: a model, and no measurement.
#pragma once

#include <heddle/tools/registry.h>

#include <cstdint>
#include <optional>
#include <string>

namespace heddle::tools {

/// Of the calls of lanes that have come to something. Times in nanoseconds; a share of the calls takes no longer than its time.
struct call_latency {
  uint64_t calls = 0;
  uint64_t schedules = 0;  ///< in which they were made
  double median_ns = 0;
  double p99_ns = 0;
  double longest_ns = 0;
};

/// Runs the first schedules of a campaign again, on a machine that keeps virtual time: those with seeds from `first_seed` on, at most
/// `schedules`, and no more than it takes to know. The same whatever the campaign's workers and time. Nothing where no call is made.
std::optional<call_latency> latency_of(const scenario& tested, const parameters& settings, const std::string& strategy,
                                       uint64_t first_seed, uint64_t schedules);

}  // namespace heddle::tools
