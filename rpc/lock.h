// The bits that say which wave, or which host thread, of one side acts for a port. Never shared with the other side.
#pragma once

#include <heddle/rpc/check.h>
#include <heddle/rpc/target.h>

namespace heddle::rpc {

/// One bit a port, 32 to a word, of a zeroed array. A view: copies name the same bits.
///
/// One lane acts for its wave: the first of the mask that opened the port. What it acquires here it hands on to the others by
/// sync_lanes, and before it unlocks it gathers them the same way; a bit that each lane tested for itself could split the wave.
template <typename Target, typename Check>
class lock_bits {
 public:
  HEDDLE_FUNCTION explicit lock_bits(uint32_t* words) : words_(words) {}

  /// Takes the port, or reports that another wave or thread of this side has it. Does not wait.
  HEDDLE_FUNCTION bool try_lock(uint32_t port) const {
    // Acquire, device scope: pairs with the release in unlock, so that what the last holder did happens before what we do.
    return (word(port).fetch_or(bit(port), memory_order::acquire) & bit(port)) == 0;
  }

  /// Gives the port back.
  HEDDLE_FUNCTION void unlock(uint32_t port) const {
    // Release, device scope: pairs with the acquire in try_lock of the next holder.
    [[maybe_unused]] const uint32_t before = word(port).fetch_and(~bit(port), memory_order::release);
    require<Target, Check>((before & bit(port)) != 0, "a port is unlocked that nothing holds");
  }

  /// Whether the port is held, for its holder's checks.
  HEDDLE_FUNCTION bool peek_locked(uint32_t port) const {
    return (peek<Target, scope::device>(words_[port / 32]) & bit(port)) != 0;
  }

  /// Whether the port is held now.
  HEDDLE_FUNCTION bool is_locked(uint32_t port) const {
    // Relaxed: an answer for checks, which orders nothing.
    return (word(port).load(memory_order::relaxed) & bit(port)) != 0;
  }

 private:
  using word_ref = typename Target::template atomic_ref<uint32_t, scope::device>;
  HEDDLE_FUNCTION word_ref word(uint32_t port) const { return word_ref(words_[port / 32]); }
  HEDDLE_FUNCTION static constexpr uint32_t bit(uint32_t port) { return uint32_t{1} << (port % 32); }

  uint32_t* words_;
};

}  // namespace heddle::rpc
