// What all runs show that few runs show: notices that come too early, and what sequentially consistent accesses of a host order.
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "explored.h"

namespace heddle::sim::tests {
namespace {

// -- waits that a notice alone ends --------------------------------------------------------------------------------------------------

/// Whether some run ends otherwise than well; all are gone through unless one does.
verdict worst_of(const program& body, const std::vector<std::string>& settings) {
  const explored all = explorer_of(body, settings).all();
  if (all.verdicts == std::set{verdict::ok}) {
    EXPECT_TRUE(all.search.complete) << all.search.left_out;
  }
  for (const verdict each : all.verdicts)
    if (each != verdict::ok) return each;
  return verdict::ok;
}

enum class notice : uint8_t { under_lock, without_lock, too_early, none };

program waits_at_a_condition(notice how) {
  return [how] {
    std::mutex mutex;
    std::condition_variable condition;
    std::atomic<bool> ready = false;
    std::thread waits([&] {
      std::unique_lock held(mutex);
      while (!ready) condition.wait(held);
    });
    if (how == notice::under_lock) {
      const std::lock_guard held(mutex);
      ready = true;
    }
    if (how == notice::too_early) condition.notify_one();
    ready = true;
    if (how == notice::under_lock || how == notice::without_lock) condition.notify_one();
    waits.join();
  };
}

TEST(search_notices, that_fall_between_a_look_and_a_wait_are_found_lost) {
  for (const auto& settings : {scoped, std::vector<std::string>()}) {
    EXPECT_EQ(worst_of(waits_at_a_condition(notice::under_lock), settings), verdict::ok);
    for (const notice how : {notice::without_lock, notice::too_early, notice::none})
      EXPECT_EQ(worst_of(waits_at_a_condition(how), settings), verdict::deadlock) << static_cast<int>(how);
  }
}

TEST(search_notices, need_not_have_come_where_a_wait_has_ended) {
  const auto looks_once = [] {
    std::mutex mutex;
    std::condition_variable condition;
    bool ready = false;
    std::thread waits([&] {
      std::unique_lock held(mutex);
      if (!ready) condition.wait(held);
      SIM_CHECK(ready);
    });
    {
      const std::lock_guard held(mutex);
      ready = true;
    }
    condition.notify_one();
    waits.join();
  };
  EXPECT_EQ(worst_of(looks_once, scoped), verdict::assertion);
}

program waits_at_a_word(notice how) {
  return [how] {
    std::atomic<int> word = 0;
    std::thread waits([&] { word.wait(0); });
    if (how == notice::too_early) word.notify_one();
    word = 1;
    if (how == notice::without_lock) word.notify_one();
    waits.join();
  };
}

TEST(search_notices, of_a_word_are_waited_for) {
  const std::vector<std::string> settings;
  EXPECT_EQ(worst_of(waits_at_a_word(notice::without_lock), settings), verdict::ok);
  EXPECT_EQ(worst_of(waits_at_a_word(notice::too_early), settings), verdict::deadlock);
  EXPECT_EQ(worst_of(waits_at_a_word(notice::none), settings), verdict::deadlock);
}

program waits_at_a_bell(notice how) {
  return [how] {
    device machine;
    auto* const bell = machine.allocate_shared<doorbell>(1, "bell");
    auto* const flag = machine.allocate_shared<uint32_t>(1, "flag");
    auto waits = machine.spawn_host("waits", [=] {
      const target::atomic_ref<uint32_t, scope::system> ready(*flag);
      while (ready.load(memory_order::acquire) == 0) {
        const doorbell seen = target::atomic_ref<doorbell, scope::system>(*bell).load(memory_order::acquire);
        if (ready.load(memory_order::acquire) == 0) target::wait(*bell, seen, no_timeout);
      }
    });
    if (how == notice::too_early) target::notify(*bell);
    target::atomic_ref<uint32_t, scope::system>(*flag).store(1, memory_order::release);
    if (how == notice::without_lock) target::notify(*bell);
    waits.join();
  };
}

TEST(search_notices, of_a_bell_are_waited_for) {
  for (const auto& settings : {scoped, std::vector<std::string>()}) {
    EXPECT_EQ(worst_of(waits_at_a_bell(notice::without_lock), settings), verdict::ok);
    EXPECT_EQ(worst_of(waits_at_a_bell(notice::too_early), settings), verdict::deadlock);
    EXPECT_EQ(worst_of(waits_at_a_bell(notice::none), settings), verdict::deadlock);
  }
}

// Where each wake for no reason is one more of the same, no thread may wait for ever for the mutex that the others take at each of them.
TEST(search_notices, that_do_not_come_end_waits_but_not_for_ever) {
  const auto take_turns = [] {
    std::mutex mutex;
    std::condition_variable condition;
    uint32_t turn = 0;
    const auto waits = [&](uint32_t wanted) {
      std::unique_lock held(mutex);
      condition.wait(held, [&] { return turn == wanted; });
      ++turn;
      condition.notify_all();
    };
    std::thread first(waits, 0);
    std::thread second(waits, 1);
    waits(2);
    first.join();
    second.join();
  };
  for (const auto& settings : {scoped, std::vector<std::string>()})
    EXPECT_EQ(worst_of(take_turns, settings), verdict::ok);
}

TEST(search_notices, that_come_for_ever_are_a_livelock) {
  const auto hand_on = [] {
    std::mutex mutex;
    std::condition_variable condition;
    uint32_t turn = 0;
    const auto waits = [&](uint32_t own) {
      std::unique_lock held(mutex);
      while (true) {
        condition.wait(held, [&] { return turn == own; });
        turn = 1 - own;
        condition.notify_all();
      }
    };
    std::thread first(waits, 0);
    waits(1);
    first.join();
  };
  EXPECT_EQ(worst_of(hand_on, {}), verdict::livelock);
}

// -- sequentially consistent accesses of a host --------------------------------------------------------------------------------------

using word_at = target::atomic_ref<uint32_t, scope::system>;
constexpr auto seq_cst = memory_order::seq_cst;
constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;

/// What the loads of all runs have found, one after the other.
struct thread_of {
  bool on_host = true;
  std::function<void(uint32_t*, uint32_t*)> runs;  ///< x and y lie 16 words apart; where it puts what it finds
};
std::set<std::string> found_by(const std::vector<thread_of>& threads, const std::vector<std::string>& settings = {}) {
  static std::array<uint32_t, 8> found;
  const program body = [&] {
    device machine;
    auto* const words = machine.allocate_shared<uint32_t>(32, "words");
    auto* const results = machine.allocate_shared<uint32_t>(64, "results");
    std::vector<host_thread> hosts;
    for (size_t n = 0; n < threads.size(); ++n) {
      const auto* const runs = &threads[n].runs;
      const auto work = [=] { (*runs)(words, results + 8 * n); };
      if (threads[n].on_host)
        hosts.push_back(machine.spawn_host("thread", work));
      else
        machine.launch({.blocks = 1, .waves = 1, .lanes = 1}, work);
    }
    for (host_thread& each : hosts) each.join();
    machine.synchronize();
    for (size_t n = 0; n < 4; ++n)
      for (size_t place = 0; place < 2; ++place) found[2 * n + place] = results[8 * n + place];
    machine.free(words);
    machine.free(results);
  };
  std::vector<std::string> all = scoped;
  all.insert(all.end(), settings.begin(), settings.end());
  const size_t count = threads.size();
  const explored made = explorer_of(body, all, [count] {
                          std::string text;
                          for (size_t n = 0; n < 2 * count; ++n) text += std::to_string(found[n]);
                          return text;
                        }).all();
  EXPECT_TRUE(made.search.complete) << made.search.left_out;
  EXPECT_EQ(made.verdicts, std::set{verdict::ok}) << made.example.message;
  return made.notes;
}

/// Stores to one word and loads the other.
thread_of crosses(bool first, memory_order stores, memory_order loads, bool on_host = true) {
  return {.on_host = on_host, .runs = [=](uint32_t* words, uint32_t* found) {
            word_at(words[first ? 0 : 16]).store(1, stores);
            found[0] = word_at(words[first ? 16 : 0]).load(loads);
          }};
}
thread_of looks_at_both(bool first, memory_order loads, bool on_host = true) {
  return {.on_host = on_host, .runs = [=](uint32_t* words, uint32_t* found) {
            found[0] = word_at(words[first ? 0 : 16]).load(loads);
            found[1] = word_at(words[first ? 16 : 0]).load(loads);
          }};
}
thread_of stores_one(bool first, memory_order stores, bool on_host = true) {
  return {.on_host = on_host,
          .runs = [=](uint32_t* words, uint32_t*) { word_at(words[first ? 0 : 16]).store(1, stores); }};
}

bool both_may_miss(memory_order stores, memory_order loads, const std::vector<std::string>& settings = {}) {
  return found_by({crosses(true, stores, loads), crosses(false, stores, loads)}, settings).contains("0000");
}

// As g++ compiles them for an x86: `mov` for each but a sequentially consistent store, which is an `xchg`.
TEST(search_total_order, of_an_x86_is_that_of_its_stores) {
  EXPECT_TRUE(both_may_miss(release, acquire));
  EXPECT_TRUE(both_may_miss(release, seq_cst));
  EXPECT_TRUE(both_may_miss(memory_order::relaxed, seq_cst));
  EXPECT_FALSE(both_may_miss(seq_cst, acquire));
  EXPECT_FALSE(both_may_miss(seq_cst, seq_cst));
}

TEST(search_total_order, of_a_weak_host_is_that_of_all_such_accesses_and_of_no_others) {
  const std::vector<std::string> weak = {"host=weak"};
  EXPECT_FALSE(both_may_miss(seq_cst, seq_cst, weak));
  EXPECT_TRUE(both_may_miss(release, seq_cst, weak));
  EXPECT_TRUE(both_may_miss(memory_order::relaxed, seq_cst, weak));
  const std::vector<thread_of> readers = {stores_one(true, seq_cst), stores_one(false, seq_cst),
                                          looks_at_both(true, seq_cst), looks_at_both(false, seq_cst)};
  EXPECT_FALSE(found_by(readers, weak).contains("00001010"));
  const std::vector<thread_of> acquiring = {stores_one(true, release), stores_one(false, release),
                                            looks_at_both(true, acquire), looks_at_both(false, acquire)};
  EXPECT_TRUE(found_by(acquiring, weak).contains("00001010"));
}

TEST(search_total_order, of_a_host_is_one_with_that_of_a_device) {
  for (const std::vector<std::string>& settings : {std::vector<std::string>(), {"host=weak"}}) {
    const auto cross = [&](memory_order stores_of_host) {
      return found_by({crosses(true, stores_of_host, seq_cst), crosses(false, seq_cst, seq_cst, false)}, settings);
    };
    EXPECT_FALSE(cross(seq_cst).contains("0000"));
    EXPECT_TRUE(cross(release).contains("0000"));
    // The host reads the first store of the device and misses the second one, behind which the other lane misses the first.
    const std::vector<thread_of> circle = {stores_one(true, seq_cst, false), looks_at_both(true, seq_cst),
                                           crosses(false, seq_cst, seq_cst, false)};
    const std::set<std::string> found = found_by(circle, settings);
    EXPECT_FALSE(found.contains("001000"));
    EXPECT_TRUE(found.contains("001010"));
  }
}

}  // namespace
}  // namespace heddle::sim::tests
