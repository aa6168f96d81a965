// Two waves that need the same two locks, take them in opposite order, and are polite: a wave that does not get the second gives the first back.
// Neither ever waits, and when both keep step neither ever gets both. Smallest: 2 waves, 2 locks.
//
// The textbook livelock, in the form in which scans over ports with try-lock can have it when a call needs two of them. A fixed order
// among the locks ends it.
#include "weakened.h"

namespace heddle::tests {
namespace {

using lock_word = target::atomic_ref<uint32_t, scope::device>;

struct polite_kernel {
  uint32_t* locks;
  uint32_t* count;
  uint32_t calls;
  bool in_order;

  HEDDLE_FUNCTION bool takes(uint32_t which) const {
    // Acquire pairs with the release of the last holder.
    return lock_word(locks[which]).exchange(1, memory_order::acquire) == 0;
  }
  HEDDLE_FUNCTION void gives(uint32_t which) const { lock_word(locks[which]).store(0, memory_order::release); }

  HEDDLE_FUNCTION void operator()() const {
    const uint32_t first = in_order ? 0 : target::wave_id() % 2;
    for (uint32_t call = 0; call < calls; ++call) {
      while (true) {
        if (takes(first)) {
          if (takes(1 - first)) break;
          gives(first);
        }
        target::pause();
      }
      ++*count;
      gives(1 - first);
      gives(first);
    }
  }
};

void run_polite(const parameters& set) {
  device on;
  auto* const locks = on.allocate_device<uint32_t>(2, "locks");
  auto* const count = on.allocate_device<uint32_t>(1, "count");
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = 1},
            polite_kernel{locks, count, set.count("calls"), zoo::is_fixed(set)});
  on.synchronize();
  uint32_t counted = 0;
  on.copy(&counted, count, sizeof counted);
  HEDDLE_CHECK(counted == set.count("waves") * set.count("calls"), "two waves had both locks at a time");
}

scheduler::verdict polite_verdict(const parameters& set) {
  return zoo::is_fixed(set) ? scheduler::verdict::ok : scheduler::verdict::livelock;
}

std::vector<parameter> polite_parameters() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 2, 2, 64, "", "waves that need both locks"),
      parameter::number("calls", 2, 1, 1000, "", "times that each takes both"),
  });
  // Under the others the holder of a lock may never have a turn again, which is another hang.
  all.push_back(parameter::one_of("progress", "fair", {"fair", "obe", "hsa_obe", "lobe", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  all.push_back(parameter::number("budget", 20000, 100, int64_t{1} << 40, "steps",
                                  "steps before only guaranteed waves run; as many again and the run is inconclusive"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_polite, {.name = "zoo.crossed-try-locks",
                        .summary = "two waves give back the one lock whenever the other is taken, for ever",
                        .parameters = polite_parameters(),
                        .expected = polite_verdict});

}  // namespace heddle::tests
