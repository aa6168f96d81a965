// Doorbells: no ring is lost between looking and sleeping, and a host that sleeps without a reason to wake sleeps for ever.
#include <heddle/sim/sync/doorbell.h>

#include "run.h"

#include <gtest/gtest.h>

namespace heddle::sim::tests::doorbell_test {
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

// -- rings that do not simply arrive ------------------------------------------------------------------------------------------

const std::vector<std::string> failing_but_never_lost = {"doorbells=delayed", "doorbells=duplicated",
                                                         "doorbells=coalesced"};

TEST(failing_doorbells, late_double_and_merged_rings_are_enough_for_who_reads_the_count_first) {
  for (const std::string& setting : failing_but_never_lost)
    for (const char* fidelity : {"fidelity=scoped", "fidelity=interleaving"})
      for (const std::string& strategy : all_strategies()) {
        machine on({setting, fidelity}, strategy);
        EXPECT_TRUE(
            always(verdict::ok,
                   on.run_many(items(ringing::after_each_item, looking::after_the_count_is_read, no_timeout), 300)));
      }
}

TEST(failing_doorbells, a_lost_ring_is_a_deadlock_of_who_sleeps_without_time_out) {
  for (const char* fidelity : {"fidelity=scoped", "fidelity=interleaving"}) {
    machine on({"doorbells=dropped", fidelity});
    EXPECT_TRUE(
        sometimes(verdict::deadlock,
                  on.run_many(items(ringing::after_each_item, looking::after_the_count_is_read, no_timeout), 300)));
  }
}

TEST(failing_doorbells, a_lost_ring_does_no_harm_to_who_sleeps_with_time_out) {
  for (const char* fidelity : {"fidelity=scoped", "fidelity=interleaving"})
    for (const std::string& strategy : all_strategies()) {
      machine on({"doorbells=dropped", fidelity}, strategy);
      EXPECT_TRUE(always(verdict::ok,
                         on.run_many(items(ringing::after_each_item, looking::after_the_count_is_read, 1000), 300)));
    }
}

TEST(failing_doorbells, one_who_rings_until_it_is_heard_is_heard) {
  machine on({"doorbells=dropped"});
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [] {
                                        device host;
                                        auto* const heard = host.allocate_shared<uint32_t>(1, "heard");
                                        auto* const bell = host.allocate_shared<doorbell>(1, "bell");
                                        auto sleeper = host.spawn_host("sleeper", [=] {
                                          target::wait(*bell, 0, no_timeout);
                                          word<uint32_t>(*heard).store(1, release);
                                        });
                                        host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] {
                                          while (word<uint32_t>(*heard).load(acquire) == 0) {
                                            target::notify(*bell);
                                            target::pause();
                                          }
                                        });
                                        host.synchronize();
                                        sleeper.join();
                                      },
                                      500)));
}

/// Rings `rings` times, and waits until the bell counts `wanted`; hangs where it never does, or has moved on before the look.
program rings_that_count(uint32_t rings, uint32_t wanted) {
  return [=] {
    device host;
    auto* const bell = host.allocate_shared<doorbell>(1, "bell");
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] {
      for (uint32_t n = 0; n < rings; ++n) target::notify(*bell);
    });
    while (word<doorbell>(*bell).load(acquire) != wanted) target::pause();
  };
}

TEST(failing_doorbells, the_count_says_what_became_of_the_rings) {
  const auto may_reach = [](const char* setting, uint32_t wanted) {
    machine on({setting});
    return sometimes(verdict::deadlock, on.run_many(rings_that_count(3, wanted), 400));
  };
  const auto always_reaches = [](const char* setting, uint32_t wanted) {
    machine on({setting});
    return always(verdict::ok, on.run_many(rings_that_count(3, wanted), 400));
  };
  const auto never_reaches = [](const char* setting, uint32_t wanted) {
    machine on({setting});
    return always(verdict::deadlock, on.run_many(rings_that_count(3, wanted), 400));
  };
  EXPECT_TRUE(always_reaches("doorbells=delivered", 3));
  // All of them arrive in the end.
  EXPECT_TRUE(always_reaches("doorbells=delayed", 3));
  EXPECT_TRUE(never_reaches("doorbells=delayed", 4));
  EXPECT_TRUE(may_reach("doorbells=dropped", 3));
  EXPECT_TRUE(never_reaches("doorbells=dropped", 4));
  EXPECT_TRUE(may_reach("doorbells=duplicated", 4));
  EXPECT_TRUE(may_reach("doorbells=duplicated", 6));
  EXPECT_TRUE(never_reaches("doorbells=duplicated", 7));
  // At least one, at most all.
  EXPECT_TRUE(may_reach("doorbells=coalesced", 1));
  EXPECT_TRUE(may_reach("doorbells=coalesced", 2));
  EXPECT_TRUE(may_reach("doorbells=coalesced", 3));
  EXPECT_TRUE(never_reaches("doorbells=coalesced", 4));
}

/// A wave writes, rings, and writes something else; the host reads both words once it has been woken.
program message_by_ring(bool reads_what_came_after) {
  return [=] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(2, "words");
    auto* const bell = host.allocate_shared<doorbell>(1, "bell");
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] {
      words[0] = 7;
      target::notify(*bell);
      words[1] = 8;
    });
    while (word<doorbell>(*bell).load(acquire) == 0) target::wait(*bell, 0, no_timeout);
    SIM_CHECK(words[0] == 7);
    if (reads_what_came_after) SIM_CHECK(words[1] <= 8);
    host.synchronize();
  };
}

TEST(failing_doorbells, a_ring_brings_what_was_done_before_it_however_it_arrives) {
  for (const std::string& setting : failing_but_never_lost) {
    machine on({setting, "fidelity=scoped"});
    EXPECT_TRUE(always(verdict::ok, on.run_many(message_by_ring(false), 500)));
  }
}

TEST(failing_doorbells, a_ring_brings_nothing_that_was_done_after_it_however_late_it_is) {
  for (const std::string& setting : failing_but_never_lost) {
    machine on({setting, "fidelity=scoped"});
    EXPECT_TRUE(always(verdict::race, on.run_many(message_by_ring(true), 500)));
  }
}

TEST(failing_doorbells, a_ring_to_a_bell_that_has_been_given_back_is_lost) {
  machine on({"doorbells=delayed"});
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [] {
                                        device host;
                                        auto* const bell = host.allocate_shared<doorbell>(1, "bell");
                                        target::notify(*bell);
                                        host.free(bell);
                                        auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
                                        for (uint32_t n = 0; n < 300; ++n) word<uint32_t>(*flag).store(n, relaxed);
                                      },
                                      300)));
}

// -- Rings under way, without a machine around them: what may become of each, and which arrive together.

doorbell_line line_of(const std::string& behaviour, const std::string& steps = "256") {
  parameters values(doorbell_parameters());
  EXPECT_FALSE(values.set("doorbells=" + behaviour));
  EXPECT_FALSE(values.set("doorbells.steps=" + steps));
  doorbell_line line;
  line.reset(doorbell_settings::from(values));
  return line;
}

std::vector<uint64_t> numbers_of(const std::vector<doorbell_line::ring>& rings) {
  std::vector<uint64_t> numbers;
  for (const doorbell_line::ring& each : rings) numbers.push_back(each.number);
  return numbers;
}

using numbers = std::vector<uint64_t>;

TEST(doorbell_line_test, the_first_fate_is_that_a_ring_counts_once_and_at_once) {
  for (const char* behaviour : {"delivered", "delayed", "dropped", "duplicated", "coalesced"}) {
    const doorbell_line::fate usual = line_of(behaviour).fate_of(0);
    EXPECT_EQ(usual.counts_now, 1u) << behaviour;
    EXPECT_FALSE(usual.under_way) << behaviour;
  }
  EXPECT_EQ(line_of("delivered").fates(), 1u);
}

TEST(doorbell_line_test, a_ring_may_be_lost_or_count_twice) {
  const doorbell_line dropped = line_of("dropped");
  ASSERT_EQ(dropped.fates(), 2u);
  EXPECT_EQ(dropped.fate_of(1).counts_now, 0u);
  EXPECT_FALSE(dropped.fate_of(1).under_way);
  const doorbell_line duplicated = line_of("duplicated");
  ASSERT_EQ(duplicated.fates(), 2u);
  EXPECT_EQ(duplicated.fate_of(1).counts_now, 2u);
}

TEST(doorbell_line_test, delays_are_powers_of_two_up_to_the_longest) {
  const auto delays = [](const char* steps) {
    const doorbell_line line = line_of("delayed", steps);
    std::vector<uint64_t> all;
    for (uint32_t answer = 1; answer < line.fates(); ++answer) {
      EXPECT_TRUE(line.fate_of(answer).under_way);
      EXPECT_EQ(line.fate_of(answer).counts_now, 0u);
      all.push_back(line.fate_of(answer).steps);
    }
    return all;
  };
  EXPECT_EQ(delays("1"), (numbers{1}));
  EXPECT_EQ(delays("7"), (numbers{1, 2, 4}));
  EXPECT_EQ(delays("8"), (numbers{1, 2, 4, 8}));
}

TEST(doorbell_line_test, rings_arrive_when_they_are_due) {
  int bell = 0;
  doorbell_line line = line_of("delayed");
  EXPECT_EQ(line.next_due(), doorbell_line::never);
  EXPECT_TRUE(line.take(doorbell_line::never).empty());
  line.send(&bell, nullptr, 1, 20);
  line.send(&bell, nullptr, 2, 10);
  EXPECT_EQ(line.next_due(), 10u);
  EXPECT_TRUE(line.take(9).empty());
  EXPECT_EQ(numbers_of(line.take(10)), (numbers{1}));
  EXPECT_EQ(line.next_due(), 20u);
  EXPECT_TRUE(line.take(19).empty());
  EXPECT_EQ(numbers_of(line.take(1000)), (numbers{0}));
  EXPECT_EQ(line.next_due(), doorbell_line::never);
}

TEST(doorbell_line_test, what_is_under_way_to_one_bell_arrives_as_one) {
  int bells[2] = {};
  doorbell_line line = line_of("coalesced");
  line.send(&bells[0], nullptr, 0, 30);
  line.send(&bells[1], nullptr, 0, 20);
  line.send(&bells[0], nullptr, 0, 10);
  EXPECT_EQ(numbers_of(line.take(10)), (numbers{0, 2}));
  EXPECT_EQ(line.next_due(), 20u);
  EXPECT_EQ(numbers_of(line.take(20)), (numbers{1}));
}

TEST(doorbell_line_test, late_rings_that_do_not_coalesce_arrive_one_by_one) {
  int bell = 0;
  doorbell_line line = line_of("delayed");
  line.send(&bell, nullptr, 0, 10);
  line.send(&bell, nullptr, 0, 10);
  EXPECT_EQ(numbers_of(line.take(10)), (numbers{0}));
  EXPECT_EQ(numbers_of(line.take(10)), (numbers{1}));
}

TEST(doorbell_line_test, a_new_run_begins_without_rings) {
  int bell = 0;
  doorbell_line line = line_of("delayed");
  line.send(&bell, nullptr, 0, 10);
  line.reset({.behaviour = doorbell_behaviour::delayed, .steps_most = 4});
  EXPECT_EQ(line.next_due(), doorbell_line::never);
  EXPECT_TRUE(line.take(doorbell_line::never).empty());
  EXPECT_EQ(line.send(&bell, nullptr, 0, 10), 0u);
}

}  // namespace
}  // namespace heddle::sim::tests::doorbell_test
