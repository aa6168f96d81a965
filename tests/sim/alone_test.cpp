// What is no step, because nothing could come in between or the difference could not be told; and frames of host threads, which are another's
// too where a thread is given references.
#include "run.h"

#include <array>
#include <atomic>
#include <string>
#include <type_traits>

namespace heddle::sim::tests::alone_test {
namespace {

constexpr auto relaxed = memory_order::relaxed;
constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
const std::array<const char*, 3> fidelities = {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"};

int line = 0;

uint64_t steps_of(const program& body, const std::string& actor, const std::vector<std::string>& settings = {}) {
  machine on(settings);
  const outcome ended = on.explain(body);
  EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
  EXPECT_EQ(ended.steps, ended.steps_taken.size());
  uint64_t steps = 0;
  for (const step_record& step : ended.steps_taken) steps += step.actor == actor ? 1 : 0;
  return steps;
}

// -- the main thread alone ---------------------------------------------------------------------------------------------------------

TEST(alone, nothing_is_a_step_before_another_actor_exists) {
  const auto fills = [](uint32_t words, bool launches) {
    return [=] {
      device host;
      auto* const all = host.allocate_shared<uint32_t>(words, "all");
      for (uint32_t n = 0; n < words; ++n) all[n] = n;
      for (uint32_t n = 0; n < words; ++n) word<uint32_t>(all[n]).fetch_add(1, relaxed);
      if (launches) {
        host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] { all[0] = 7; });
        host.synchronize();
        SIM_CHECK(all[0] == 7 && all[words - 1] == words);
      }
    };
  };
  for (const char* const fidelity : fidelities) {
    machine on({fidelity});
    EXPECT_EQ(on.explain(fills(100, false)).steps, 0u);
    const outcome few = on.explain(fills(2, true));
    const outcome many = on.explain(fills(1000, true));
    EXPECT_EQ(few.verdict, verdict::ok) << few.message;
    EXPECT_EQ(many.verdict, verdict::ok) << many.message;
    EXPECT_EQ(few.steps, many.steps) << fidelity;
    ASSERT_FALSE(many.steps_taken.empty());
    EXPECT_EQ(many.steps_taken.front().operation, "launch");
    EXPECT_EQ(many.steps_taken.front().step, 1u);
  }
}

TEST(alone, what_is_wrong_is_found_all_the_same) {
  machine on({"budget=1000"});
  const outcome freed = on.explain([] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(2, "words");
    host.free(words);
    line = __LINE__ + 1;
    words[1] = 1;
  });
  EXPECT_TRUE(is(verdict::memory, SIM_LINE(line), freed));
  // There is no other actor that could change the word.
  EXPECT_EQ(on.run([] {
                device host;
                auto* const words = host.allocate_shared<uint32_t>(2, "words");
                while (word<uint32_t>(words[0]).load(acquire) == 0) target::pause();
              }).verdict,
            verdict::deadlock);
  EXPECT_EQ(on.run([] {
                device host;
                auto* const words = host.allocate_shared<uint32_t>(2, "words");
                while (word<uint32_t>(words[0]).load(acquire) == 0) {
                }
              }).verdict,
            verdict::deadlock);
  // It goes on for ever, and its steps count when that shows.
  const outcome endless = on.run([] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(2, "words");
    while (true) word<uint32_t>(words[0]).exchange(1 - word<uint32_t>(words[0]).load(relaxed), relaxed);
  });
  EXPECT_NE(endless.verdict, verdict::ok);
  EXPECT_GT(endless.steps, 1000u);
}

TEST(alone, what_was_stored_then_orders_and_races_as_ever) {
  const auto body = [](bool launched_first) {
    return [=] {
      device host;
      auto* const words = host.allocate_shared<uint32_t>(2, "words");
      if (!launched_first) words[0] = 5;
      auto reader = host.spawn_host("reader", [=] { SIM_CHECK(words[0] == 5 || launched_first); });
      if (launched_first) words[0] = 5;
      reader.join();
    };
  };
  machine on({"fidelity=scoped"});
  EXPECT_TRUE(always(verdict::ok, on.run_many(body(false), 200)));
  EXPECT_GT(on.run_many(body(true), 200).count(verdict::race), 0u);
}

// -- what never changes --------------------------------------------------------------------------------------------------------------

const char* const text = "a text that stands in the program";
constexpr std::array<uint32_t, 4> table = {1, 2, 3, 4};
uint32_t variable = 3;
uint32_t opaque(uint32_t value) {
  asm volatile("" : "+r"(value));
  return value;
}

TEST(alone, reads_of_constants_are_no_steps) {
  variable = opaque(3);
  const auto in_thread = [](auto body) {
    return [=] {
      device host;
      host.spawn_host("worker", body).join();
    };
  };
  const uint64_t none = steps_of(in_thread([] {}), "host worker");
  EXPECT_EQ(steps_of(in_thread([] { SIM_CHECK(table[opaque(2)] == 3); }), "host worker"), none);
  EXPECT_EQ(steps_of(in_thread([] { SIM_CHECK(std::string_view(text).size() > opaque(9)); }), "host worker"), none);
  EXPECT_EQ(steps_of(in_thread([] { SIM_CHECK(variable == opaque(3)); }), "host worker"), none + 1);
}

TEST(alone, settings_are_nothing_that_a_program_does) {
  parameters set({parameter::number("count", 3, 0, 9, "", "a number"),
                  parameter::one_of("mode", "yes", {"yes", "no"}, "a word"),
                  parameter::one_of("other", "a longer word, which is not kept in place",
                                    {"a longer word, which is not kept in place"}, "")});
  const auto in_thread = [&](auto body) {
    return [&set, body] {
      device host;
      const parameters& mine = set;
      host.spawn_host("first", [] {}).join();
      const auto bound = [mine, body] { body(mine); };
      host.spawn_host("worker", bound).join();
    };
  };
  const uint64_t none = steps_of(in_thread([](const parameters&) {}), "host worker");
  const uint64_t main_alone = steps_of(in_thread([](const parameters&) {}), "host main");
  EXPECT_LT(main_alone, 12u);
  EXPECT_EQ(steps_of(in_thread([](const parameters& mine) { SIM_CHECK(mine.text("mode") == "yes"); }), "host worker"),
            none);
  EXPECT_EQ(steps_of(in_thread([](const parameters& mine) { SIM_CHECK(mine.count("count") == 3); }), "host worker"),
            none);
}

// -- frames of host threads --------------------------------------------------------------------------------------------------------

TEST(frames, a_thread_may_use_what_another_has_in_its_frame) {
  const program sums = [] {
    device host;
    uint32_t first = 1, second = 0;
    {
      auto thread = host.spawn_host("thread", [&] { second = first + 1; });
    }
    SIM_CHECK(second == 2);
    std::atomic<uint32_t> flag{0};
    uint32_t data = 0;
    auto thread = host.spawn_host("thread", [&] {
      data = 9;
      flag.store(1, std::memory_order_release);
    });
    while (flag.load(std::memory_order_acquire) == 0) target::pause();
    SIM_CHECK(data == 9);
    thread.join();
  };
  for (const char* const fidelity : fidelities) {
    machine on({fidelity});
    EXPECT_TRUE(always(verdict::ok, on.run_many(sums, 300)));
  }
}

TEST(frames, a_flag_that_is_never_set_there_is_waited_for_in_vain) {
  machine on;
  EXPECT_TRUE(always(verdict::deadlock, on.run_many(
                                            [] {
                                              device host;
                                              std::atomic<uint32_t> flag{0};
                                              auto thread = host.spawn_host("thread", [&] {
                                                while (flag.load() == 0) target::pause();
                                              });
                                            },
                                            50)));
}

TEST(frames, races_there_are_found) {
  machine on({"fidelity=scoped"});
  // By the owner, and by two others.
  const tally with_owner = on.run_many(
      [] {
        device host;
        uint32_t shared = 0;
        auto thread = host.spawn_host("thread", [&] { shared = 1; });
        shared = 2;
        thread.join();
      },
      200);
  EXPECT_GT(with_owner.count(verdict::race), 0u) << with_owner.text();
  const tally of_others = on.run_many(
      [] {
        device host;
        uint32_t shared = 0;
        auto one = host.spawn_host("one", [&] { ++shared; });
        auto two = host.spawn_host("two", [&] { ++shared; });
      },
      200);
  EXPECT_GT(of_others.count(verdict::race), 0u) << of_others.text();
}

struct leaves_reference {
  [[gnu::noinline]] static void to(uint32_t** place) {
    uint32_t mine[16] = {};
    uint32_t* first = mine;
    asm volatile("" : "+r"(first) : : "memory");
    *place = first;
  }
};

TEST(frames, one_that_has_returned_belongs_to_no_thread_and_lanes_may_not_access_it) {
  machine on;
  const outcome returned = on.explain([] {
    device host;
    auto** const place = host.allocate_shared<uint32_t*>(1, "place");
    auto thread = host.spawn_host("thread", [=] {
      while (word<uint64_t>(*reinterpret_cast<uint64_t*>(place)).load(acquire) == 0) target::pause();
      **place = 1;
    });
    leaves_reference::to(place);
    thread.join();
  });
  EXPECT_EQ(returned.verdict, verdict::memory) << returned.message;
  EXPECT_TRUE(says(returned.message, "in a frame of host main that has returned"));
  const outcome of_lane = on.explain([] {
    device host;
    uint32_t mine = 0;
    uint32_t* const place = &mine;
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] { *place = 1; });
    host.synchronize();
  });
  EXPECT_EQ(of_lane.verdict, verdict::memory) << of_lane.message;
  EXPECT_TRUE(says(of_lane.message, "on the stack of host main"));
}

// -- volatile ------------------------------------------------------------------------------------------------------------------------

TEST(volatile_in_cpp, is_plain_or_relaxed_as_the_setting_says) {
  const program polls = [] {
    device host;
    auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
    auto thread = host.spawn_host("thread", [=] { *static_cast<volatile uint32_t*>(flag) = 1; });
    while (*static_cast<volatile uint32_t*>(flag) == 0) target::pause();
  };
  EXPECT_TRUE(always(verdict::ok, machine({"fidelity=scoped", "volatile=relaxed"}).run_many(polls, 100)));
  for (const char* const plain : {"volatile=plain", "volatile=source"})
    EXPECT_GT(machine({"fidelity=scoped", plain}).run_many(polls, 100).count(verdict::race), 0u) << plain;
}

// A loop without a pause is blocked when it only spins. What it is woken by is what it reads next, and a fence behind it orders.
TEST(volatile_in_cpp, a_spin_without_a_pause_reads_what_has_ended_it) {
  const program polls = [] {
    device on;
    auto* const words = on.allocate_shared<uint32_t>(3, "words");
    const auto volatile_at = [=](size_t n) { return static_cast<volatile uint32_t*>(words + n); };
    on.launch({.blocks = 3, .waves = 1, .lanes = 1}, [=] {
      const uint32_t turn = target::block_id();
      while (*volatile_at(0) != turn) {
      }
      target::fence<scope::device>(memory_order::acquire);
      words[1] += 1;
      target::fence<scope::device>(memory_order::release);
      *volatile_at(0) = turn + 1;
    });
    on.synchronize();
    if (words[1] != 3) target::trap(fault::assertion, "an update was lost");
  };
  EXPECT_TRUE(always(verdict::ok, machine({"fidelity=scoped", "volatile=relaxed"}).run_many(polls, 300)));
}

// -- integers of all sizes -----------------------------------------------------------------------------------------------------------

template <typename T>
void check_all_operations() {
  device host;
  auto* const words = host.allocate_device<T>(4, "words");
  host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] {
    const word<T> at(words[1]);
    at.store(static_cast<T>(-3), relaxed);
    SIM_CHECK(at.load(relaxed) == static_cast<T>(-3));
    SIM_CHECK(at.fetch_add(5, relaxed) == static_cast<T>(-3) && at.load(relaxed) == 2);
    SIM_CHECK(at.fetch_sub(4, relaxed) == 2 && at.load(relaxed) == static_cast<T>(-2));
    T expected = static_cast<T>(-2);
    SIM_CHECK(at.compare_exchange_strong(expected, static_cast<T>(-4), acquire));
    SIM_CHECK(!at.compare_exchange_strong(expected, 1, acquire) && expected == static_cast<T>(-4));
    SIM_CHECK(at.exchange(1, release) == static_cast<T>(-4));
    // The largest and the smallest are of the type: -4 is large only where there is no sign.
    constexpr bool is_signed = std::is_signed_v<T>;
    SIM_CHECK(at.fetch_max(static_cast<T>(-4), relaxed) == 1);
    SIM_CHECK(at.load(relaxed) == (is_signed ? T{1} : static_cast<T>(-4)));
    SIM_CHECK(at.fetch_min(static_cast<T>(-5), relaxed) == (is_signed ? T{1} : static_cast<T>(-4)));
    SIM_CHECK(at.load(relaxed) == static_cast<T>(-5));
    SIM_CHECK(words[0] == 0 && words[2] == 0);
  });
  host.synchronize();
}

TEST(integers, of_8_to_64_bits_with_and_without_a_sign_are_atomic) {
  for (const char* const fidelity : fidelities) {
    machine on({fidelity});
    EXPECT_TRUE(always(verdict::ok, on.run_many(check_all_operations<uint8_t>, 3)));
    EXPECT_TRUE(always(verdict::ok, on.run_many(check_all_operations<int8_t>, 3)));
    EXPECT_TRUE(always(verdict::ok, on.run_many(check_all_operations<uint16_t>, 3)));
    EXPECT_TRUE(always(verdict::ok, on.run_many(check_all_operations<int16_t>, 3)));
    EXPECT_TRUE(always(verdict::ok, on.run_many(check_all_operations<uint32_t>, 3)));
    EXPECT_TRUE(always(verdict::ok, on.run_many(check_all_operations<int32_t>, 3)));
    EXPECT_TRUE(always(verdict::ok, on.run_many(check_all_operations<uint64_t>, 3)));
    EXPECT_TRUE(always(verdict::ok, on.run_many(check_all_operations<int64_t>, 3)));
  }
}

}  // namespace
}  // namespace heddle::sim::tests::alone_test
