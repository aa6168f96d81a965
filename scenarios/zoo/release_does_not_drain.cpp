// A release store to the other side becomes visible in front of the stores that it is to release: the receiver sees a new tail and old data.
//
// UCCL 886d25d7, bea4b098, on CDNA. The machine is one whose releases send older stores on their way and do not wait for them, on a link that
// lets them pass each other. The twin reads back what it has written last: a read stays behind all stores, and its answer says that they have
// arrived. Smallest: 2 waves; the receiver is the host.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

/// A queue of entries of two words, from one wave to the host.
struct tailed_queue {
  static constexpr uint32_t entries = 64;
  static constexpr uint32_t words = 2;
  uint32_t tail;
  uint32_t entry[entries][words];
};

HEDDLE_FUNCTION constexpr uint32_t word_of_entry(uint32_t number, uint32_t n) { return number * 5 + n + 1; }

struct undrained_kernel {
  tailed_queue* queues;  ///< of each wave
  uint32_t calls;
  bool reads_back;

  HEDDLE_FUNCTION void operator()() const {
    tailed_queue& mine = queues[target::wave_id()];
    for (uint32_t call = 0; call < calls; ++call) {
      uint32_t* const entry = mine.entry[call];
      for (uint32_t n = 0; n < tailed_queue::words; ++n) entry[n] = word_of_entry(call, n);
      if (reads_back) {
        // Sends the words, in front of what follows.
        target::fence<scope::system>(memory_order::release);
        // Acquire, system scope: waits for its answer, and with it for the words.
        (void)shared_word<uint32_t>(entry[tailed_queue::words - 1]).load(memory_order::acquire);
      }
      // Release, system scope: pairs with the acquire of the receiver.
      shared_word<uint32_t>(mine.tail).store(call + 1, memory_order::release);
    }
  }
};

struct tail_receiver {
  tailed_queue* queues;
  uint32_t waves;
  uint32_t calls;

  void operator()() const {
    for (uint32_t wave = 0; wave < waves; ++wave)
      for (uint32_t call = 0; call < calls; ++call) {
        while (shared_word<uint32_t>(queues[wave].tail).load(memory_order::acquire) <= call) target::pause();
        for (uint32_t n = 0; n < tailed_queue::words; ++n)
          HEDDLE_CHECK(queues[wave].entry[call][n] == word_of_entry(call, n), "an entry is announced and not there");
      }
  }
};

void run_undrained(const parameters& set) {
  device on;
  const uint32_t waves = set.count("waves");
  auto* const queues = on.allocate_shared<tailed_queue>(waves, "queues");
  auto receiving = on.spawn_host("receiver", tail_receiver{queues, waves, set.count("calls")});
  on.launch({.blocks = 1, .waves = waves, .lanes = 1},
            undrained_kernel{queues, set.count("calls"), zoo::is_fixed(set)});
  on.synchronize();
  receiving.join();
}

// Under `scoped`, which has the two settings too, a lane that reads back what it has written itself learns nothing by it.
scheduler::verdict undrained_verdict(const parameters& set) {
  if (zoo::is_fixed(set) || !zoo::link_is_crossed(set)) return scheduler::verdict::ok;
  const bool overtaken = set.text("link.ro") == "on" && set.text("link.drain") == "off";
  return overtaken ? scheduler::verdict::assertion : scheduler::verdict::ok;
}

std::vector<parameter> undrained_parameters() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 2, 1, 64, "", "waves that send"),
      parameter::number("calls", 2, 1, tailed_queue::entries, "", "entries of each"),
  });
  // The machine's own defaults have none of this.
  all.push_back(parameter::one_of("fidelity", "link", {"interleaving", "link"},
                                  "how memory behaves: late across the link alone, or every access at once"));
  all.push_back(parameter::one_of("link.ro", "on", {"on", "off"},
                                  "posted writes of the device carry Relaxed Ordering; without link.drain a fault"));
  all.push_back(parameter::one_of(
      "link.drain", "off", {"on", "off"},
      "a release or fence of system scope waits until its writes are performed; off: until they are sent"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_undrained, {.name = "zoo.release-does-not-drain",
                           .summary = "a release is seen in front of what it releases",
                           .parameters = undrained_parameters(),
                           .expected = undrained_verdict});

}  // namespace heddle::tests
