// One end of the port protocol: where everything is, seen from that end. One class serves both.
#pragma once

#include <heddle/rpc/layout.h>
#include <heddle/rpc/mailbox.h>
#include <heddle/rpc/ringing.h>

namespace heddle::rpc {

/// What one end knows of a port: a copy.
class port_state {
 public:
  port_state() = default;
  HEDDLE_FUNCTION constexpr explicit port_state(uint32_t bits) : bits_(bits & 7) {}
  /// Of a port that is not held.
  HEDDLE_FUNCTION constexpr port_state(uint32_t outbox, bool given) : bits_((given ? 2U : 0U) | (outbox & 1) << 2) {}

  /// Whether a wave, or a thread, of this end acts for the port.
  HEDDLE_FUNCTION constexpr bool is_held() const { return (bits_ & held) != 0; }
  /// Whether the packet was with the other end when the port was closed: only its mailbox tells whether it still is.
  HEDDLE_FUNCTION constexpr bool is_given() const { return (bits_ & 2) != 0; }
  /// What this end stored to its outbox before the port was closed, as a plain hand-over.
  HEDDLE_FUNCTION constexpr uint32_t outbox() const { return 0 - (bits_ >> 2 & 1); }

  HEDDLE_FUNCTION constexpr uint32_t bits() const { return bits_; }
  static constexpr uint32_t held = 1;

 private:
  uint32_t bits_ = 0;
};

/// The state of a port in the word of eight that has it: word port / 8 of an end's own.
HEDDLE_FUNCTION constexpr port_state state_in(uint32_t word, uint32_t port) { return port_state(word >> port % 8 * 4); }

/// The states of all ports of an end, four bits a port and eight ports a word, in memory that the other end never reaches. Locks, and what a
/// port was left with, in one access: a port whose last call has come to its end opens without a read over the link. A view: copies name the
/// same bits.
///
/// One lane acts for its wave: the first of the mask that opened the port. What it acquires here it hands on to the others by
/// sync_lanes, and before it unlocks it gathers them the same way; a bit that each lane tested for itself could split the wave.
template <typename Target, typename Check>
class port_states {
 public:
  HEDDLE_FUNCTION explicit port_states(uint32_t* words) : words_(words) {}

  /// Takes the port, or reports that it is held. Does not wait. Returns what was before.
  HEDDLE_FUNCTION port_state try_lock(uint32_t port) const {
    // Acquire, device scope: pairs with the release in unlock, so that what the last holder did happens before what we do.
    return state_in(word(port).fetch_or(port_state::held << shift(port), memory_order::acquire), port);
  }

  /// Gives the port back, which try_lock has found as `was`. `alone`: to the same lanes, which need no order.
  HEDDLE_FUNCTION void unlock(uint32_t port, port_state was, port_state now, bool alone = false) const {
    // The holder alone changes these four bits, so that the sum stays within them.
    const uint32_t change = (now.bits() - (was.bits() | port_state::held)) << shift(port);
    if constexpr (Check::enabled) require<Target, Check>(peek_held(port), "a port is unlocked that nobody holds");
    // Relaxed: the next holders are these lanes, which a barrier has ordered.
    if (alone)
      (void)word(port).fetch_add(change, memory_order::relaxed);
    else
      // Release, device scope: pairs with the acquire in try_lock of the next holder.
      (void)word(port).fetch_add(change, memory_order::release);
  }

  /// The state now, for a thread that does not hold the port: a hint.
  HEDDLE_FUNCTION port_state look(uint32_t port) const {
    // Relaxed: orders nothing.
    return state_in(word(port).load(memory_order::relaxed), port);
  }

  /// What one look has shown of eight ports, or of none yet.
  struct group {
    uint32_t number = ~uint32_t{0};
    uint32_t word = 0;
  };
  /// As look(port), for a pass over ports in order: `seen` is taken anew for each eight of them.
  HEDDLE_FUNCTION port_state look(uint32_t port, group& seen) const {
    // Relaxed: as above.
    if (seen.number != port / 8) seen = {port / 8, word(port).load(memory_order::relaxed)};
    return state_in(seen.word, port);
  }

  /// Of 16 ports from `first` on, a multiple of 16, of `ports` in all: which of the outboxes are not 0. A hint, as look().
  HEDDLE_FUNCTION uint32_t outboxes_of_16(uint32_t first, uint32_t ports) const { return bits_of_16<2>(first, ports); }
  /// Likewise: which are held.
  HEDDLE_FUNCTION uint32_t held_of_16(uint32_t first, uint32_t ports) const { return bits_of_16<0>(first, ports); }

  /// Whether the port is held, for its holder's checks.
  HEDDLE_FUNCTION bool peek_held(uint32_t port) const {
    return state_in(peek<Target, scope::device>(words_[port / 8]), port).is_held();
  }

 private:
  using word_ref = typename Target::template atomic_ref<uint32_t, scope::device>;
  HEDDLE_FUNCTION word_ref word(uint32_t port) const { return word_ref(words_[port / 8]); }
  HEDDLE_FUNCTION static constexpr uint32_t shift(uint32_t port) { return port % 8 * 4; }
  template <uint32_t Bit>
  HEDDLE_FUNCTION uint32_t bits_of_16(uint32_t first, uint32_t ports) const {
    // Relaxed, both: as in look().
    const uint32_t low = bit_of_each(word(first).load(memory_order::relaxed) >> Bit);
    if (first + 8 >= ports) return low;
    return low | bit_of_each(word(first + 8).load(memory_order::relaxed) >> Bit) << 8;
  }
  /// The lowest bit of each half byte, next to each other. (Knuth, The Art of Computer Programming, 7.1.3: compressing bits.)
  HEDDLE_FUNCTION static constexpr uint32_t bit_of_each(uint32_t halves) {
    halves &= 0x11111111;
    halves = (halves | halves >> 3) & 0x03030303;
    halves = (halves | halves >> 6) & 0x000f000f;
    return (halves | halves >> 12) & 0xff;
  }

  uint32_t* words_;
};

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
        own_(own) {}

  HEDDLE_FUNCTION uint32_t port_count() const { return shape_.ports; }
  HEDDLE_FUNCTION uint32_t lane_count() const { return shape_.lanes; }

  HEDDLE_FUNCTION port_states<Target, Check> states() const { return port_states<Target, Check>(own_); }

  HEDDLE_FUNCTION mailboxes<Target, Side> boxes() const {
    auto* const of_client = reinterpret_cast<uint32_t*>(base_ + layout::client_outbox_offset());
    auto* const of_server = reinterpret_cast<uint32_t*>(answers_ + shape_.server_outbox_offset());
    if constexpr (Side == side::client) return mailboxes<Target, Side>(of_server, of_client);
    return mailboxes<Target, Side>(of_client, of_server);
  }

  /// Where a side writes, and the other reads: in one allocation the same for both.
  template <side Writer = side::client>
  HEDDLE_FUNCTION header& header_of(uint32_t port) const {
    if constexpr (Writer == side::client) return reinterpret_cast<header*>(base_ + shape_.header_offset())[port];
    return reinterpret_cast<header*>(answers_ + shape_.answer_header_offset())[port];
  }

  /// A packet&, or a word_packet where packets lie by word.
  template <side Writer = side::client>
  HEDDLE_FUNCTION decltype(auto) packet_of(uint32_t port, uint32_t lane) const {
    unsigned char* const all =
        Writer == side::client ? base_ + shape_.packet_offset() : answers_ + shape_.answer_packet_offset();
    packet* const of_port = reinterpret_cast<packet*>(all) + uint64_t{port} * shape_.lanes;
    if constexpr (Check::by_word)
      return word_packet(of_port->words + lane, shape_.lanes);
    else
      return (of_port[lane]);
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
  layout shape_;
  unsigned char* base_;     ///< what the client writes
  unsigned char* answers_;  ///< what the server writes; the same in one allocation
  uint32_t* own_;
};

}  // namespace heddle::rpc
