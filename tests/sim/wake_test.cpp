// What ends a wait and what does not. A wave that works until the waiting one has ended keeps the machine from looking at lanes
// that wait: without a wake-up these programs run into the budget.
#include "run.h"

#include <cstring>

namespace heddle::sim::tests {
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

}  // namespace
}  // namespace heddle::sim::tests
