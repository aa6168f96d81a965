// What one end of ports or slots keeps of each, in memory of its own: whether it is held, and what it was left with.
#pragma once

#include <heddle/rpc/check.h>
#include <heddle/rpc/target.h>

namespace heddle::rpc {

/// What one end knows of a port, or of a slot: a copy.
class own_state {
 public:
  own_state() = default;
  HEDDLE_FUNCTION constexpr explicit own_state(uint32_t bits) : bits_(bits & 7) {}
  /// Of a port that is not held.
  HEDDLE_FUNCTION constexpr own_state(uint32_t outbox, bool given) : bits_((given ? 2U : 0U) | (outbox & 1) << 2) {}

  /// Whether a wave, or a thread, of this end acts for the port.
  HEDDLE_FUNCTION constexpr bool is_held() const { return (bits_ & held) != 0; }
  /// Whether the packet, or the page, may have been with the other end when this end was done: only its mailbox tells whether it still is.
  HEDDLE_FUNCTION constexpr bool is_given() const { return (bits_ & 2) != 0; }
  /// What this end stored to its outbox last, as a plain hand-over.
  HEDDLE_FUNCTION constexpr uint32_t outbox() const { return 0 - (bits_ >> 2 & 1); }

  HEDDLE_FUNCTION constexpr uint32_t bits() const { return bits_; }
  static constexpr uint32_t held = 1;

 private:
  uint32_t bits_ = 0;
};

/// The state of a port in the word of eight that has it: word port / 8 of an end's own.
HEDDLE_FUNCTION constexpr own_state state_in(uint32_t word, uint32_t port) { return own_state(word >> port % 8 * 4); }

/// The states of all ports, or slots, of an end, four bits a port and eight ports a word, in memory that the other end never reaches. Locks, and what a
/// port was left with, in one access: a port whose last call has come to its end opens without a read over the link. A view: copies name the
/// same bits.
///
/// One lane acts for its wave: the first of the mask that opened the port. What it acquires here it hands on to the others by
/// sync_lanes, and before it unlocks it gathers them the same way; a bit that each lane tested for itself could split the wave.
template <typename Target, typename Check>
class own_states {
 public:
  HEDDLE_FUNCTION explicit own_states(uint32_t* words) : words_(words) {}

  /// Takes the port, or reports that it is held. Does not wait. Returns what was before.
  HEDDLE_FUNCTION own_state try_lock(uint32_t port) const {
    // Acquire, device scope: pairs with the release in unlock, so that what the last holder did happens before what we do.
    return state_in(word(port).fetch_or(own_state::held << shift(port), memory_order::acquire), port);
  }

  /// Gives the port back, which try_lock has found as `was`. `alone`: to the same lanes, which need no order.
  HEDDLE_FUNCTION void unlock(uint32_t port, own_state was, own_state now, bool alone = false) const {
    // The holder alone changes these four bits, so that the sum stays within them.
    const uint32_t change = (now.bits() - (was.bits() | own_state::held)) << shift(port);
    if constexpr (Check::enabled) require<Target, Check>(peek_held(port), "a port is unlocked that nothing holds");
    // Relaxed: the next holders are these lanes, which a barrier has ordered.
    if (alone)
      (void)word(port).fetch_add(change, memory_order::relaxed);
    else
      // Release, device scope: pairs with the acquire in try_lock of the next holder.
      (void)word(port).fetch_add(change, memory_order::release);
  }

  /// The state now, for a thread that does not hold the port: a hint.
  HEDDLE_FUNCTION own_state look(uint32_t port) const {
    // Relaxed: orders nothing.
    return state_in(word(port).load(memory_order::relaxed), port);
  }

  /// What one look has shown of eight ports, or of none yet.
  struct group {
    uint32_t number = ~uint32_t{0};
    uint32_t word = 0;
  };
  /// As look(port), for a pass over ports in order: `seen` is taken anew for each eight of them.
  HEDDLE_FUNCTION own_state look(uint32_t port, group& seen) const {
    // Relaxed: as above.
    if (seen.number != port / 8) seen = {port / 8, word(port).load(memory_order::relaxed)};
    return state_in(seen.word, port);
  }

  /// Of 16 ports from `first` on, a multiple of 16, of `ports` in all: which of the outboxes are not 0, where the
  /// machine looks at so many at a time. A hint, as look().
  HEDDLE_FUNCTION uint32_t outboxes_of_16(uint32_t first, uint32_t ports) const {
    // Relaxed, both: as in look().
    uint64_t halves = word(first).load(memory_order::relaxed);
    if (first + 8 < ports) halves |= uint64_t{word(first + 8).load(memory_order::relaxed)} << 32;
    return Target::template bit_of_each_half<2>(halves);
  }

  /// Whether the port is held, for its holder's checks.
  HEDDLE_FUNCTION bool peek_held(uint32_t port) const {
    return state_in(peek<Target, scope::device>(words_[port / 8]), port).is_held();
  }

 private:
  using word_ref = typename Target::template atomic_ref<uint32_t, scope::device>;
  HEDDLE_FUNCTION word_ref word(uint32_t port) const { return word_ref(words_[port / 8]); }
  HEDDLE_FUNCTION static constexpr uint32_t shift(uint32_t port) { return port % 8 * 4; }

  uint32_t* words_;
};

}  // namespace heddle::rpc
