// Data goes to its reader by a copy engine, and the flag that announces it by a store: two ways to memory. A flag that is stored as soon as the
// copy is ordered overtakes the data; no order of that store mends it, as the engine has a completion of its own.
//
// NCCL 3f29db27: bulk copies of shared memory, and a relaxed flag behind them. Smallest: 2 waves, and the engine, which is a third.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

using local_word = target::atomic_ref<uint32_t, scope::device>;

/// What the three have in common, in memory of the device.
struct bulk_copy {
  static constexpr uint32_t words_max = 64;
  uint32_t ordered;    ///< copies that the engine is to make
  uint32_t performed;  ///< and has made
  uint32_t announced;  ///< to the reader
  uint32_t source[words_max];
  uint32_t target_words[words_max];
  uint32_t read[words_max];  ///< what the reader has found
};

struct bulk_kernel {
  bulk_copy* at;
  uint32_t words;
  bool waits_for_engine;

  HEDDLE_FUNCTION void operator()() const {
    if (target::wave_id() == 0) {
      write();
    } else if (target::wave_id() == 1) {
      copy();
    } else {
      read();
    }
  }

  HEDDLE_FUNCTION void write() const {
    for (uint32_t n = 0; n < words; ++n) at->source[n] = n + 1;
    // Release pairs with the acquire of the engine.
    local_word(at->ordered).store(1, memory_order::release);
    if (waits_for_engine) {
      // Acquire pairs with the release of the engine; release, then, with the acquire of the reader.
      while (local_word(at->performed).load(memory_order::acquire) == 0) target::pause();
      local_word(at->announced).store(1, memory_order::release);
    } else {
      local_word(at->announced).store(1, memory_order::relaxed);
    }
  }

  /// The copy engine.
  HEDDLE_FUNCTION void copy() const {
    while (local_word(at->ordered).load(memory_order::acquire) == 0) target::pause();
    for (uint32_t n = 0; n < words; ++n) at->target_words[n] = at->source[n];
    local_word(at->performed).store(1, memory_order::release);
  }

  HEDDLE_FUNCTION void read() const {
    while (local_word(at->announced).load(memory_order::acquire) == 0) target::pause();
    for (uint32_t n = 0; n < words; ++n) at->read[n] = at->target_words[n];
  }
};

void run_bulk(const parameters& set) {
  device on;
  auto* const at = on.allocate_device<bulk_copy>(1, "bulk copy");
  on.launch({.blocks = 1, .waves = 3, .lanes = 1}, bulk_kernel{at, set.count("words"), zoo::is_fixed(set)});
  on.synchronize();
  bulk_copy left;
  on.copy(&left, at, sizeof left);
  for (uint32_t n = 0; n < set.count("words"); ++n)
    HEDDLE_CHECK(left.read[n] == n + 1, "the reader has found what was there before the copy");
}

scheduler::verdict bulk_verdict(const parameters& set) {
  if (zoo::is_fixed(set)) return scheduler::verdict::ok;
  const bool races_are_seen = !set.has("fidelity") || set.text("fidelity") == "scoped";
  return races_are_seen ? scheduler::verdict::race : scheduler::verdict::assertion;
}

std::vector<parameter> bulk_parameters() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("words", 2, 1, bulk_copy::words_max, "words", "that are copied"),
  });
  // The reader waits for the writer, and both for the engine.
  all.push_back(parameter::one_of("progress", "fair", {"fair", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_bulk, {.name = "zoo.bulk-path-overtaken",
                      .summary = "a flag is stored as soon as the copy of its data is ordered",
                      .parameters = bulk_parameters(),
                      .expected = bulk_verdict});

}  // namespace heddle::tests
