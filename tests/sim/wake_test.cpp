// What ends a wait and what does not. A wave that works until the waiting one has ended keeps the machine from looking at lanes
// that wait: without a wake-up these programs run into the budget.
#include "run.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace heddle::sim::tests::wake_test {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

struct shared_memory {
  alignas(16) uint32_t watched[16];
  uint32_t looks;
  uint32_t work;
  uint32_t done;
};

/// Wave 0 works and then changes `watched`, wave 1 waits for its word number 1 to become 1, wave 2 works until wave 1 has ended.
/// Returns to the host how often wave 1 looked.
template <typename Change>
program change_beside_work(Change change, uint32_t* looks_most = nullptr) {
  return [change, looks_most] {
    device host;
    auto* const memory = host.allocate_shared<shared_memory>(1, "memory");
    host.launch({.blocks = 1, .waves = 3, .lanes = 1}, [memory, change] {
      const word<uint32_t> work(memory->work);
      const word<uint32_t> done(memory->done);
      switch (target::wave_id()) {
        case 0:
          for (uint32_t n = 0; n < 10; ++n) work.fetch_add(1, relaxed);
          change(memory->watched);
          break;
        case 1: {
          uint32_t looks = 1;
          for (; word<uint32_t>(memory->watched[1]).load(acquire) != 1; ++looks) target::pause();
          memory->looks = looks;
          done.store(1, release);
          break;
        }
        default:
          while (done.load(acquire) == 0) work.fetch_add(1, relaxed);
      }
    });
    host.synchronize();
    if (looks_most != nullptr && memory->looks > *looks_most) *looks_most = memory->looks;
  };
}

const std::vector<std::string> no_wakes_for_nothing = {"wakes=0", "budget=20000"};

template <typename Change>
testing::AssertionResult wakes(Change change) {
  machine on(no_wakes_for_nothing);
  return always(verdict::ok, on.run_many(change_beside_work(change), 50));
}

TEST(waking, a_change_of_another_word_leaves_the_wait_as_it_is) {
  machine on(no_wakes_for_nothing);
  EXPECT_TRUE(always(verdict::budget, on.run_many(change_beside_work([](uint32_t* watched) {
                                                    word<uint32_t>(watched[0]).store(1, release);
                                                    watched[2] = 1;
                                                  }),
                                                  5)));
}

TEST(waking, by_an_atomic_store) {
  EXPECT_TRUE(wakes([](uint32_t* watched) { word<uint32_t>(watched[1]).store(1, release); }));
}

TEST(waking, by_a_read_modify_write) {
  EXPECT_TRUE(wakes([](uint32_t* watched) { word<uint32_t>(watched[1]).fetch_add(1, relaxed); }));
  EXPECT_TRUE(wakes([](uint32_t* watched) {
    uint32_t expected = 0;
    word<uint32_t>(watched[1]).compare_exchange_strong(expected, 1, relaxed);
  }));
}

TEST(waking, by_a_plain_store_that_is_the_last_thing_its_lane_does) {
  EXPECT_TRUE(wakes([](uint32_t* watched) { watched[1] = 1; }));
}

TEST(waking, by_a_plain_store_of_one_byte_of_the_word) {
  EXPECT_TRUE(wakes([](uint32_t* watched) { *reinterpret_cast<unsigned char*>(watched + 1) = 1; }));
}

TEST(waking, by_a_wider_store_that_overlaps_the_word) {
  EXPECT_TRUE(wakes([](uint32_t* watched) {
    word<uint64_t>(*reinterpret_cast<uint64_t*>(watched)).store(uint64_t{1} << 32, release);
  }));
  EXPECT_TRUE(wakes([](uint32_t* watched) { *reinterpret_cast<uint64_t*>(watched) = uint64_t{1} << 32; }));
}

TEST(waking, by_an_unaligned_store_across_two_words) {
  EXPECT_TRUE(wakes([](uint32_t* watched) {
    struct __attribute__((packed)) unaligned {
      uint16_t half;
    };
    reinterpret_cast<unaligned*>(reinterpret_cast<unsigned char*>(watched) + 3)->half = 0x100;
  }));
}

TEST(waking, by_memcpy_memset_and_the_copy_of_a_struct) {
  static const uint32_t ones[4] = {1, 1, 1, 1};
  EXPECT_TRUE(wakes([](uint32_t* watched) { std::memcpy(watched, ones, sizeof ones); }));
  EXPECT_TRUE(wakes([](uint32_t* watched) {
    volatile size_t words = 3;  // no constant: the call stays a call
    std::memset(watched + 1, 1, words);
    std::memset(reinterpret_cast<unsigned char*>(watched + 1) + 1, 0, words);
  }));
  struct block {
    uint32_t words[4];
  };
  EXPECT_TRUE(wakes([](uint32_t* watched) { *reinterpret_cast<block*>(watched) = block{{0, 1, 2, 3}}; }));
}

TEST(waking, by_the_copy_of_a_struct_from_shared_memory) {
  // g++ announces the write of such a copy before the read, and both before it copies.
  struct pair {
    uint32_t words[2];
  };
  struct block {
    uint32_t words[4];
    uint32_t more[4];
  };
  EXPECT_TRUE(wakes([](uint32_t* watched) {
    watched[3] = 1;
    *reinterpret_cast<pair*>(watched) = *reinterpret_cast<const pair*>(watched + 2);
  }));
  const auto copies_a_block = [](uint32_t* watched) {
    auto* const source = reinterpret_cast<block*>(watched + 8);
    source->words[1] = 1;
    *reinterpret_cast<block*>(watched) = *source;
  };
  EXPECT_TRUE(wakes(copies_a_block));
}

TEST(waking, by_a_copy_that_the_device_makes) {
  machine on(no_wakes_for_nothing);
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [] {
                                        device host;
                                        auto* const flag = host.allocate_device<uint32_t>(3, "flag");
                                        host.launch({.blocks = 1, .waves = 2, .lanes = 1}, [flag] {
                                          if (target::wave_id() == 0) {
                                            while (word<uint32_t>(flag[0]).load(acquire) == 0) target::pause();
                                            word<uint32_t>(flag[1]).store(1, release);
                                          } else {
                                            while (word<uint32_t>(flag[1]).load(acquire) == 0)
                                              word<uint32_t>(flag[2]).fetch_add(1, relaxed);
                                          }
                                        });
                                        const uint32_t one = 1;
                                        host.copy(flag, &one, sizeof one);
                                        host.synchronize();
                                      },
                                      50)));
}

TEST(waking, stores_that_leave_the_value_as_it_was_do_not_wake) {
  const auto silent = [](uint32_t* watched) {
    for (uint32_t n = 0; n < 50; ++n) {
      word<uint32_t>(watched[1]).store(0, release);
      word<uint32_t>(watched[1]).exchange(0, relaxed);
      word<uint32_t>(watched[1]).fetch_or(0, relaxed);
      uint32_t expected = 7;
      word<uint32_t>(watched[1]).compare_exchange_strong(expected, 9, relaxed);
      watched[1] = 0;
      std::memset(watched, 0, 16);
    }
    word<uint32_t>(watched[1]).store(1, release);
  };
  uint32_t looks_most = 0;
  machine on(no_wakes_for_nothing);
  EXPECT_TRUE(always(verdict::ok, on.run_many(change_beside_work(silent, &looks_most), 50)));
  EXPECT_LE(looks_most, 3u);
}

TEST(waking, stores_of_other_values_do_wake) {
  const auto loud = [](uint32_t* watched) {
    for (uint32_t n = 0; n < 50; ++n) word<uint32_t>(watched[1]).store(2 + n % 2, release);
    word<uint32_t>(watched[1]).store(1, release);
  };
  uint32_t looks_most = 0;
  machine on(no_wakes_for_nothing);
  EXPECT_TRUE(always(verdict::ok, on.run_many(change_beside_work(loud, &looks_most), 50)));
  EXPECT_GT(looks_most, 3u);
}

TEST(waking, who_waits_takes_no_steps_while_others_work) {
  const auto after_work = [](uint32_t turns) {
    return [turns] {
      device host;
      auto* const memory = host.allocate_shared<uint32_t>(2, "flag and work");
      // Sixty lanes wait, one works.
      host.launch({.blocks = 1, .waves = 61, .lanes = 1}, [memory, turns] {
        if (target::wave_id() != 0) {
          while (word<uint32_t>(memory[0]).load(acquire) == 0) target::pause();
          return;
        }
        for (uint32_t n = 0; n < turns; ++n) word<uint32_t>(memory[1]).fetch_add(1, relaxed);
        word<uint32_t>(memory[0]).store(1, release);
      });
      host.synchronize();
    };
  };
  for (const std::string& strategy : all_strategies()) {
    machine on({}, strategy);
    const uint64_t little = on.run(after_work(0)).steps;
    const outcome much = on.run(after_work(5000));
    EXPECT_EQ(much.verdict, verdict::ok);
    // Each looks again now and then, at distances that grow.
    EXPECT_LT(much.steps, 5000 + little + uint64_t{61} * 16) << on.about();
  }
}

TEST(waking, a_lane_does_not_wait_while_a_sibling_waits_for_it_at_a_collective) {
  // One lane looks for both, and each turn has a second collective: a lane may come to its pause when the other is at the next
  // turn's first one already, and knows better.
  const auto one_looks_for_all = [] {
    device host;
    auto* const stop = host.allocate_shared<uint32_t>(1, "stop");
    host.launch({.blocks = 1, .waves = 2, .lanes = 2}, [stop] {
      while (true) {
        const bool ends = target::broadcast(uint64_t{3}, word<uint32_t>(*stop).load(acquire)) != 0;
        (void)target::broadcast(uint64_t{3}, uint32_t{0});
        if (ends) return;
        target::pause();
      }
    });
    word<uint32_t>(*stop).store(1, release);
    host.synchronize();
  };
  // The first lane sees the flag late, the other at once: only so does the other know nothing new when it pauses again.
  std::vector<std::string> settings = no_wakes_for_nothing;
  settings.emplace_back("fidelity=scoped");
  for (const std::string& strategy : all_strategies()) {
    machine on(settings, strategy);
    EXPECT_TRUE(always(verdict::ok, on.run_many(one_looks_for_all, 2000)));
  }
}

TEST(waking, a_sibling_that_comes_to_a_collective_ends_the_wait_of_a_lane_that_it_names) {
  machine on(no_wakes_for_nothing);
  const tally seen = on.run_many(
      [] {
        device host;
        auto* const memory = host.allocate_device<uint32_t>(3, "memory");
        host.launch({.blocks = 1, .waves = 2, .lanes = 2}, [memory] {
          const word<uint32_t> done(memory[1]);
          if (target::wave_id() == 1) {
            while (done.load(acquire) == 0) word<uint32_t>(memory[2]).fetch_add(1, relaxed);
            return;
          }
          // Looks twice, then gives up.
          if (target::lane_id() == 0 && word<uint32_t>(memory[0]).load(acquire) == 0) {
            target::pause();
            (void)word<uint32_t>(memory[0]).load(acquire);
          }
          target::sync_lanes(3);
          done.store(1, release);
        });
        host.synchronize();
      },
      50);
  // Only when the sibling came first does nothing wake the lane.
  EXPECT_GT(seen.count(verdict::ok), 0u) << seen.text();
}

// -- A weak compare-exchange may fail although it finds what it expects, where the machine is set so; a strong one never does.

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
}  // namespace heddle::sim::tests::wake_test
