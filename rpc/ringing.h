// When a client rings the doorbell: behind each call, behind each n-th, or behind none; and not while a ring is still unanswered.
#pragma once

#include <heddle/rpc/target.h>

namespace heddle::rpc {

/// A ring costs its client a release and an atomic across the link, and a host thread that sleeps a wake-up. A call that is not rung for is
/// found when the server looks by itself: where not each call is rung for, or rings may be lost, a server that sleeps needs a time-out.
struct ringing {
  uint32_t every = 0;      ///< rings behind each n-th call of the client and its copies; 0: behind none
  bool coalesced = false;  ///< but not while no call has been answered since the last ring

  /// `true` is each call, `false` none.
  // NOLINTNEXTLINE(google-explicit-constructor): a count, or a bool, is meant wherever it stands
  HEDDLE_FUNCTION constexpr ringing(uint32_t every_nth = 0, bool coalesces = false)
      : every(every_nth), coalesced(coalesces) {}
};

/// The zeroed word in which the waves of a client's side count their calls and remember an unanswered ring; in memory of their own, which the
/// link does not carry. A view. One lane acts for its wave. Where each call is rung for, or none, and rings are not coalesced, the word is
/// neither read nor written.
template <typename Target>
class ring_count {
 public:
  HEDDLE_FUNCTION explicit ring_count(uint32_t* word) : word_(word) {}

  /// Whether the call that the caller has just posted is one to ring for; counts it.
  HEDDLE_FUNCTION bool is_due(ringing how) const {
    if (how.every == 0) return false;
    // Relaxed, here and below: a ring is a hint, and what it hints at is released by the ring itself. The count wraps: then one ring comes early
    // or late.
    if (how.every > 1 && ((word().fetch_add(one_call, memory_order::relaxed) / one_call) + 1) % how.every != 0)
      return false;
    return !how.coalesced || (word().fetch_or(unanswered, memory_order::relaxed) & unanswered) == 0;
  }

  /// A call has its answer: the server is awake, and may sleep again. A call that is posted before this is known, and after the server has looked
  /// for the last time, is not rung for: the server's time-out finds it.
  HEDDLE_FUNCTION void answered(ringing how) const {
    if (how.coalesced && (word().load(memory_order::relaxed) & unanswered) != 0)
      (void)word().fetch_and(~unanswered, memory_order::relaxed);
  }

 private:
  static constexpr uint32_t unanswered = 1;
  static constexpr uint32_t one_call = 2;

  using word_ref = typename Target::template atomic_ref<uint32_t, scope::device>;
  HEDDLE_FUNCTION word_ref word() const { return word_ref(*word_); }

  uint32_t* word_;
};

}  // namespace heddle::rpc
