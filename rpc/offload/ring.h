// Many entries, handed out in the order of a counter. (libgomp, config/gcn/target.c: reservation by fetch-add, a flag
// in each entry, 1024 entries.)
//
// What is different here: the counter lies in the device's own memory, so that nothing but loads and stores crosses the link. An entry
// is given back by the client, when it has read its answer, and not by the server: its next client cannot come too early. The server
// takes entries as it finds them: one that was reserved and is not filled blocks its own next client alone. And the counter may wrap.
//
// Progress: a client waits for the client of the same entry one lap before, which must be guaranteed turns until it has its answer: obe. Where
// the lowest wave alone is guaranteed turns (hsa), there must be as many entries as calls that can be made while another client stands still.
#pragma once

#include <heddle/rpc/check.h>
#include <heddle/rpc/offload/request.h>

namespace heddle::rpc {

/// How entries are shared out, and what the values of a turn mean: 4 times the lap, and 0 while the entry is free, 1 while a request is
/// posted, 2 while it is answered. Ticket t, of 32 bits, has entry t mod `entries` in lap t / `entries`; with a power of two of entries the
/// laps begin again at 0 when the tickets do. The client's own word is the next ticket.
struct offload_ring {
  static constexpr bool has_one_entry = false;

  HEDDLE_FUNCTION static constexpr bool is_posted(uint64_t turn) { return (turn & phases) == 1; }
  HEDDLE_FUNCTION static constexpr bool is_idle(uint64_t turn) { return (turn & phases) == 0; }
  HEDDLE_FUNCTION static constexpr uint64_t turn_after(uint64_t posted) { return posted + 1; }

  HEDDLE_FUNCTION static constexpr uint32_t entry_of(uint32_t ticket, offload_layout shape) {
    return ticket & (shape.entries - 1);
  }
  HEDDLE_FUNCTION static constexpr uint64_t free_turn(uint32_t ticket, offload_layout shape) {
    return uint64_t{ticket / shape.entries} * 4;
  }
  HEDDLE_FUNCTION static constexpr uint64_t posted_turn(uint32_t ticket, offload_layout shape) {
    return free_turn(ticket, shape) + 1;
  }
  /// The turn that an entry must have before the first call, when that is to have ticket `first` and not 0: tests begin
  /// just in front of where the counter wraps.
  HEDDLE_FUNCTION static constexpr uint64_t turn_before(uint32_t first, uint32_t entry, offload_layout shape) {
    return free_turn(first + ((entry - first) & (shape.entries - 1)), shape);
  }

  // For the first lane of a call. What it is given here names the call to the rest.
  /// False where the server has ended first.
  template <typename Target, typename Check>
  HEDDLE_FUNCTION static bool take(uint32_t* own, const offload_turns<Target>& turns, uint32_t& ticket) {
    // Relaxed: a number that no other call gets. What came before in the entry is ordered by its turn.
    ticket = typename Target::template atomic_ref<uint32_t, scope::device>(*own).fetch_add(1, memory_order::relaxed);
    const uint32_t entry = entry_of(ticket, turns.shape());
    while (turns.look(entry) != free_turn(ticket, turns.shape())) {
      if (turns.template has_ended<Check>()) return false;
      Target::pause();
    }
    turns.acquire(entry);
    return true;
  }
  template <typename Target, typename Check>
  HEDDLE_FUNCTION static void give_back(uint32_t*, const offload_turns<Target>& turns, uint32_t ticket) {
    turns.store(entry_of(ticket, turns.shape()), free_turn(ticket + turns.shape().entries, turns.shape()));
  }

 private:
  static constexpr uint64_t phases = 3;
};

}  // namespace heddle::rpc
