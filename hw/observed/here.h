// What watching needs of each machine beside its Target: where the caller's view is, a clock, a rest, and a way out.
#pragma once

#include <heddle/hw/host/wait.h>
#include <heddle/hw/observed/event.h>

#include <chrono>
#include <exception>
#include <thread>

namespace heddle::observed {

/// Thrown out of a wait when the watchdog has said stop; host::thread carries it to the thread that joins.
class stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped by the watchdog"; }
};

/// The view of this host thread; without a stop word when it is not watched.
inline constinit thread_local view this_thread{};

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

/// One for each block. Every lane of a launch writes the same into it before it reads.
HEDDLE_FUNCTION inline view& here() {
  __shared__ view of_block;
  return of_block;
}

#else

HEDDLE_FUNCTION inline view& here() { return this_thread; }

#endif

#if defined(__CUDA_ARCH__)

/// Nanoseconds. (PTX ISA, %globaltimer; its resolution is the machine's.)
HEDDLE_FUNCTION inline uint64_t clock() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
/// For about 2^`exponent` times 16 ns; one instruction rests for 1 ms at most.
HEDDLE_FUNCTION inline void rest(uint32_t exponent, uint64_t) { __nanosleep(16u << (exponent < 12 ? exponent : 12)); }
/// Ends this lane alone: the kernel ends when all of its lanes have.
HEDDLE_FUNCTION inline void leave() { asm volatile("exit;"); }

#elif defined(__HIP_DEVICE_COMPILE__)

/// Ticks of a constant rate, which the device calibrates.
HEDDLE_FUNCTION inline uint64_t clock() { return __builtin_amdgcn_s_memrealtime(); }
/// For about 2^`exponent` times 64 clocks.
HEDDLE_FUNCTION inline void rest(uint32_t exponent, uint64_t) {
  for (uint32_t n = 0; n < 1u << (exponent < 12 ? exponent : 12); ++n) __builtin_amdgcn_s_sleep(1);
}
/// Ends this wave: the kernel ends when all of its waves have.
HEDDLE_FUNCTION inline void leave() { __builtin_amdgcn_endpgm(); }

#else

/// Nanoseconds.
HEDDLE_FUNCTION inline uint64_t clock() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

/// Short ones keep the core, longer ones offer it, the longest two sleep: others are then sure to run, also on a machine with idle
/// cores. `draw` says for how long.
HEDDLE_FUNCTION inline void rest(uint32_t exponent, uint64_t draw) {
  constexpr uint32_t spins_up_to = 10;
  constexpr uint32_t yields_up_to = 14;
  constexpr uint64_t sleep_ns_max = 200'000;
  if (exponent < spins_up_to) {
    for (uint32_t n = 0; n < 1u << exponent; ++n) host::relax_processor();
  } else if (exponent < yields_up_to) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::nanoseconds(draw % sleep_ns_max));
  }
}

/// Unwinds this thread, unless it is unwinding already.
HEDDLE_FUNCTION inline void leave() {
  if (std::uncaught_exceptions() == 0) throw stopped();
}

#endif

}  // namespace heddle::observed
