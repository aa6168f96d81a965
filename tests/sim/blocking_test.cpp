// Host code that waits in the C library: mutexes, yielding, sleeping.
#include "run.h"

#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
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

/// A thread that yields and one that sleeps until a flag is set, by the main thread or never.
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

/// Every clock, and sleeps of an hour.
void look_at_clocks() {
  device host;
  auto* const times = host.allocate_shared<int64_t>(8, "times");
  const auto look = [=](size_t first) {
    const auto steady = std::chrono::steady_clock::now();
    const auto system = std::chrono::system_clock::now();
    usleep(1000000);
    std::this_thread::sleep_for(std::chrono::hours(1));
    std::this_thread::sleep_until(std::chrono::steady_clock::now() + std::chrono::hours(1));
    const timespec nap = {.tv_sec = 100, .tv_nsec = 1};
    nanosleep(&nap, nullptr);
    SIM_CHECK(std::chrono::steady_clock::now() - steady > std::chrono::hours(2) + std::chrono::seconds(101));
    SIM_CHECK(std::chrono::system_clock::now() - system > std::chrono::hours(2) + std::chrono::seconds(101));
    timespec monotonic = {};
    SIM_CHECK(clock_gettime(CLOCK_MONOTONIC, &monotonic) == 0);
    timeval day = {};
    gettimeofday(&day, nullptr);
    const time_t second = time(nullptr);
    SIM_CHECK(second >= day.tv_sec && clock() >= 0);
    times[first] = monotonic.tv_sec * 1000000000 + monotonic.tv_nsec;
    times[first + 1] = day.tv_sec * 1000000 + day.tv_usec;
  };
  auto one = host.spawn_host("one", [=] { look(0); });
  auto two = host.spawn_host("two", [=] { look(2); });
  one.join();
  two.join();
  SIM_CHECK(times[0] != times[2]);
}

TEST(clocks, show_the_same_times_in_the_same_schedule) {
  machine on;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const outcome first = on.run(look_at_clocks, seed);
    ASSERT_EQ(first.verdict, verdict::ok) << first.message;
    EXPECT_EQ(on.run(look_at_clocks, seed).digest, first.digest);
  }
}

TEST(clocks, loops_that_wait_for_a_time_come_to_their_end) {
  machine on;
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [] {
                                        device host;
                                        host.spawn_host("thread",
                                                        [] {
                                                          const auto end =
                                                              std::chrono::steady_clock::now() + std::chrono::hours(1);
                                                          while (std::chrono::steady_clock::now() < end) {
                                                          }
                                                        })
                                            .join();
                                      },
                                      50)));
}

struct conditional {
  std::mutex mutex;
  std::condition_variable condition;
  std::timed_mutex timed;
  uint32_t ready = 0;
};

TEST(clocks, a_wait_with_a_time_out_ends_by_notice_or_by_time) {
  const auto waits = [](bool notifies, uint32_t* timeouts, uint32_t* notices) {
    return [=] {
      device host;
      auto* const shared = new (host.allocate_shared<conditional>(1, "shared")) conditional;
      auto waiter = host.spawn_host("waiter", [=] {
        std::unique_lock lock(shared->mutex);
        const bool in_time =
            shared->condition.wait_for(lock, std::chrono::seconds(1), [=] { return shared->ready != 0; });
        SIM_CHECK(lock.owns_lock() && (in_time || shared->ready == 0));
        ++*(in_time ? notices : timeouts);
      });
      if (notifies) {
        const std::lock_guard lock(shared->mutex);
        shared->ready = 1;
        shared->condition.notify_one();
      }
      waiter.join();
    };
  };
  machine on;
  static uint32_t timeouts, notices;
  timeouts = notices = 0;
  EXPECT_TRUE(always(verdict::ok, on.run_many(waits(false, &timeouts, &notices), 50)));
  EXPECT_EQ(timeouts, 50u);
  timeouts = notices = 0;
  EXPECT_TRUE(always(verdict::ok, on.run_many(waits(true, &timeouts, &notices), 200)));
  EXPECT_GT(notices, 0u);
  EXPECT_GT(timeouts, 0u);
}

TEST(clocks, a_mutex_is_tried_for_a_time) {
  machine on;
  static uint32_t taken, given_up;
  taken = given_up = 0;
  const tally seen = on.run_many(
      [] {
        device host;
        auto* const shared = new (host.allocate_shared<conditional>(1, "shared")) conditional;
        auto holder = host.spawn_host("holder", [=] {
          const std::lock_guard lock(shared->timed);
          ++shared->ready;
        });
        if (shared->timed.try_lock_for(std::chrono::seconds(1))) {
          ++taken;
          ++shared->ready;
          shared->timed.unlock();
        } else {
          ++given_up;
        }
        holder.join();
      },
      300);
  EXPECT_TRUE(always(verdict::ok, seen));
  EXPECT_GT(taken, 0u);
  EXPECT_GT(given_up, 0u);
}

}  // namespace
}  // namespace heddle::sim::tests
