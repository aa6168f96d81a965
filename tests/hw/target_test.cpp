// The host target: lanes that one thread runs, and words, doorbells and traps that several threads use.
#include <heddle/hw/host/target.h>
#include <heddle/rpc/interrupts.h>

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace heddle::host {
namespace {

static_assert(target_machine<target>);
static_assert(target_machine<basic_target<32>>);
static_assert(target_machine<basic_target<64>>);
static_assert(target_machine<polling_target>);

using word = target::atomic_ref<uint32_t, scope::system>;
using namespace std::chrono_literals;

TEST(lanes, one_thread_acts_for_every_lane_of_its_wave) {
  EXPECT_EQ(target::lane_mask(), 1u);
  EXPECT_EQ(target::lane_count(), 1u);
  EXPECT_EQ(basic_target<32>::lane_mask(), 0xffffffffu);
  EXPECT_EQ(basic_target<64>::lane_mask(), ~uint64_t{0});
  EXPECT_EQ(basic_target<64>::lane_count(), 64u);
  EXPECT_TRUE(basic_target<64>::is_first_lane(uint64_t{1} << 63));
  EXPECT_FALSE(basic_target<64>::is_device());
}

TEST(lanes, a_ballot_is_unanimous) {
  constexpr uint64_t mask = uint64_t{1} << 63 | 5;
  EXPECT_EQ(basic_target<64>::ballot(mask, true), mask);
  EXPECT_EQ(basic_target<64>::ballot(mask, false), 0u);
  EXPECT_EQ(basic_target<64>::broadcast(mask, uint64_t{1} << 40), uint64_t{1} << 40);
}

TEST(lanes, for_each_lane_visits_the_lanes_of_the_mask_only) {
  uint64_t visited = 0;
  constexpr uint64_t mask = uint64_t{1} << 63 | 0x15;
  for_each_lane<basic_target<64>>(mask, [&](uint32_t lane) { visited |= uint64_t{1} << lane; });
  EXPECT_EQ(visited, mask);
}

TEST(atomic_ref, has_the_operations_of_the_standard) {
  uint64_t memory = 0xf0;
  const target::atomic_ref<uint64_t, scope::device> ref(memory);
  EXPECT_EQ(ref.load(memory_order::acquire), 0xf0u);
  EXPECT_EQ(ref.fetch_or(0x0f, memory_order::acq_rel), 0xf0u);
  EXPECT_EQ(ref.fetch_and(0x3c, memory_order::release), 0xffu);
  EXPECT_EQ(ref.fetch_add(4, memory_order::relaxed), 0x3cu);
  EXPECT_EQ(ref.fetch_sub(1, memory_order::seq_cst), 0x40u);
  EXPECT_EQ(ref.exchange(7, memory_order::acquire), 0x3fu);
  uint64_t expected = 6;
  EXPECT_FALSE(ref.compare_exchange_strong(expected, 9, memory_order::acq_rel));
  EXPECT_EQ(expected, 7u);
  EXPECT_TRUE(ref.compare_exchange_strong(expected, 9, memory_order::release));
  while (!ref.compare_exchange_weak(expected, 10, memory_order::seq_cst)) {
  }
  EXPECT_EQ(memory, 10u);
}

TEST(atomic_ref, a_release_store_publishes_to_an_acquire_load) {
  uint32_t flag = 0;
  int payload = 0;
  std::thread writer([&] {
    payload = 42;
    word(flag).store(1, memory_order::release);
  });
  while (word(flag).load(memory_order::acquire) == 0) target::pause();
  EXPECT_EQ(payload, 42);
  writer.join();
}

TEST(fence, publishes_like_release_and_acquire) {
  uint32_t flag = 0;
  int payload = 0;
  std::thread writer([&] {
    payload = 42;
    target::fence<scope::system>(memory_order::release);
    word(flag).store(1, memory_order::relaxed);
  });
  while (word(flag).load(memory_order::relaxed) == 0) target::pause();
  target::fence<scope::system>(memory_order::acquire);
  EXPECT_EQ(payload, 42);
  writer.join();
}

TEST(pause, many_threads_on_few_cores_make_progress) {
  // A ring of more threads than cores: each step needs one particular thread to get a core.
  constexpr uint32_t threads = 12;
  constexpr uint32_t rounds = 200;
  uint32_t turn = 0;
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> ring;
  for (uint32_t self = 0; self < threads; ++self)
    ring.emplace_back([&turn, self] {
      for (uint32_t round = 0; round < rounds; ++round) {
        while (word(turn).load(memory_order::acquire) != round * threads + self) target::pause();
        word(turn).fetch_add(1, memory_order::release);
      }
    });
  for (std::thread& member : ring) member.join();
  // 2400 steps; without a yield each could cost a time slice of some milliseconds.
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
}

template <typename Target>
class doorbells : public testing::Test {};
using waiting_targets = testing::Types<target, polling_target>;
TYPED_TEST_SUITE(doorbells, waiting_targets);

TYPED_TEST(doorbells, a_wait_ends_after_its_time_out) {
  doorbell bell = 7;
  const auto start = std::chrono::steady_clock::now();
  // A wait may also end for no reason, so one call proves nothing about time.
  while (std::chrono::steady_clock::now() - start < 20ms) TypeParam::wait(bell, 7, 5'000'000);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TYPED_TEST(doorbells, a_wait_does_not_sleep_on_a_count_that_has_changed) {
  doorbell bell = 8;
  TypeParam::wait(bell, 7, no_timeout);
  SUCCEED();
}

TYPED_TEST(doorbells, a_ring_ends_a_wait_without_a_deadline) {
  doorbell bell = 0;
  std::thread ringer([&] {
    std::this_thread::sleep_for(20ms);
    TypeParam::notify(bell);
  });
  while (word(bell).load(memory_order::acquire) == 0) TypeParam::wait(bell, 0, no_timeout);
  ringer.join();
}

TYPED_TEST(doorbells, no_ring_is_lost_between_several_threads) {
  // Each ringer publishes work and rings once; the waiters sleep without a deadline, so a lost ring hangs the test.
  constexpr uint32_t ringers = 3;
  constexpr uint32_t waiters = 2;
  constexpr uint32_t items_each = 3000;
  doorbell bell = 0;
  uint32_t published = 0;
  uint32_t taken = 0;
  std::vector<std::thread> threads;
  for (uint32_t n = 0; n < waiters; ++n)
    threads.emplace_back([&] {
      for (;;) {
        const uint32_t seen = word(bell).load(memory_order::acquire);
        uint32_t done = word(taken).load(memory_order::acquire);
        if (done == ringers * items_each) return;
        if (done < word(published).load(memory_order::acquire)) {
          word(taken).compare_exchange_strong(done, done + 1, memory_order::acq_rel);
          // The last one out wakes the others, who wait for work that will not come.
          if (done + 1 == ringers * items_each) TypeParam::notify(bell);
          continue;
        }
        TypeParam::wait(bell, seen, no_timeout);
      }
    });
  for (uint32_t n = 0; n < ringers; ++n)
    threads.emplace_back([&] {
      for (uint32_t item = 0; item < items_each; ++item) {
        word(published).fetch_add(1, memory_order::relaxed);
        TypeParam::notify(bell);
        if (item % 64 == 0) std::this_thread::yield();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, ringers * items_each);
}

TYPED_TEST(doorbells, two_threads_that_only_sleep_and_ring_go_on_for_ever) {
  // The polling target naps some 50 us a turn.
  constexpr uint32_t rounds = 2000;
  doorbell bells[2] = {};
  const auto play = [&](uint32_t self) {
    for (uint32_t round = 0; round < rounds; ++round) {
      if (self == 0) TypeParam::notify(bells[1]);
      while (word(bells[self]).load(memory_order::acquire) == round) TypeParam::wait(bells[self], round, no_timeout);
      if (self == 1) TypeParam::notify(bells[0]);
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(bells[0], rounds);
}

TEST(sleepers, are_all_woken_by_one_ring) {
  constexpr uint32_t waiters = 4;
  doorbell bell = 0;
  std::vector<std::thread> threads;
  for (uint32_t n = 0; n < waiters; ++n)
    threads.emplace_back([&] {
      while (word(bell).load(memory_order::acquire) == 0) target::wait(bell, 0, no_timeout);
    });
  std::this_thread::sleep_for(20ms);
  target::notify(bell);
  for (std::thread& thread : threads) thread.join();
}

// -- rings that only an interrupt tells of ------------------------------------------------------------------------------------

/// A signal of this process, in place of one that a GPU raises.
struct played_signal {
  doorbell* count;

  uint64_t value() const { return word(*count).load(memory_order::acquire); }
  void wait_while(uint64_t seen) const { target::wait(*count, static_cast<uint32_t>(seen), no_timeout); }
  void raise() const { target::notify(*count); }
};

struct interrupts_test : testing::Test {
  doorbell signal = 0;
  doorbell passed_on = 0;
  uint32_t ends = 0;
  rpc::interrupts<target, played_signal> all{{&signal}, passed_on, ends};
  std::thread passing{[this] { all.pass_on(); }};

  ~interrupts_test() override {
    all.end();
    passing.join();
  }
};

TEST_F(interrupts_test, wake_a_thread_at_each_ring_of_a_kernel_though_it_waits_without_a_time_out) {
  constexpr uint32_t rings = 2'000;
  doorbell bell = 0;
  uint32_t served = 0;
  std::thread kernel([&] {
    for (uint32_t n = 1; n <= rings; ++n) {
      // As a kernel does: the doorbell wakes no thread.
      word(bell).fetch_add(1, memory_order::release);
      played_signal{&signal}.raise();
      while (word(served).load(memory_order::acquire) != n) target::pause();
    }
  });
  for (uint32_t n = 0; n < rings; ++n) {
    while (word(bell).load(memory_order::acquire) == n) all.wait(bell, n, no_timeout);
    word(served).store(n + 1, memory_order::release);
  }
  kernel.join();
  EXPECT_EQ(bell, rings);
}

TEST_F(interrupts_test, of_one_doorbell_wake_the_threads_of_all_and_each_looks_at_its_own) {
  constexpr uint32_t bells = 3;
  constexpr uint32_t rings = 2'000;
  doorbell bell[bells] = {};
  std::vector<std::thread> waiting;
  for (uint32_t n = 0; n < bells; ++n)
    waiting.emplace_back([&, n] {
      for (uint32_t seen = 0; seen < rings;) {
        all.wait(bell[n], seen, no_timeout);
        seen = word(bell[n]).load(memory_order::acquire);
      }
    });
  for (uint32_t n = 0; n < bells * rings; ++n) {
    word(bell[n % bells]).fetch_add(1, memory_order::release);
    played_signal{&signal}.raise();
  }
  for (std::thread& thread : waiting) thread.join();
}

TEST_F(interrupts_test, are_not_needed_where_a_host_thread_rings) {
  doorbell bell = 0;
  std::thread waiting([&] {
    while (word(bell).load(memory_order::acquire) == 0) all.wait(bell, 0, no_timeout);
  });
  std::this_thread::sleep_for(5ms);
  all.notify(bell);
  waiting.join();
  EXPECT_EQ(signal, 0u);
}

TEST_F(interrupts_test, that_are_lost_are_made_up_for_by_a_time_out) {
  doorbell bell = 0;
  std::thread kernel([&] {
    std::this_thread::sleep_for(10ms);
    word(bell).fetch_add(1, memory_order::release);
  });
  while (word(bell).load(memory_order::acquire) == 0) all.wait(bell, 0, 5'000'000);
  kernel.join();
  EXPECT_EQ(signal, 0u);
}

struct trapped : std::runtime_error {
  trapped(fault why, const char* message) : std::runtime_error(message), reason(why) {}
  fault reason;
};

/// Traps are exceptions while one of these lives.
class throwing_traps {
 public:
  throwing_traps()
      : before_(set_trap_handler([](fault reason, const char* message) { throw trapped(reason, message); })) {}
  ~throwing_traps() { set_trap_handler(before_); }

 private:
  trap_handler before_;
};

TEST(trap, reaches_the_installed_handler_which_may_throw) {
  const throwing_traps guard;
  try {
    target::trap(fault::protocol, "two owners");
    FAIL() << "a trap came back";
  } catch (const trapped& trap) {
    EXPECT_EQ(trap.reason, fault::protocol);
    EXPECT_STREQ(trap.what(), "two owners");
  }
}

TEST(trap, meets_a_load_that_releases_and_a_store_that_acquires) {
  const throwing_traps guard;
  uint32_t memory = 0;
  EXPECT_THROW(word(memory).load(memory_order::release), trapped);
  EXPECT_THROW(word(memory).load(memory_order::acq_rel), trapped);
  EXPECT_THROW(word(memory).store(1, memory_order::acquire), trapped);
  EXPECT_THROW(word(memory).store(1, memory_order::acq_rel), trapped);
  EXPECT_EQ(memory, 0u);
}

TEST(trap_death_test, prints_one_line_and_ends_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(target::trap(fault::assertion, "not today"), "^heddle: assertion: not today\n$");
}

}  // namespace
}  // namespace heddle::host
