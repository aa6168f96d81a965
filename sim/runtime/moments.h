// Times of the C library as the simulated clock has them, and when a wait with a time-out may end by time.
#pragma once

#include <heddle/sim/runtime/entry.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

namespace heddle::sim::runtime {

constexpr uint64_t ns_per_second = 1'000'000'000;

/// What a clock shows when a run begins, in nanoseconds. Every run begins at the same time: 2000-01-01, a second after the machine was
/// switched on.
constexpr uint64_t start_of(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI:
      return uint64_t{946'684'800} * ns_per_second;
    case CLOCK_PROCESS_CPUTIME_ID:
    case CLOCK_THREAD_CPUTIME_ID:
      return 0;
    default:
      return ns_per_second;
  }
}

inline uint64_t in_ns(const timespec& time) {
  constexpr uint64_t most_seconds = uint64_t{1} << 33;
  const uint64_t seconds = time.tv_sec < 0 ? 0 : std::min(static_cast<uint64_t>(time.tv_sec), most_seconds);
  return seconds * ns_per_second + static_cast<uint64_t>(std::clamp(time.tv_nsec, 0L, 999'999'999L));
}

/// A wait that has no time-out.
constexpr uint64_t never = ~uint64_t{0};

/// Of that clock, as nanoseconds since the run began.
inline uint64_t moment_of(clockid_t clock, const timespec& until) {
  const uint64_t at = in_ns(until);
  return at > start_of(clock) ? at - start_of(clock) : 0;
}
/// The same where there may be no time-out at all.
inline uint64_t moment_of(clockid_t clock, const timespec* until) {
  return until == nullptr ? never : moment_of(clock, *until);
}
/// So many nanoseconds from now.
inline uint64_t moment_behind(const timespec* time) {
  return time == nullptr ? never : execution::instance->core().clock.cycle() + in_ns(*time);
}

/// A wait of a thread that may end by time. Time-outs of ten seconds and more are guards, for when nothing else can go on: such a wait goes round some
/// times while others are looked at. How often is part of the lane's state, as the moment is among the operands that the call hides.
class timed_wait {
 public:
  timed_wait(lane& self, uint64_t moment) : self_(self), moment_(moment) {
    const run_core& core = execution::instance->core();
    const bool is_guard =
        !core.machine.early_timeouts && has_end() && moment >= core.clock.cycle() + 10 * ns_per_second;
    self.at_clock.guard_rounds = is_guard ? 1 : 0;
  }
  ~timed_wait() { self_.at_clock.guard_rounds = 0; }
  timed_wait(const timed_wait&) = delete;
  timed_wait& operator=(const timed_wait&) = delete;

  bool has_end() const { return moment_ != never; }
  /// Whether a wait of the lane that has come to nothing is over; then its time has passed. Otherwise it is to be begun again.
  bool is_over() {
    if (!has_end()) return false;
    run_core& core = execution::instance->core();
    constexpr uint32_t rounds_most = 512;
    uint32_t& rounds = self_.at_clock.guard_rounds;
    if (rounds != 0 && core.phase.is_open()) {
      self_.left.wakes = 0;
      return false;
    }
    if (rounds != 0) ++rounds;
    if (rounds != 0 && rounds <= rounds_most) return false;
    core.clock.pass_until(moment_);
    return true;
  }
  /// Low end of what the thread's future depends on.
  const std::byte* private_state(const caller& from) const { return has_end() ? from.private_state : nullptr; }

 private:
  lane& self_;
  uint64_t moment_;
};

}  // namespace heddle::sim::runtime
