// What an end of a protocol does beside the protocol itself, as a policy: whether it checks every invariant, which
// costs nothing where it does not, and whether its peer may end before it. And how all ends acquire what they have polled for.
#pragma once

#include <heddle/rpc/target.h>

namespace heddle::rpc {

/// Compiles every check away.
struct unchecked {
  static constexpr bool enabled = false;
  static constexpr bool may_end = false;
  static constexpr bool by_word = false;
};

/// Stops the run with fault::protocol at the first broken invariant.
struct checked {
  static constexpr bool enabled = true;
  static constexpr bool may_end = false;
  static constexpr bool by_word = false;
};

/// As `Check`, and the server may end while clients call: both ends of a port must have it. A client's call that was not answered
/// before then says so (basic_port::ended) in place of waiting for ever, and a server can give up a call whose client has died.
template <typename Check>
struct may_end_and : Check {
  static constexpr bool may_end = true;
};

/// As `Check`, and the packets of a port lie by word: the first words of all lanes next to each other, then the second, and so on (word_packet in
/// layout.h). Both ends of a port must have it. A wave that writes one word of each lane so writes a few whole lines, and not one line a lane.
template <typename Check>
struct by_word_and : Check {
  static constexpr bool by_word = true;
};

/// Stops the run when `holds` is false and the policy checks at all. The message names the invariant.
template <typename Target, typename Check>
HEDDLE_FUNCTION inline void require(bool holds, const char* message) {
  if constexpr (Check::enabled) {
    if (!holds) Target::trap(fault::protocol, message);
  }
}

/// The same of what the program says of the memory that it gives. A host thread asks once, when it makes its end, so that it does whatever the policy:
/// what follows divides by these numbers.
template <typename Target, typename Check>
HEDDLE_FUNCTION inline void require_layout(bool holds, const char* message) {
  if (Check::enabled || !Target::is_device())
    if (!holds) Target::trap(fault::assertion, message);
}

// Polling is relaxed looks at a word, and one acquire when a look has shown what was waited for. An acquire at each look would be right too, and on
// a GPU dear: it throws the caches of the multiprocessor away, each time, for all waves that run there. (LLVM libc, shared/rpc.h, polls so.)

/// Orders what follows behind the release of the store whose value this lane or thread has just read from `word` by a relaxed load. On a
/// device a fence, which reads nothing over the link. On a host, where that costs nothing, one more load, which ThreadSanitizer understands:
/// it finds the same store, or one behind it in the word's order. A machine that knows better has a member of this name.
template <typename Target, scope Scope, typename T>
HEDDLE_FUNCTION inline void acquire_seen(T& word) {
  if constexpr (requires { Target::template acquire_seen<Scope>(word); })
    Target::template acquire_seen<Scope>(word);
  else if (Target::is_device())
    Target::template fence<Scope>(memory_order::acquire);
  else
    (void)typename Target::template atomic_ref<T, Scope>(word).load(memory_order::acquire);
}

/// What a word holds, for a check alone: the word is one whose newest value this lane or thread knows. Orders nothing. A machine that counts
/// accesses has a member of this name, so that a check is none.
template <typename Target, scope Scope, typename T>
HEDDLE_FUNCTION inline T peek(T& word) {
  if constexpr (requires { Target::peek(word); })
    return Target::peek(word);
  else
    return typename Target::template atomic_ref<T, Scope>(word).load(memory_order::relaxed);
}

}  // namespace heddle::rpc
