// A stack of packets that many waves and threads take from and give back to, by compare-and-swap of its top. (Treiber,
// "Systems programming: coping with parallelism", IBM RJ 5118, 1986; ROCm-Device-Libs, hostcall_impl.cl.)
#pragma once

#include <heddle/rpc/check.h>

namespace heddle::rpc {

/// How a word names a packet: its number plus one in the lower half, 0 for none, and a tag in the upper half, which changes each time the
/// packet goes back to the stack of free ones. A pop that has read a top and what lies below it, and then stalls, must not succeed when
/// both packets have been taken and the first has come back (ABA): the top is then another word. A tag comes round after 2^32 times.
struct counted_tag {
  HEDDLE_FUNCTION static constexpr uint64_t named(uint32_t packet) { return uint64_t{packet} + 1; }
  HEDDLE_FUNCTION static constexpr uint32_t packet_of(uint64_t name) { return static_cast<uint32_t>(name) - 1; }
  HEDDLE_FUNCTION static constexpr uint64_t retagged(uint64_t name) { return name + (uint64_t{1} << 32); }
};

/// A view of a stack whose top is one word; `below(name)` is the word that holds what lies below a packet. All of it in memory that
/// both sides of the link reach: every operation is of system scope, and the link must carry compare-and-swap.
template <typename Target, typename Below>
class packet_stack {
 public:
  using word_ref = typename Target::template atomic_ref<uint64_t, scope::system>;

  HEDDLE_FUNCTION packet_stack(uint64_t& top, Below below) : top_(top), below_(below) {}

  /// Takes the packet that was put on last; 0 when there is none.
  HEDDLE_FUNCTION uint64_t pop() const {
    // Relaxed: a caller that waits for a packet looks here again and again.
    uint64_t top = top_ref().load(memory_order::relaxed);
    if (top == 0) return 0;
    // Acquire, here and where the exchange fails or succeeds: pairs with the release in push, before which the word
    // below was written and before which the last holder has done all that it did to the packet. All changes of the top
    // are read-modify-writes: the releases of earlier pushes reach through them.
    acquire_seen<Target, scope::system>(top_);
    while (top != 0) {
      // Relaxed, and perhaps of a packet that another pop has taken meanwhile: then the exchange fails.
      const uint64_t below = word_ref(below_(top)).load(memory_order::relaxed);
      if (top_ref().compare_exchange_strong(top, below, memory_order::acquire)) break;
    }
    return top;
  }

  HEDDLE_FUNCTION void push(uint64_t name) const {
    uint64_t top = top_ref().load(memory_order::relaxed);
    do {
      word_ref(below_(name)).store(top, memory_order::relaxed);
      // Release: pairs with the acquire in pop, or in take_all.
    } while (!top_ref().compare_exchange_strong(top, name, memory_order::release));
  }

  /// Takes all packets, the last one first; 0 when there is none.
  HEDDLE_FUNCTION uint64_t take_all() const {
    // A look first: most of the time there is nothing, and the others need the line.
    if (top_ref().load(memory_order::relaxed) == 0) return 0;
    // Acquire: pairs with the release of every push.
    return top_ref().exchange(0, memory_order::acquire);
  }

  HEDDLE_FUNCTION uint64_t top() const { return top_ref().load(memory_order::acquire); }

 private:
  HEDDLE_FUNCTION word_ref top_ref() const { return word_ref(top_); }

  uint64_t& top_;
  Below below_;
};

}  // namespace heddle::rpc
