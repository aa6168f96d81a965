// What happens before what: vector clocks of all lanes. (Lamport, CACM 21 (7), 1978; Mattern 1989; epochs as in FastTrack, PLDI 2009.)
//
// A lane's clock says, for each lane, up to which of its epochs everything that it did happens before what comes next. Two notions
// are kept apart where they differ. `ordered` is what the program asked for: the rules of the PTX model, and of C++ for the host.
// `seen` is what this machine gives: more where a host of type x86 orders what the program left unordered, less where a fault lets
// stores overtake each other. Races are judged by the first, values by the second. Until they differ there is one clock.
#pragma once

#include <heddle/sim/memory/pool.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim {

using clock_entries = std::vector<uint32_t>;

/// Raises `to` to the maximum of both, entry by entry; what is missing counts as zero.
[[gnu::hot]] void join(clock_entries& to, const clock_entries& from);

/// Whether no entry of `part` is greater than that of `whole`, but for that of one lane.
bool includes(const clock_entries& whole, const clock_entries& part, uint32_t except);

inline uint32_t entry_of(const clock_entries& of, uint32_t lane) { return lane < of.size() ? of[lane] : 0; }
/// Gives the clock an entry for the lane.
[[gnu::hot]] void widen(clock_entries& of, uint32_t lane);
inline void raise(clock_entries& of, uint32_t lane, uint32_t epoch) {
  if (of.size() <= lane) [[unlikely]]
    widen(of, lane);
  if (of[lane] < epoch) of[lane] = epoch;
}

struct causal_clock {
  clock_entries ordered;
  clock_entries seen;  ///< empty: the same as `ordered`
  bool split = false;

  void clear() {
    ordered.clear();
    seen.clear();
    split = false;
  }
  const clock_entries& what_is_seen() const { return split ? seen : ordered; }
  /// Becomes the same as another one, in the memory that it has.
  void assign(const causal_clock& from) {
    ordered.assign(from.ordered.begin(), from.ordered.end());
    split = from.split;
    if (split)
      seen.assign(from.seen.begin(), from.seen.end());
    else
      seen.clear();
  }
  /// From here on the two notions are kept apart.
  void separate() {
    if (split) return;
    seen = ordered;
    split = true;
  }
  void join_all(const causal_clock& from) {
    if (from.split) separate();
    if (split) join(seen, from.what_is_seen());
    join(ordered, from.ordered);
  }
};

/// A clock as it was at some moment, shared by all that refer to it.
using snapshot = pooled<causal_clock>;

}  // namespace heddle::sim
