// A return that passes by the simulator: for what a run assumes behind a call, where the code under test has its registers again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::sim {

/// What the code under test has when the call has returned, as far as a call preserves it or gives it back. Lies on its stack; a change is what
/// the code finds.
struct returned_registers {
  uint64_t given_in_vectors[4];  ///< xmm0 and xmm1
  uint64_t rdx;
  uint64_t rax;
  uint64_t preserved[5];  ///< r15, r14, r13, r12, rbx
  uint64_t rbp;
  const void* returns_to;  ///< to be set
};

/// Whether this processor's calls are known here.
bool has_detours();

/// The address that stands in the place of a return address. What returns there has heddle_take_detour() called, and goes on where that says.
const void* detour_address();

}  // namespace heddle::sim

/// Of the lane that runs. The simulator's entries for code under test define it (sim/runtime/detours.cpp).
extern "C" void heddle_take_detour(heddle::sim::returned_registers* registers);
