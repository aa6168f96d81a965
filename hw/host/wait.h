// Waiting on the host: what to do in a spin loop, and how to sleep until a doorbell rings.
#pragma once

#include <heddle/rpc/target.h>
#include <stdint.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace heddle::host {

/// Tells the processor that this is a spin loop; the thread keeps its core.
inline void relax_processor() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

namespace detail {

inline constexpr uint32_t spins_when_alone = 128;
inline constexpr uint32_t spins_when_crowded = 8;
inline constexpr std::chrono::nanoseconds quick_yield{1500};

/// Spins that this thread has left until it offers its core to another thread.
inline constinit thread_local uint32_t spins_left = spins_when_alone;

/// The monotonic clock. Not std::chrono::steady_clock, whose now() lies in the C++ standard library's binary: what includes these headers
/// can be linked without it.
inline std::chrono::nanoseconds now() noexcept {
  timespec read{};
  clock_gettime(CLOCK_MONOTONIC, &read);
  return std::chrono::seconds(read.tv_sec) + std::chrono::nanoseconds(read.tv_nsec);
}

/// Offers the core, and learns from the answer. A yield that comes back at once found no thread that wants this core: the
/// peer runs on another one and answers within a round trip of some 100 ns, so spinning is best. A yield that took long
/// let another thread run: there are more threads than cores, the peer may be one of those that wait, and spinning keeps
/// it away.
[[gnu::noinline]] inline void yield_and_learn() noexcept {
  const std::chrono::nanoseconds start = now();
  std::this_thread::yield();
  const bool alone = now() - start < quick_yield;
  spins_left = alone ? spins_when_alone : spins_when_crowded;
}

/// How many threads sleep, by the doorbell's address. A ring asks the kernel only if a thread may sleep. Two doorbells
/// that share an entry cost a system call now and then, nothing else.
struct alignas(64) sleeper_count {
  std::atomic<uint32_t> count{0};
};
inline sleeper_count sleepers[16];

inline std::atomic<uint32_t>& sleepers_on(const doorbell& bell) noexcept {
  return sleepers[(reinterpret_cast<uintptr_t>(&bell) >> 6) % std::size(sleepers)].count;
}

inline bool has_rung(doorbell& bell, uint32_t seen, std::memory_order order) noexcept {
  return std::atomic_ref<doorbell>(bell).load(order) != seen;
}

/// Sleeps while the word is `seen`, until woken or `nanoseconds` have passed; no_timeout means for ever.
inline void sleep_while_equal(doorbell& bell, uint32_t seen, uint64_t nanoseconds) noexcept {
#ifdef __linux__
  constexpr uint64_t second = 1'000'000'000;
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(nanoseconds / second);
  limit.tv_nsec = static_cast<long>(nanoseconds % second);
  // An interrupted, refused or spurious return needs no care here: the caller looks for work in any case.
  syscall(SYS_futex, &bell, FUTEX_WAIT_PRIVATE, seen, nanoseconds == no_timeout ? nullptr : &limit, nullptr, 0);
#else
  const std::chrono::nanoseconds start = now();
  while (!has_rung(bell, seen, std::memory_order_relaxed)) {
    std::this_thread::yield();
    if (now() - start >= std::chrono::nanoseconds(nanoseconds)) return;
  }
#endif
}

inline void wake_all([[maybe_unused]] doorbell& bell) noexcept {
#ifdef __linux__
  syscall(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
#endif
}

}  // namespace detail

/// One turn of a loop that waits for memory to change. Cheap while the peer is likely to run on another core; gives the
/// core away when it is not. No state is carried from one wait to the next but whether the machine was crowded.
inline void pause() noexcept {
#ifdef __SANITIZE_THREAD__
  // The simulator, where it runs what nvcc made of this, sees accesses and yields alone, and each run must be as if it were the first.
  return std::this_thread::yield();
#endif
  if (detail::spins_left != 0) {
    --detail::spins_left;
    relax_processor();
    return;
  }
  detail::yield_and_learn();
}

/// Adds a ring and wakes the threads of this process that sleep on this doorbell.
///
/// Why no ring is lost. The ring counts before it looks for sleepers; a sleeper registers before it looks at the count;
/// all four are sequentially consistent, so at least one of the two sees the other. If the ring sees the sleeper, it
/// wakes it. If the sleeper sees the ring, it does not sleep. A ring between the sleeper's look and its sleep changes
/// the word, and the kernel compares it with `seen` under the lock that a wake takes (futex(2)).
inline void ring(doorbell& bell) noexcept {
  // Also a release: pairs with the acquire in the waiter, which then finds the work that was published before the ring.
  std::atomic_ref<doorbell>(bell).fetch_add(1, std::memory_order_seq_cst);
  if (detail::sleepers_on(bell).load(std::memory_order_seq_cst) != 0) detail::wake_all(bell);
}

/// Sleeps until the count of `bell` differs from `seen`, `timeout_ns` nanoseconds have passed, or for no reason at all.
/// For doorbells that only threads of this process ring.
inline void sleep_until_rung(doorbell& bell, uint32_t seen, uint64_t timeout_ns) noexcept {
  std::atomic<uint32_t>& sleeping = detail::sleepers_on(bell);
  sleeping.fetch_add(1, std::memory_order_seq_cst);
  if (!detail::has_rung(bell, seen, std::memory_order_seq_cst)) detail::sleep_while_equal(bell, seen, timeout_ns);
  // Relaxed: a ring that still counts this thread among the sleepers makes one system call too many.
  sleeping.fetch_sub(1, std::memory_order_relaxed);
  // Acquire, pairs with ring(): the sleep itself orders nothing.
  (void)std::atomic_ref<doorbell>(bell).load(std::memory_order_acquire);
}

/// The same for doorbells that a GPU rings. A store of a GPU wakes no thread. CUDA has no call by which a kernel interrupts a host thread, and HIP's
/// own interface has none; signals of HSA do (hw/hip_signal). So this polls: some microseconds of spinning, then sleeps that double up to
/// `nap_max`. Linux adds its timer slack, 50 us by default, to each of them (prctl(2), PR_SET_TIMERSLACK).
inline void poll_until_rung(doorbell& bell, uint32_t seen, uint64_t timeout_ns) {
  using std::chrono::nanoseconds;
  constexpr nanoseconds spinning{20'000};
  constexpr nanoseconds nap_max{200'000};
  const nanoseconds start = detail::now();
  nanoseconds nap{1'000};
  // Acquire: pairs with the release in the GPU's ring.
  while (!detail::has_rung(bell, seen, std::memory_order_acquire)) {
    // How long a wait without an end has lasted means nothing once its naps are the longest: each turn is then as the one before, by which the
    // simulator knows that it comes to nothing.
    if (timeout_ns == no_timeout && nap == nap_max) {
      std::this_thread::sleep_for(nap_max);
      continue;
    }
    const nanoseconds waited = detail::now() - start;
    if (static_cast<uint64_t>(waited.count()) >= timeout_ns) return;
    if (waited < spinning) {
      pause();
      continue;
    }
    const uint64_t left_ns = timeout_ns - static_cast<uint64_t>(waited.count());
    std::this_thread::sleep_for(left_ns < static_cast<uint64_t>(nap.count()) ? nanoseconds(left_ns) : nap);
    nap = std::min(2 * nap, nap_max);
  }
}

}  // namespace heddle::host
