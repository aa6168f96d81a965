// Two wake-ups that get lost between a driver, its engine and a thread that drains. Smallest: 1 program; 1 drain for the one at the end, 2 for
// the one at the start.
//
// MGPUSim, driver.go. driver-engine-start: the engine's "running" is cleared after its run has returned (runAsync(), runEngine()); a
// signal that comes in between finds the engine running, starts nothing, and its queue is never looked at. driver-engine-end: it
// looks whether the queue is empty before it listens for its end (DrainCommandQueue()); it may have ended in between. From reading. The
// twins are the connection of heddle's own driver (driver/connection.h): there, looking and going to sleep are under one lock.
#include "lost_wakeups.h"
#include "zoo.h"

#include <heddle/driver/connection.h>

#include <new>
#include <vector>

namespace heddle::tests {
namespace {

using heddle::driver::tests::lost;
using heddle::driver::tests::small_driver;
using scheduler::verdict;
using driver_threads = heddle::driver::tests::explored_threads<target>;

template <typename Connection>
struct connected_driver {
  small_driver driver;
  Connection to{driver};
};

/// Each program fills a queue of its own and drains it, so many times; then the engine is stopped.
template <typename Connection>
void run_drains(const parameters& set) {
  device on;
  auto* const shared = new (on.allocate_shared<connected_driver<Connection>>(1, "driver")) connected_driver<Connection>;
  auto serving = on.spawn_host("connection", [=] { shared->to.serve(); });
  auto engine = on.spawn_host("engine", [=] {
    if constexpr (requires { shared->to.run_engine(); }) shared->to.run_engine();
  });
  const auto body = [=, drains = set.count("drains")](uint32_t queue) {
    for (uint32_t n = 0; n < drains; ++n) {
      shared->to.access([&](small_driver& driver) { driver.enqueue(queue); });
      HEDDLE_CHECK(shared->to.drain(queue), "a drain has returned, and its queue is not empty");
    }
  };
  {
    using program = decltype(on.spawn_host("program", [] {}));
    std::vector<program> others;
    for (uint32_t n = 1; n < set.count("programs"); ++n) others.push_back(on.spawn_host("program", [=] { body(n); }));
    body(0);
    for (program& each : others) each.join();
  }
  shared->to.stop();
  serving.join();
  engine.join();
}

template <lost What>
void run_driver_wakeup(const parameters& set) {
  if (zoo::is_fixed(set)) return run_drains<heddle::driver::connection<small_driver, driver_threads>>(set);
  run_drains<heddle::driver::tests::losing_connection<small_driver, driver_threads, What>>(set);
}
void run_engine_start(const parameters& set) { run_driver_wakeup<lost::at_the_start>(set); }
void run_engine_end(const parameters& set) { run_driver_wakeup<lost::at_the_end>(set); }

verdict driver_wakeup_verdict(const parameters& set) { return zoo::is_fixed(set) ? verdict::ok : verdict::deadlock; }

std::vector<parameter> driver_wakeup_parameters(uint32_t drains) {
  return zoo::with_twin({
      parameter::number("programs", 1, 1, small_driver::queues, "", "host threads that drain, each a queue of its own"),
      // A single drain has nothing that could find the engine at the end of a run.
      parameter::number("drains", drains, drains, 1000, "", "times that each fills its queue and drains it"),
  });
}

}  // namespace

HEDDLE_ZOO(run_engine_start,
           {.name = "zoo.driver-engine-start",
            .summary = "an engine whose run is over counts as running, and what signals then starts nothing",
            .parameters = driver_wakeup_parameters(2),
            .expected = driver_wakeup_verdict});

HEDDLE_ZOO(run_engine_end, {.name = "zoo.driver-engine-end",
                            .summary = "what drains a queue looks at it, and then begins to listen for its end",
                            .parameters = driver_wakeup_parameters(1),
                            .expected = driver_wakeup_verdict});

}  // namespace heddle::tests
