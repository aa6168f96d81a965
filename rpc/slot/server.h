// The end that serves slots: any number of host threads, or waves of another device. (hostrpc README, "Server".)
#pragma once

#include <heddle/rpc/slot/end.h>
#include <heddle/rpc/slot/state.h>

namespace heddle::rpc {

/// One server thread's view; each thread has its own, over the same shared memory and the same lock words.
template <typename Target, typename Form, typename Check = unchecked>
class basic_slot_server {
 public:
  using both_ends = slot_end<Target, side::server, Form, Check>;
  using shape = slot_layout<Form>;

  /// As slot_end::slot_end. Threads that start at different slots seldom meet.
  HEDDLE_FUNCTION basic_slot_server(void* shared, uint32_t* own, shape of, uint32_t start = 0)
      : end_(shared, own, of), start_(start % of.slots) {}

  /// Does one thing if there is one to do, and says whether it did: `operate(line, lane)` on a request, for each lane that calls, or
  /// `clear(line, lane)` on what the client no longer needs. Looks at every slot once and begins behind the one that it served last:
  /// a slot that is ready is passed over by this thread at most slot_count() - 1 times. Does not wait. When `operate` throws, the client
  /// learns that there is no answer (slot_result::unanswered); when `clear` does, the slot is free all the same; the exception goes on to
  /// the caller.
  ///
  /// A line is the memory that the client shares: what a handler checks and then uses, it must copy first.
  ///
  /// A server may be a wave of a device: then `here` names the lanes that call this together, best all of the wave; a
  /// call with a lane that is not here is left to others.
  HEDDLE_CALLS_BACK
  template <typename Operate, typename Clear>
  HEDDLE_FUNCTION bool handle(Operate&& operate, Clear&& clear, uint64_t here = Target::lane_mask()) {
    uint64_t answer = 0;
    uint64_t mask = 0;
    own_state was;
    if (Target::is_first_lane(here)) answer = find(here, mask, was);
    answer = Target::broadcast(here, answer);
    if (answer == 0) return false;
    // What steers the wave is read by one lane: a mask that changes under a hostile client must not part the others.
    mask = Target::broadcast(here, mask);
    const auto slot = static_cast<uint32_t>(answer);
    const bool is_work = (answer & work) != 0;
    start_ = slot + 1 < end_.slot_count() ? slot + 1 : 0;
    // The first lane's acquire in find, handed on to the other lanes, is what makes the page safe to read.
    Target::sync_lanes(here);
    slot_in_hand in_hand{end_, here, slot, is_work, was};
    if (!Target::is_device() || ((mask >> Target::lane_id()) & 1) != 0) {
      if (is_work)
        for_each_lane<Target>(mask, with_line<both_ends, Operate>{end_, slot, operate});
      else
        for_each_lane<Target>(mask, with_line<both_ends, Clear>{end_, slot, clear});
    }
    in_hand.post(is_work);
    return true;
  }

  /// The count of rings, to be taken before handle and given to wait if that finds nothing.
  HEDDLE_FUNCTION doorbell rings() const {
    // Acquire pairs with the release in notify: the look for work that follows finds every post whose ring is counted here.
    return ring_ref(end_.bell()).load(memory_order::acquire);
  }
  /// Sleeps until a client that rings has posted since `seen` was taken, or until the time-out.
  HEDDLE_FUNCTION void wait(doorbell seen, uint64_t timeout_ns) const { Target::wait(end_.bell(), seen, timeout_ns); }

  /// Where Check::may_end: tells the clients that no request is handled any more. Does not wait, however many call. A call that waits is told
  /// at once (slot_result::ended), one that is made later when it waits. Handle what is there before: at most slot_count() requests.
  HEDDLE_FUNCTION void end() const { end_.ending().set(); }

  HEDDLE_FUNCTION bool all_idle() const { return end_.all_idle(); }
  HEDDLE_FUNCTION uint32_t slot_count() const { return end_.slot_count(); }

 private:
  /// A slot that is being served; posted and given back in the end, also when a handler throws.
  struct slot_in_hand {
    const both_ends& at;
    uint64_t here;
    uint32_t slot;
    bool is_work;
    own_state was;  ///< of the first lane
    bool is_posted = false;

    /// Behind the handlers of all lanes.
    HEDDLE_FUNCTION void post(bool value, bool refused = false) {
      is_posted = true;
      Target::sync_lanes(here);
      if (!Target::is_first_lane(here)) return;
      if (refused)
        at.refuse(slot);
      else
        at.post(slot, value);
      at.states().unlock(slot, was, own_state(value ? 1 : 0, false));
    }

    HEDDLE_FUNCTION ~slot_in_hand() {
      if (!is_posted) post(is_work, is_work);
    }
  };

  using ring_ref = typename Target::template atomic_ref<doorbell, scope::system>;

  // Marks of an answer; above every slot number.
  static constexpr uint64_t found = uint64_t{1} << 32;
  static constexpr uint64_t work = uint64_t{1} << 33;

  /// A slot that is now held and wants something, or 0; the lanes of its call, and what the lock was found as.
  HEDDLE_FUNCTION uint64_t find(uint64_t here, uint64_t& mask, own_state& was) const {
    const uint32_t slots = end_.slot_count();
    const auto boxes = end_.boxes();
    const auto states = end_.states();
    typename own_states<Target, Check>::group seen;
    for (uint32_t n = 0; n < slots; ++n) {
      const uint32_t slot = start_ + n < slots ? start_ + n : start_ + n - slots;
      // A look first: a lock taken for every idle slot would keep the other threads off.
      if (!wants_server(server_state(boxes.load_inbox(slot), states.look(slot, seen).outbox() != 0))) continue;
      was = states.try_lock(slot);
      if (was.is_held()) continue;
      // An acquire: what the client wrote comes before what is read here.
      const server_slot_state now = server_state(boxes.acquire_inbox(slot), was.outbox() != 0);
      if (wants_server(now)) {
        // It comes from the other side and indexes lines.
        mask = end_.mask_of(slot) & end_.lanes_that_exist();
        // A call whose handler has thrown (slot_end::refuse): whose lines it has used is not known any more.
        if (now == server_slot_state::garbage && mask == 0) mask = end_.lanes_that_exist();
        if (!Target::is_device() || (mask & ~here) == 0)
          return found | (now == server_slot_state::work ? work : 0) | slot;
      }
      // Another thread has served it in between, or must.
      states.unlock(slot, was, was);
    }
    return 0;
  }

  both_ends end_;
  uint32_t start_;
};

}  // namespace heddle::rpc
