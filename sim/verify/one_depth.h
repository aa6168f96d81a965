// Runs that all begin at one depth of the stack of the OS thread.
#pragma once

#include <heddle/sim/verify/search.h>

#include <cstddef>
#include <cstdint>

namespace heddle::sim {

/// Makes the run with the stack at that address, or below where it is already: lanes may have the address of what lies on this stack on theirs,
/// where it is part of the states.
[[gnu::noinline]] inline outcome run_at(uintptr_t address, const explored_run& run, scheduler::choice_source& choices) {
  const auto now = reinterpret_cast<uintptr_t>(__builtin_alloca(16));
  if (now > address) {
    void* const filled = __builtin_alloca(now - address);
    asm volatile("" : : "r"(filled) : "memory");
  }
  return run(choices);
}

/// The run, made below all frames of a search that is called by the caller and has so many bytes in its first frame. `run` must outlive it.
[[gnu::always_inline]] inline explored_run at_one_depth(const explored_run& run, size_t frame_bytes) {
  constexpr uintptr_t frames_bytes = uintptr_t{32} * 1024;
  constexpr uintptr_t page_bytes = 4096;
  const uintptr_t address =
      (reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) - frame_bytes - frames_bytes) / page_bytes * page_bytes;
  return [&run, address](scheduler::choice_source& choices) { return run_at(address, run, choices); };
}

}  // namespace heddle::sim
