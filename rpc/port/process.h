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
  /// `shared` is layout{ports, lanes}.size_bytes() of zeroed memory that both ends reach; `own` is layout::own_words()
  /// zeroed words that only this end uses and that live as long as it does. On a device they lie in its own memory.
  HEDDLE_FUNCTION process(void* shared, uint32_t* own, layout shape)
      : shape_(shape), base_(static_cast<unsigned char*>(shared)), own_(own) {}

  HEDDLE_FUNCTION uint32_t port_count() const { return shape_.ports; }
  HEDDLE_FUNCTION uint32_t lane_count() const { return shape_.lanes; }

  HEDDLE_FUNCTION lock_bits<Target, Check> locks() const { return lock_bits<Target, Check>(own_); }

  /// What this end knows of a port without a look at shared memory: kept beside the lock, so that a port whose last call has come to its end
  /// opens without a read over the link.
  struct state {
    uint32_t outbox;  ///< as a plain hand-over
    bool
        given;  ///< the packet was with the other end when the port was closed: only its mailbox tells whether it still is

    HEDDLE_FUNCTION static constexpr state of(uint32_t word) { return {0 - (word & 1), (word & 2) != 0}; }
    HEDDLE_FUNCTION constexpr uint32_t word() const { return (outbox & 1) | (given ? 2U : 0U); }
  };
  /// Without the lock only a hint. Zeroed words are those of a port that was never used.
  HEDDLE_FUNCTION state load_state(uint32_t port) const {
    // Relaxed: the lock of the port orders it.
    return state::of(state_ref(port).load(memory_order::relaxed));
  }
  /// For the holder of the lock, before it unlocks.
  HEDDLE_FUNCTION void store_state(uint32_t port, state now) const {
    // Relaxed: as in load_state.
    state_ref(port).store(now.word(), memory_order::relaxed);
  }

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

  /// The staging area of a port, of stage_bytes() bytes.
  HEDDLE_FUNCTION uint64_t* stage_of(uint32_t port) const {
    return reinterpret_cast<uint64_t*>(base_ + shape_.stage_offset() + port * shape_.stage_step());
  }
  HEDDLE_FUNCTION uint32_t stage_bytes() const { return shape_.stage_bytes; }

  /// Set to make the servers of this end give up the calls that they wait in. Behind the lock bits, where Check::may_end.
  HEDDLE_FUNCTION uint32_t& give_up_word() const {
    static_assert(Check::may_end, "an end that never ends has no such word");
    return own_[shape_.lock_words()];
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
  using own_ref = typename Target::template atomic_ref<uint32_t, scope::device>;
  HEDDLE_FUNCTION own_ref state_ref(uint32_t port) const { return own_ref(own_[shape_.lock_words() + 1 + port]); }

  layout shape_;
  unsigned char* base_;
  uint32_t* own_;
};

}  // namespace heddle::rpc
