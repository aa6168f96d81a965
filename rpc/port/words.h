// Two ways that a call over a port takes on the shortest road: an answer of one word, and one buffer of a whole wave.
//
// An answer of one word lies, for each lane, in two words of 64 bits that the lane reads as it waits: each has half of the answer and a mark. So
// the look that finds the mark has the answer, where a packet costs a second read over the link. (NCCL's protocol LL marks each word so:
// src/device/prims_ll.h.) The client clears both before it sends. The mark is that of the hand-over, as its mailbox shows it, so that words of the
// call before, which may come late, are none of this one's.
#pragma once

#include <heddle/rpc/port/port.h>

namespace heddle::rpc {

namespace detail {

/// The place of one lane's answer.
template <typename Target>
class marked_words {
 public:
  HEDDLE_FUNCTION explicit marked_words(uint64_t* words) : words_(words) {}

  /// The mark of the server's hand-over whose outbox is then `outbox`: never that of a cleared word.
  HEDDLE_FUNCTION static constexpr uint32_t mark_of(uint32_t outbox) { return (outbox & 1) + 1; }

  HEDDLE_FUNCTION void clear() const {
    // Relaxed: the hand-over that follows releases them.
    if constexpr (requires { Target::store_pair(words_, uint64_t{0}, uint64_t{0}); }) {
      Target::store_pair(words_, 0, 0);
    } else {
      ref(0).store(0, memory_order::relaxed);
      ref(1).store(0, memory_order::relaxed);
    }
  }

  HEDDLE_FUNCTION void store(uint64_t value, uint32_t mark) const {
    // Release, system scope, both: pairs with acquire(), so that the client which goes on because of them is behind the hand-over too.
    ref(0).store(uint64_t{mark} << 32 | (value & low_half), memory_order::release);
    ref(1).store(uint64_t{mark} << 32 | value >> 32, memory_order::release);
  }

  /// Whether both have the mark, and if so the value. Orders nothing.
  HEDDLE_FUNCTION bool load(uint32_t mark, uint64_t& value) const {
    uint64_t low = 0;
    uint64_t high = 0;
    // Relaxed. By one instruction where there is one: two looks of system scope at one line go over the link one behind the other.
    if constexpr (requires { Target::load_pair(words_, low, high); }) {
      Target::load_pair(words_, low, high);
    } else {
      low = ref(0).load(memory_order::relaxed);
      high = ref(1).load(memory_order::relaxed);
    }
    value = high << 32 | (low & low_half);
    return low >> 32 == mark && high >> 32 == mark;
  }
  /// Behind a load() that has found the mark.
  HEDDLE_FUNCTION void acquire() const {
    // Acquire, system scope: pairs with store(). The second word is stored behind the first.
    acquire_seen<Target, scope::system>(words_[1]);
  }

 private:
  static constexpr uint64_t low_half = ~uint32_t{0};
  using word_ref = typename Target::template atomic_ref<uint64_t, scope::system>;
  HEDDLE_FUNCTION word_ref ref(uint32_t n) const { return word_ref(words_[n]); }

  uint64_t* words_;
};

// What calls what a user has passed: classes, because nvcc's check cannot be switched off for a lambda.

/// Gives the user what came in words.
template <typename Target, typename Use>
struct use_of_words {
  per_lane<Target, uint64_t>& words;
  Use& use;
  HEDDLE_CALLS_BACK
  HEDDLE_FUNCTION void operator()(uint32_t lane) const { use(words[lane], lane); }
};
/// Gives the user the first word of what came as a packet.
template <typename Use>
struct use_of_packet {
  Use& use;
  HEDDLE_CALLS_BACK
  template <typename Packet>
  HEDDLE_FUNCTION void operator()(Packet& from, uint32_t lane) const {
    use(uint64_t{from.words[0]}, lane);
  }
};
/// Asks the user for a lane's answer, and keeps it.
template <typename Target, typename Value>
struct answer_in_packet {
  per_lane<Target, uint64_t>& words;
  Value& value;
  HEDDLE_CALLS_BACK
  template <typename Packet>
  HEDDLE_FUNCTION void operator()(Packet& to, uint32_t lane) const {
    words[lane] = value(lane);
    to.words[0] = words[lane];
  }
};

}  // namespace detail

HEDDLE_CALLS_BACK
template <typename Target, side Side, typename Check>
template <typename Fill, typename Use>
HEDDLE_FUNCTION void basic_port<Target, Side, Check>::send_and_recv_word(Fill&& fill, Use&& use) {
  static_assert(Side == side::client, "a server answers by send_word");
  // A port that the server has may get words of the call before: they are cleared by the packet's owner alone.
  const bool by_word = end_.has_words() && owns_ && !ended_;
  if (by_word)
    for_each_lane<Target>(mask_,
                          [&](uint32_t lane) { detail::marked_words<Target>(end_.words_of(index_, lane)).clear(); });
  send(fill);
  detail::per_lane<Target, uint64_t> words;
  if (by_word && !ended_ && take_words(words.values()))
    for_each_lane<Target>(mask_, detail::use_of_words<Target, Use>{words, use});
  else
    recv(detail::use_of_packet<Use>{use});
}

HEDDLE_CALLS_BACK
template <typename Target, side Side, typename Check>
template <typename Value>
HEDDLE_FUNCTION void basic_port<Target, Side, Check>::send_word(Value&& value) {
  static_assert(Side == side::server, "a client sends packets");
  detail::per_lane<Target, uint64_t> words;
  send(detail::answer_in_packet<Target, Value>{words, value});
  if (ended_ || !end_.has_words()) return;
  for_each_lane<Target>(mask_, [&](uint32_t lane) {
    const detail::marked_words<Target> to(end_.words_of(index_, lane));
    to.store(words[lane], to.mark_of(outbox_));
  });
}

template <typename Target, side Side, typename Check>
HEDDLE_FUNCTION bool basic_port<Target, Side, Check>::take_words(uint64_t* words) {
  const auto boxes = end_.boxes();
  const uint32_t mark = detail::marked_words<Target>::mark_of(outbox_);
  bool is_here = false;
  for (;;) {
    uint32_t inbox = 0;
    // Before the words, so that one look has both on their way.
    if (Target::is_first_lane(mask_)) inbox = boxes.load_inbox(index_);
    const uint64_t there = detail::lanes_where<Target>(mask_, [&](uint32_t lane) {
      return detail::marked_words<Target>(end_.words_of(index_, lane))
          .load(mark, words[Target::is_device() ? 0 : lane]);
    });
    if (there == mask_) break;
    // The server stores the words behind its hand-over: one more look, then they are none.
    if (is_here) return false;
    inbox = Target::broadcast(mask_, inbox);
    is_here = boxes.owns(inbox, outbox_) || boxes.has_ended(inbox);
    if (!is_here) Target::pause();
  }
  for_each_lane<Target>(mask_,
                        [&](uint32_t lane) { detail::marked_words<Target>(end_.words_of(index_, lane)).acquire(); });
  Target::sync_lanes(mask_);
  owns_ = true;
  received_ = true;
  if constexpr (Check::enabled) check_step();
  expect_data();
  require_ownership();
  return true;
}

}  // namespace heddle::rpc

#include <heddle/rpc/port/bulk.h>
