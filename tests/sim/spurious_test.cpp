// A weak compare-exchange may fail although it finds what it expects, where the machine is set so; a strong one never does.
#include "run.h"

#include <algorithm>
#include <atomic>

namespace heddle::sim::tests {
namespace {

constexpr auto relaxed = memory_order::relaxed;

/// How one lane's compare-exchanges of a word that no other lane touches went.
struct attempts {
  uint32_t failed = 0;         ///< in all
  uint32_t longest = 0;        ///< of them in a row, at most
  uint32_t wrong_reasons = 0;  ///< after which `expected` was another value
};

enum class tried : uint8_t { weak, strong, standard_weak, standard_strong };

bool exchanged(tried how, uint32_t& plain, std::atomic<uint32_t>& standard, uint32_t& expected, uint32_t desired) {
  switch (how) {
    case tried::weak:
      return word<uint32_t>(plain).compare_exchange_weak(expected, desired, relaxed);
    case tried::strong:
      return word<uint32_t>(plain).compare_exchange_strong(expected, desired, relaxed);
    case tried::standard_weak:
      return standard.compare_exchange_weak(expected, desired, std::memory_order_relaxed);
    case tried::standard_strong:
      return standard.compare_exchange_strong(expected, desired, std::memory_order_relaxed);
  }
  return false;
}

struct counters {
  uint32_t plain;
  std::atomic<uint32_t> standard;
};

/// Adds 4 to a word, one by one, as long as it takes.
program adds(tried how, attempts* seen) {
  return [how, seen] {
    device host;
    auto* const memory = host.allocate_shared<counters>(1, "counters");
    auto* const counted = host.allocate_shared<attempts>(1, "attempts");
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [memory, counted, how] {
      // On the lane's stack: a lane that changes memory in between may fail again.
      attempts mine;
      for (uint32_t value = 0; value < 4; ++value) {
        uint32_t in_a_row = 0;
        while (true) {
          uint32_t expected = value;
          if (exchanged(how, memory->plain, memory->standard, expected, value + 1)) break;
          if (expected != value) ++mine.wrong_reasons;
          ++mine.failed;
          mine.longest = std::max(mine.longest, ++in_a_row);
        }
      }
      *counted = mine;
    });
    host.synchronize();
    seen->failed += counted->failed;
    seen->longest = std::max(seen->longest, counted->longest);
    seen->wrong_reasons += counted->wrong_reasons;
  };
}

attempts attempts_of(tried how, const std::vector<std::string>& settings, const char* strategy = "random") {
  attempts seen;
  machine on(settings, strategy);
  EXPECT_TRUE(always(verdict::ok, on.run_many(adds(how, &seen), 200)));
  EXPECT_EQ(seen.wrong_reasons, 0u) << "it found what it expected";
  return seen;
}

TEST(spurious_failure, happens_by_default_once_in_a_row_and_never_where_it_is_switched_off) {
  const attempts seen = attempts_of(tried::weak, {});
  EXPECT_GT(seen.failed, 0u);
  EXPECT_EQ(seen.longest, 1u);
  for (const tried how : {tried::weak, tried::strong, tried::standard_weak, tried::standard_strong})
    EXPECT_EQ(attempts_of(how, {"spurious=0"}).failed, 0u);
}

TEST(spurious_failure, of_a_weak_one_happens_and_not_more_often_in_a_row_than_the_setting_says) {
  for (const char* const fidelity : {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"})
    for (const char* const strategy : {"random", "pct", "unfair", "pos", "starve", "surw"}) {
      const attempts once = attempts_of(tried::weak, {fidelity, "spurious=1"}, strategy);
      EXPECT_GT(once.failed, 0u) << fidelity << ' ' << strategy;
      EXPECT_EQ(once.longest, 1u);
      EXPECT_EQ(attempts_of(tried::strong, {fidelity, "spurious=1"}, strategy).failed, 0u);
    }
  EXPECT_EQ(attempts_of(tried::weak, {"spurious=3"}).longest, 3u);
}

#ifndef __clang__  // which tells the runtime of every compare-exchange that it is a strong one
TEST(spurious_failure, of_the_standards_atomics) {
  const attempts seen = attempts_of(tried::standard_weak, {"spurious=2"});
  EXPECT_GT(seen.failed, 0u);
  EXPECT_EQ(seen.longest, 2u);
  EXPECT_EQ(attempts_of(tried::standard_strong, {"spurious=2"}).failed, 0u);
}
#endif

TEST(spurious_failure, makes_nobody_hang_who_tries_again) {
  const program locked = [] {
    device host;
    auto* const memory = host.allocate_shared<uint32_t>(2, "lock and count");
    host.launch({.blocks = 1, .waves = 3, .lanes = 1}, [memory] {
      uint32_t expected = 0;
      while (!word<uint32_t>(memory[0]).compare_exchange_weak(expected, 1, memory_order::acquire)) {
        expected = 0;
        target::pause();
      }
      ++memory[1];
      word<uint32_t>(memory[0]).store(0, memory_order::release);
    });
    host.synchronize();
    if (memory[1] != 3) target::trap(fault::assertion, "two had the lock at a time");
  };
  for (const char* const fidelity : {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"})
    for (const char* const strategy : {"random", "rhythm", "starve", "unfair"})
      for (const char* const spurious : {"spurious=1", "spurious=1000"}) {
        machine on({fidelity, spurious, "budget=20000"}, strategy);
        EXPECT_TRUE(always(verdict::ok, on.run_many(locked, 300)));
      }
}

TEST(spurious_failure, is_repeated_with_the_seed) {
  machine on({"spurious=2"});
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    // The program reads what is there before: a run must not find what another one has counted.
    attempts first;
    attempts again;
    EXPECT_EQ(on.run(adds(tried::weak, &first), seed).digest, on.run(adds(tried::weak, &again), seed).digest);
  }
}

}  // namespace
}  // namespace heddle::sim::tests
