// Rows 11 to 14 of the driver's table, with schedules instead of luck: the connection is the code under test, and the simulator decides
// which thread goes on after each lock, each access and each wake-up.
#include "../../scenarios/zoo/lost_wakeups.h"
#include "../sim/run.h"

#include <heddle/driver/connection.h>

#include <cstdlib>
#include <new>

namespace heddle::driver::tests {
namespace {

using namespace heddle::sim;
using namespace heddle::sim::tests;

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

using threads = explored_threads<target>;
using ours = connection<small_driver, threads>;
template <lost What>
using theirs = losing_connection<small_driver, threads, What>;

/// HEDDLE_DRIVER_SCHEDULES, if you want more.
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
}  // namespace heddle::driver::tests
