// Waits that are passed over: counted where it is asked for, told with the lane, the place, the count and those that passed it.
#include <heddle/rpc/check.h>
#include <heddle/sim/requests.h>
#include <heddle/tools/scenario.h>

#include "run.h"

#include <mutex>
#include <stdexcept>

namespace heddle::sim::tests::starvation_test {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

constexpr uint32_t rounds = 12;

// Any lane that comes takes it.
constexpr int unfair_line = __LINE__ + 2;
void take_unfairly(uint32_t& lock) {
  while (word<uint32_t>(lock).exchange(1, acquire) != 0) target::pause();
}

/// A loop that only reads, and an exchange behind it.
void take_after_a_look(uint32_t& lock) {
  do
    while (word<uint32_t>(lock).load(relaxed) != 0) target::pause();
  while (word<uint32_t>(lock).exchange(1, acquire) != 0);
}

template <typename Take>
program with_lock(uint32_t waves, Take take) {
  return [=] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(4, "words");
    host.launch({.blocks = waves, .waves = 1, .lanes = 1}, [words, take] {
      for (uint32_t n = 0; n < rounds; ++n) {
        take(words[0]);
        ++words[1];
        word<uint32_t>(words[0]).store(0, release);
      }
    });
    host.synchronize();
  };
}

program with_tickets(uint32_t waves) {
  return [=] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(4, "words");
    host.launch({.blocks = waves, .waves = 1, .lanes = 1}, [words] {
      for (uint32_t n = 0; n < rounds; ++n) {
        const uint32_t mine = word<uint32_t>(words[0]).fetch_add(1, relaxed);
        while (word<uint32_t>(words[1]).load(acquire) != mine) target::pause();
        ++words[2];
        word<uint32_t>(words[1]).store(mine + 1, release);
      }
    });
    host.synchronize();
  };
}

uint64_t starved_under_all_strategies(const program& body, const std::string& most, const char* fidelity) {
  uint64_t starved = 0;
  for (const std::string& strategy : all_strategies()) {
    machine on({"starvation=" + most, std::string("fidelity=") + fidelity}, strategy);
    const tally seen = on.run_many(body, 150);
    EXPECT_EQ(seen.count(verdict::ok) + seen.count(verdict::starvation), seen.schedules) << seen.text();
    starved += seen.count(verdict::starvation);
  }
  return starved;
}

TEST(starvation, a_lock_that_whoever_comes_takes_starves_and_a_ticket_lock_does_not) {
  for (const char* const fidelity : {"interleaving", "scoped"}) {
    EXPECT_GT(starved_under_all_strategies(with_lock(3, take_unfairly), "5", fidelity), 0u);
    EXPECT_GT(starved_under_all_strategies(with_lock(3, take_after_a_look), "5", fidelity), 0u);
    EXPECT_EQ(starved_under_all_strategies(with_tickets(3), "5", fidelity), 0u);
  }
}

TEST(starvation, is_counted_to_the_number_that_is_asked_for_and_not_at_all_by_default) {
  EXPECT_EQ(starved_under_all_strategies(with_lock(3, take_unfairly), "0", "interleaving"), 0u);
  // Two others cannot pass more often than they have rounds.
  EXPECT_EQ(starved_under_all_strategies(with_lock(3, take_unfairly), std::to_string(2 * rounds), "interleaving"), 0u);
  EXPECT_GT(starved_under_all_strategies(with_tickets(3), "1", "interleaving"), 0u);
  EXPECT_EQ(starved_under_all_strategies(with_tickets(3), "2", "interleaving"), 0u);
}

TEST(starvation, the_message_says_who_where_how_often_and_by_whom) {
  machine on({"starvation=5"}, "starve");
  const program body = with_lock(2, take_unfairly);
  const tally seen = on.run_many(body, 300);
  ASSERT_GT(seen.count(verdict::starvation), 0u) << seen.text();
  const outcome ended = on.explain(body, seen.first_seeds.at(verdict::starvation));
  EXPECT_TRUE(is(verdict::starvation, SIM_LINE(unfair_line), ended));
  const std::string starved = ended.message.substr(0, std::string("wave 0 lane 0").size());
  const std::string other = starved == "wave 0 lane 0" ? "wave 1 lane 0" : "wave 0 lane 0";
  EXPECT_TRUE(says(ended.message, starved + " waits since step "));
  EXPECT_TRUE(says(ended.message, " for words+0x0 and was passed over 6 times (starvation=5): 6 times by " + other));
  EXPECT_TRUE(says(ended.report, "wave 0, block 0, lane 0"));
}

/// A request waits while so many that are made after it are served.
program passed_over(uint32_t times) {
  return [times] {
    runtime::request_made(1);
    for (uint32_t n = 0; n < times; ++n) {
      runtime::request_made(2 + n);
      runtime::request_served(2 + n);
    }
    runtime::request_served(1);
  };
}

TEST(starvation, a_request_is_passed_over_by_those_that_were_made_later) {
  machine on({"starvation=5"});
  EXPECT_TRUE(always(verdict::ok, on.run_many(passed_over(5), 1)));
  const outcome ended = on.explain(passed_over(6));
  EXPECT_EQ(ended.verdict, verdict::starvation);
  EXPECT_TRUE(says(ended.message, "request 1 of host main waits since step "));
  EXPECT_TRUE(says(ended.message, "6 that were made later were served before it (starvation=5)"));
  machine off;
  EXPECT_TRUE(always(verdict::ok, off.run_many(passed_over(100), 1)));
}

TEST(starvation, a_request_is_not_passed_over_by_earlier_ones_nor_once_it_is_served) {
  machine on({"starvation=1"});
  const program body = [] {
    for (uint32_t n = 0; n < 10; ++n) runtime::request_made(n);
    for (uint32_t n = 0; n < 10; ++n) runtime::request_served(n);
    // Served before it is told of: it never waits.
    runtime::request_served(20);
    runtime::request_made(20);
    for (uint32_t n = 30; n < 40; ++n) {
      runtime::request_made(n);
      runtime::request_served(n);
    }
  };
  EXPECT_TRUE(always(verdict::ok, on.run_many(body, 1)));
}

TEST(starvation, a_mutex_of_the_host_is_a_wait_like_others) {
  const program body = [] {
    device host;
    static std::mutex lock;
    const auto work = [] {
      for (uint32_t n = 0; n < rounds; ++n) {
        lock.lock();
        lock.unlock();
      }
    };
    auto one = host.spawn_host("one", work);
    auto other = host.spawn_host("other", work);
  };
  EXPECT_GT(starved_under_all_strategies(body, "5", "interleaving"), 0u);
  EXPECT_EQ(starved_under_all_strategies(body, std::to_string(rounds), "interleaving"), 0u);
}

TEST(starvation, who_is_promised_no_turn_is_not_starved) {
  // Under hsa only the lowest is in the fair set; the one that is passed over is the other.
  const program body = [] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(4, "words");
    host.launch({.blocks = 2, .waves = 1, .lanes = 1}, [words] {
      for (uint32_t n = 0; n < (target::wave_id() == 0 ? rounds : 1); ++n) {
        take_unfairly(words[0]);
        word<uint32_t>(words[0]).store(0, release);
      }
    });
    host.synchronize();
  };
  machine fair({"starvation=5"}, "random");
  machine hsa({"starvation=5", "progress=hsa"}, "random");
  EXPECT_GT(fair.run_many(body, 3000).count(verdict::starvation), 0u);
  EXPECT_EQ(hsa.run_many(body, 3000).count(verdict::starvation), 0u);
}

// -- Runs that end early: checks, exceptions, launches that cannot be.

int line = 0;

void launch_lanes(uint32_t blocks, uint32_t waves, uint32_t lanes) {
  device host;
  auto* const ran = host.allocate_device<uint32_t>(1, "lanes that ran");
  host.launch({.blocks = blocks, .waves = waves, .lanes = lanes},
              [ran] { word<uint32_t>(*ran).fetch_add(1, memory_order::relaxed); });
  host.synchronize();
  uint32_t count = 0;
  host.copy(&count, ran, sizeof count);
  SIM_CHECK(count == blocks * waves * lanes);
}

TEST(verdicts, an_exception_that_leaves_the_program_is_an_assertion_with_its_text) {
  machine on;
  const outcome host = on.run([] { throw std::runtime_error("no such port"); });
  EXPECT_TRUE(is(verdict::assertion, "", host));
  EXPECT_TRUE(says(host.message, "no such port"));
  const outcome kernel = on.run([] {
    device here;
    here.launch({}, [] { throw 7; });
    here.synchronize();
  });
  EXPECT_TRUE(is(verdict::assertion, "", kernel));
  EXPECT_TRUE(says(kernel.message, "does not derive from std::exception"));
  EXPECT_EQ(on.run([] { launch_lanes(1, 1, 1); }).verdict, verdict::ok);
}

TEST(verdicts, a_failed_check_is_an_assertion_at_its_line) {
  machine on;
  const auto checks = [](bool holds) {
    return [holds] {
      device host;
      auto* const value = host.allocate_shared<uint32_t>(1, "value");
      host.launch({.blocks = 1, .waves = 1, .lanes = 2}, [value, holds] {
        if (target::lane_id() == 0) return;
        line = __LINE__ + 1;
        HEDDLE_CHECK(word<uint32_t>(*value).load(memory_order::relaxed) == (holds ? 0 : 1), "the value is not one");
        word<uint32_t>(*value).store(2, memory_order::relaxed);
      });
      host.synchronize();
    };
  };
  const outcome broken = on.explain(checks(false));
  EXPECT_TRUE(is(verdict::assertion, SIM_LINE(line), broken));
  EXPECT_EQ(broken.message, "the value is not one");
  EXPECT_EQ(on.run(checks(true)).verdict, verdict::ok);
}

TEST(verdicts, a_broken_invariant_of_a_protocol_is_protocol) {
  machine on;
  const auto requires_that = [](bool holds) {
    return [holds] { rpc::require<target, rpc::checked>(holds, "two owners"); };
  };
  const outcome broken = on.run(requires_that(false));
  EXPECT_TRUE(is(verdict::protocol, "", broken));
  EXPECT_EQ(broken.message, "two owners");
  EXPECT_EQ(on.run(requires_that(true)).verdict, verdict::ok);
}

TEST(verdicts, the_first_failure_ends_the_run) {
  machine on;
  const outcome ended = on.run([] {
    device host;
    host.launch({.blocks = 1, .waves = 4, .lanes = 4}, [] { HEDDLE_CHECK(false, "every lane fails"); });
    host.synchronize();
    throw std::runtime_error("never reached");
  });
  EXPECT_EQ(ended.message, "every lane fails");
}

TEST(verdicts, a_launch_of_no_or_too_many_lanes_says_so) {
  machine on;
  for (const auto& [blocks, waves, lanes] :
       {std::array{0u, 1u, 1u}, {1u, 0u, 1u}, {1u, 1u, 0u}, {1u, 1u, 65u}, {1u, 1u, ~0u}}) {
    const outcome ended = on.run([=] { launch_lanes(blocks, waves, lanes); });
    EXPECT_TRUE(is(verdict::assertion, "", ended));
    EXPECT_TRUE(says(ended.message, "at least one block, one wave and one lane, and at most 64 lanes a wave"));
  }
  const outcome many = on.run([] { launch_lanes((1u << 20) + 1, 1, 1); });
  EXPECT_TRUE(is(verdict::unsupported, "", many));
  EXPECT_TRUE(says(many.message, "a launch of 1048577 blocks of 1 threads, and at most 1048576 lanes"));
  EXPECT_TRUE(says(many.message, "a size with which it launches at most 1048576 such blocks here"));
  EXPECT_EQ(on.run([] { launch_lanes(3, 2, 64); }).verdict, verdict::ok);
}

TEST(verdicts, more_host_threads_than_there_are_stacks_says_so) {
  machine on;
  const auto threads = [](uint32_t count) {
    return [count] {
      device host;
      for (uint32_t n = 0; n < count; ++n) host.spawn_host("short", [] {}).join();
    };
  };
  EXPECT_EQ(on.run(threads(1000)).verdict, verdict::ok);
  const outcome ended = on.run(threads(2000));
  EXPECT_TRUE(is(verdict::assertion, "", ended));
  EXPECT_TRUE(says(ended.message, "host threads"));
}

TEST(verdicts, the_steps_of_an_explained_run_tell_who_did_what_where) {
  machine on;
  const outcome ended = on.explain([] {
    device host;
    auto* const value = host.allocate_shared<uint32_t>(2, "value");
    auto thread = host.spawn_host("writer", [value] {
      line = __LINE__ + 1;
      word<uint32_t>(value[1]).store(0x2a, memory_order::release);
      word<uint32_t>(value[0]).fetch_add(1, memory_order::relaxed);
    });
    thread.join();
  });
  ASSERT_EQ(ended.verdict, verdict::ok);
  uint32_t stores = 0;
  for (const step_record& step : ended.steps_taken)
    if (step.actor == "host writer" && step.operation == "store release system") {
      ++stores;
      EXPECT_EQ(step.location, "value+0x4 (4 bytes)");
      EXPECT_EQ(step.value, "0x2a");
      EXPECT_EQ(step.where, SIM_LINE(line));
    }
  EXPECT_EQ(stores, 1u);
}

// What many lanes that wait for few places take grows with the square of their number.
TEST(verdicts, the_budget_is_more_for_many_lanes) {
  const auto work = [](uint32_t waves) {
    return [waves] {
      device on;
      auto* const words = on.allocate_device<uint32_t>(size_t{waves} * 32, "words");
      on.launch({.waves = waves, .lanes = 32}, [words] {
        // No state comes back.
        for (uint32_t n = 0; n < 12; ++n)
          word<uint32_t>(words[target::wave_id() * 32 + target::lane_id()]).fetch_add(1, memory_order::relaxed);
      });
      on.synchronize();
    };
  };
  EXPECT_EQ(machine({"budget=1000"}).run(work(8)).verdict, verdict::budget) << "256 lanes";
  EXPECT_EQ(machine({"budget=1000"}).run(work(16)).verdict, verdict::ok) << "512 lanes, four times as many steps";
}

TEST(verdicts, the_budget_ends_a_run_that_works_for_ever) {
  machine on({"budget=1000"});
  const outcome ended = on.run([] {
    device host;
    auto* const value = host.allocate_shared<uint32_t>(1, "value");
    // What it finds decides what it does next: each turn is another one.
    while (true)
      if (word<uint32_t>(*value).fetch_add(1, memory_order::relaxed) == ~uint32_t{0}) return;
  });
  EXPECT_TRUE(is(verdict::budget, "", ended));
  EXPECT_TRUE(says(ended.message, "inconclusive"));
  EXPECT_EQ(ended.steps, 2000u);
}

}  // namespace
}  // namespace heddle::sim::tests::starvation_test
