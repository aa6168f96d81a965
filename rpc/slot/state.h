// The states of a slot, as each side reads them off its inbox, its outbox and its lock bit. (hostrpc README, "State
// machine description".)
//
// Each mailbox goes from 0 to 1 and back once a call, the client's first. The page has no owner while a slot is idle, belongs
// to the server while the two mailboxes differ as the server sees them, and to the holder of the client's lock otherwise.
#pragma once

#include <heddle/rpc/target.h>

namespace heddle::rpc {

/// What a client sees. `inbox` lags behind what the server has posted.
enum class client_slot_state : uint8_t {
  idle,      ///< 0 0: may be taken for a call
  posted,    ///< 0 1: the server has work to do, or has not been seen to have done it
  finished,  ///< 1 0: acknowledged; the server clears the page
  result,    ///< 1 1: the answer has come; when the lock is free, no call waits for it
};

/// What a server sees. `inbox` lags behind what the client has posted.
enum class server_slot_state : uint8_t {
  idle,     ///< 0 0: nothing to do
  garbage,  ///< 0 1: the client has acknowledged: clear the page
  work,     ///< 1 0: a request
  waiting,  ///< 1 1: the client has not acknowledged yet
};

HEDDLE_FUNCTION constexpr client_slot_state client_state(bool inbox, bool outbox) {
  return static_cast<client_slot_state>((inbox ? 2 : 0) + (outbox ? 1 : 0));
}
HEDDLE_FUNCTION constexpr server_slot_state server_state(bool inbox, bool outbox) {
  return static_cast<server_slot_state>((inbox ? 2 : 0) + (outbox ? 1 : 0));
}

/// Whether a server may take the slot's lock: there is something to do.
HEDDLE_FUNCTION constexpr bool wants_server(server_slot_state seen) {
  return seen == server_slot_state::garbage || seen == server_slot_state::work;
}

}  // namespace heddle::rpc
