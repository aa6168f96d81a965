// The end that makes calls through slots: waves of a GPU, or any thread. (hostrpc README, "Client".)
#pragma once

#include <heddle/rpc/slot/end.h>
#include <heddle/rpc/slot/state.h>

namespace heddle::rpc {

/// What became of a call through a slot.
struct slot_result {
  bool made = false;        ///< false: no slot was idle, and nothing has happened
  bool unanswered = false;  ///< the call was made, and the server's handler has thrown: there is no answer
  bool ended =
      false;  ///< the server has ended. Of a call that was made: without an answer, and whether it was handled is not known
  bool timed_out = false;  ///< the call was made and will be handled once; its answer is dropped
  HEDDLE_FUNCTION explicit operator bool() const { return made; }
};

/// A view that can be copied into a kernel byte by byte.
///
/// Needs from the machine: no call waits for a slot. Where there are at least as many slots as calls at a time, each
/// finds one that is idle or that the server, whose scheduler is fair, makes idle. With fewer, a wave that repeats a
/// call until it succeeds waits for the holder of a slot, which must then be guaranteed a turn.
template <typename Target, typename Form, typename Check = unchecked>
class basic_slot_client {
 public:
  using end = slot_end<Target, side::client, Form, Check>;
  using shape = slot_layout<Form>;

  /// As slot_end::slot_end. `rings`: behind which calls it rings the doorbell, on which a server may sleep; true: each.
  HEDDLE_FUNCTION basic_slot_client(void* shared, uint32_t* own, shape of, ringing rings = {})
      : end_(shared, own, of), rings_(rings) {}

  /// A call by the lanes that stand here together: `fill(line, lane)` writes the request of each lane, `use(line, lane)` reads what
  /// the server's operate has made of it, unless that has thrown. Converts to false, and nothing is called, when no slot is idle now.
  /// Waits for the server only.
  HEDDLE_CALLS_BACK
  template <typename Fill, typename Use>
  HEDDLE_FUNCTION slot_result invoke(Fill&& fill, Use&& use) const {
    return timed_call<unbounded>(fill, use, slot_ending::early, without_bound);
  }
  /// As invoke(fill, use), with a bound: looks for the answer `turns` + 1 times. One that comes later is collected by a later call that
  /// finds no idle slot, or by collect().
  HEDDLE_CALLS_BACK
  template <typename Fill, typename Use>
  HEDDLE_FUNCTION slot_result invoke(Fill&& fill, Use&& use, uint32_t turns) const {
    return timed_call<bounded>(fill, use, slot_ending::early, turns);
  }

  /// As invoke(), but keeps the slot until the server has cleared it: costs the wave the second round trip, and no call
  /// ever finds a slot that is free and not idle: the next one takes it without a read over the link. (hostrpc README: the ending in which WAVE is cleared last.)
  HEDDLE_CALLS_BACK
  template <typename Fill, typename Use>
  HEDDLE_FUNCTION slot_result invoke_until_idle(Fill&& fill, Use&& use) const {
    return timed_call<unbounded>(fill, use, slot_ending::idle, without_bound);
  }

  /// As invoke(fill, use), without an answer: returns as soon as the request is posted. The slot is in use until it is collected.
  HEDDLE_CALLS_BACK
  template <typename Fill>
  HEDDLE_FUNCTION slot_result invoke(Fill&& fill) const {
    call_begins<Target>();
    slot_result result{post_alone(fill)};
    if (!result.made) result.ended = has_ended();
    call_ends<Target>(result.made);
    return result;
  }

  /// Acknowledges the answers that no call waits for, so that the server clears their slots; returns how many there
  /// were. Looks at each slot once and does not wait. A call that finds no idle slot does this before it returns false.
  HEDDLE_FUNCTION uint32_t collect() const {
    const uint64_t mask = Target::lane_mask();
    uint32_t collected = 0;
    if (Target::is_first_lane(mask)) collected = collect_alone();
    return Target::broadcast(mask, collected);
  }

  /// Whether every slot is idle, see slot_end::all_idle.
  HEDDLE_FUNCTION bool all_idle() const { return end_.all_idle(); }
  HEDDLE_FUNCTION uint32_t slot_count() const { return end_.slot_count(); }

 private:
  /// Marks an answer that holds a slot; above every slot number, and below what try_lock has found.
  static constexpr uint64_t found = uint64_t{1} << 24;
  static constexpr uint32_t state_at = 32;
  /// A slot that is held now.
  struct taken_slot {
    uint32_t number;
    own_state was;  ///< what try_lock has found
  };

  enum class slot_ending : uint8_t { early, idle };

  /// Whether a wait may time out: code for that is in calls with a bound alone.
  static constexpr bool bounded = true;
  static constexpr bool unbounded = false;

  HEDDLE_CALLS_BACK
  template <bool IsBounded, typename Fill, typename Use>
  HEDDLE_FUNCTION slot_result timed_call(Fill& fill, Use& use, slot_ending ending, uint32_t turns) const {
    call_begins<Target>();
    slot_result result = call<IsBounded>(fill, use, ending, turns);
    if (!result.made) result.ended = has_ended();
    call_ends<Target>(result.made && !result.unanswered && !result.ended && !result.timed_out);
    return result;
  }

  /// Where a call was not made: whether it never will be. The same for all lanes.
  HEDDLE_FUNCTION bool has_ended() const {
    if constexpr (Check::may_end) {
      const uint64_t mask = Target::lane_mask();
      uint32_t ended = 0;
      if (Target::is_first_lane(mask)) ended = end_.ending().is_set() ? 1 : 0;
      return Target::broadcast(mask, ended) != 0;
    } else {
      return false;
    }
  }

  HEDDLE_CALLS_BACK
  template <typename Fill>
  HEDDLE_FUNCTION bool post_alone(Fill& fill) const {
    const uint64_t mask = Target::lane_mask();
    const uint64_t taken = take(mask);
    if (taken == 0) return false;
    const taken_slot slot = slot_of(taken);
    // No wave waits for the answer, and none says when it has come: such a ring leaves none of the others out.
    post_request(mask, slot.number, fill, ringing(rings_.every));
    if (Target::is_first_lane(mask)) give_back(slot, own_state(1, true));
    return true;
  }

  HEDDLE_CALLS_BACK
  template <bool IsBounded, typename Fill, typename Use>
  HEDDLE_FUNCTION slot_result call(Fill& fill, Use& use, slot_ending ending, uint32_t turns) const {
    const uint64_t mask = Target::lane_mask();
    const uint64_t taken = take(mask);
    if (taken == 0) return {};
    const taken_slot held = slot_of(taken);
    const uint32_t slot = held.number;
    post_request(mask, slot, fill, rings_);
    uint32_t outcome = 0;
    if (Target::is_first_lane(mask)) outcome = static_cast<uint32_t>(wait_for_answer(slot, turns));
    const auto answered = static_cast<slot_answer>(Target::broadcast(mask, outcome));
    // The first lane's acquire reaches the other lanes through the barrier.
    Target::sync_lanes(mask);
    if constexpr (IsBounded || Check::may_end) {
      if (answered == slot_answer::ended || answered == slot_answer::timed_out) {
        // The slot is the server's. A later call, or collect(), acknowledges what it posts.
        if (Target::is_first_lane(mask)) give_back(held, own_state(1, true));
        return {true, false, answered == slot_answer::ended, answered == slot_answer::timed_out};
      }
    }
    if (answered == slot_answer::come) for_each_lane<Target>(mask, with_line<end, Use>{end_, slot, use});
    Target::sync_lanes(mask);
    if (Target::is_first_lane(mask)) {
      acknowledge(slot);
      end_.rings().answered(rings_);
      uint32_t word = 0;
      const bool is_cleared =
          ending == slot_ending::idle && wait_for_inbox(slot, false, word, without_bound) == slot_answer::come;
      give_back(held, own_state(0, !is_cleared));
    }
    return {true, answered == slot_answer::refused};
  }

  enum class slot_answer : uint8_t { come, refused, ended, timed_out };

  HEDDLE_FUNCTION slot_answer wait_for_answer(uint32_t slot, uint32_t turns) const {
    uint32_t word = 0;
    const slot_answer waited = wait_for_inbox(slot, true, word, turns);
    return waited == slot_answer::come && end_.is_refused(slot, word) ? slot_answer::refused : waited;
  }

  /// Waits until the inbox has the value, and then has acquired what that says: `word` is the word that it was read from.
  HEDDLE_FUNCTION slot_answer wait_for_inbox(uint32_t slot, bool value, uint32_t& word, uint32_t turns) const {
    const slot_answer waited = poll_inbox(slot, value, word, turns);
    // Behind the loop: the many looks that find nothing order nothing.
    if (waited == slot_answer::come) end_.boxes().acquire(slot);
    return waited;
  }
  HEDDLE_FUNCTION slot_answer poll_inbox(uint32_t slot, bool value, uint32_t& word, uint32_t turns) const {
    bounded_wait<Target> wait(turns);
    for (;;) {
      if (inbox_is(slot, value, word)) return slot_answer::come;
      if constexpr (Check::may_end) {
        // What was posted before the end is seen by another look.
        if (end_.ending().is_set()) return inbox_is(slot, value, word) ? slot_answer::come : slot_answer::ended;
      }
      if (!wait.again()) return slot_answer::timed_out;
    }
  }
  HEDDLE_FUNCTION bool inbox_is(uint32_t slot, bool value, uint32_t& word) const {
    word = end_.boxes().load_inbox_word(slot);
    return Form::read(word, slot) == value;
  }

  /// A slot that is now held and idle, or 0; the same for all lanes of the mask.
  HEDDLE_FUNCTION uint64_t take(uint64_t mask) const {
    const bool fits = (mask & ~end_.lanes_that_exist()) == 0;
    require<Target, Check>(fits, "a wave is wider than the pages of its client");
    // A wave that does not would write into other slots' pages.
    uint64_t answer = 0;
    if (fits && Target::is_first_lane(mask)) answer = find();
    answer = Target::broadcast(mask, answer);
    // The first lane acquired the slot's lock and its inbox; the barrier orders the other lanes after it.
    Target::sync_lanes(mask);
    return answer;
  }

  HEDDLE_FUNCTION uint64_t find() const {
    const uint32_t slots = end_.slot_count();
    // Any start is correct; waves that start apart do not contend for the same slot.
    const uint32_t start = Target::wave_id() % slots;
    for (uint32_t n = 0; n < slots; ++n) {
      const uint32_t slot = start + n < slots ? start + n : start + n - slots;
      own_state was;
      if (try_take(slot, client_slot_state::idle, was)) return uint64_t{was.bits()} << state_at | found | slot;
    }
    collect_alone();
    return 0;
  }

  HEDDLE_FUNCTION static taken_slot slot_of(uint64_t taken) {
    return {static_cast<uint32_t>(taken & (found - 1)), own_state(static_cast<uint32_t>(taken >> state_at))};
  }
  /// `now`: whether this end has posted, and whether the page may be with the server.
  HEDDLE_FUNCTION void give_back(const taken_slot& slot, own_state now) const {
    end_.states().unlock(slot.number, slot.was, now);
  }

  /// Takes the slot's lock if the slot is in this state, idle or result, and stays in it: `was` is then what the lock was found as.
  HEDDLE_FUNCTION bool try_take(uint32_t slot, client_slot_state wanted, own_state& was) const {
    const auto boxes = end_.boxes();
    const own_state seen = end_.states().look(slot);
    if (seen.is_held()) return false;
    // A slot that its last holder has seen cleared is idle: no read over the link says more.
    if (client_state(seen.is_given() && boxes.load_inbox(slot), seen.outbox() != 0) != wanted) return false;
    was = end_.states().try_lock(slot);
    if (was.is_held()) return false;
    // What was seen before the lock was held may be old. An acquire: the server's last use of the page comes before this wave's.
    const bool inbox = was.is_given() && boxes.acquire_inbox(slot);
    if (client_state(inbox, was.outbox() != 0) == wanted) return true;
    give_back({slot, was}, was);
    return false;
  }

  HEDDLE_FUNCTION uint32_t collect_alone() const {
    uint32_t collected = 0;
    for (uint32_t slot = 0; slot < end_.slot_count(); ++slot) {
      own_state was;
      if (!try_take(slot, client_slot_state::result, was)) continue;
      acknowledge(slot);
      give_back({slot, was}, own_state(0, true));
      ++collected;
    }
    return collected;
  }

  HEDDLE_CALLS_BACK
  template <typename Fill>
  HEDDLE_FUNCTION void post_request(uint64_t mask, uint32_t slot, Fill& fill, ringing how) const {
    for_each_lane<Target>(mask, with_line<end, Fill>{end_, slot, fill});
    // Puts what every lane wrote before the first lane's release.
    Target::sync_lanes(mask);
    if (!Target::is_first_lane(mask)) return;
    end_.mask_of(slot) = mask;
    end_.post(slot, true);
    if (end_.rings().is_due(how)) Target::notify(end_.bell());
  }

  /// A call's second post. It is rung for where each call is: a server that has just answered is awake, and most often finds it by itself.
  HEDDLE_FUNCTION void acknowledge(uint32_t slot) const {
    end_.post(slot, false);
    if (rings_.every == 1 && !rings_.coalesced) Target::notify(end_.bell());
  }

  end end_;
  ringing rings_;
};

}  // namespace heddle::rpc
