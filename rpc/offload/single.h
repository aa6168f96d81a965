// One mailbox for a whole device, for which its waves take turns by a lock. (libgomp, config/nvptx/target.c, as it came out of the review
// of July 2022: the lock lies in the device's own memory, and nothing but loads and stores of one word crosses the link.)
//
// Progress: the wave that has taken the lock must be guaranteed turns until its answer has come: obe. Where the lowest
// wave alone is guaranteed turns (hsa), it waits for ever behind another that holds the lock, unless it is the only one.
#pragma once

#include <heddle/rpc/lock.h>
#include <heddle/rpc/offload/request.h>

namespace heddle::rpc {

/// How an entry is shared out, and what the values of its turn mean. The turn is 0, 1 while a request is posted, and 0
/// again: the lock keeps the answer from the next client until it has been read. The client's own word is the lock.
struct single_mailbox {
  static constexpr bool has_one_entry = true;

  HEDDLE_FUNCTION static constexpr bool is_posted(uint64_t turn) { return turn != 0; }
  HEDDLE_FUNCTION static constexpr bool is_idle(uint64_t turn) { return turn == 0; }
  HEDDLE_FUNCTION static constexpr uint64_t turn_after(uint64_t) { return 0; }

  // For the first lane of a call. What it is given here names the call to the rest.
  HEDDLE_FUNCTION static constexpr uint32_t entry_of(uint32_t, offload_layout) { return 0; }
  HEDDLE_FUNCTION static constexpr uint64_t free_turn(uint32_t, offload_layout) { return 0; }
  HEDDLE_FUNCTION static constexpr uint64_t posted_turn(uint32_t, offload_layout) { return 1; }

  /// False where the server has ended first.
  template <typename Target, typename Check>
  HEDDLE_FUNCTION static bool take(uint32_t* own, const offload_turns<Target>& turns, uint32_t& ticket) {
    const lock_bits<Target, Check> lock(own);
    ticket = 0;
    while (lock.is_locked(0) || !lock.try_lock(0)) {
      if (turns.template has_ended<Check>()) return false;
      Target::pause();
    }
    return true;
  }
  template <typename Target, typename Check>
  HEDDLE_FUNCTION static void give_back(uint32_t* own, const offload_turns<Target>&, uint32_t) {
    lock_bits<Target, Check>(own).unlock(0);
  }
};

}  // namespace heddle::rpc
