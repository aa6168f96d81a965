// What it takes to start a kernel and to learn that it has ended: the way without a protocol.
#pragma once

#include "meter.h"

#include <heddle/rpc/selected_device.h>

#include <algorithm>
#include <chrono>
#include <optional>

namespace heddle::bench {

inline constexpr const char* launch_name = "launch";

struct no_work {
  HEDDLE_FUNCTION void operator()() const {}
};

/// By the host's clock, from the call of launch() to the return of synchronize().
inline result<measured> measure_launches(device& on, const point& at, const effort& how) {
  using clock = std::chrono::steady_clock;
  using seconds = std::chrono::duration<double>;
  constexpr uint32_t warm_up = 20;
  constexpr size_t launches_max = 100'000;
  const launch_shape shape{.blocks = at.waves, .waves = 1, .lanes = machine::launched_lanes(at.lanes)};
  measured all;
  std::optional<clock::time_point> first;
  clock::time_point last;
  for (uint32_t n = 0;; ++n) {
    const clock::time_point before = clock::now();
    if (const result<void> launched = on.try_launch(shape, no_work{}); !launched) return launched.why();
    if (const result<void> ended = on.try_synchronize(); !ended) return ended.why();
    last = clock::now();
    if (n < warm_up) continue;
    if (!first) first = before;
    all.call_ns.push_back(std::chrono::duration<double, std::nano>(last - before).count());
    if (all.call_ns.size() == launches_max || seconds(last - *first).count() > how.rounds * how.round_seconds) break;
  }
  std::sort(all.call_ns.begin(), all.call_ns.end());
  all.calls_per_second = static_cast<double>(all.call_ns.size()) / seconds(last - *first).count();
  return all;
}

}  // namespace heddle::bench
