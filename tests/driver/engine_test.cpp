// The event engine: ties, time, ticks.
#include <gtest/gtest.h>
#include <heddle/driver/engine.h>

#include <functional>
#include <string>
#include <vector>

namespace heddle::driver {
namespace {

class log final : public event_handler {
 public:
  void handle(const timed_event& now) override {
    seen.push_back(now.what);
    if (then) then(now);
  }
  std::vector<uint64_t> seen;
  std::function<void(const timed_event&)> then;
};

TEST(driver_engine, of_one_time_primary_events_come_first_and_then_those_scheduled_earlier) {
  event_engine engine;
  log all;
  engine.schedule(5, event_rank::secondary, all, 1).value();
  engine.schedule(5, event_rank::primary, all, 2).value();
  engine.schedule(4, event_rank::secondary, all, 3).value();
  engine.schedule(5, event_rank::secondary, all, 4).value();
  engine.schedule(5, event_rank::primary, all, 5).value();
  engine.run();
  EXPECT_EQ(all.seen, (std::vector<uint64_t>{3, 2, 5, 1, 4}));
  EXPECT_EQ(engine.now(), 5u);
  EXPECT_EQ(engine.handled(), 5u);
}

TEST(driver_engine, a_primary_event_that_a_secondary_one_schedules_for_now_comes_before_the_other_secondary_ones) {
  event_engine engine;
  log all;
  all.then = [&](const timed_event& now) {
    if (now.what == 1) engine.schedule(now.time, event_rank::primary, all, 3).value();
  };
  engine.schedule(5, event_rank::secondary, all, 1).value();
  engine.schedule(5, event_rank::secondary, all, 2).value();
  engine.run();
  EXPECT_EQ(all.seen, (std::vector<uint64_t>{1, 3, 2}));
}

TEST(driver_engine, scheduling_in_the_past_is_an_error_that_names_both_times) {
  event_engine engine;
  log all;
  engine.schedule(10, event_rank::primary, all).value();
  engine.run();
  const result<void> said = engine.schedule(9, event_rank::primary, all);
  ASSERT_FALSE(said);
  EXPECT_EQ(said.why().line(), "schedule(time 9 ps): in the past: it is 10 ps already");
  EXPECT_TRUE(engine.schedule(10, event_rank::primary, all));
  EXPECT_EQ(engine.pending(), 1u);
}

TEST(driver_engine, run_until_stops_behind_all_events_of_its_time) {
  event_engine engine;
  log all;
  all.then = [&](const timed_event& now) {
    if (now.what == 1) engine.schedule(now.time, event_rank::secondary, all, 7).value();
  };
  engine.schedule(10, event_rank::primary, all, 1).value();
  engine.schedule(10, event_rank::secondary, all, 2).value();
  engine.schedule(11, event_rank::primary, all, 3).value();
  engine.run_until(10);
  EXPECT_EQ(all.seen, (std::vector<uint64_t>{1, 2, 7}));
  EXPECT_EQ(engine.now(), 10u);
  EXPECT_EQ(engine.next_time(), 11u);
  engine.run_until(30);
  EXPECT_EQ(engine.now(), 30u);
  EXPECT_EQ(engine.next_time(), never);
  engine.run_until(20);
  EXPECT_EQ(engine.now(), 30u) << "time does not go back";
}

TEST(driver_engine, a_hook_sees_each_event_before_and_after) {
  class both final : public engine_hook {
   public:
    void before(const timed_event& which) override { said += "<" + std::to_string(which.what); }
    void after(const timed_event& which) override { said += std::to_string(which.what) + ">"; }
    std::string said;
  } hook;
  event_engine engine;
  log all;
  engine.set_hook(&hook);
  engine.schedule(1, event_rank::primary, all, 4).value();
  engine.schedule(2, event_rank::primary, all, 5).value();
  engine.run();
  EXPECT_EQ(hook.said, "<44><55>");
}

class worker final : public ticking {
 public:
  worker(event_engine& engine, int work) : ticking(engine, 10), engine_(&engine), work_(work) {}
  bool tick() override {
    at.push_back(engine_->now());
    return work_-- > 0;
  }
  std::vector<picoseconds> at;

 private:
  event_engine* engine_;
  int work_;
};

TEST(driver_engine, something_ticks_as_long_as_it_gets_on) {
  event_engine engine;
  worker it(engine, 3);
  it.tick_soon();
  engine.run();
  EXPECT_EQ(it.at, (std::vector<picoseconds>{0, 10, 20, 30}));
  EXPECT_EQ(engine.pending(), 0u) << "it sleeps";
}

TEST(driver_engine, two_wishes_for_one_tick_are_one) {
  event_engine engine;
  worker it(engine, 0);
  it.tick_at(15);
  it.tick_at(20);
  it.tick_soon();
  it.tick_soon();
  engine.run();
  EXPECT_EQ(it.at, (std::vector<picoseconds>{0, 20}));
  // It has ticked at 20 already.
  it.tick_soon();
  engine.run();
  EXPECT_EQ(it.at, (std::vector<picoseconds>{0, 20, 30}));
}

TEST(driver_engine, a_tick_between_two_cycles_is_at_the_next_one) {
  event_engine engine;
  worker it(engine, 0);
  engine.run_until(11);
  it.tick_soon();
  engine.run();
  EXPECT_EQ(it.at, (std::vector<picoseconds>{20}));
}

}  // namespace
}  // namespace heddle::driver
