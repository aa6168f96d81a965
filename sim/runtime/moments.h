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
/// times while others are looked at.
class timed_wait {
 public:
  explicit timed_wait(uint64_t moment)
      : moment_(moment),
        is_guard_(!execution::instance->core().machine.early_timeouts &&
                  moment >= execution::instance->core().clock.cycle() + 10 * ns_per_second) {}

  bool has_end() const { return moment_ != never; }
  /// Whether a wait of the lane that has come to nothing is over; then its time has passed. Otherwise it is to be begun again.
  bool is_over(lane& self) {
    if (!has_end()) return false;
    run_core& core = execution::instance->core();
    constexpr uint64_t rounds_most = 512;
    if (is_guard_ && (core.phase.is_open() || ++rounds_ < rounds_most)) {
      if (core.phase.is_open()) self.left.wakes = 0;
      return false;
    }
    core.clock.pass_until(moment_);
    return true;
  }
  /// Low end of what the thread's future depends on: of a guard, how often it has gone round is part of that.
  const std::byte* private_state(const caller& from) const {
    if (!has_end()) return nullptr;
    return is_guard_ ? reinterpret_cast<const std::byte*>(&rounds_) : from.private_state;
  }

 private:
  uint64_t rounds_ = 0;
  uint64_t moment_;
  bool is_guard_;
};

}  // namespace heddle::sim::runtime
