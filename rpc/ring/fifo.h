// A FIFO from a device to its host: many producers, one consumer, entries in a ring in memory that both reach.
//
// The shape of MSCCL++'s FIFO, NCCL's GIN proxy and NVSHMEM's proxy channel: a producer reserves entries by moving a
// head in its own memory, waits until the consumer's tail gives credit for them, writes them, and sets the flag of each. The
// consumer takes them in order and moves the tail.
//
// Needs from the machine: a producer that has reserved an entry must be guaranteed a turn, because the consumer takes
// no entry before it. That is `obe` and everything stronger. Under `hsa` the lowest wave makes progress as long as it needs no credit and no flush
// behind another wave's entry: where the ring holds all that is pushed. Any number of producers may use any number of entries, the lanes of one
// wave one each.
#pragma once

#include <heddle/rpc/check.h>
#include <heddle/rpc/ring/entries.h>
#include <heddle/rpc/ring/wait.h>

namespace heddle::rpc {

/// What both ends see of the shared memory. A view: it owns nothing and can be passed to a kernel byte by byte.
template <typename Target, typename Entry>
class fifo_end {
 public:
  HEDDLE_FUNCTION fifo_end(void* shared, fifo_layout<Entry> shape)
      : base_(static_cast<unsigned char*>(shared)), entries_(shape.entries) {}

  using word_ref = typename Target::template atomic_ref<uint32_t, scope::system>;

  HEDDLE_FUNCTION uint32_t entry_count() const { return entries_; }
  HEDDLE_FUNCTION word_ref tail() const { return word_ref(tail_word()); }
  HEDDLE_FUNCTION uint32_t& tail_word() const { return word_at(fifo_layout<Entry>::tail_offset()); }
  HEDDLE_FUNCTION doorbell& bell() const { return word_at(fifo_layout<Entry>::doorbell_offset()); }
  HEDDLE_FUNCTION end_word<Target> ending() const {
    return end_word<Target>(word_at(fifo_layout<Entry>::end_offset()));
  }
  HEDDLE_FUNCTION fifo_slot<Entry>& slot_of(uint32_t number) const {
    auto* const slots = reinterpret_cast<fifo_slot<Entry>*>(base_ + fifo_layout<Entry>::slot_offset());
    return slots[number & (entries_ - 1)];
  }

 private:
  HEDDLE_FUNCTION uint32_t& word_at(size_t offset) const { return *reinterpret_cast<uint32_t*>(base_ + offset); }

  unsigned char* base_;
  uint32_t entries_;
};

/// The end that pushes: waves of a GPU, or any thread. A view that can be copied into a kernel byte by byte.
template <typename Target, typename Entry, typename Form = lap_parity, typename Check = unchecked>
class basic_fifo_producer {
 public:
  using shape = fifo_layout<Entry>;

  /// `shared` is shape.size_bytes() that both ends reach, `counters` is used by producers alone. A producer that
  /// `rings` wakes a consumer that sleeps on the doorbell.
  HEDDLE_FUNCTION basic_fifo_producer(void* shared, fifo_counters* counters, shape of, bool rings = false)
      : end_(shared, of), counters_(counters), rings_(rings) {
    require_layout<Target, Check>(of.is_valid(), "the number of entries is no power of two, or too large");
  }

  /// One entry for each of the lanes that stand here together: `fill(entry, lane)` writes it in place, with flag_inside elsewhere; what is
  /// not written is what an earlier lap left there. Reserves at once, in one step for the wave, and then waits until the consumer has given back what was in
  /// the way. The entries of a wave lie together, and entries of one lane arrive in the order of its calls. Where Check::may_end and the
  /// consumer ends before there is room, the status is `ended`, and no entry is written. A push that finds room does not ask: what is pushed
  /// and not consumed before the end is told by flush().
  HEDDLE_CALLS_BACK
  template <typename Fill>
  HEDDLE_FUNCTION ring_result push(Fill&& fill) const {
    const uint64_t mask = Target::lane_mask();
    const uint32_t lanes = lanes_of(mask);
    ring_result outcome;
    if (Target::is_first_lane(mask)) outcome = reserve_and_wait(lanes);
    if constexpr (Check::may_end)
      outcome = broadcast(mask, outcome);
    else
      outcome.index = Target::broadcast(mask, outcome.index);
    return outcome ? write(mask, outcome.index, fill) : outcome;
  }

  /// As push(fill), with a bound: looks for room `turns` + 1 times. Reserves only what has room, so that a push that
  /// times out has reserved nothing; all lanes of the wave push or none does.
  HEDDLE_CALLS_BACK
  template <typename Fill>
  HEDDLE_FUNCTION ring_result push(Fill&& fill, uint32_t turns) const {
    const uint64_t mask = Target::lane_mask();
    const uint32_t lanes = lanes_of(mask);
    ring_result outcome;
    if (Target::is_first_lane(mask)) outcome = reserve_within(lanes, turns);
    outcome = broadcast(mask, outcome);
    return outcome ? write(mask, outcome.index, fill) : outcome;
  }

  /// Waits until the consumer has handled everything that was pushed before, by any producer. What it has read may be written again then.
  HEDDLE_FUNCTION ring_result flush(uint32_t turns = without_bound) const {
    const uint64_t mask = Target::lane_mask();
    // Gathers what the lanes have seen of each other's pushes.
    Target::sync_lanes(mask);
    ring_result outcome;
    if (Target::is_first_lane(mask)) {
      // Relaxed: a push that happens before this is seen, and nothing is read behind it.
      outcome.index = head().load(memory_order::relaxed);
      bounded_wait<Target> wait(turns);
      while (static_cast<int32_t>((outcome.seen = fresh_tail()) - outcome.index) < 0) {
        if (has_ended()) {
          // What was consumed before the end is seen by another look.
          outcome.seen = fresh_tail();
          if (static_cast<int32_t>(outcome.seen - outcome.index) < 0) outcome = ended(ring_wait::consumption, outcome);
          break;
        }
        if (wait.again()) continue;
        outcome.status = ring_status::timed_out;
        outcome.waited_for = ring_wait::consumption;
        break;
      }
      acquire_credit();
    }
    outcome = broadcast(mask, outcome);
    // The first lane's acquire reaches the other lanes.
    Target::sync_lanes(mask);
    return outcome;
  }

 private:
  using local_ref = typename Target::template atomic_ref<uint32_t, scope::device>;
  HEDDLE_FUNCTION local_ref head() const { return local_ref(counters_->head); }
  HEDDLE_FUNCTION local_ref cached_tail() const { return local_ref(counters_->cached_tail); }

  HEDDLE_FUNCTION static uint32_t count(uint64_t mask) {
    uint32_t bits = 0;
    for (; mask != 0; mask &= mask - 1) ++bits;
    return bits;
  }
  HEDDLE_FUNCTION uint32_t lanes_of(uint64_t mask) const {
    const uint32_t lanes = count(mask);
    require<Target, Check>(lanes <= end_.entry_count(), "a wave is wider than the ring has entries");
    return lanes;
  }

  HEDDLE_FUNCTION static ring_result broadcast(uint64_t mask, ring_result mine) {
    const uint64_t numbers = Target::broadcast(mask, uint64_t{mine.index} << 32 | mine.seen);
    const uint32_t kind =
        Target::broadcast(mask, static_cast<uint32_t>(mine.status) << 8 | static_cast<uint32_t>(mine.waited_for));
    return {static_cast<ring_status>(kind >> 8), static_cast<ring_wait>(kind & 0xff),
            static_cast<uint32_t>(numbers >> 32), static_cast<uint32_t>(numbers)};
  }

  /// The consumer's tail from where it writes it; leaves it where the other producers look first. Before an entry is written because of
  /// it, acquire_credit().
  HEDDLE_FUNCTION uint32_t fresh_tail() const {
    // Relaxed, both: a producer that waits looks here again and again.
    const uint32_t before = cached_tail().load(memory_order::relaxed);
    const uint32_t now = end_.tail().load(memory_order::relaxed);
    // A load that is late may show a tail older than the copy.
    if (static_cast<int32_t>(now - before) <= 0) return before;
    // Acquire, system scope: with the relaxed load before it pairs with the release of the tail by the consumer, behind its reads of the entries.
    acquire_seen<Target, scope::system>(end_.tail_word());
    // Release, device scope: hands that acquire on to a producer that reads the copy. A copy that has changed meanwhile stays.
    uint32_t expected = before;
    cached_tail().compare_exchange_strong(expected, now, memory_order::release);
    return now;
  }

  /// Puts what follows behind the consumer's reads of the entries below a tail that this lane or thread has seen in the copy.
  HEDDLE_FUNCTION void acquire_credit() const {
    // Acquire, device scope: with the relaxed load before it pairs with the release in fresh_tail, and through it with the consumer's.
    // A load, as the word lies near.
    (void)cached_tail().load(memory_order::acquire);
  }

  /// Whether the consumer is done with the places of all entries below `end`; `seen` is the tail that says so.
  HEDDLE_FUNCTION bool has_room(uint32_t end, uint32_t& seen) const {
    // Relaxed: acquired where it shows room.
    seen = cached_tail().load(memory_order::relaxed);
    if (!Form::has_room(end, seen, end_.entry_count())) {
      seen = fresh_tail();
      if (!Form::has_room(end, seen, end_.entry_count())) return false;
    }
    acquire_credit();
    return true;
  }

  /// Whether the consumer has ended, which only one that may end does.
  HEDDLE_FUNCTION bool has_ended() const {
    if constexpr (Check::may_end)
      return end_.ending().is_set();
    else
      return false;
  }
  HEDDLE_FUNCTION static ring_result ended(ring_wait waited_for, const ring_result& so_far) {
    return {ring_status::ended, waited_for, so_far.index, so_far.seen};
  }

  HEDDLE_FUNCTION ring_result reserve_and_wait(uint32_t lanes) const {
    ring_result outcome;
    // Relaxed: the number is all that is wanted, the order comes with the credit.
    outcome.index = head().fetch_add(lanes, memory_order::relaxed);
    while (!has_room(outcome.index + lanes, outcome.seen)) {
      // What is reserved is not written: there is no consumer that it could hold up.
      if (has_ended()) return ended(ring_wait::credit, outcome);
      Target::pause();
    }
    check_credit(outcome.index, outcome.seen);
    return outcome;
  }

  HEDDLE_FUNCTION ring_result reserve_within(uint32_t lanes, uint32_t turns) const {
    bounded_wait<Target> wait(turns);
    ring_result outcome;
    outcome.index = head().load(memory_order::relaxed);
    for (;;) {
      const bool room = has_room(outcome.index + lanes, outcome.seen);
      // Relaxed: as in reserve_and_wait. On failure the head is now known.
      if (room && head().compare_exchange_strong(outcome.index, outcome.index + lanes, memory_order::relaxed)) {
        check_credit(outcome.index, outcome.seen);
        return outcome;
      }
      if (!room && has_ended()) return ended(ring_wait::credit, outcome);
      if (!wait.again()) {
        outcome.status = ring_status::timed_out;
        outcome.waited_for = room ? ring_wait::reservation : ring_wait::credit;
        return outcome;
      }
      // Read again also while there is no credit: producers that have reserved meanwhile use the next credit first.
      if (!room) outcome.index = head().load(memory_order::relaxed);
    }
  }

  HEDDLE_FUNCTION void check_credit(uint32_t first, uint32_t seen) const {
    require<Target, Check>(static_cast<int32_t>(seen - first) <= 0,
                           "the consumer has passed an entry that is not written");
  }

  /// Writes and publishes an entry.
  template <typename Fill>
  struct writer {
    const fifo_end<Target, Entry>& end;
    uint64_t mask;
    uint32_t first;
    Fill& fill;
    HEDDLE_CALLS_BACK
    HEDDLE_FUNCTION void operator()(uint32_t lane) const {
      const uint32_t number = first + count(mask & ((uint64_t{1} << lane) - 1));
      fifo_slot<Entry>& slot = end.slot_of(number);
      const uint32_t flag = Form::flag_of(number, end.entry_count());
      if constexpr (Form::is_inside) {
        Entry made{};
        fill(made, lane);
        require<Target, Check>(((made.words[0] | made.words[1]) >> Entry::word_bits) == 0,
                               "a word of an entry has bits where its flag goes");
        detail::store_pair<Target>(slot.entry, Form::word_of(made.words[0], flag), Form::word_of(made.words[1], flag));
      } else {
        fill(slot.entry, lane);
        // Release, system scope: pairs with the acquire of the flag by the consumer.
        typename fifo_end<Target, Entry>::word_ref(slot.flag).store(flag, memory_order::release);
      }
    }
  };

  HEDDLE_CALLS_BACK
  template <typename Fill>
  HEDDLE_FUNCTION ring_result write(uint64_t mask, uint32_t first, Fill& fill) const {
    // The first lane's acquire of the credit reaches the other lanes, which write where the consumer has read.
    Target::sync_lanes(mask);
    for_each_lane<Target>(mask, writer<Fill>{end_, mask, first, fill});
    if (rings_) {
      // A ring is for all entries of the wave.
      Target::sync_lanes(mask);
      if (Target::is_first_lane(mask)) Target::notify(end_.bell());
    }
    return {ring_status::done, ring_wait::nothing, first, 0};
  }

  fifo_end<Target, Entry> end_;
  fifo_counters* counters_;
  bool rings_;
};

/// The end that takes entries: one thread, or one lane, at a time.
template <typename Target, typename Entry, typename Form = lap_parity, typename Check = unchecked>
class basic_fifo_consumer {
 public:
  using shape = fifo_layout<Entry>;

  HEDDLE_FUNCTION basic_fifo_consumer(void* shared, shape of) : end_(shared, of) {
    require_layout<Target, Check>(of.is_valid(), "the number of entries is no power of two, or too large");
  }

  /// Hands each entry that is there, in order and at most `most` of them, to `handle(entry)`, a copy; then gives their
  /// places back at once. Returns how many there were. Does not wait: an entry that is reserved and not yet written ends it.
  /// An entry for which `handle` throws is consumed, as are those before it; the exception goes on to the caller.
  HEDDLE_CALLS_BACK
  template <typename Handle>
  HEDDLE_FUNCTION uint32_t consume(Handle&& handle, uint32_t most = ~uint32_t{0}) const {
    // Relaxed: only the consumer writes it.
    places taken{end_, end_.tail().load(memory_order::relaxed)};
    while (taken.count < most) {
      const uint32_t number = taken.first + taken.count;
      fifo_slot<Entry>& slot = end_.slot_of(number);
      const uint32_t wanted = Form::flag_of(number, end_.entry_count());
      if constexpr (Form::is_inside) {
        Entry copy;
        if (!detail::take_pair<Target>(slot.entry, wanted, copy)) break;
        ++taken.count;
        handle(static_cast<const Entry&>(copy));
      } else {
        const word_ref flag(slot.flag);
        // Relaxed: the look that finds nothing orders nothing.
        if (flag.load(memory_order::relaxed) != wanted) break;
        // Acquire, system scope: with the relaxed load before it pairs with the release of the flag by the producer.
        acquire_seen<Target, scope::system>(slot.flag);
        // A copy: what is checked and what is used are the same, whatever the other side writes.
        const Entry copy(slot.entry);
        // Relaxed, before the tail: the producer of the next lap is ordered behind it by the tail.
        if constexpr (Form::clears) flag.store(0, memory_order::relaxed);
        ++taken.count;
        handle(copy);
      }
    }
    return taken.count;
  }

  /// The count of rings, to be taken before consume and given to wait if that finds nothing.
  HEDDLE_FUNCTION doorbell rings() const {
    // Acquire pairs with the release in notify: the look that follows finds every entry whose ring is counted here.
    return word_ref(end_.bell()).load(memory_order::acquire);
  }
  /// Sleeps until a producer that rings has pushed since `seen` was taken, or until the time-out.
  HEDDLE_FUNCTION void wait(doorbell seen, uint64_t timeout_ns) const { Target::wait(end_.bell(), seen, timeout_ns); }

  /// Where Check::may_end: tells the producers that nothing is consumed any more. Does not wait. Those that wait for room, or in flush(), go on at
  /// once with the status `ended`. Consume what is there before.
  HEDDLE_FUNCTION void end() const {
    static_assert(Check::may_end, "only a consumer whose producers expect it may end: may_end_and<Check>");
    end_.ending().set();
  }

 private:
  using word_ref = typename fifo_end<Target, Entry>::word_ref;

  /// Entries that have been taken; gives their places back in the end, also when a handler throws.
  struct places {
    const fifo_end<Target, Entry>& at;
    uint32_t first;
    uint32_t count = 0;

    HEDDLE_FUNCTION ~places() {
      // Release, system scope: pairs with the acquire in fresh_tail. The places may be written again.
      if (count != 0) at.tail().store(first + count, memory_order::release);
    }
  };

  fifo_end<Target, Entry> end_;
};

}  // namespace heddle::rpc
