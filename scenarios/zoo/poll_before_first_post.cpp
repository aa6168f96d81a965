// A wave that posts to a queue waits for room, by the count of entries that the device below has completed. Before the first completion that word
// holds what its memory was filled with, 0xff: one entry more than there is looks outstanding, and in a queue of one entry there never is
// room. Smallest: 1 wave, 1 entry.
//
// DeepEP #371, e704485. The twin does not look at the count before it has posted as many entries as the queue holds.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

struct first_post_kernel {
  uint32_t* entries;    ///< the number of each, and one more
  uint32_t* completed;  ///< the count of completions in the low half of the word
  uint32_t depth;
  uint32_t posts;
  bool looks_at_once;

  HEDDLE_FUNCTION uint32_t outstanding(uint32_t posted) const {
    // Acquire pairs with the release of the completion: the entry is free again.
    return (posted - shared_word<uint32_t>(*completed).load(memory_order::acquire)) & 0xffff;
  }
  HEDDLE_FUNCTION void operator()() const {
    if (target::lane_id() != 0) return;
    for (uint32_t n = 0; n < posts; ++n) {
      if (looks_at_once || n >= depth)
        while (outstanding(n) >= depth) target::pause();
      shared_word<uint32_t>(entries[n % depth]).store(n + 1, memory_order::release);
    }
  }
};

void run_polled_queue(const parameters& set) {
  device on;
  const uint32_t depth = set.count("entries");
  const uint32_t posts = set.count("calls");
  auto* const entries = on.allocate_shared<uint32_t>(depth, "queue");
  auto* const completed = on.allocate_shared<uint32_t>(1, "completions");
  *completed = set.text("fill") == "0xff" ? 0xffffffff : 0;
  auto below = on.spawn_host("network", [=] {
    for (uint32_t n = 0; n < posts; ++n) {
      // Acquire pairs with the release of the post.
      while (shared_word<uint32_t>(entries[n % depth]).load(memory_order::acquire) != n + 1) target::pause();
      shared_word<uint32_t>(*completed).store(n + 1, memory_order::release);
    }
  });
  on.launch({.blocks = 1, .waves = 1, .lanes = 1},
            first_post_kernel{entries, completed, depth, posts, !zoo::is_fixed(set)});
  on.synchronize();
  below.join();
}

scheduler::verdict polled_queue_verdict(const parameters& set) {
  const bool hangs = !zoo::is_fixed(set) && set.count("entries") == 1 && set.text("fill") == "0xff";
  return hangs ? scheduler::verdict::deadlock : scheduler::verdict::ok;
}

}  // namespace

HEDDLE_ZOO(run_polled_queue,
           {.name = "zoo.poll-before-first-post",
            .summary = "a wait for room looks at a counter that has not been written yet",
            .parameters = zoo::with_twin({
                parameter::number("entries", 1, 1, 1024, "", "entries that the queue holds"),
                parameter::number("calls", 3, 1, 60000, "", "entries that are posted"),
                parameter::one_of("fill", "0xff", {"0x00", "0xff"}, "what memory holds before it is written"),
            }),
            .expected = polled_queue_verdict});

}  // namespace heddle::tests
