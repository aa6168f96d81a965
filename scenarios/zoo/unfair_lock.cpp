// A lock that any wave takes that comes by, however long others have waited. No wave hangs, and one may wait for as long as the others have work.
// Smallest: 2 waves.
//
// The textbook test-and-set lock, beside its cure, the ticket lock (Mellor-Crummey and Scott, "Algorithms for scalable synchronization on
// shared-memory multiprocessors", TOCS 9, 1991): a wave with a ticket is passed over only by those that drew theirs before.
#include "weakened.h"

namespace heddle::tests {
namespace {

using lock_word = target::atomic_ref<uint32_t, scope::device>;

struct locked_kernel {
  uint32_t* lock;  ///< the bit; or the next ticket, and the one that is served
  uint32_t* count;
  uint32_t calls;
  bool tickets;

  HEDDLE_FUNCTION uint32_t take() const {
    if (tickets) {
      const uint32_t mine = lock_word(lock[0]).fetch_add(1, memory_order::relaxed);
      // Acquire pairs with the release of the last holder.
      while (lock_word(lock[1]).load(memory_order::acquire) != mine) target::pause();
      return mine;
    }
    while (lock_word(lock[0]).exchange(1, memory_order::acquire) != 0) target::pause();
    return 0;
  }
  HEDDLE_FUNCTION void give(uint32_t mine) const {
    if (tickets)
      lock_word(lock[1]).store(mine + 1, memory_order::release);
    else
      lock_word(lock[0]).store(0, memory_order::release);
  }

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) {
      const uint32_t mine = take();
      ++*count;
      give(mine);
    }
  }
};

void run_locked(const parameters& set) {
  device on;
  auto* const lock = on.allocate_device<uint32_t>(2, "lock");
  auto* const count = on.allocate_device<uint32_t>(1, "count");
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = 1},
            locked_kernel{lock, count, set.count("calls"), zoo::is_fixed(set)});
  on.synchronize();
  uint32_t counted = 0;
  on.copy(&counted, count, sizeof counted);
  HEDDLE_CHECK(counted == set.count("waves") * set.count("calls"), "two waves had the lock at a time");
}

scheduler::verdict locked_verdict(const parameters& set) {
  const int64_t most = set.has("starvation") ? set.number("starvation") : 0;
  const int64_t others = set.count("waves") - int64_t{1};
  const bool watched = most != 0 && most < others * (zoo::is_fixed(set) ? 1 : set.count("calls"));
  return watched ? scheduler::verdict::starvation : scheduler::verdict::ok;
}

std::vector<parameter> locked_parameters() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 2, 2, 64, "", "waves that share the lock"),
      parameter::number("calls", 20, 1, 1000, "", "times that each takes it"),
  });
  // Under the others the holder of the lock may never have a turn again, which is another hang.
  all.push_back(parameter::one_of("progress", "fair", {"fair", "obe", "hsa_obe", "lobe", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  all.push_back(
      parameter::number("starvation", 8, 0, 1000000, "",
                        "how often a lane that waits may be passed over before that is a verdict; 0: as often "
                        "as it comes"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_locked,
           {.name = "zoo.unfair-lock",
            .summary = "a lock is taken by what comes first, and one waits while others take it again and again",
            .parameters = locked_parameters(),
            .expected = locked_verdict});

}  // namespace heddle::tests
