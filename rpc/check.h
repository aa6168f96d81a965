// What an end of a protocol does beside the protocol itself, as a policy: whether it checks every invariant, which
// costs nothing where it does not, and whether its peer may end before it.
#pragma once

#include <heddle/rpc/target.h>

namespace heddle::rpc {

/// Compiles every check away.
struct unchecked {
  static constexpr bool enabled = false;
  static constexpr bool may_end = false;
};

/// Stops the run with fault::protocol at the first broken invariant.
struct checked {
  static constexpr bool enabled = true;
  static constexpr bool may_end = false;
};

/// As `Check`, and the server may end while clients call: both ends of a port must have it. A client's call that was not answered
/// before then says so (basic_port::ended) in place of waiting for ever, and a server can give up a call whose client has died.
template <typename Check>
struct may_end_and : Check {
  static constexpr bool may_end = true;
};

/// Stops the run when `holds` is false and the policy checks at all. The message names the invariant.
template <typename Target, typename Check>
HEDDLE_FUNCTION inline void require(bool holds, const char* message) {
  if constexpr (Check::enabled) {
    if (!holds) Target::trap(fault::protocol, message);
  }
}

}  // namespace heddle::rpc
