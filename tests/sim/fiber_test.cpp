// What lanes run on: exceptions stay with their lane, stacks are used again, and one that is too small is told.
#include "fixed_program.h"
#include "run.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>

namespace heddle::sim::tests::fiber_test {
namespace {

constexpr auto relaxed = memory_order::relaxed;

/// Lets others run in between.
void switch_lanes(uint32_t* words) { word<uint32_t>(words[0]).fetch_add(1, relaxed); }

struct switches_when_destroyed {
  uint32_t* words;
  explicit switches_when_destroyed(uint32_t* some) : words(some) {}
  ~switches_when_destroyed() {
    const int unwinding = std::uncaught_exceptions();
    switch_lanes(words);
    SIM_CHECK(std::uncaught_exceptions() == unwinding && unwinding == 1);
  }
};

struct thrown_by {
  uint32_t lane;
  uint32_t round;
};

void throw_catch_and_rethrow(uint32_t* words, uint32_t self) {
  for (uint32_t round = 0; round < 4; ++round) {
    SIM_CHECK(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
    try {
      try {
        const switches_when_destroyed here(words);
        switch_lanes(words);
        throw thrown_by{self, round};
      } catch (const thrown_by& outer) {
        switch_lanes(words);
        SIM_CHECK(outer.lane == self && outer.round == round);
        try {
          throw std::runtime_error(std::to_string(self));
        } catch (const std::runtime_error& inner) {
          switch_lanes(words);
          SIM_CHECK(inner.what() == std::to_string(self));
        }
        // The exception of the outer block again, not that of another lane that is in its block now.
        switch_lanes(words);
        throw;
      }
    } catch (const thrown_by& again) {
      switch_lanes(words);
      SIM_CHECK(again.lane == self && again.round == round);
    }
  }
}

TEST(fibers, exceptions_stay_with_the_lane_that_throws_them) {
  for (const std::string& strategy : all_strategies()) {
    machine on({"stack_kib=64"}, strategy);
    EXPECT_TRUE(always(verdict::ok, on.run_many(
                                        [] {
                                          device host;
                                          auto* const words = host.allocate_shared<uint32_t>(1, "words");
                                          auto thread = host.spawn_host(
                                              "thrower", [words] { throw_catch_and_rethrow(words, 100); });
                                          host.launch({.blocks = 1, .waves = 2, .lanes = 3}, [words] {
                                            throw_catch_and_rethrow(words, target::wave_id() * 3 + target::lane_id());
                                          });
                                          throw_catch_and_rethrow(words, 200);
                                          host.synchronize();
                                        },
                                        50)));
  }
}

TEST(fibers, a_lane_that_is_abandoned_in_a_catch_block_leaves_nothing_behind) {
  machine on;
  const outcome ended = on.run([] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(2, "words");
    host.launch({.blocks = 1, .waves = 1, .lanes = 2}, [words] {
      try {
        throw 1;
      } catch (int) {
        while (word<uint32_t>(words[1]).load(relaxed) == 0) target::pause();
      }
    });
    host.synchronize();
  });
  EXPECT_EQ(ended.verdict, verdict::deadlock);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(std::current_exception(), nullptr);
  EXPECT_THROW(throw std::runtime_error("outside of runs"), std::runtime_error);
}

TEST(fibers, stacks_are_used_again_within_a_run_and_by_the_next_one) {
  const auto fills_its_stack = [](uint32_t blocks, bool hangs) {
    return [blocks, hangs] {
      device host;
      auto* const words = host.allocate_shared<uint32_t>(2, "words");
      host.launch({.blocks = blocks, .waves = 1, .lanes = 8}, [words, hangs] {
        const uint32_t self = target::wave_id() * 8 + target::lane_id();
        volatile uint32_t own[1024];
        for (uint32_t n = 0; n < 1024; ++n) own[n] = self + n;
        switch_lanes(words);
        for (uint32_t n = 0; n < 1024; ++n) SIM_CHECK(own[n] == self + n);
        if (hangs && self == 20)
          while (word<uint32_t>(words[1]).load(relaxed) == 0) target::pause();
      });
      host.synchronize();
    };
  };
  machine on({"resident=2"});
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(on.run(fills_its_stack(30, true), seed).verdict, verdict::deadlock) << "seed " << seed;
    EXPECT_EQ(on.run(fills_its_stack(30, false), seed).verdict, verdict::ok) << "seed " << seed;
  }
}

TEST(fibers, a_machine_may_change_the_size_of_its_stacks_from_run_to_run) {
  for (const char* size : {"stack_kib=8", "stack_kib=1024", "host_stack_kib=64", "host_stack_kib=8192"}) {
    machine on({size});
    EXPECT_EQ(on.run([] {
                  device host;
                  auto* const words = host.allocate_shared<uint32_t>(1, "words");
                  host.launch({.blocks = 4, .waves = 1, .lanes = 4}, [words] { switch_lanes(words); });
                  host.synchronize();
                }).verdict,
              verdict::ok);
  }
}

// -- too small a stack ----------------------------------------------------------------------------------------------------------------

__attribute__((noinline)) uint32_t use_stack(uint32_t* words, uint32_t kib) {
  volatile char frame[1024];
  // An index that is not a constant: all of the frame is needed.
  frame[kib] = static_cast<char>(kib);
  if (kib == 0) return 0;
  if (kib % 16 == 0) switch_lanes(words);
  return use_stack(words, kib - 1) + static_cast<uint32_t>(frame[kib]);
}

program lane_that_uses(uint32_t kib) {
  return [kib] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(1, "words");
    host.launch({.blocks = 1, .waves = 2, .lanes = 3}, [words, kib] {
      if (target::wave_id() == 1 && target::lane_id() == 2) use_stack(words, kib);
    });
    host.synchronize();
  };
}

program host_that_uses(uint32_t kib) {
  return [kib] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(1, "words");
    host.spawn_host("worker", [words, kib] { use_stack(words, kib); }).join();
  };
}

TEST(stack_overflow, of_a_lane_is_a_crash_that_names_the_lane_the_function_and_the_setting) {
  machine on;
  const outcome ended = on.run(lane_that_uses(100));
  EXPECT_EQ(ended.verdict, verdict::crash);
  EXPECT_NE(ended.message.find("the stack of wave 1 lane 2 is too small in "), std::string::npos) << ended.message;
  EXPECT_NE(ended.message.find("raise stack_kib, which is 16"), std::string::npos) << ended.message;
  EXPECT_NE(ended.where.find("fiber_test.cpp:"), std::string::npos) << ended.where;
  machine larger({"stack_kib=128"});
  EXPECT_EQ(larger.run(lane_that_uses(100)).verdict, verdict::ok);
}

TEST(stack_overflow, of_a_host_thread_names_the_thread_and_its_setting) {
  machine on;
  const outcome ended = on.run(host_that_uses(600));
  EXPECT_EQ(ended.verdict, verdict::crash);
  EXPECT_NE(ended.message.find("the stack of host worker is too small"), std::string::npos) << ended.message;
  EXPECT_NE(ended.message.find("raise host_stack_kib, which is 256"), std::string::npos) << ended.message;
  machine larger({"host_stack_kib=1024"});
  EXPECT_EQ(larger.run(host_that_uses(600)).verdict, verdict::ok);
}

TEST(a_fault, of_code_under_test_is_a_crash_and_the_machine_goes_on) {
  void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  machine on;
  for (int repeated = 0; repeated < 3; ++repeated) {
    const outcome ended = on.run([page] { *static_cast<volatile char*>(page) = 1; });
    EXPECT_EQ(ended.verdict, verdict::crash);
    EXPECT_NE(ended.message.find("SIGSEGV: a store to "), std::string::npos) << ended.message;
    EXPECT_NE(ended.where.find("fiber_test.cpp:"), std::string::npos) << ended.where;
    EXPECT_EQ(on.run([] {}).verdict, verdict::ok);
  }
  EXPECT_DEATH(*static_cast<volatile char*>(page) = 1, "") << "outside of a run it ends the process";
  munmap(page, 4096);
}

// -- Several simulations at a time, each on an OS thread of its own, and several on one thread by turns.

/// Digests and verdicts of some schedules, those that hang and throw among them.
std::vector<uint64_t> runs(machine& on) {
  std::vector<uint64_t> all;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    all.push_back(on.run(fixed_program, seed).digest);
    const outcome hang = on.run(
        [] {
          device host;
          auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
          host.launch({.blocks = 1, .waves = 1, .lanes = 2}, [flag] {
            try {
              throw target::lane_id();
            } catch (uint32_t) {
              while (word<uint32_t>(*flag).load(memory_order::acquire) == 0) target::pause();
            }
          });
          host.synchronize();
        },
        seed, seed % 10 == 0);
    all.push_back(static_cast<uint64_t>(hang.verdict));
    all.push_back(hang.digest);
  }
  return all;
}

TEST(threads, simulations_on_two_threads_do_not_disturb_each_other) {
  machine alone;
  const std::vector<uint64_t> expected = runs(alone);
  std::vector<uint64_t> seen[2];
  std::atomic<int> ready = 0;
  {
    std::vector<std::jthread> threads;
    for (auto& each : seen)
      threads.emplace_back([&each, &ready] {
        machine own;
        ++ready;
        while (ready != 2) std::this_thread::yield();
        each = runs(own);
      });
  }
  EXPECT_EQ(seen[0], expected);
  EXPECT_EQ(seen[1], expected);
}

TEST(threads, two_machines_on_one_thread_take_turns) {
  machine one;
  machine other({"progress=obe", "stack_kib=32"}, "starve");
  const std::vector<uint64_t> expected = runs(one);
  const std::vector<uint64_t> expected_of_other = runs(other);
  EXPECT_NE(expected, expected_of_other);
  EXPECT_EQ(runs(one), expected);
  EXPECT_EQ(runs(other), expected_of_other);
}

/// All lanes are on their way at once.
void all_meet() {
  constexpr uint32_t blocks = 540;
  constexpr uint32_t lanes = 32;
  device some;
  auto* const words = some.allocate_shared<uint32_t>(1, "words");
  some.launch({.blocks = blocks, .waves = 1, .lanes = lanes}, [=] {
    const word<uint32_t> come(words[0]);
    come.fetch_add(1, relaxed);
    while (come.load(relaxed) != blocks * lanes) target::pause();
  });
  some.synchronize();
  some.free(words);
}

TEST(threads, machines_of_many_lanes_leave_the_process_mappings) {
  machine one({"stack_kib=16", "budget=10000000"});
  machine other({"stack_kib=16", "budget=10000000"});
  EXPECT_EQ(one.run(all_meet, 1).verdict, verdict::ok);
  EXPECT_EQ(other.run(all_meet, 1).verdict, verdict::ok);
  std::ifstream maps("/proc/self/maps");
  const auto mappings = std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
  // Of 65,530 that Linux gives.
  EXPECT_LT(mappings, 50'000);
  EXPECT_GT(mappings, 17'000) << "most stacks have guards";
}

}  // namespace
}  // namespace heddle::sim::tests::fiber_test
