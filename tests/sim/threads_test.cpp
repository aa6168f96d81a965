// Several simulations at a time, each on an OS thread of its own, and several on one thread by turns.
#include "fixed_program.h"

#include <atomic>
#include <thread>

namespace heddle::sim::tests {
namespace {

/// Digests and verdicts of some schedules, those that hang and throw among them.
std::vector<uint64_t> runs(machine& on) {
  std::vector<uint64_t> all;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    all.push_back(on.run(fixed_program, seed).digest);
    const outcome hang = on.run(
        [] {
          device host;
          auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
          host.launch({.blocks = 1, .waves = 1, .lanes = 2}, [flag] {
            try {
              throw target::lane_id();
            } catch (uint32_t) {
              while (word<uint32_t>(*flag).load(memory_order::acquire) == 0) target::pause();
            }
          });
          host.synchronize();
        },
        seed, seed % 10 == 0);
    all.push_back(static_cast<uint64_t>(hang.verdict));
    all.push_back(hang.digest);
  }
  return all;
}

TEST(threads, simulations_on_two_threads_do_not_disturb_each_other) {
  machine alone;
  const std::vector<uint64_t> expected = runs(alone);
  std::vector<uint64_t> seen[2];
  std::atomic<int> ready = 0;
  {
    std::vector<std::jthread> threads;
    for (auto& each : seen)
      threads.emplace_back([&each, &ready] {
        machine own;
        ++ready;
        while (ready != 2) std::this_thread::yield();
        each = runs(own);
      });
  }
  EXPECT_EQ(seen[0], expected);
  EXPECT_EQ(seen[1], expected);
}

TEST(threads, two_machines_on_one_thread_take_turns) {
  machine one;
  machine other({"progress=obe", "stack_kib=32"}, "starve");
  const std::vector<uint64_t> expected = runs(one);
  const std::vector<uint64_t> expected_of_other = runs(other);
  EXPECT_NE(expected, expected_of_other);
  EXPECT_EQ(runs(one), expected);
  EXPECT_EQ(runs(other), expected_of_other);
}

}  // namespace
}  // namespace heddle::sim::tests
