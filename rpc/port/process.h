// One end of the port protocol: where everything is, seen from that end. One class serves both.
#pragma once

#include <heddle/rpc/layout.h>
#include <heddle/rpc/mailbox.h>
#include <heddle/rpc/own.h>
#include <heddle/rpc/ringing.h>

namespace heddle::rpc {

/// A view: it owns nothing, copies name the same ports, and it can be passed to a kernel byte by byte.
template <typename Target, side Side, typename Check>
class process {
 public:
  /// `shared` is layout::size_bytes() of zeroed memory that both ends reach, and layout::answer_bytes() where the layout is `apart`; `own` is
  /// layout::own_words() zeroed words that only this end uses and that live as long as it does. On a device they lie in its own memory.
  HEDDLE_FUNCTION process(port_memory shared, uint32_t* own, layout shape)
      : shape_(shape),
        base_(static_cast<unsigned char*>(shared.requests)),
        answers_(shape.apart ? static_cast<unsigned char*>(shared.answers) : base_),
        own_(own),
        of_client_(reinterpret_cast<uint32_t*>(base_ + layout::client_outbox_offset())),
        of_server_(reinterpret_cast<uint32_t*>(answers_ + shape.server_outbox_offset())),
        headers_(reinterpret_cast<header*>(base_ + shape.header_offset())),
        packets_(reinterpret_cast<packet*>(base_ + shape.packet_offset())),
        answer_packets_(reinterpret_cast<packet*>(answers_ + shape.answer_packet_offset())) {
    require_layout<Target, Check>(shape.is_valid(), "a layout has no ports or no lanes, or more than there may be");
  }

  HEDDLE_FUNCTION uint32_t port_count() const { return shape_.ports; }
  HEDDLE_FUNCTION uint32_t lane_count() const { return shape_.lanes; }
  /// Where this wave begins to look for one. Most have a number below that of the ports, and a division takes as long as a lock.
  HEDDLE_FUNCTION uint32_t port_of_wave() const {
    const uint32_t wave = Target::wave_id();
    return wave < shape_.ports ? wave : wave % shape_.ports;
  }

  HEDDLE_FUNCTION own_states<Target, Check> states() const { return own_states<Target, Check>(own_); }

  HEDDLE_FUNCTION mailboxes<Target, Side> boxes() const {
    if constexpr (Side == side::client) return mailboxes<Target, Side>(of_server_, of_client_);
    return mailboxes<Target, Side>(of_client_, of_server_);
  }

  /// Where a side writes, and the other reads: in one allocation the same for both.
  template <side Writer = side::client>
  HEDDLE_FUNCTION header& header_of(uint32_t port) const {
    if constexpr (Writer == side::client) return headers_[port];
    return reinterpret_cast<header*>(answers_ + shape_.answer_header_offset())[port];
  }

  /// A packet&, or a word_packet where packets lie by word.
  template <side Writer = side::client>
  HEDDLE_FUNCTION decltype(auto) packet_of(uint32_t port, uint32_t lane) const {
    packet* const of_port = packets_of<Writer>(port);
    if constexpr (Check::by_word)
      return word_packet(reinterpret_cast<uint64_t*>(of_port) + lane,
                         shape_.lanes);  // the words of all lanes, not of one packet
    else
      return (of_port[lane]);
  }

  /// Whether ends know the lines of the shared memory by caches that see each other's stores: then a line that neither stores to stays in both.
  static constexpr bool has_caches = requires(void* line) { Target::bring_to_write(line); };
  /// Where it has: hints that the packet of this port has come to this end, before anything of it is looked at. Its lines come side by side while the
  /// lock is taken, and that which this end writes comes to be written.
  HEDDLE_FUNCTION void bring_packet([[maybe_unused]] uint32_t port) const {
    if constexpr (has_caches) {
      if (Side == side::server) Target::bring(&header_of(port));
      if (shape_.apart) Target::bring(packets_of<other(Side)>(port));
      if (Side == side::server || !shape_.apart) Target::bring_to_write(packets_of<Side>(port));
    }
  }

  /// The staging area of a port, of stage_bytes() bytes.
  template <side Writer>
  HEDDLE_FUNCTION uint64_t* stage_of(uint32_t port) const {
    const size_t offset = port * shape_.stage_step();
    if constexpr (Writer == side::client) return reinterpret_cast<uint64_t*>(base_ + shape_.stage_offset() + offset);
    return reinterpret_cast<uint64_t*>(answers_ + shape_.answer_stage_offset() + offset);
  }
  HEDDLE_FUNCTION uint32_t stage_bytes() const { return shape_.stage_bytes; }

  /// Whether the layout has a place for answers of one word, and where that of a lane is: two words, aligned to both.
  HEDDLE_FUNCTION bool has_words() const { return shape_.words && !shape_.apart; }
  HEDDLE_FUNCTION uint64_t* words_of(uint32_t port, uint32_t lane) const {
    return reinterpret_cast<uint64_t*>(base_ + shape_.word_offset()) + (uint64_t{port} * shape_.lanes + lane) * 2;
  }

  /// Set to make the servers of this end give up the calls that they wait in. Behind the states, where Check::may_end.
  HEDDLE_FUNCTION uint32_t& give_up_word() const {
    static_assert(Check::may_end, "an end that never ends has no such word");
    return own_[shape_.last_own_index()];
  }
  /// Where a client counts its rings; the same word, which a client does not need for that.
  HEDDLE_FUNCTION ring_count<Target> rings() const {
    static_assert(Side == side::client, "a server rings for nothing");
    return ring_count<Target>(own_ + shape_.last_own_index());
  }

  HEDDLE_FUNCTION doorbell& bell() const { return *reinterpret_cast<doorbell*>(base_ + layout::doorbell_offset()); }

  /// Whether every port is back where it started: with the client, and not held at this end. To be asked when both ends
  /// are quiescent.
  HEDDLE_FUNCTION bool all_idle() const {
    for (uint32_t port = 0; port < shape_.ports; ++port)
      if (((boxes().load_inbox(port) ^ boxes().load_outbox(port)) & 1) != 0 || states().look(port).is_held())
        return false;
    return true;
  }

 private:
  template <side Writer>
  HEDDLE_FUNCTION packet* packets_of(uint32_t port) const {
    return (Writer == side::client ? packets_ : answer_packets_) + uint64_t{port} * shape_.lanes;
  }

  layout shape_;
  unsigned char* base_;     ///< what the client writes
  unsigned char* answers_;  ///< what the server writes; the same in one allocation
  uint32_t* own_;
  // Where the layout says that they lie: to work it out for each access took a sixth of the instructions of a call.
  uint32_t* of_client_;
  uint32_t* of_server_;
  header* headers_;
  packet* packets_;
  packet* answer_packets_;  ///< the same in one allocation
};

}  // namespace heddle::rpc
