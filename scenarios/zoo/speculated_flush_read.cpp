// A card writes data into memory of the device, and tells the host that it has. The host reads a word of that memory back, which no write of
// the card stays behind, and then lets the device use the data. It loads that word before it has seen the card's message: a load through a
// write-combining mapping may be executed early.
//
// NCCL a12d73a8. Smallest: 1 host thread; here the card is a wave of the device and the one that uses the data another. An x86 keeps two
// loads of uncached memory in order: the host is one that does not.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

/// Memory of the device that the card writes and the host reaches.
struct flushed_memory {
  uint32_t data[2];
  uint32_t written;  ///< behind the data, on the same way
};

/// What the host has in its own.
struct flush_flags {
  uint32_t message;  ///< of the card
  uint32_t go;       ///< to the wave that uses the data
};

struct card_and_user_kernel {
  flushed_memory* memory;
  flush_flags* flags;
  uint32_t* found;

  HEDDLE_FUNCTION void operator()() const {
    if (target::wave_id() == 0) {
      for (uint32_t n = 0; n < 2; ++n) memory->data[n] = n + 1;
      // Release pairs with the acquire of the host's read.
      shared_word<uint32_t>(memory->written).store(1, memory_order::release);
      // Release: the host knows by it that the above is on its way.
      shared_word<uint32_t>(flags->message).store(1, memory_order::release);
    } else {
      // Acquire pairs with the release of the host.
      while (shared_word<uint32_t>(flags->go).load(memory_order::acquire) == 0) target::pause();
      for (uint32_t n = 0; n < 2; ++n) found[n] = memory->data[n];
    }
  }
};

struct flushing_host {
  flushed_memory* memory;
  flush_flags* flags;
  memory_order of_poll;

  void operator()() const {
    // Relaxed, which is the bug, or acquire: pairs with the release of the card, and keeps the read behind the poll.
    while (shared_word<uint32_t>(flags->message).load(of_poll) == 0) target::pause();
    (void)shared_word<uint32_t>(memory->written).load(memory_order::acquire);
    shared_word<uint32_t>(flags->go).store(1, memory_order::release);
  }
};

void run_flush_read(const parameters& set) {
  device on;
  auto* const memory = on.allocate_shared<flushed_memory>(1, "memory of the card");
  auto* const flags = on.allocate_shared<flush_flags>(1, "flags");
  auto* const found = on.allocate_device<uint32_t>(2, "data found");
  auto host = on.spawn_host(
      "proxy", flushing_host{memory, flags, zoo::is_fixed(set) ? memory_order::acquire : memory_order::relaxed});
  on.launch({.blocks = 1, .waves = 2, .lanes = 1}, card_and_user_kernel{memory, flags, found});
  on.synchronize();
  host.join();
  uint32_t left[2] = {};
  on.copy(left, found, sizeof left);
  for (uint32_t n = 0; n < 2; ++n) HEDDLE_CHECK(left[n] == n + 1, "the data was used before it was there");
}

scheduler::verdict flush_read_verdict(const parameters& set) {
  const bool early =
      set.has("fidelity") && set.text("fidelity") == "scoped" && set.text("host") == "weak" && set.count("late") != 0;
  return early && !zoo::is_fixed(set) ? scheduler::verdict::race : scheduler::verdict::ok;
}

std::vector<parameter> flush_read_parameters() {
  std::vector<parameter> all = {zoo::fixed()};
  all.push_back(parameter::one_of(
      "host", "weak", {"x86", "weak"},
      "what the host is: an x86, or a processor that keeps no order that the program does not ask for"));
  // A wave that waits for the card needs that the card gets turns.
  all.push_back(parameter::one_of("progress", "fair", {"fair", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_flush_read,
           {.name = "zoo.speculated-flush-read",
            .summary = "the read that flushes a card's writes is executed before the poll in front of it",
            .parameters = flush_read_parameters(),
            .expected = flush_read_verdict});

}  // namespace heddle::tests
