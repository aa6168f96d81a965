// Calls that a scenario marks, of a protocol of its own: `heddle fuzz` then says how long they take in virtual time.
// Those of heddle's own protocols are marked already.
#pragma once

#include <heddle/rpc/rpc.h>

namespace heddle {

/// A call of the calling lane begins here.
HEDDLE_FUNCTION inline void call_begins() { call_begins<target>(); }
/// It has ended. `answered`: it has come to something, and its time counts.
HEDDLE_FUNCTION inline void call_ends(bool answered = true) { call_ends<target>(answered); }

}  // namespace heddle
