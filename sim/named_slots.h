// Where the slots of a protocol lie, as a program may tell: reports then show their mailboxes and locks by number.
#pragma once

#include <stdint.h>

namespace heddle::sim::runtime {

/// A client and a server with a mailbox and a lock bit each, for each of `count` slots.
struct named_slots {
  const char* name;  ///< of all of them: "ports"
  const char* each;  ///< of one: "port"
  uint32_t count;
  uint32_t slots_per_word;  ///< of a mailbox: 1, a word each, or 32, a bit each
  uint32_t locks_per_word;  ///< 32, a bit each, or fewer: then a lock is the lowest of 32 / locks_per_word bits
  bool four_phase;  ///< a mailbox is back where it was after each call; otherwise it is complemented at each hand-over
  const void* client_outbox;
  const void* server_outbox;
  const void* client_locks;
  const void* server_locks;
};

/// Of no effect outside of a run that is recorded.
void name_slots(const named_slots& where);

}  // namespace heddle::sim::runtime
