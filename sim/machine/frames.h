// The frames on a lane's stack, as far as code under test keeps frame pointers: each holds its caller's, and the address to return to behind it.
#pragma once

#include <heddle/sim/machine/detour.h>
#include <heddle/sim/machine/lane.h>

#include <cstddef>

namespace heddle::sim {

inline bool is_on_stack(const lane& self, const void* frame) {
  const auto& stack = self.runs.stack();
  const auto* const byte = static_cast<const std::byte*>(frame);
  return byte >= stack.low && byte + 2 * sizeof(void*) <= stack.high();
}

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
  while (frame != nullptr && is_on_stack(self, frame) && visit(frame)) {
    auto* const outer = static_cast<void* const*>(frame[0]);
    if (outer <= frame) break;
    frame = outer;
  }
}

}  // namespace heddle::sim
