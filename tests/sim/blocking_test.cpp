// Host code that waits in the C library: mutexes, yielding, sleeping.
#include "run.h"

#include <chrono>
#include <mutex>
#include <new>
#include <thread>

namespace heddle::sim::tests {
namespace {

struct guarded {
  std::mutex first, second;
  std::recursive_mutex again;
  uint32_t count = 0;
};

/// Two threads that take both mutexes, the second one in the same order or in the opposite one.
program two_mutexes(bool same_order) {
  return [=] {
    device host;
    auto* const shared = new (host.allocate_shared<guarded>(1, "guarded")) guarded;
    auto one = host.spawn_host("one", [=] {
      const std::lock_guard outer(shared->first);
      const std::lock_guard inner(shared->second);
      ++shared->count;
    });
    auto two = host.spawn_host("two", [=] {
      const std::lock_guard outer(same_order ? shared->first : shared->second);
      const std::lock_guard inner(same_order ? shared->second : shared->first);
      ++shared->count;
    });
    one.join();
    two.join();
    if (shared->count != 2) target::trap(fault::assertion, "an update under the mutexes was lost");
  };
}

TEST(blocking, mutexes_taken_in_opposite_order_are_a_deadlock_and_in_the_same_order_are_not) {
  machine on;
  const tally crossed = on.run_many(two_mutexes(false), 500);
  EXPECT_GT(crossed.count(verdict::deadlock), 0u);
  EXPECT_EQ(crossed.count(verdict::deadlock) + crossed.count(verdict::ok), 500u) << crossed.text();
  EXPECT_TRUE(always(verdict::ok, on.run_many(two_mutexes(true), 500)));
}

TEST(blocking, a_recursive_mutex_excludes_others_and_not_its_holder) {
  machine on;
  const tally seen = on.run_many(
      [] {
        device host;
        auto* const shared = new (host.allocate_shared<guarded>(1, "guarded")) guarded;
        const auto body = [=] {
          const std::lock_guard outer(shared->again);
          const std::lock_guard inner(shared->again);
          const uint32_t before = shared->count;
          shared->count = before + 1;
        };
        auto one = host.spawn_host("one", body);
        auto two = host.spawn_host("two", body);
        one.join();
        two.join();
        if (shared->count != 2) target::trap(fault::assertion, "both were inside");
      },
      500);
  EXPECT_TRUE(always(verdict::ok, seen));
}

/// A thread that yields and one that sleeps until a flag is set, by the main thread or by nobody.
program wait_for_flag(bool set) {
  return [=] {
    device host;
    auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
    auto yields = host.spawn_host("yields", [flag] {
      while (word<uint32_t>(*flag).load(memory_order::acquire) == 0) std::this_thread::yield();
    });
    auto sleeps = host.spawn_host("sleeps", [flag] {
      while (word<uint32_t>(*flag).load(memory_order::acquire) == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    if (set) word<uint32_t>(*flag).store(1, memory_order::release);
    yields.join();
    sleeps.join();
  };
}

TEST(blocking, loops_that_yield_or_sleep_wait_for_memory_to_change) {
  machine on;
  EXPECT_TRUE(always(verdict::ok, on.run_many(wait_for_flag(true), 500)));
  EXPECT_TRUE(always(verdict::deadlock, on.run_many(wait_for_flag(false), 100)));
}

}  // namespace
}  // namespace heddle::sim::tests
