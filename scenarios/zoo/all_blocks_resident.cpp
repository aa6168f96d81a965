// Blocks meet at a barrier of the whole grid, as if all of them were on the device at a time. Those that are there wait for those that
// have not started, and they do not start before one of them ends.
//
// DeepEP #496; FlashMoE #3. Smallest: one block more than the device holds. The twin launches as many as it holds, and each does the
// work of several.
#include "zoo.h"

#include <algorithm>

namespace heddle::tests {
namespace {

using grid_word = target::atomic_ref<uint32_t, scope::device>;

struct grid_barrier_kernel {
  uint32_t* arrived;
  uint32_t* done;  ///< a word for each part of the work
  uint32_t blocks;
  uint32_t parts;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t part = target::block_id(); part < parts; part += blocks) ++done[part];
    // Release pairs with the acquire below: behind the barrier all parts are done.
    grid_word(*arrived).fetch_add(1, memory_order::release);
    while (grid_word(*arrived).load(memory_order::acquire) != blocks) target::pause();
    for (uint32_t part = 0; part < parts; ++part) HEDDLE_CHECK(done[part] == 1, "a part of the work is missing");
  }
};

void run_grid_barrier(const parameters& set) {
  device on;
  const uint32_t parts = set.count("blocks");
  const uint32_t held = set.has("resident") ? set.count("resident") : parts;
  const uint32_t blocks = zoo::is_fixed(set) ? std::min(parts, held) : parts;
  auto* const arrived = on.allocate_device<uint32_t>(1, "blocks arrived");
  auto* const done = on.allocate_device<uint32_t>(parts, "parts done");
  on.launch({.blocks = blocks, .waves = 1, .lanes = 1}, grid_barrier_kernel{arrived, done, blocks, parts});
  on.synchronize();
}

scheduler::verdict grid_barrier_verdict(const parameters& set) {
  if (zoo::is_fixed(set) || !set.has("progress") || set.count("blocks") <= set.count("resident"))
    return scheduler::verdict::ok;
  // Tried on a larger device, it ends.
  return set.text("places") == "kept" ? scheduler::verdict::deadlock : scheduler::verdict::progress;
}

std::vector<parameter> grid_barrier_parameters() {
  std::vector<parameter> all =
      zoo::with_twin({parameter::number("blocks", 3, 1, 64, "", "blocks that meet, of a wave each")});
  all.push_back(parameter::number("resident", 2, 1, 1 << 20, "waves", "how many waves the device holds at a time"));
  // A wave that waits for all others needs that all get turns.
  all.push_back(parameter::one_of("progress", "slots", {"fair", "slots"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  all.push_back(parameter::one_of(
      "places", "kept", {"lifted", "kept"},
      "a hang of the waves that have places is judged on a device that has enough of them, or on this one"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_grid_barrier, {.name = "zoo.all-blocks-resident",
                              .summary = "blocks wait for blocks that have no place on the device",
                              .parameters = grid_barrier_parameters(),
                              .expected = grid_barrier_verdict});

}  // namespace heddle::tests
