// Whether the simulator itself is compiled for the address sanitizer, and what follows for its stacks.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HEDDLE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_ADDRESS_SANITIZER 1
#endif
#endif

namespace heddle::sim {

/// By how much a stack is larger than its setting asks. The simulator's own frames stand on the lanes' stacks, and the address
/// sanitizer, which keeps all variables apart, makes them several times as large as they are.
#ifdef HEDDLE_ADDRESS_SANITIZER
inline constexpr size_t sanitizer_stack_bytes = 48 * 1024;
#else
inline constexpr size_t sanitizer_stack_bytes = 0;
#endif

}  // namespace heddle::sim
