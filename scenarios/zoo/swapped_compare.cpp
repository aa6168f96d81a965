// An atomic add is written as a load and a compare-and-swap, and compares the sum where it should compare what was loaded: it never succeeds.
//
// ROCm CLR f909a393f (2019). Smallest: 1 wave.
#include "zoo.h"

namespace heddle::tests {
namespace {

using counter_word = target::atomic_ref<uint32_t, scope::device>;

struct swapped_add_kernel {
  uint32_t* count;
  uint32_t calls;
  bool compares_what_was_loaded;

  HEDDLE_FUNCTION void add(uint32_t amount) const {
    const counter_word word(*count);
    for (;;) {
      const uint32_t loaded = word.load(memory_order::relaxed);
      const uint32_t sum = loaded + amount;
      uint32_t expected = compares_what_was_loaded ? loaded : sum;
      if (word.compare_exchange_strong(expected, compares_what_was_loaded ? sum : loaded, memory_order::relaxed))
        return;
    }
  }

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) add(1);
  }
};

void run_counting(const parameters& set) {
  device on;
  auto* const count = on.allocate_device<uint32_t>(1, "count");
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = 1},
            swapped_add_kernel{count, set.count("calls"), zoo::is_fixed(set)});
  on.synchronize();
  uint32_t counted = 0;
  on.copy(&counted, count, sizeof counted);
  HEDDLE_CHECK(counted == set.count("waves") * set.count("calls"), "an addition is lost");
}

scheduler::verdict counting_verdict(const parameters& set) {
  return zoo::is_fixed(set) ? scheduler::verdict::ok : scheduler::verdict::deadlock;
}

}  // namespace

HEDDLE_ZOO(run_counting, {.name = "zoo.swapped-compare",
                          .summary = "an add by compare-and-swap compares the sum, and never succeeds",
                          .parameters = zoo::with_twin({
                              parameter::number("waves", 1, 1, 64, "", "waves that count"),
                              parameter::number("calls", 2, 1, 1000, "", "additions of each"),
                          }),
                          .expected = counting_verdict});

}  // namespace heddle::tests
