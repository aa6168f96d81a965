// One end of the port protocol: where everything is, seen from that end. One class serves both.
#pragma once

#include <heddle/rpc/layout.h>
#include <heddle/rpc/lock.h>
#include <heddle/rpc/mailbox.h>

namespace heddle::rpc {

/// A view: it owns nothing, copies name the same ports, and it can be passed to a kernel byte by byte.
template <typename Target, side Side, typename Check>
class process {
 public:
  /// `shared` is layout{ports, lanes}.size_bytes() of zeroed memory that both ends reach; `locks` is layout::lock_words()
  /// zeroed words that only this end uses and that live as long as it does; one more of a server that may end.
  HEDDLE_FUNCTION process(void* shared, uint32_t* locks, layout shape)
      : shape_(shape), base_(static_cast<unsigned char*>(shared)), locks_(locks) {}

  HEDDLE_FUNCTION uint32_t port_count() const { return shape_.ports; }
  HEDDLE_FUNCTION uint32_t lane_count() const { return shape_.lanes; }

  HEDDLE_FUNCTION lock_bits<Target, Check> locks() const { return lock_bits<Target, Check>(locks_); }

  HEDDLE_FUNCTION mailboxes<Target, Side> boxes() const {
    auto* const of_client = reinterpret_cast<uint32_t*>(base_ + layout::client_outbox_offset());
    auto* const of_server = reinterpret_cast<uint32_t*>(base_ + shape_.server_outbox_offset());
    if constexpr (Side == side::client) return mailboxes<Target, Side>(of_server, of_client);
    return mailboxes<Target, Side>(of_client, of_server);
  }

  HEDDLE_FUNCTION header& header_of(uint32_t port) const {
    return reinterpret_cast<header*>(base_ + shape_.header_offset())[port];
  }

  HEDDLE_FUNCTION packet& packet_of(uint32_t port, uint32_t lane) const {
    return reinterpret_cast<packet*>(base_ + shape_.packet_offset())[uint64_t{port} * shape_.lanes + lane];
  }

  /// Set to make the servers of this end give up the calls that they wait in. Behind the lock bits, where Check::may_end.
  HEDDLE_FUNCTION uint32_t& give_up_word() const {
    static_assert(Check::may_end, "an end that never ends has no such word");
    return locks_[shape_.lock_words()];
  }

  HEDDLE_FUNCTION doorbell& bell() const { return *reinterpret_cast<doorbell*>(base_ + layout::doorbell_offset()); }

  /// Whether every port is back where it started: with the client, and not held at this end. To be asked when both ends
  /// are quiescent.
  HEDDLE_FUNCTION bool all_idle() const {
    for (uint32_t port = 0; port < shape_.ports; ++port)
      if (((boxes().load_inbox(port) ^ boxes().load_outbox(port)) & 1) != 0 || locks().is_locked(port)) return false;
    return true;
  }

 private:
  layout shape_;
  unsigned char* base_;
  uint32_t* locks_;
};

}  // namespace heddle::rpc
