// An operation is for one wave to issue, and all waves issue it: a queue that is made for one producer is used by two at once.
//
// DeepEP #181 (d0225df): every warp posted to the network card's queue what the first was to post. Smallest: 2 waves.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

/// A queue to a card: one producer writes an entry and moves the tail, the card says how many it is done with.
struct card_queue {
  static constexpr uint32_t entries = 8;
  uint32_t tail;
  uint32_t completed;
  uint32_t entry[entries];
};

struct posting_kernel {
  card_queue* queue;
  uint32_t calls;
  bool first_wave_alone;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) {
      if (!first_wave_alone || target::wave_id() == 0) post(call);
      // Acquire pairs with the release of the card.
      while (shared_word<uint32_t>(queue->completed).load(memory_order::acquire) <= call) target::pause();
    }
  }

  HEDDLE_FUNCTION void post(uint32_t request) const {
    // Relaxed: no other wave writes it, as the queue has it.
    const uint32_t place = shared_word<uint32_t>(queue->tail).load(memory_order::relaxed);
    shared_word<uint32_t>(queue->entry[place % card_queue::entries]).store(request, memory_order::relaxed);
    // Release pairs with the acquire of the card.
    shared_word<uint32_t>(queue->tail).store(place + 1, memory_order::release);
  }
};

/// The card, which knows that requests come in order and each once.
struct card {
  card_queue* queue;
  uint32_t* stop;
  uint32_t calls;

  void operator()() const {
    uint32_t done = 0;
    for (;;) {
      const bool ends = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
      const uint32_t tail = shared_word<uint32_t>(queue->tail).load(memory_order::acquire);
      if (static_cast<int32_t>(tail - done) < 0) target::trap(fault::protocol, "the tail of a queue has moved back");
      if (tail != done) {
        const uint32_t request =
            shared_word<uint32_t>(queue->entry[done % card_queue::entries]).load(memory_order::relaxed);
        if (request != done) target::trap(fault::protocol, "a request is posted twice, or over another one");
        shared_word<uint32_t>(queue->completed).store(++done, memory_order::release);
        continue;
      }
      if (ends) break;
      target::pause();
    }
    if (done != calls) target::trap(fault::protocol, "a request was never posted");
  }
};

void run_posting(const parameters& set) {
  device on;
  auto* const queue = on.allocate_shared<card_queue>(1, "card queue");
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
  auto serving = on.spawn_host("card", card{queue, stop, set.count("calls")});
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = 1},
            posting_kernel{queue, set.count("calls"), zoo::is_fixed(set)});
  on.synchronize();
  // Release pairs with the acquire of the card.
  shared_word<uint32_t>(*stop).store(1, memory_order::release);
  serving.join();
}

scheduler::verdict posting_verdict(const parameters& set) {
  return zoo::is_fixed(set) ? scheduler::verdict::ok : scheduler::verdict::protocol;
}

std::vector<parameter> posting_parameters() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 2, 2, 64, "", "waves that wait for the operation"),
      parameter::number("calls", 2, 1, 1000, "", "operations"),
  });
  // All wait for the first wave.
  all.push_back(parameter::one_of("progress", "fair", {"fair", "hsa", "hsa_obe", "lobe", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_posting, {.name = "zoo.every-wave-posts",
                         .summary = "all waves post to a queue that is made for one",
                         .parameters = posting_parameters(),
                         .expected = posting_verdict});

}  // namespace heddle::tests
