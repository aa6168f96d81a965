// A lane that runs off its stack says so, instead of ending the program without a word.
#pragma once

#include <heddle/sim/fiber.h>

#include <cstddef>

namespace heddle::sim {

/// By how much a stack is larger than its setting asks. The simulator's own frames stand on the lanes' stacks, and the address
/// sanitizer, which keeps all variables apart, makes them several times as large as they are.
#ifdef HEDDLE_ADDRESS_SANITIZER
inline constexpr size_t sanitizer_stack_bytes = 48 * 1024;
#else
inline constexpr size_t sanitizer_stack_bytes = 0;
#endif

/// To be called on each OS thread that runs simulations. From then on a lane of this thread that touches the page that guards
/// its stack ends the program with exit code 3 and one line that names the lane and the setting to raise; any other fault ends
/// as it would have without this.
void report_stack_overflows();

}  // namespace heddle::sim
