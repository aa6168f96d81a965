// The frames on a lane's stack, as far as code under test keeps frame pointers: each holds its caller's, and the address to return to behind it.
#pragma once

#include <heddle/sim/machine/detour.h>
#include <heddle/sim/machine/lane.h>

namespace heddle::sim {

// A frame of a function that keeps no frame pointer may lie between: what is read there is checked before it is used, and the address sanitizer, which
// would tell of it, is not asked.
#ifdef HEDDLE_ADDRESS_SANITIZER
#define HEDDLE_READS_FRAMES __attribute__((no_sanitize("address"), noinline))
#else
#define HEDDLE_READS_FRAMES
#endif

/// The caller's frame.
HEDDLE_READS_FRAMES inline void* outer_frame(void* const* frame) { return frame[0]; }
/// Where the call returns to, or the detour that stands there.
HEDDLE_READS_FRAMES inline void* return_address(void* const* frame) { return frame[1]; }

/// Where the call returns to that the frame belongs to.
inline const void* returns_to(const lane& self, void* const* frame) {
  const void* const returns = return_address(frame);
  return self.assumed.returns_to != nullptr && returns == detour_address() ? self.assumed.returns_to : returns;
}

/// Goes from this frame to the outer ones, until `visit` answers false.
template <typename Visit>
void for_each_frame(const lane& self, void* const* frame, const Visit& visit) {
  while (self.runs.stack().holds_frame(frame) && visit(frame)) {
    auto* const outer = static_cast<void* const*>(outer_frame(frame));
    if (outer <= frame) break;
    frame = outer;
  }
}

}  // namespace heddle::sim
