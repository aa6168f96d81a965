// The frames on a lane's stack, as far as code under test keeps frame pointers: each holds its caller's, and the address to return to behind it.
#pragma once

#include <heddle/sim/machine/detour.h>
#include <heddle/sim/machine/lane.h>

namespace heddle::sim {

/// Where the call returns to that the frame belongs to.
inline const void* returns_to(const lane& self, void* const* frame) {
  if (self.assumed.returns_to != nullptr && frame[1] == detour_address()) [[unlikely]]
    return self.assumed.returns_to;
  return frame[1];
}

/// Goes from this frame to the outer ones, until `visit` answers false.
template <typename Visit>
#if defined(__GNUC__)
__attribute__((no_sanitize("address")))
#endif
void for_each_frame(const lane& self, void* const* frame, const Visit& visit) {
  while (self.runs.stack().holds_frame(frame) && visit(frame)) {
    auto* const outer = static_cast<void* const*>(frame[0]);
    if (outer <= frame) break;
    frame = outer;
  }
}

}  // namespace heddle::sim
