// Doorbells: no ring is lost between looking and sleeping, and a host that sleeps without a reason to wake sleeps for ever.
#include "run.h"

namespace heddle::sim::tests {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

enum class ringing { after_each_item, never };
enum class looking { before_the_count_is_read, after_the_count_is_read };

/// A wave hands out items and rings; a host thread takes them and sleeps in between.
program items(ringing rings, looking looks, uint64_t timeout_ns) {
  return [=] {
    device host;
    auto* const given = host.allocate_shared<uint32_t>(1, "items given");
    auto* const bell = host.allocate_shared<doorbell>(1, "bell");
    constexpr uint32_t all = 3;
    auto taker = host.spawn_host("taker", [=] {
      uint32_t taken = 0;
      while (true) {
        const auto read_count = [bell] { return word<doorbell>(*bell).load(acquire); };
        // Only a count that was read before the look tells of a ring that came after it.
        uint32_t seen = looks == looking::after_the_count_is_read ? read_count() : 0;
        taken = word<uint32_t>(*given).load(acquire);
        if (taken == all) return;
        if (looks == looking::before_the_count_is_read) seen = read_count();
        target::wait(*bell, seen, timeout_ns);
      }
    });
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] {
      for (uint32_t n = 0; n < all; ++n) {
        word<uint32_t>(*given).fetch_add(1, release);
        if (rings == ringing::after_each_item) target::notify(*bell);
      }
    });
    host.synchronize();
    taker.join();
  };
}

TEST(doorbells, no_ring_is_lost_between_looking_and_sleeping) {
  for (const std::string& strategy : all_strategies()) {
    machine on({}, strategy);
    EXPECT_TRUE(always(
        verdict::ok, on.run_many(items(ringing::after_each_item, looking::after_the_count_is_read, no_timeout), 1000)));
  }
}

TEST(doorbells, a_ring_that_comes_between_looking_and_reading_the_count_is_lost) {
  machine on;
  const tally seen = on.run_many(items(ringing::after_each_item, looking::before_the_count_is_read, no_timeout), 1000);
  EXPECT_TRUE(sometimes(verdict::deadlock, seen));
}

TEST(doorbells, a_sleep_without_time_out_on_a_bell_that_nobody_rings_is_a_deadlock) {
  machine on;
  const tally seen = on.run_many(items(ringing::never, looking::after_the_count_is_read, no_timeout), 300);
  ASSERT_TRUE(sometimes(verdict::deadlock, seen));
  const outcome ended = on.explain(items(ringing::never, looking::after_the_count_is_read, no_timeout),
                                   seen.first_seeds.at(verdict::deadlock));
  EXPECT_TRUE(says(ended.report, "host taker: waits in doorbell wait"));
  EXPECT_TRUE(says(ended.report, "reads bell+0x0 (4 bytes) = 0x0"));
}

TEST(doorbells, a_sleep_with_time_out_goes_on_when_other_memory_that_it_looked_at_changes) {
  for (const std::string& strategy : all_strategies()) {
    machine on({}, strategy);
    for (const looking looks : {looking::before_the_count_is_read, looking::after_the_count_is_read})
      EXPECT_TRUE(always(verdict::ok, on.run_many(items(ringing::never, looks, 1000), 500)));
  }
}

TEST(doorbells, a_sleep_with_time_out_is_a_deadlock_when_nothing_ever_changes) {
  machine on;
  const outcome ended = on.explain([] {
    device host;
    auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
    auto* const bell = host.allocate_shared<doorbell>(1, "bell");
    while (word<uint32_t>(*flag).load(acquire) == 0) target::wait(*bell, 0, 1000);
  });
  EXPECT_TRUE(is(verdict::deadlock, "", ended));
  EXPECT_TRUE(says(ended.report, "reads flag+0x0 (4 bytes) = 0x0"));
}

TEST(doorbells, a_count_that_has_moved_on_is_no_reason_to_sleep) {
  machine on;
  const outcome ended = on.run([] {
    device host;
    auto* const bell = host.allocate_shared<doorbell>(1, "bell");
    target::notify(*bell);
    target::notify(*bell);
    target::wait(*bell, 1, no_timeout);
    SIM_CHECK(word<doorbell>(*bell).load(relaxed) == 2);
  });
  EXPECT_TRUE(is(verdict::ok, "", ended));
}

}  // namespace
}  // namespace heddle::sim::tests
