// The invariants of a protocol, as a policy: every one is checked in a checked build and costs nothing in an unchecked one.
#pragma once

#include <heddle/rpc/target.h>

namespace heddle::rpc {

/// Compiles every check away.
struct unchecked {
  static constexpr bool enabled = false;
};

/// Stops the run with fault::protocol at the first broken invariant.
struct checked {
  static constexpr bool enabled = true;
};

/// Stops the run when `holds` is false and the policy checks at all. The message names the invariant.
template <typename Target, typename Check>
HEDDLE_FUNCTION inline void require(bool holds, const char* message) {
  if constexpr (Check::enabled) {
    if (!holds) Target::trap(fault::protocol, message);
  }
}

}  // namespace heddle::rpc
