// A logical not where a bitwise complement is meant, in the mask of the slots that have work: right as long as all slots are in one state,
// and as far as one looks at the first. A request in any other slot is never seen. Smallest: 2 waves, 2 slots, 1 call.
//
// hostrpc 6e68b45; reproduced on a model. The slots here are bits of three words, as hostrpc's: requests, answers, and locks.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

/// Both ends of the slots; a bit for each.
struct slot_words {
  uint32_t* requests;  ///< set by the client while it has a call
  uint32_t* answers;   ///< set by the server when it has answered, cleared when the client has seen that
  uint32_t* held;      ///< by a wave; on the device
  uint64_t* values;
  uint32_t all;

  /// Takes a slot that is idle; waits until there is one.
  HEDDLE_FUNCTION uint32_t take() const {
    while (true) {
      const target::atomic_ref<uint32_t, scope::device> lock(*held);
      // Acquire pairs with the server's release of what it last did to the slot.
      const uint32_t busy =
          shared_word<uint32_t>(*answers).load(memory_order::acquire) | lock.load(memory_order::relaxed);
      const uint32_t idle = all & ~busy;
      // Acquire pairs with the release of the slot's last holder.
      if (idle != 0 && (lock.fetch_or(idle & -idle, memory_order::acquire) & idle & -idle) == 0) {
        // The last holder may have seen an answer that was older.
        if ((shared_word<uint32_t>(*answers).load(memory_order::acquire) & idle & -idle) == 0) return idle & -idle;
        give_back(idle & -idle);
      }
      target::pause();
    }
  }
  HEDDLE_FUNCTION void give_back(uint32_t bit) const {
    target::atomic_ref<uint32_t, scope::device>(*held).fetch_and(~bit, memory_order::release);
  }

  /// Answers every request that it sees, and says whether there was one.
  bool serve(bool complements) const {
    // Acquire pairs with the clients' releases.
    const uint32_t wanted = shared_word<uint32_t>(*requests).load(memory_order::acquire);
    const uint32_t done = shared_word<uint32_t>(*answers).load(memory_order::relaxed);
    const uint32_t work = wanted & (complements ? ~done : static_cast<uint32_t>(!done));
    for (uint32_t slot = 0; slot < 32; ++slot)
      if ((work >> slot & 1) != 0) values[slot] = values[slot] * 3 + 1;
    const uint32_t seen = done & ~wanted;
    if (work != 0) shared_word<uint32_t>(*answers).fetch_or(work, memory_order::release);
    if (seen != 0) shared_word<uint32_t>(*answers).fetch_and(~seen, memory_order::release);
    return (work | seen) != 0;
  }
};

struct slot_words_kernel {
  slot_words slots;
  uint32_t calls;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) {
      const uint64_t id = uint64_t{target::wave_id()} * calls + call;
      const uint32_t bit = slots.take();
      uint64_t& value = slots.values[zoo::lowest_bit(bit)];
      value = id;
      shared_word<uint32_t>(*slots.requests).fetch_or(bit, memory_order::release);
      // Acquire pairs with the server's release.
      while ((shared_word<uint32_t>(*slots.answers).load(memory_order::acquire) & bit) == 0) target::pause();
      HEDDLE_CHECK(value == id * 3 + 1, "the answer is not the one to this wave's request");
      shared_word<uint32_t>(*slots.requests).fetch_and(~bit, memory_order::release);
      slots.give_back(bit);
    }
  }
};

void run_not_for_complement(const parameters& set) {
  device on;
  const uint32_t count = set.count("slots");
  auto* const words = on.allocate_shared<uint32_t>(3, "requests, answers, stop");
  const slot_words slots{&words[0], &words[1], on.allocate_device<uint32_t>(1, "held slots"),
                         on.allocate_shared<uint64_t>(count, "values"), (uint32_t{1} << count) - 1};
  auto serving = on.spawn_host("server", [slots, stop = &words[2], complements = zoo::is_fixed(set)] {
    while (true) {
      // Acquire pairs with main's release.
      const bool last = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
      if (slots.serve(complements)) continue;
      if (last) return;
      target::pause();
    }
  });
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = 1}, slot_words_kernel{slots, set.count("calls")});
  on.synchronize();
  shared_word<uint32_t>(words[2]).store(1, memory_order::release);
  serving.join();
}

verdict not_for_complement_verdict(const parameters& set) {
  // One lane of one wave never needs the second slot.
  return zoo::is_fixed(set) ? verdict::ok : verdict::deadlock;
}

std::vector<parameter> slot_words_parameters() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 2, 2, 64, "", "waves that call"),
      parameter::number("slots", 2, 2, 31, "", "slots between client and server"),
      parameter::number("calls", 2, 1, 1000, "", "calls that each makes"),
  });
  // Under the others the holder of a slot may never have a turn again, which is another hang.
  all.push_back(parameter::one_of("progress", "fair", {"fair", "obe", "hsa_obe", "lobe", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_not_for_complement, {.name = "zoo.not-for-complement",
                                    .summary = "the slots that have work are found with ! in place of ~",
                                    .parameters = slot_words_parameters(),
                                    .expected = not_for_complement_verdict});

}  // namespace heddle::tests
