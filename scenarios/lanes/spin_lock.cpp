// A lock that the lanes of one wave take one after the other. With one program counter, the lane that has it waits at the end of the
// loop for the others, which never get it; unless the lock is given back inside the loop. (SIMT-induced deadlock: ElTantawy and Aamodt,
// MICRO 2016; ROCm/libhipcxx #23, stotko/stdgpu #484.)
#include "lanes.h"

namespace heddle::tests::lanes {
namespace {

HEDDLE_FUNCTION bool try_lock(uint32_t& lock) {
  // Acquire pairs with the release in unlock: the counter is plain.
  return device_word<uint32_t>(lock).exchange(1, memory_order::acquire) == 0;
}

HEDDLE_FUNCTION void unlock(uint32_t& lock) { device_word<uint32_t>(lock).store(0, memory_order::release); }

template <typename Kernel>
void run_count(const parameters& set, Kernel kernel) {
  run_wave(set, kernel, [&](uint32_t counted) {
    HEDDLE_CHECK(counted == set.count("lanes"), "a lane has not counted itself, or two did at a time");
  });
}

struct lock_around_kernel {
  HEDDLE_FUNCTION void operator()(uint32_t* words, waiting wait) const {
    while (!try_lock(words[0])) wait();
    ++words[1];
    unlock(words[0]);
  }
};

struct lock_within_kernel {
  HEDDLE_FUNCTION void operator()(uint32_t* words, waiting wait) const {
    // Volatile, because a compiler for CPUs, which knows nothing of waves, may otherwise move what ends the loop behind it.
    volatile bool done = false;
    while (!done) {
      if (try_lock(words[0])) {
        ++words[1];
        unlock(words[0]);
        done = true;
      } else {
        wait();
      }
    }
  }
};

void run_lock_around(const parameters& set) { run_count(set, lock_around_kernel{}); }
void run_lock_within(const parameters& set) { run_count(set, lock_within_kernel{}); }

verdict verdict_around(const parameters& set) { return in_lockstep(set) ? verdict::deadlock : verdict::ok; }

}  // namespace

HEDDLE_SCENARIO(run_lock_around, {.name = "lanes.lock-around",
                                  .summary = "each lane spins for a lock, and gives it back behind the loop",
                                  .parameters = wave_of(4),
                                  .expected = verdict_around});

HEDDLE_SCENARIO(run_lock_within, {.name = "lanes.lock-within",
                                  .summary = "each lane spins for a lock, and gives it back inside the loop",
                                  .parameters = wave_of(4)});

}  // namespace heddle::tests::lanes
