// In how many ways a program runs: what lanes did and found tells two of them apart, and nothing else.
#include <mutex>
#include <set>
#include <thread>

#include "run.h"

namespace heddle::sim::tests::behaviour_test {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

struct seen_in {
  std::set<uint64_t> behaviours;
  std::set<uint64_t> digests;
};

seen_in many(const program& body, std::vector<std::string> settings = {}) {
  settings.emplace_back("behaviours=count");
  seen_in all;
  for (const std::string& strategy : all_strategies()) {
    machine on(settings, strategy);
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      const outcome ended = on.run(body, seed);
      EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
      EXPECT_NE(ended.behaviour, 0u);
      all.behaviours.insert(ended.behaviour);
      all.digests.insert(ended.digest);
    }
  }
  return all;
}

template <typename Body>
program of_two_waves(Body body) {
  return [=] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(32, "words");
    host.launch({.blocks = 2, .waves = 1, .lanes = 1}, [=] { body(words); });
    host.synchronize();
  };
}

TEST(behaviour, is_one_where_no_lane_notices_the_other) {
  const seen_in all = many(of_two_waves([](uint32_t* words) {
    const word<uint32_t> mine(words[16 * target::block_id()]);
    for (uint32_t n = 1; n < 4; ++n) mine.store(n, relaxed);
    EXPECT_EQ(mine.load(relaxed), 3u);
  }));
  EXPECT_EQ(all.behaviours.size(), 1u);
  EXPECT_GT(all.digests.size(), 5u) << "there are as many orders";
}

TEST(behaviour, differs_by_what_a_lane_finds) {
  const auto takes_a_number = [](uint32_t* words) { (void)word<uint32_t>(words[0]).fetch_add(1, relaxed); };
  EXPECT_EQ(many(of_two_waves(takes_a_number)).behaviours.size(), 2u);
  const auto buffers = [](uint32_t* words) {
    const uint32_t own = target::block_id();
    word<uint32_t>(words[16 * own]).store(1, relaxed);
    (void)word<uint32_t>(words[16 * (1 - own)]).load(relaxed);
  };
  EXPECT_EQ(many(of_two_waves(buffers)).behaviours.size(), 3u) << "sequentially consistent: not both 0";
  EXPECT_EQ(many(of_two_waves(buffers), {"fidelity=scoped"}).behaviours.size(), 4u);
}

TEST(behaviour, is_one_however_often_a_loop_looks) {
  const auto hands_over = [](bool by_exchange) {
    return of_two_waves([=](uint32_t* words) {
      const word<uint32_t> flag(words[0]);
      if (target::block_id() == 0) {
        // Until the other one has looked at least once.
        while (word<uint32_t>(words[16]).load(acquire) == 0) target::pause();
        for (int n = 0; n < 3; ++n) word<uint32_t>(words[20]).store(1, relaxed);
        flag.store(2, release);
        return;
      }
      (void)flag.load(relaxed);
      word<uint32_t>(words[16]).store(1, release);
      if (by_exchange)
        while (flag.exchange(0, acquire) == 0) target::pause();
      else
        while (flag.load(acquire) == 0) target::pause();
    });
  };
  EXPECT_EQ(many(hands_over(false)).behaviours.size(), 2u) << "the first loop finds 0 first, or 1 at once";
  EXPECT_EQ(many(hands_over(true)).behaviours.size(), 4u) << "and the exchange fails first, or not";
}

TEST(behaviour, differs_by_the_order_in_which_a_lock_is_taken) {
  // Plain accesses are no steps here: what is counted behind the lock is not seen.
  const auto counts_in_turn = [](uint32_t* words) {
    const word<uint32_t> lock(words[0]);
    for (int round = 0; round < 2; ++round) {
      while (lock.exchange(1, acquire) != 0) target::pause();
      ++words[16];
      lock.store(0, release);
    }
  };
  // 4! / (2! 2!) orders, each with or without a vain try.
  EXPECT_GE(many(of_two_waves(counts_in_turn), {"fidelity=scoped"}).behaviours.size(), 6u);
}

TEST(behaviour, of_threads_is_in_which_order_they_take_a_mutex) {
  const program three_threads = [] {
    std::mutex mutex;
    const auto takes = [&] { const std::lock_guard held(mutex); };
    std::thread one(takes), two(takes), three(takes);
    one.join();
    two.join();
    three.join();
  };
  EXPECT_EQ(many(three_threads).behaviours.size(), 6u);
}

TEST(behaviour, counts_no_wave_by_when_it_began) {
  // As many waves as have a place one after the other.
  const program many_waves = [] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(8, "words");
    host.launch({.blocks = 4, .waves = 1, .lanes = 2}, [=] {
      word<uint32_t>(words[2 * target::block_id() + target::lane_id()]).store(target::block_id(), relaxed);
    });
    host.synchronize();
  };
  EXPECT_EQ(many(many_waves, {"resident=2"}).behaviours.size(), 1u);
}

TEST(behaviour, is_not_looked_at_unless_it_is_asked_for_and_changes_no_run) {
  const auto takes_a_number = [](uint32_t* words) { (void)word<uint32_t>(words[0]).fetch_add(1, relaxed); };
  machine plain, counts({"behaviours=count"});
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const outcome one = plain.run(of_two_waves(takes_a_number), seed);
    const outcome other = counts.run(of_two_waves(takes_a_number), seed);
    EXPECT_EQ(one.behaviour, 0u);
    EXPECT_EQ(one.digest, other.digest);
    EXPECT_EQ(one.steps, other.steps);
  }
}

}  // namespace
}  // namespace heddle::sim::tests::behaviour_test
