// What ends a search before its end.
#pragma once

#include <heddle/sim/verify/search.h>

#include <atomic>
#include <chrono>
#include <string>

namespace heddle::sim {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The bound that was hit behind so many seconds of this process; empty when none was.
inline std::string bound_hit(const search_options& options, const search_result& so_far, double seconds) {
  if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) return search_was_stopped;
  if (options.states_max != 0 && so_far.states >= options.states_max)
    return std::to_string(options.states_max) + " states";
  if (options.runs_max != 0 && so_far.runs >= options.runs_max) return std::to_string(options.runs_max) + " runs";
  if (options.bytes_max != 0 && so_far.bytes >= options.bytes_max)
    return std::to_string(options.bytes_max >> 20) + " MiB of states";
  if (options.seconds_max > 0 && seconds >= options.seconds_max) return "the time is over";
  return {};
}

}  // namespace heddle::sim
