// Which side owns a port's packet: one side's inbox and outbox, and every ordering rule of the hand-over.
//
// A side stores to its outbox and loads from its inbox, which is the other side's outbox. Equal words: the client owns
// the packet. Different words: the server does. All words start as zero, so that every port starts with the client. To
// hand over is to store the complement of one's own outbox. (LLVM libc, shared/rpc.h; "Remote Procedure Calls" in its
// documentation.)
//
// Bit 0 of a word says all of that. Bits 1 and 2 of the server's word, where they differ from bit 0, tell the client more.
// What else may stand in a word means nothing: a stray store of a kernel can make one hand-over more, or one fewer.
#pragma once

#include <heddle/rpc/check.h>
#include <heddle/rpc/target.h>

namespace heddle::rpc {

enum class side : uint8_t { client, server };

HEDDLE_FUNCTION constexpr side other(side of) { return of == side::client ? side::server : side::client; }

/// A view of all mailboxes from one side. One lane acts for its wave, as for own_states: the caller's sync_lanes hands
/// on what it acquired, and gathers what it releases.
template <typename Target, side Side>
class mailboxes {
 public:
  HEDDLE_FUNCTION mailboxes(uint32_t* inbox, uint32_t* outbox) : inbox_(inbox), outbox_(outbox) {}

  /// The word that this side stored last, as if it were a plain hand-over. For checks: the holder of a port knows it (process::state).
  HEDDLE_FUNCTION uint32_t load_outbox(uint32_t port) const {
    // Relaxed: this side wrote it, and the holder of the port's lock is ordered after the holder before it.
    return plain(ref(outbox_[port]).load(memory_order::relaxed));
  }

  /// The word that the other side stored last. Orders nothing: before a packet or a header is touched because of it, acquire().
  HEDDLE_FUNCTION uint32_t load_inbox(uint32_t port) const {
    // Relaxed: most looks find nothing, and an acquire at each would throw the caches of a GPU away.
    return ref(inbox_[port]).load(memory_order::relaxed);
  }

  /// Bit 0 of the inboxes of 16 ports from `first` on, a multiple of 16, where the machine looks at so many at a time (Target::low_bits). As
  /// load_inbox(): orders nothing. What stands for ports that do not exist means nothing.
  HEDDLE_FUNCTION uint32_t load_inbox_bits(uint32_t first) const { return Target::low_bits(inbox_ + first); }

  /// Puts what follows behind the hand-over that a load_inbox() of this lane or thread has shown. Needed wherever it has shown one, also where
  /// only the header is written next: the other side's last reads of it come before that store.
  HEDDLE_FUNCTION void acquire(uint32_t port) const {
    // Acquire, system scope: with the relaxed load before it pairs with the release stores of the other side: hand_over,
    // hand_over_unanswered, end. A load that reads again finds the same store or one after it in the word's order, by the same side.
    acquire_seen<Target, scope::system>(inbox_[port]);
  }

  /// A hint to a machine whose caches see each other's stores: this side hands over soon. Its line, which the other side looks at, comes meanwhile.
  HEDDLE_FUNCTION void bring_outbox([[maybe_unused]] uint32_t port) const {
    if constexpr (requires(void* line) { Target::bring_to_write(line); }) Target::bring_to_write(outbox_ + port);
  }

  /// load_inbox() and acquire() in one, for a look that will nearly always show the hand-over that it is taken for.
  HEDDLE_FUNCTION uint32_t acquire_inbox(uint32_t port) const {
    // Acquire, system scope: pairs with the release stores of the other side: hand_over, hand_over_unanswered, end.
    return ref(inbox_[port]).load(memory_order::acquire);
  }

  /// Both words for the checks of the holder of a port that owns its packet: none changes meanwhile.
  HEDDLE_FUNCTION uint32_t peek_inbox(uint32_t port) const { return peek<Target, scope::system>(inbox_[port]); }
  HEDDLE_FUNCTION uint32_t peek_outbox(uint32_t port) const { return peek<Target, scope::system>(outbox_[port]); }

  /// Whether this side owns the packet, judged from the two words.
  HEDDLE_FUNCTION static constexpr bool owns(uint32_t inbox, uint32_t outbox) {
    return (((inbox ^ outbox) & 1) == 0) == (Side == side::client);
  }

  /// Waits until this side owns the packet of the port whose outbox is `outbox`, or, on a client, the server has ended without giving
  /// it, or `gives_up()`. Returns the inbox that says so, and has acquired what it says.
  template <typename GivesUp>
  HEDDLE_FUNCTION uint32_t wait_for_ownership(uint32_t port, uint32_t outbox, GivesUp&& gives_up) const {
    uint32_t inbox = 0;
    for (;;) {
      inbox = load_inbox(port);
      if (owns(inbox, outbox) || (Side == side::client && has_ended(inbox)) || gives_up()) break;
      Target::pause();
    }
    // Behind the loop: the many looks that find nothing order nothing.
    acquire(port);
    return inbox;
  }

  /// Gives the packet to the other side, and with it all that happened before.
  HEDDLE_FUNCTION void hand_over(uint32_t port, uint32_t outbox) const {
    // Release, system scope: pairs with acquire() of the other side.
    ref(outbox_[port]).store(~outbox, memory_order::release);
  }

  /// As hand_over(), and tells the other side that the packet is none that this side has written: it closes the port without an answer.
  HEDDLE_FUNCTION void hand_over_unanswered(uint32_t port, uint32_t outbox) const {
    // Release, system scope: pairs with acquire() of the other side, which writes the packet next.
    ref(outbox_[port]).store(~outbox ^ unanswered_bit, memory_order::release);
  }

  /// Tells the other side that this port is not answered any more. For the holder of the port's lock, which keeps it for ever.
  /// What was handed over before stays handed over, and unanswered where it was.
  HEDDLE_FUNCTION void end(uint32_t port, uint32_t outbox) const {
    // Relaxed: this side wrote it, and the holder of the port's lock is ordered after the holder before it.
    const uint32_t last = ref(outbox_[port]).load(memory_order::relaxed);
    const uint32_t ended = outbox ^ ended_bit;
    // Release, system scope: pairs with acquire() of the other side.
    ref(outbox_[port]).store(is_unanswered(last) ? ended ^ unanswered_bit : ended, memory_order::release);
  }

  /// Whether the side that stored this word has ended.
  HEDDLE_FUNCTION static constexpr bool has_ended(uint32_t word) { return ((word >> 1 ^ word) & 1) != 0; }
  /// Whether it was stored by hand_over_unanswered().
  HEDDLE_FUNCTION static constexpr bool is_unanswered(uint32_t word) { return ((word >> 2 ^ word) & 1) != 0; }
  /// The word of a plain hand-over in its place.
  HEDDLE_FUNCTION static constexpr uint32_t plain(uint32_t word) { return 0 - (word & 1); }

 private:
  static constexpr uint32_t ended_bit = 2;
  static constexpr uint32_t unanswered_bit = 4;

  using word_ref = typename Target::template atomic_ref<uint32_t, scope::system>;
  HEDDLE_FUNCTION static word_ref ref(uint32_t& word) { return word_ref(word); }

  uint32_t* inbox_;
  uint32_t* outbox_;
};

}  // namespace heddle::rpc
