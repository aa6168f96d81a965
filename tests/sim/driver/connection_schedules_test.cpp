// Rows 11 to 14 of the driver's table, with schedules instead of luck: the connection is the code under test, and the simulator decides
// who goes on after each lock, each access and each wake-up.
#include "../run.h"
#include "lost_wakeups.h"

#include <heddle/sim/driver/connection.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

namespace heddle::sim::driver::tests {
namespace {

using namespace heddle::sim::tests;

/// Conditions as the simulator can run them: who waits looks at a number that each notification changes.
struct explored_threads {
  using mutex = std::mutex;
  class condition {
   public:
    void wait(std::unique_lock<std::mutex>& held) {
      const uint32_t before = notified_.load(std::memory_order_relaxed);
      held.unlock();
      while (notified_.load(std::memory_order_acquire) == before) target::pause();
      held.lock();
    }
    void notify_all() { notified_.fetch_add(1, std::memory_order_release); }

   private:
    std::atomic<uint32_t> notified_{0};
  };
  static void pause() { target::pause(); }
};

/// As much of a driver as a connection sees: two queues, one tick at a time, a command of each queue in each tick.
class small_driver {
 public:
  static constexpr uint32_t outside_queue = 2;
  static constexpr uint32_t commands_outside = 2;

  void enqueue(uint32_t queue) { ++waiting_[queue]; }
  /// A command that somebody outside has to finish, once the engine has come to it.
  void enqueue_for_outside() { ++for_outside_; }
  void finish() {
    --outside_;
    ++finished_;
  }
  void signal() { tick_ = true; }
  bool step() {
    if (!tick_) return false;
    // Two accesses to the time, so that somebody could come in between.
    in_event_ = true;
    tick_ = false;
    ++now_;
    for (uint32_t& each : waiting_)
      if (each != 0) {
        tick_ = true;
        if (--each == 0) ++emptied_;
      }
    outside_ += std::exchange(for_outside_, 0);
    // What has been finished is looked at a tick later.
    if (finished_ != 0 && finished_seen_ != finished_) {
      finished_seen_ = finished_;
      tick_ = true;
    } else if (finished_ != 0) {
      ended_ += std::exchange(finished_, 0);
      finished_seen_ = 0;
      ++emptied_;
    }
    in_event_ = false;
    return true;
  }
  bool is_empty(uint32_t queue) const {
    return queue == outside_queue ? ended_ == commands_outside : waiting_[queue] == 0;
  }
  uint64_t emptied() const { return emptied_; }
  uint64_t outside() const { return outside_; }
  bool outcome_of(uint32_t queue) const { return is_empty(queue); }
  bool in_event() const { return in_event_; }
  uint64_t now() const { return now_; }

 private:
  uint32_t waiting_[2] = {0, 0};
  uint32_t for_outside_ = 0;
  uint32_t outside_ = 0;
  uint32_t finished_ = 0;
  uint32_t finished_seen_ = 0;
  uint32_t ended_ = 0;
  bool tick_ = false;
  bool in_event_ = false;
  uint64_t emptied_ = 0;
  uint64_t now_ = 0;
};

template <typename Connection>
struct shared_state {
  small_driver driver;
  Connection to{driver};
  uint32_t ended = 0;
};

/// Two programs, each with a queue of its own that it fills and drains twice; then the engine is stopped.
template <typename Connection>
void two_programs() {
  device host;
  using state = shared_state<Connection>;
  auto* const shared = new (host.allocate_shared<state>(1, "driver")) state;
  auto serving = host.spawn_host("serve", [=] { shared->to.serve(); });
  auto engine = host.spawn_host("engine", [=] {
    if constexpr (requires { shared->to.run_engine(); }) shared->to.run_engine();
  });
  const auto body = [=](uint32_t queue) {
    for (int round = 0; round < 2; ++round) {
      shared->to.access([&](small_driver& driver) {
        SIM_CHECK(!driver.in_event());
        driver.enqueue(queue);
      });
      SIM_CHECK(shared->to.drain(queue));
    }
    shared->to.access([&](small_driver&) { ++shared->ended; });
  };
  auto first = host.spawn_host("first", [=] { body(0); });
  body(1);
  first.join();
  SIM_CHECK(shared->ended == 2);
  shared->to.stop();
  serving.join();
  engine.join();
}

/// One program whose commands another thread finishes.
template <typename Connection>
void a_helper_outside() {
  device host;
  using state = shared_state<Connection>;
  auto* const shared = new (host.allocate_shared<state>(1, "driver")) state;
  auto serving = host.spawn_host("serve", [=] { shared->to.serve(); });
  auto helper = host.spawn_host("helper", [=] {
    for (uint32_t n = 0; n < small_driver::commands_outside;) {
      if (shared->to.access([](const small_driver& driver) { return driver.outside(); }) == 0) {
        target::pause();
        continue;
      }
      shared->to.access_and_signal([](small_driver& driver) { driver.finish(); });
      ++n;
    }
  });
  shared->to.access([](small_driver& driver) {
    for (uint32_t n = 0; n < small_driver::commands_outside; ++n) driver.enqueue_for_outside();
  });
  // Drained to its end, and never called a deadlock before.
  SIM_CHECK(shared->to.drain(small_driver::outside_queue));
  helper.join();
  shared->to.stop();
  serving.join();
}

using ours = connection<small_driver, explored_threads>;
template <lost What>
using theirs = losing_connection<small_driver, explored_threads, What>;

/// HEDDLE_DRIVER_SCHEDULES, for those who want more.
uint64_t schedules() {
  const char* const said = std::getenv("HEDDLE_DRIVER_SCHEDULES");
  return said == nullptr ? 3000 : std::strtoull(said, nullptr, 10);
}

TEST(driver_connection_schedules, no_wake_up_is_lost_and_no_event_is_seen_half_done) {
  for (const char* const fidelity : {"fidelity=interleaving", "fidelity=scoped"})
    for (const char* const strategy : {"random", "pct", "mix"}) {
      sim::tests::machine on({fidelity}, strategy);
      EXPECT_TRUE(always(verdict::ok, on.run_many([] { two_programs<ours>(); }, schedules())));
    }
}

TEST(driver_connection_schedules, what_is_finished_outside_is_waited_for_to_its_end) {
  for (const char* const strategy : {"random", "pct", "mix"}) {
    sim::tests::machine on({"fidelity=scoped"}, strategy);
    EXPECT_TRUE(always(verdict::ok, on.run_many([] { a_helper_outside<ours>(); }, schedules())));
  }
}

TEST(driver_connection_schedules, the_wake_up_that_is_lost_when_running_is_cleared_late_is_found) {
  sim::tests::machine on;
  const tally seen = on.run_many([] { two_programs<theirs<lost::at_the_start>>(); }, 3000);
  EXPECT_TRUE(sometimes(verdict::deadlock, seen));
}

TEST(driver_connection_schedules, the_wake_up_that_is_lost_between_the_look_and_the_wait_is_found) {
  sim::tests::machine on;
  const tally seen = on.run_many([] { two_programs<theirs<lost::at_the_end>>(); }, 3000);
  EXPECT_TRUE(sometimes(verdict::deadlock, seen));
}

}  // namespace
}  // namespace heddle::sim::driver::tests
