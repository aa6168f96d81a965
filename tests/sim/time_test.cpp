// Virtual time: what a call takes equals what one adds up by hand, under every schedule; and keeping it changes no run.
#include <gtest/gtest.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/sim/call_times.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "run.h"

namespace heddle::sim {
namespace {

using tests::program;
using tests::verdict;
using tests::word;

constexpr uint64_t ps_per_ns = 1000;

/// What the calls of some schedules of the program took, in nanoseconds.
std::vector<uint64_t> times_of(const program& body, const std::vector<std::string>& settings, uint64_t schedules = 30,
                               const char* strategy = "random") {
  parameters set(machine_parameters());
  for (const std::string& each : settings) EXPECT_FALSE(set.set(each)) << each;
  std::string wrong;
  const auto deciding = scheduler::make_strategy(strategy, wrong);
  scheduler::choice_source choices;
  simulation machine;
  call_times times;
  machine.time_calls(&times);
  for (uint64_t seed = 1; seed <= schedules; ++seed) {
    choices.begin(*deciding, seed);
    const outcome ended = machine.run(set, body, choices, false);
    EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
  }
  std::vector<uint64_t> in_ns;
  for (const uint64_t took : times.took_ps) in_ns.push_back(took / ps_per_ns);
  return in_ns;
}

/// That there was one call in each schedule, and took this long.
void expect_each(uint64_t ns, const program& body, const std::vector<std::string>& settings) {
  const std::vector<uint64_t> took = times_of(body, settings);
  EXPECT_EQ(took, std::vector<uint64_t>(30, ns));
}

/// A lane posts a request, and a host thread that polls for it answers.
void one_call() {
  device on;
  auto* const words = on.allocate_shared<uint32_t>(2, "mailboxes");
  auto server = on.spawn_host("server", [words] {
    while (word<uint32_t>(words[0]).load(memory_order::acquire) == 0) target::pause();
    word<uint32_t>(words[1]).store(1, memory_order::release);
  });
  on.launch({.blocks = 1, .waves = 1, .lanes = 1}, [words] {
    target::call_begins();
    word<uint32_t>(words[0]).store(1, memory_order::release);
    while (word<uint32_t>(words[1]).load(memory_order::acquire) == 0) target::pause();
    target::call_ends(true);
  });
  on.synchronize();
  server.join();
}

TEST(virtual_time, of_the_latest_run_each_clock_is_known_whenever_it_is_put) {
  constexpr uint64_t launch_ps = 5'000'000;
  std::string wrong;
  const auto deciding = scheduler::make_strategy("random", wrong);
  scheduler::choice_source choices;
  simulation machine;
  call_times times;
  times.keeps_clocks = true;
  machine.time_calls(&times);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    choices.begin(*deciding, seed);
    const outcome ended = machine.run(parameters(machine_parameters()), one_call, choices, true);
    ASSERT_EQ(ended.verdict, verdict::ok) << ended.message;
    std::map<uint32_t, uint64_t> last;  // by lane
    uint64_t step = 0;
    for (const call_times::reading& each : times.clocks) {
      EXPECT_GE(each.step, step) << "in the order of the run";
      EXPECT_LE(each.step, ended.steps) << "of this run alone";
      EXPECT_TRUE(!last.contains(each.lane) || last[each.lane] != each.at_ps) << "it says something new";
      step = each.step;
      last[each.lane] = each.at_ps;
    }
    // The lane that calls has been launched, and does nothing else.
    const auto calls = std::find_if(last.begin(), last.end(),
                                    [&](const auto& each) { return each.second == launch_ps + times.took_ps.back(); });
    EXPECT_NE(calls, last.end());
  }
}

const std::vector<std::string> fidelities = {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"};

TEST(virtual_time, a_call_takes_what_its_way_across_the_link_takes) {
  for (const std::string& fidelity : fidelities) {
    SCOPED_TRACE(fidelity);
    // The release takes 500, the request is under way for 700; then the host has it, and its answer, half a read away from the device.
    expect_each(500 + 700 + 1100 / 2, one_call, {fidelity, "link.posted_ns=700"});
    // The answer is there before one poll has been made.
    expect_each(500 + 1100, one_call, {fidelity, "link.posted_ns=10"});
  }
}

TEST(virtual_time, twice_the_latency_of_the_link_is_twice_the_time) {
  expect_each(3500, one_call, {"link.posted_ns=1400", "link.read_ns=2200", "link.fence_ns=1000"});
}

TEST(virtual_time, mailboxes_in_device_memory_are_polled_at_home_by_the_device) {
  // There the host polls across the link, and the device in its own memory.
  for (const char* fidelity : {"fidelity=link", "fidelity=scoped"})
    expect_each(500 + 1100 / 2 + 700 + 320 / 2, one_call, {fidelity, "buffer=device", "link.posted_ns=700"});
  expect_each(500 + 1100 / 2 + 700 + 40 / 2, one_call, {"buffer=device", "link.posted_ns=700", "memory.device_ns=40"});
}

/// A call of the host: what it does in it.
program by_host(const std::function<void(device&, uint32_t* shared, uint32_t* on_device)>& does) {
  return [does] {
    device on;
    auto* const shared = on.allocate_shared<uint32_t>(64, "shared");
    auto* const on_device = on.allocate_device<uint32_t>(64, "on the device");
    target::call_begins();
    does(on, shared, on_device);
    target::call_ends(true);
  };
}

/// A call of one lane.
template <typename Does>
program by_lane(Does does) {
  return [does] {
    device on;
    auto* const shared = on.allocate_shared<uint32_t>(64, "shared");
    auto* const on_device = on.allocate_device<uint32_t>(64, "on the device");
    on.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] {
      target::call_begins();
      does(shared, on_device);
      target::call_ends(true);
    });
    on.synchronize();
  };
}

TEST(virtual_time, atomics_across_the_link_are_round_trips) {
  for (const std::string& fidelity : fidelities) {
    SCOPED_TRACE(fidelity);
    const auto twice_far = [](uint32_t* shared, uint32_t*) {
      word<uint32_t>(shared[0]).fetch_add(1, memory_order::relaxed);
      uint32_t found = 5;
      word<uint32_t>(shared[1]).compare_exchange_strong(found, 1, memory_order::relaxed);
    };
    expect_each(uint64_t{2} * 1100, by_lane(twice_far), {fidelity});
    const auto near = [](uint32_t*, uint32_t* on_device) {
      word<uint32_t>(on_device[0]).fetch_add(1, memory_order::relaxed);
    };
    expect_each(320, by_lane(near), {fidelity});
    expect_each(1100, by_host([](device&, uint32_t*, uint32_t* on_device) {
                  word<uint32_t>(on_device[0]).fetch_add(1, memory_order::relaxed);
                }),
                {fidelity});
  }
}

TEST(virtual_time, plain_loads_in_a_row_go_beside_each_other) {
  const auto reads = [](uint32_t* shared, uint32_t*) {
    uint32_t sum = 0;
    for (uint32_t n = 0; n < 8; ++n) sum += shared[n];
    SIM_CHECK(sum == 0);
  };
  expect_each(1100, by_lane(reads), {});
}

TEST(virtual_time, launches_and_copies_have_times_of_their_own) {
  for (const std::string& fidelity : fidelities) {
    SCOPED_TRACE(fidelity);
    const auto launches = [](device& on, uint32_t*, uint32_t*) {
      on.launch({.blocks = 2, .waves = 2, .lanes = 2}, [] {});
      on.synchronize();
    };
    expect_each(5000, by_host(launches), {fidelity});
    expect_each(70, by_host(launches), {fidelity, "link.launch_ns=70"});
    const auto copies = [](device& on, uint32_t* shared, uint32_t* on_device) {
      on.copy(on_device, shared, 64 * sizeof(uint32_t));
    };
    expect_each(6000, by_host(copies), {fidelity});
    expect_each(100 + 256 * 2, by_host(copies), {fidelity, "driver.copy_ns=100", "driver.copy_byte_ps=2000"});
    // A kernel behind a copy in a stream begins when that has ended; it was launched long before.
    const auto in_stream = [](device& on, uint32_t* shared, uint32_t* on_device) {
      const device::stream in = on.create_stream();
      on.copy(on_device, shared, 64 * sizeof(uint32_t), in);
      on.launch(
          {.blocks = 1, .waves = 1, .lanes = 1},
          [on_device] { word<uint32_t>(on_device[0]).fetch_add(1, memory_order::relaxed); }, in);
      on.synchronize(in);
    };
    expect_each(6000 + 320, by_host(in_stream), {fidelity});
  }
}

TEST(virtual_time, a_barrier_lasts_until_the_slowest_lane_has_come) {
  const program body = [] {
    device on;
    auto* const shared = on.allocate_shared<uint32_t>(1, "shared");
    on.launch({.blocks = 1, .waves = 1, .lanes = 3}, [shared] {
      target::call_begins();
      if (target::lane_id() == 1) word<uint32_t>(shared[0]).fetch_add(1, memory_order::relaxed);
      target::sync_lanes(7);
      target::call_ends(true);
    });
    on.synchronize();
  };
  for (const std::string& fidelity : fidelities) EXPECT_EQ(times_of(body, {fidelity}), std::vector<uint64_t>(90, 1100));
}

TEST(virtual_time, who_is_served_second_waits_for_who_is_served_first) {
  // Two lanes ask, one server spends a copy on each.
  const program body = [] {
    device on;
    auto* const asked = on.allocate_shared<uint32_t>(2, "asked");
    auto* const answered = on.allocate_shared<uint32_t>(2, "answered");
    auto* const there = on.allocate_device<uint32_t>(1, "there");
    auto server = on.spawn_host("server", [=] {
      device here;
      for (uint32_t done = 0; done != 3;) {
        target::pause();
        for (uint32_t n = 0; n < 2; ++n) {
          if ((done >> n & 1) != 0 || word<uint32_t>(asked[n]).load(memory_order::acquire) == 0) continue;
          uint32_t value = n;
          here.copy(there, &value, sizeof value);
          word<uint32_t>(answered[n]).store(1, memory_order::release);
          done |= 1u << n;
        }
      }
    });
    on.launch({.blocks = 2, .waves = 1, .lanes = 1}, [asked, answered] {
      target::call_begins();
      word<uint32_t>(asked[target::block_id()]).store(1, memory_order::release);
      while (word<uint32_t>(answered[target::block_id()]).load(memory_order::acquire) == 0) target::pause();
      target::call_ends(true);
    });
    on.synchronize();
    server.join();
  };
  std::vector<uint64_t> took = times_of(body, {"link.posted_ns=700"}, 40);
  ASSERT_EQ(took.size(), 80U);
  std::sort(took.begin(), took.end());
  const auto times = [&](uint64_t ns) { return std::count(took.begin(), took.end(), ns); };
  EXPECT_EQ(times(1750 + 6000), 40) << took.front() << " to " << took.back();
  EXPECT_EQ(times(1750 + 2 * 6000), 40);
}

TEST(virtual_time, a_heavy_tail_is_in_the_tail) {
  const std::vector<uint64_t> fixed = times_of(one_call, {}, 300);
  EXPECT_EQ(*std::max_element(fixed.begin(), fixed.end()), *std::min_element(fixed.begin(), fixed.end()));
  for (const std::string& fidelity : fidelities) {
    std::vector<uint64_t> heavy = times_of(one_call, {fidelity, "link.latency=heavy"}, 300);
    std::sort(heavy.begin(), heavy.end());
    EXPECT_GE(heavy.front(), fixed.front());
    EXPECT_LT(heavy[150], 10 * fixed.front());
    EXPECT_GT(heavy[296], 10 * heavy[150]) << "of 300 draws of which one in n is n times the least";
    EXPECT_EQ(times_of(one_call, {fidelity, "link.latency=heavy"}, 20),
              times_of(one_call, {fidelity, "link.latency=heavy"}, 20))
        << "the same whenever it is asked for";
  }
}

TEST(virtual_time, only_calls_that_come_to_something_count_and_each_once) {
  const program body = [] {
    device on;
    auto* const shared = on.allocate_shared<uint32_t>(1, "shared");
    on.launch({.blocks = 1, .waves = 1, .lanes = 1}, [shared] {
      target::call_begins();
      word<uint32_t>(shared[0]).fetch_add(1, memory_order::relaxed);
      target::call_ends(false);
      target::call_begins();
      target::call_begins();
      word<uint32_t>(shared[0]).fetch_add(1, memory_order::relaxed);
      target::call_ends(true);
      word<uint32_t>(shared[0]).fetch_add(1, memory_order::relaxed);
      target::call_ends(true);
    });
    on.synchronize();
  };
  expect_each(uint64_t{2} * 1100, body, {});
}

TEST(virtual_time, a_program_without_calls_tells_of_none) {
  const program body = [] {
    device on;
    auto* const shared = on.allocate_shared<uint32_t>(1, "shared");
    on.launch({.blocks = 1, .waves = 1, .lanes = 1},
              [shared] { word<uint32_t>(shared[0]).fetch_add(1, memory_order::relaxed); });
    on.synchronize();
  };
  EXPECT_EQ(times_of(body, {}), std::vector<uint64_t>());
}

}  // namespace
}  // namespace heddle::sim
