// Which side may touch a slot's page: one side's inbox and outbox of every slot, and every ordering rule between the sides.
//
// A side stores only to its own outbox, and only while it holds the slot's lock. Three forms: a bit a slot, where a
// post is a read-modify-write because neighbours share the word, by fetch-add as in hostrpc's last version or by
// compare-and-swap as in its first; and a word a slot, where it is a store, for links without atomics.
#pragma once

#include <heddle/rpc/check.h>
#include <heddle/rpc/layout.h>
#include <heddle/rpc/link.h>

namespace heddle::rpc {

/// 32 slots to a word. A bit is set by adding it to a word in which it is 0, and cleared by subtracting it: of the read-modify-writes
/// PCIe has fetch-add, swap and compare-and-swap only (PCIe Base Specification, "Atomic Operations").
struct bit_a_slot {
  static constexpr const char* name = "slots of a bit each";
  static constexpr link_properties needs = {.add = true};
  static constexpr const char* instead = "word_a_slot needs loads and stores alone";

  static constexpr uint32_t slots_per_word = 32;

  HEDDLE_FUNCTION static bool read(uint32_t word, uint32_t slot) { return (word >> slot % slots_per_word & 1) != 0; }
  template <typename Word>
  HEDDLE_FUNCTION static void post(const Word& word, uint32_t slot, bool value) {
    const uint32_t bit = uint32_t{1} << slot % slots_per_word;
    // Release: pairs with the acquire of the inbox by the other side. The read-modify-writes of neighbours continue it.
    word.fetch_add(value ? bit : 0 - bit, memory_order::release);
  }
  /// A word has no bit to spare that says so: the slot's mask does.
  static constexpr bool tells_of_refusals = false;
};

/// As bit_a_slot, with compare-and-swap alone: the four bits GPU, WAVE, HOST, THREAD of the same document, of which GPU and HOST are the
/// outboxes of client and server, WAVE and THREAD their lock bits. A post begins again whenever a neighbour has posted.
struct bit_by_compare {
  static constexpr const char* name = "slots of a bit each, by comparison";
  static constexpr link_properties needs = {.compare = true};
  static constexpr const char* instead = bit_a_slot::instead;

  static constexpr uint32_t slots_per_word = bit_a_slot::slots_per_word;

  HEDDLE_FUNCTION static bool read(uint32_t word, uint32_t slot) { return bit_a_slot::read(word, slot); }
  template <typename Word>
  HEDDLE_FUNCTION static void post(const Word& word, uint32_t slot, bool value) {
    const uint32_t bit = uint32_t{1} << slot % slots_per_word;
    uint32_t seen = word.load(memory_order::relaxed);
    // Release: pairs with the acquire of the inbox by the other side. Relaxed until it succeeds: nothing of a neighbour's is looked at.
    while (!word.compare_exchange_strong(seen, value ? seen | bit : seen & ~bit, memory_order::release)) {
    }
  }
  static constexpr bool tells_of_refusals = false;
};

/// One word a slot: loads and stores are all that the link has to carry.
struct word_a_slot {
  static constexpr const char* name = "slots of a word each";
  static constexpr link_properties needs = {};
  static constexpr const char* instead = "";

  static constexpr uint32_t slots_per_word = 1;

  HEDDLE_FUNCTION static bool read(uint32_t word, uint32_t) { return (word & 1) != 0; }
  template <typename Word>
  HEDDLE_FUNCTION static void post(const Word& word, uint32_t, bool value) {
    // Release: pairs with the acquire of the inbox by the other side.
    word.store(value ? 1 : 0, memory_order::release);
  }
  /// A post of 1 that says that there is no answer behind it.
  static constexpr bool tells_of_refusals = true;
  template <typename Word>
  HEDDLE_FUNCTION static void refuse(const Word& word) {
    // Release: pairs with the acquire of the inbox by the other side.
    word.store(3, memory_order::release);
  }
  HEDDLE_FUNCTION static bool is_refused(uint32_t word) { return (word & 2) != 0; }
};

/// A view of all mailboxes from one side. One lane acts for its wave, as for own_states: the caller's sync_lanes hands
/// on what it acquired, and gathers what it releases.
template <typename Target, typename Form>
class slot_mailboxes {
 public:
  HEDDLE_FUNCTION slot_mailboxes(uint32_t* inbox, uint32_t* outbox) : inbox_(inbox), outbox_(outbox) {}

  /// What the other side has posted, as far as it has arrived. Orders nothing: before a page or a mask is touched because of it, acquire().
  HEDDLE_FUNCTION bool load_inbox(uint32_t slot) const { return Form::read(load_inbox_word(slot), slot); }
  /// The word that it is read from.
  HEDDLE_FUNCTION uint32_t load_inbox_word(uint32_t slot) const {
    // Relaxed: most looks find nothing, and an acquire at each would throw the caches of a GPU away.
    return ref(inbox_, slot).load(memory_order::relaxed);
  }
  /// Puts what follows behind the post that a load_inbox() of this lane or thread has shown. What the other side did to the page comes before.
  HEDDLE_FUNCTION void acquire(uint32_t slot) const {
    // Acquire, system scope: with the relaxed load before it pairs with the release of post, or of refuse, by the other side.
    acquire_seen<Target, scope::system>(inbox_[slot / Form::slots_per_word]);
  }
  /// load_inbox() and acquire() in one, for a look that will nearly always show the post that it is taken for.
  HEDDLE_FUNCTION bool acquire_inbox(uint32_t slot) const {
    // Acquire, system scope: pairs with the release of post, or of refuse, by the other side.
    return Form::read(ref(inbox_, slot).load(memory_order::acquire), slot);
  }
  /// What this side has posted. For checks: the holder of a slot knows it (slot_end::states), and on a device it lies behind the link.
  HEDDLE_FUNCTION bool load_outbox(uint32_t slot) const {
    // Relaxed: the holder of the slot's lock is ordered after the holder that posted last.
    return Form::read(ref(outbox_, slot).load(memory_order::relaxed), slot);
  }
  /// The same for the checks of the holder of a slot: nothing else changes it meanwhile.
  HEDDLE_FUNCTION bool peek_outbox(uint32_t slot) const {
    return Form::read(peek<Target, scope::system>(outbox_[slot / Form::slots_per_word]), slot);
  }
  /// Gives the page to the other side, and with it all that happened before. For the holder of the slot's lock.
  HEDDLE_FUNCTION void post(uint32_t slot, bool value) const { Form::post(ref(outbox_, slot), slot, value); }
  /// As post(slot, true), where Form::tells_of_refusals: and says that there is no answer.
  HEDDLE_FUNCTION void refuse(uint32_t slot) const { Form::refuse(ref(outbox_, slot)); }

 private:
  using word_ref = typename Target::template atomic_ref<uint32_t, scope::system>;
  HEDDLE_FUNCTION static word_ref ref(uint32_t* words, uint32_t slot) {
    return word_ref(words[slot / Form::slots_per_word]);
  }

  uint32_t* inbox_;
  uint32_t* outbox_;
};

}  // namespace heddle::rpc
