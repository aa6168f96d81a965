// No bug but in a harness: a thread spins until another has stored, which it will as soon as it is let, and a scheduler that keeps the first
// one running calls it a livelock. Both of this pair end well under every strategy. Smallest: 1 wave, 1 host thread.
//
// hostrpc 4f62150, with Relacy. The spin here says nothing of its waiting; in the twin it pauses, which no harness should need.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

struct spinning_kernel {
  uint32_t* turn;
  uint32_t turns;
  bool pauses;

  HEDDLE_FUNCTION void operator()() const {
    if (target::lane_id() != 0) return;
    for (uint32_t n = 0; n < turns; ++n) {
      // Acquire pairs with the host's release.
      while (shared_word<uint32_t>(*turn).load(memory_order::acquire) != 2 * n + 1)
        if (pauses) target::pause();
      shared_word<uint32_t>(*turn).store(2 * n + 2, memory_order::release);
    }
  }
};

void run_fair_spin(const parameters& set) {
  device on;
  const uint32_t turns = set.count("turns");
  const bool pauses = zoo::is_fixed(set);
  auto* const turn = on.allocate_shared<uint32_t>(1, "turn");
  on.launch({.blocks = 1, .waves = 1, .lanes = 1}, spinning_kernel{turn, turns, pauses});
  for (uint32_t n = 0; n < turns; ++n) {
    shared_word<uint32_t>(*turn).store(2 * n + 1, memory_order::release);
    // Acquire pairs with the kernel's release.
    while (shared_word<uint32_t>(*turn).load(memory_order::acquire) != 2 * n + 2)
      if (pauses) target::pause();
  }
  on.synchronize();
}

}  // namespace

HEDDLE_ZOO(run_fair_spin, {.name = "zoo.fair-spin-called-livelock",
                           .summary = "two threads spin for each other, and neither hangs",
                           .parameters = zoo::with_twin({
                               parameter::number("turns", 3, 1, 100000, "", "turns that each takes"),
                           })});

}  // namespace heddle::tests
