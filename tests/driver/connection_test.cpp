// Several threads on one driver: rows 11, 13 and 14 of the driver's table. Real threads; under ThreadSanitizer, too.
#include "machine.h"

#include <heddle/driver/connection.h>

#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace heddle::driver::tests {
namespace {

/// The owner's thread, which runs the engine.
template <typename Driver>
class engine_thread {
 public:
  explicit engine_thread(connection<Driver>& to) : to_(&to), thread_([&to] { to.serve(); }) {}
  ~engine_thread() {
    to_->stop();
    thread_.join();
  }

 private:
  connection<Driver>* to_;
  std::thread thread_;
};

// -- run and the start of the engine

TEST(driver_run, a_drain_starts_the_engine_and_the_engine_sleeps_when_it_has_nothing_to_do) {
  machine it;
  it.driver.set_listener(nullptr);
  connection<gpu_driver> to(it.driver);
  const engine_thread<gpu_driver> engine(to);
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 64).value();
  const auto bytes = pattern(64);
  std::vector<std::byte> seen(64);
  const queue_id queue = to.access([&](gpu_driver& driver) {
    const queue_id made = driver.queues().create_queue(it.context).value();
    driver.queues().enqueue_copy_to_device(made, buffer, bytes).value();
    driver.queues().enqueue_copy_to_host(made, seen, buffer).value();
    return made;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(to.access([](gpu_driver& driver) { return driver.now(); }), 0u) << "nothing has drained";
  EXPECT_FALSE(to.running());
  EXPECT_TRUE(works(to.drain(queue)));
  EXPECT_EQ(seen, bytes);
  EXPECT_TRUE(works(to.drain(queue)));
}

TEST(driver_run, a_queue_that_can_never_end_is_told_and_not_waited_for) {
  machine it;
  it.driver.set_listener(nullptr);
  connection<gpu_driver> to(it.driver);
  const engine_thread<gpu_driver> engine(to);
  class never_mind final : public middleware {
   public:
    const char* name() const override { return "never mind"; }
    handling process(command& next) override {
      return next.kind == command_kind::custom ? handling::later : handling::not_mine;
    }
  };
  const queue_id queue = to.access([&](gpu_driver& driver) {
    driver.add_middleware(std::make_unique<never_mind>(), 0);
    const queue_id made = driver.queues().create_queue(it.context).value();
    driver.queues().enqueue_custom(made, "plug", 0).value();
    return made;
  });
  EXPECT_TRUE(fails(to.drain(queue), "deadlock", {"plug"}));
}

TEST(driver_run, the_start_is_logged_once_and_before_the_engine_has_run) {
  machine it;
  connection<gpu_driver> to(it.driver);
  const queue_id queue = it.driver.queues().create_queue(it.context).value();
  it.driver.queues().enqueue_no_op(queue).value();
  std::vector<std::string> lines;
  uint64_t emptied = 1;
  std::thread engine([&] {
    to.serve([&](const char* line) {
      lines.emplace_back(line);
      emptied = to.access([](gpu_driver& driver) { return driver.emptied(); });
    });
  });
  EXPECT_TRUE(to.drain(queue));
  to.access([&](gpu_driver& driver) { driver.queues().enqueue_no_op(queue).value(); });
  EXPECT_TRUE(to.drain(queue));
  to.stop();
  engine.join();
  EXPECT_EQ(lines, std::vector<std::string>{"driver: the simulation starts"});
  EXPECT_EQ(emptied, 0U);
}

TEST(driver_run, who_drains_is_told_when_the_engine_is_stopped) {
  machine it;
  connection<gpu_driver> to(it.driver);
  const queue_id queue = it.driver.queues().create_queue(it.context).value();
  it.driver.queues().enqueue_no_op(queue).value();
  std::thread stopper([&] { to.stop(); });
  EXPECT_FALSE(to.drain(queue));
  stopper.join();
}

TEST(driver_run, work_that_is_left_outside_is_waited_for) {
  machine it;
  it.driver.set_listener(nullptr);
  connection<gpu_driver> to(it.driver);
  std::atomic<int> left{0};
  it.kernels.what = [&](const work_group&, group_memory_port&) -> execution {
    left.fetch_add(1);
    return {.how = execution::state::later};
  };
  const engine_thread<gpu_driver> engine(to);
  std::thread outside([&] {
    while (left.load() != 3) std::this_thread::yield();
    const std::vector<work_group> all = to.access([&](gpu_driver&) { return it.kernels.executed; });
    for (const work_group& each : all) to.access_and_signal([&](gpu_driver& driver) { driver.finish(each).value(); });
  });
  const queue_id queue = to.access([&](gpu_driver& driver) {
    const queue_id made = driver.queues().create_queue(it.context).value();
    driver.queues().enqueue_launch(made, a_launch({3, 1, 1}, {1, 1, 1})).value();
    return made;
  });
  EXPECT_TRUE(works(to.drain(queue)));
  outside.join();
}

// -- pause around the tick

TEST(driver_pause, nobody_sees_the_engine_in_the_middle_of_an_event) {
  machine it;
  it.driver.set_listener(nullptr);
  connection<gpu_driver> to(it.driver);
  it.kernels.what = [](const work_group&, group_memory_port&) -> execution { return {.duration = 1000}; };
  const engine_thread<gpu_driver> engine(to);
  std::atomic<bool> over{false};
  std::vector<std::thread> readers;
  for (int n = 0; n < 3; ++n)
    readers.emplace_back([&] {
      picoseconds before = 0;
      while (!over.load()) {
        to.access([&](gpu_driver& driver) {
          EXPECT_FALSE(driver.engine().in_event());
          EXPECT_GE(driver.now(), before);
          before = driver.now();
        });
      }
    });
  for (int n = 0; n < 20; ++n) {
    const queue_id queue = to.access([&](gpu_driver& driver) {
      const queue_id made = driver.queues().create_queue(it.context).value();
      driver.queues().enqueue_launch(made, a_launch({40, 1, 1}, {1, 1, 1})).value();
      return made;
    });
    EXPECT_TRUE(works(to.drain(queue)));
  }
  over.store(true);
  for (std::thread& each : readers) each.join();
}

// -- several programs on one driver

TEST(driver_several_programs, all_finish_each_with_a_process_of_its_own) {
  machine it({256, 256});
  it.driver.set_listener(nullptr);
  connection<gpu_driver> to(it.driver);
  const engine_thread<gpu_driver> engine(to);
  constexpr int programs = 6;
  constexpr int contexts_each = 5;
  std::vector<std::vector<process_id>> made(programs);
  std::vector<std::thread> threads;
  for (int program = 0; program < programs; ++program)
    threads.emplace_back([&, program] {
      for (int n = 0; n < contexts_each; ++n) {
        const auto bytes = pattern(2 * page_bytes, static_cast<unsigned>(program * 10 + n));
        std::vector<std::byte> seen(bytes.size());
        context_id context = 0;
        uint64_t buffer = 0;
        const queue_id queue = to.access([&](gpu_driver& driver) {
          context = driver.contexts().create_context();
          made[static_cast<size_t>(program)].push_back(driver.contexts().process_of(context).value());
          driver.contexts().select_device(context, 1 + static_cast<device_id>(n % 2)).value();
          buffer = driver.contexts().allocate(context, bytes.size()).value();
          return driver.queues().create_queue(context).value();
        });
        to.access([&](gpu_driver& driver) { driver.queues().enqueue_copy_to_device(queue, buffer, bytes).value(); });
        to.access([&](gpu_driver& driver) {
          driver.queues().enqueue_launch(queue, a_launch({16, 1, 1}, {1, 1, 1})).value();
        });
        EXPECT_TRUE(works(to.drain(queue)));
        to.access([&](gpu_driver& driver) { driver.queues().enqueue_copy_to_host(queue, seen, buffer).value(); });
        EXPECT_TRUE(works(to.drain(queue)));
        EXPECT_EQ(seen, bytes);
        to.access([&](gpu_driver& driver) {
          driver.contexts().free(context, buffer).value();
          driver.queues().destroy_queue(queue).value();
        });
      }
    });
  for (std::thread& each : threads) each.join();
  std::set<process_id> all;
  for (const auto& each : made) all.insert(each.begin(), each.end());
  EXPECT_EQ(all.size(), size_t{programs} * contexts_each);
}

TEST(driver_several_programs, one_engine_runs_at_a_time_and_drains_that_cross_all_end) {
  machine it;
  it.driver.set_listener(nullptr);
  connection<gpu_driver> to(it.driver);
  const engine_thread<gpu_driver> engine(to);
  // Each round gives the engine a reason to go to sleep and another to wake up.
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] {
      const queue_id queue =
          to.access([&](gpu_driver& driver) { return driver.queues().create_queue(it.context).value(); });
      for (int round = 0; round < 2000; ++round) {
        to.access([&](gpu_driver& driver) { driver.queues().enqueue_no_op(queue).value(); });
        ASSERT_TRUE(works(to.drain(queue)));
      }
    });
  for (std::thread& each : threads) each.join();
}

}  // namespace
}  // namespace heddle::driver::tests
