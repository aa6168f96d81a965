// The end that serves ports: any number of host threads, or waves of another device.
#pragma once

#include <heddle/rpc/port/port.h>

namespace heddle::rpc {

/// One server thread's view; each thread has its own, over the same shared memory and the same words of its end.
template <typename Target, typename Check = unchecked>
class basic_server {
 public:
  using port = basic_port<Target, side::server, Check>;
  using end = typename port::end;

  /// As process::process. Threads that start at different ports seldom meet. With a `home` each keeps to so many ports from its start on, rounded to
  /// multiples of 16, as long as one of these is ready; and looks at all when it has served as many calls as there are ports. So the words
  /// of a port stay in the caches of one processor. 0: all ports alike.
  HEDDLE_FUNCTION basic_server(port_memory shared, uint32_t* own, layout shape, uint32_t start = 0, uint32_t home = 0)
      : end_(shared, own, shape), start_(start % shape.ports) {
    if (home == 0 || home >= shape.ports) return;
    home_.first = start_ / 16 * 16;
    home_.count = (start_ % 16 + home + 15) / 16 * 16;
    if (home_.count > shape.ports - home_.first) home_.count = shape.ports - home_.first;
  }

  /// A port whose client waits for this end, or an empty one. Looks at every port once and begins behind the one that
  /// it served last: a port that is ready is passed over by this thread at most port_count() - 1 times.
  ///
  /// A server may be a wave of a device: then `here` names the lanes that call this together, best all of the wave. The
  /// lanes that the client's mask names get the port, the others an empty one; a call with a lane that is not here is
  /// left to others. Lanes that merely happen to stand together, the default, may be fewer than any call needs.
  HEDDLE_FUNCTION port try_open(uint64_t here = Target::lane_mask()) {
    uint64_t answer = 0;
    request asked;
    if (Target::is_first_lane(here)) answer = find(here, asked);
    answer = Target::broadcast(here, answer);
    if (answer == 0) return port(end_);
    // What steers the wave is read by one lane: a header that changes under a hostile client must not part the others.
    const uint64_t mask = Target::broadcast(here, asked.mask);
    const auto opcode = static_cast<uint16_t>(Target::broadcast(here, asked.opcode));
    const auto index = static_cast<uint32_t>(answer & ~taken);
    // At home, or anywhere: what was found elsewhere does not move the place at home.
    if (!is_at_home(index))
      elsewhere_ = index + 1 < end_.port_count() ? index + 1 : 0;
    else
      start_ = index + 1 < home().first + home().count ? index + 1 : home().first;
    // The first lane's acquire in find, handed on to the other lanes, is what makes the packets safe to read.
    Target::sync_lanes(here);
    if (Target::is_device() && ((mask >> Target::lane_id()) & 1) == 0) return port(end_);
    return port(end_, {index, own_state(static_cast<uint32_t>(answer >> 32)), mask, opcode});
  }

  /// The count of rings, to be taken before try_open and given to wait if that finds nothing.
  HEDDLE_FUNCTION doorbell rings() const {
    // Acquire pairs with the release in notify: the look for work that follows finds every call whose ring is counted here.
    return ring_ref(end_.bell()).load(memory_order::acquire);
  }

  /// Sleeps until a client that rings has made a call since `seen` was taken, or until the time-out. After a time-out
  /// look for work whatever the bell says: a ring can be lost on the way (a GPU without atomics over the link).
  HEDDLE_FUNCTION void wait(doorbell seen, uint64_t timeout_ns) const { Target::wait(end_.bell(), seen, timeout_ns); }

  /// Ends every port that has nothing to answer: clients learn that no answer will come (basic_port::ended). Returns
  /// whether this thread has nothing left to do: each port has ended, or is held by another thread, which calls this
  /// when it has served it. False when a port was left because it is ready: serve it, have it end (basic_port::end_when_closed), or
  /// its client may call again before the next look, and call this again. After give_up none is left. What a client sends afterwards
  /// is neither read nor answered.
  HEDDLE_FUNCTION bool try_end() const {
    static_assert(Check::may_end, "only a server whose clients expect it may end: may_end_and<Check>");
    bool done = true;
    const auto boxes = end_.boxes();
    // Relaxed: as in give_up.
    const bool given_up = give_up_ref().load(memory_order::relaxed) != 0;
    for (uint32_t index = 0; index < end_.port_count(); ++index) {
      // A look first: locks taken for a port that is ready keep off the thread that is to serve it, and several threads each other for ever.
      const own_state seen = end_.states().look(index);
      if (!given_up && boxes.owns(boxes.load_inbox(index), seen.outbox())) {
        if (!seen.is_held()) done = false;
        continue;
      }
      // Held for ever from here on, so that the port is never opened again.
      const own_state was = end_.states().try_lock(index);
      if (was.is_held()) continue;
      // What is ended is not read, so that no acquire is needed.
      if (!given_up && boxes.owns(boxes.load_inbox(index), was.outbox())) {
        end_.states().unlock(index, was, was);
        done = false;
      } else {
        boxes.end(index, was.outbox());
      }
    }
    return done;
  }

  /// Makes every server of this end give up the calls whose client it waits for (basic_port::ended), now and later; a
  /// port that was given up has ended.
  HEDDLE_FUNCTION void give_up() const {
    // Relaxed: the word says all there is to know.
    give_up_ref().store(1, memory_order::relaxed);
  }

  HEDDLE_FUNCTION bool all_idle() const { return end_.all_idle(); }
  HEDDLE_FUNCTION uint32_t port_count() const { return end_.port_count(); }
  HEDDLE_FUNCTION uint32_t lane_count() const { return end_.lane_count(); }

 private:
  using ring_ref = typename Target::template atomic_ref<doorbell, scope::system>;
  using word_ref = typename Target::template atomic_ref<uint32_t, scope::device>;
  HEDDLE_FUNCTION word_ref give_up_ref() const { return word_ref(end_.give_up_word()); }

  /// What the header says. Apart from the answer of find: the packets' addresses, which depend on that, are then known
  /// before the header's line has come, and both lines come at the same time.
  struct request {
    uint64_t mask = 0;
    uint32_t opcode = 0;
  };

  /// Reads each word once: a hostile client may change it at any time, and what is checked must be what is used.
  HEDDLE_FUNCTION static request read(header& from) {
    using mask_ref = typename Target::template atomic_ref<uint64_t, scope::system>;
    // Relaxed: the acquire behind the inbox has ordered it. Nothing checks the opcode before the broadcast, which reads it once.
    if (Target::is_device()) return {mask_ref(from.mask).load(memory_order::relaxed), from.opcode};
    // A host thread has no broadcast that does so. Volatile, because an atomic load would be a step of the protocol.
    const volatile header& once = from;
    return {once.mask, once.opcode};
  }

  /// Ports next to each other, from a multiple of 16 on.
  struct range {
    uint32_t first = 0;
    uint32_t count = 0;
  };
  HEDDLE_FUNCTION range home() const { return home_.count == 0 ? range{0, end_.port_count()} : home_; }
  HEDDLE_FUNCTION bool is_at_home(uint32_t index) const {
    return index >= home().first && index - home().first < home().count;
  }

  /// A port that is now held and owned: its index and `taken` (low half), what its state was (high half), and what it asks for;
  /// 0 when none is ready.
  HEDDLE_FUNCTION uint64_t find(uint64_t here, request& asked) {
    if (home_.count == 0) return find_in(home(), start_, here, asked);
    if (turns_ < end_.port_count()) {
      ++turns_;
      if (const uint64_t answer = find_in(home_, start_, here, asked)) return answer;
    }
    turns_ = 0;
    return find_in({0, end_.port_count()}, elsewhere_, here, asked);
  }

  /// The same among some ports, in order from `start` on.
  HEDDLE_FUNCTION uint64_t find_in(range among, uint32_t start, uint64_t here, request& asked) const {
    if constexpr (looks_at_16) {
      if (among.count > few_ports) return find_by_16(among, start, here, asked);
    }
    const auto boxes = end_.boxes();
    for (uint32_t n = 0; n < among.count; ++n) {
      const uint32_t index = start + n < among.first + among.count ? start + n : start + n - among.count;
      // A look first: a lock taken for every idle port, or again and again for one that is held, would keep the other threads off.
      const own_state mine = end_.states().look(index);
      if (mine.is_held() || !boxes.owns(boxes.load_inbox(index), mine.outbox())) continue;
      if (const uint64_t answer = try_take(index, here, asked)) return answer;
    }
    return 0;
  }

  static constexpr bool looks_at_16 = requires(const uint32_t* words) { Target::low_bits(words); };
  /// So many ports are looked at faster one by one.
  static constexpr uint32_t few_ports = 4;

  /// The same, in the same order, with a look at 16 ports at a time: the line of the client's mailboxes, compared at once.
  HEDDLE_FUNCTION uint64_t find_by_16(range among, uint32_t start, uint64_t here, request& asked) const {
    const uint32_t first = among.first / 16;
    const uint32_t last = first + (among.count + 15) / 16 - 1;
    const uint32_t from = start / 16;
    const uint32_t in_front = (uint32_t{1} << start % 16) - 1;
    if (const uint64_t answer = take_one(from, ready_in(from) & ~in_front, here, asked)) return answer;
    for (uint32_t group = from + 1; group <= last; ++group)
      if (const uint64_t answer = take_one(group, ready_in(group), here, asked)) return answer;
    for (uint32_t group = first; group != from; ++group)
      if (const uint64_t answer = take_one(group, ready_in(group), here, asked)) return answer;
    // What lies in front of the start, by a look of its own: where one client calls alone it is here, right in front, and has just come.
    return in_front == 0 ? 0 : take_one(from, ready_in(from) & in_front, here, asked, start - 1);
  }
  /// The first of these ports of a group that can be taken. `expected` mostly is the first that is ready.
  HEDDLE_FUNCTION uint64_t take_one(uint32_t group, uint32_t ready, uint64_t here, request& asked,
                                    uint32_t expected = ~uint32_t{0}) const {
    for (; ready != 0; ready &= ready - 1) {
      const uint32_t index = as_expected(group * 16 + static_cast<uint32_t>(__builtin_ctz(ready)), expected);
      if (index >= end_.port_count()) return 0;
      // As in find_in.
      if (end_.states().look(index).is_held()) continue;
      if (const uint64_t answer = try_take(index, here, asked)) return answer;
    }
    return 0;
  }
  /// `value`. Where it is what was expected, a processor that foresees that goes on to what follows from it before the value has come from another
  /// processor: the lines of a port come with its mailbox. (Value speculation in software: the branch takes the place of the dependence.)
  HEDDLE_FUNCTION static uint32_t as_expected(uint32_t value, uint32_t expected) {
    if (value != expected) return value;
    // Hides that the two are equal, or the compiler would leave the branch out.
    asm volatile("" : "+r"(expected));
    return expected;
  }
  /// Of the ports of a group, and of words behind the last one.
  HEDDLE_FUNCTION uint32_t ready_in(uint32_t group) const {
    const uint32_t first = group * 16;
    return end_.boxes().load_inbox_bits(first) ^ end_.states().outboxes_of_16(first, end_.port_count());
  }

  /// Takes a port that a look has found ready, if it still is.
  HEDDLE_FUNCTION uint64_t try_take(uint32_t index, uint64_t here, request& asked) const {
    const auto boxes = end_.boxes();
    end_.bring_packet(index);
    boxes.bring_outbox(index);
    const own_state was = end_.states().try_lock(index);
    if (was.is_held()) return 0;
    if (boxes.owns(boxes.acquire_inbox(index), was.outbox())) {
      asked = read(end_.header_of(index));
      asked.mask &= lanes_that_exist();
      if (can_serve(asked.mask, here)) return uint64_t{was.bits()} << 32 | index | taken;
    }
    // Another thread has served it in between, or must.
    end_.states().unlock(index, was, was);
    return 0;
  }

  /// One thread runs every lane. A wave has those that are here; and a port that none of them got would never be closed.
  HEDDLE_FUNCTION static bool can_serve(uint64_t mask, uint64_t here) {
    return !Target::is_device() || (mask != 0 && (mask & ~here) == 0);
  }

  /// Marks an answer that holds a port; above every port number.
  static constexpr uint64_t taken = uint64_t{1} << 31;

  /// The mask comes from the other side and indexes packets.
  HEDDLE_FUNCTION uint64_t lanes_that_exist() const {
    return end_.lane_count() == max_lanes ? ~uint64_t{0} : (uint64_t{1} << end_.lane_count()) - 1;
  }

  end end_;
  uint32_t start_;
  range home_;              ///< empty: all ports
  uint32_t elsewhere_ = 0;  ///< where it looks next when it looks at all
  uint32_t turns_ = 0;      ///< since it has looked at all
};

}  // namespace heddle::rpc
