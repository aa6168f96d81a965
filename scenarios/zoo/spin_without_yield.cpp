// Sources push into a queue under a lock. A source that finds the queue full takes the lock again at once, and again, and never pauses: it keeps from the
// lock the thread that would move the tail, and other sources, so that one source can have all slots.
//
// UCCL 605e8f2b, items 1 and 5. The twin waits for a credit of its own before it takes the lock, and the lock is given in turn. Smallest: 3
// waves, one of which takes out what two put in, and 2 slots.
#include "zoo.h"

namespace heddle::tests {
namespace {

using queue_word = target::atomic_ref<uint32_t, scope::device>;

struct spun_queue {
  static constexpr uint32_t waves_max = 64;
  uint32_t lock;     ///< how often it was taken or given back; or the next ticket
  uint32_t serving;  ///< the ticket whose turn it is
  uint32_t head;
  uint32_t tail;
  uint32_t taken[waves_max];  ///< entries of each source that were taken out
  uint32_t source_of[waves_max];
};

struct unyielding_kernel {
  spun_queue* at;
  uint32_t sources;
  uint32_t calls;
  uint32_t slots;
  bool yields;

  HEDDLE_FUNCTION void operator()() const {
    const bool pushes = target::wave_id() != 0;
    const uint32_t turns = pushes ? calls : calls * sources;
    for (uint32_t n = 0; n < turns; ++n) {
      if (yields) wait_for_turn(pushes, n);
      while (!try_turn(pushes)) {
        // The bug is what is not here: a pause.
      }
    }
  }

  /// A source waits until its last entry is taken out, so that each has one slot of its own; the thread that takes out, until there is an entry.
  HEDDLE_FUNCTION void wait_for_turn(bool pushes, uint32_t n) const {
    if (pushes) {
      while (queue_word(at->taken[target::wave_id()]).load(memory_order::relaxed) != n) target::pause();
    } else {
      while (queue_word(at->head).load(memory_order::relaxed) == n) target::pause();
    }
  }

  HEDDLE_FUNCTION bool try_turn(bool pushes) const {
    const uint32_t ticket = take_lock();
    const uint32_t head = queue_word(at->head).load(memory_order::relaxed);
    const uint32_t tail = queue_word(at->tail).load(memory_order::relaxed);
    const bool can = pushes ? head - tail < slots : head != tail;
    if (can && pushes) {
      at->source_of[head % slots] = target::wave_id();
      queue_word(at->head).store(head + 1, memory_order::relaxed);
    } else if (can) {
      const queue_word of_source(at->taken[at->source_of[tail % slots]]);
      of_source.store(of_source.load(memory_order::relaxed) + 1, memory_order::relaxed);
      queue_word(at->tail).store(tail + 1, memory_order::relaxed);
    }
    give_lock(ticket);
    return can;
  }

  HEDDLE_FUNCTION uint32_t take_lock() const {
    if (yields) {
      const uint32_t mine = queue_word(at->lock).fetch_add(1, memory_order::relaxed);
      // Acquire pairs with the release of the last holder.
      while (queue_word(at->serving).load(memory_order::acquire) != mine) target::pause();
      return mine;
    }
    // Odd: taken. Acquire, on success: the same.
    for (;;) {
      uint32_t seen = queue_word(at->lock).load(memory_order::relaxed);
      if (seen % 2 == 0 && queue_word(at->lock).compare_exchange_strong(seen, seen + 1, memory_order::acquire))
        return seen;
      target::pause();
    }
  }
  HEDDLE_FUNCTION void give_lock(uint32_t mine) const {
    if (yields)
      queue_word(at->serving).store(mine + 1, memory_order::release);
    else
      queue_word(at->lock).store(mine + 2, memory_order::release);
  }
};

void run_spinning(const parameters& set) {
  device on;
  auto* const at = on.allocate_device<spun_queue>(1, "queue");
  const uint32_t sources = set.count("waves") - 1;
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = 1},
            unyielding_kernel{at, sources, set.count("calls"), sources, zoo::is_fixed(set)});
  on.synchronize();
  spun_queue left;
  on.copy(&left, at, sizeof left);
  HEDDLE_CHECK(left.tail == sources * set.count("calls"), "an entry is lost");
}

scheduler::verdict spinning_verdict(const parameters& set) {
  const bool counted = set.has("starvation") && set.count("starvation") != 0;
  return counted && !zoo::is_fixed(set) ? scheduler::verdict::starvation : scheduler::verdict::ok;
}

std::vector<parameter> spinning_parameters() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 3, 3, 16, "", "sources, with a slot for each, and one wave that takes out"),
      parameter::number("calls", 20, 1, 1000, "", "entries of each source"),
  });
  // Under the others the holder of the lock may never have a turn again, which is another hang.
  all.push_back(parameter::one_of("progress", "fair", {"fair", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  all.push_back(
      parameter::number("starvation", 16, 0, 1000000, "",
                        "how often a lane that waits may be passed over before that is a verdict; 0: as often "
                        "as it comes"));
  return all;
}

}  // namespace

HEDDLE_ZOO(
    run_spinning,
    {.name = "zoo.spin-without-yield",
     .summary =
         "a wave that finds a queue full takes its lock again and again, and keeps off the one that would empty it",
     .parameters = spinning_parameters(),
     .expected = spinning_verdict});

}  // namespace heddle::tests
