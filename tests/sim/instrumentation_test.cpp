// What the compiler's instrumentation tells of a program: every access to shared memory is a step of its own, with its size and
// its value, and works as it does elsewhere. Compiled by g++ and by clang, which differ in what they emit.
#include "run.h"

#include <array>
#include <atomic>
#include <cstring>

// As libraries declare them where the compiler says that it instruments for ThreadSanitizer.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" {
void AnnotateHappensBefore(const char* file, int line, const volatile void* at);
void AnnotateHappensAfter(const char* file, int line, const volatile void* at);
void AnnotateBenignRaceSized(const char* file, int line, const volatile void* at, size_t size, const char* why);
void __tsan_acquire(void* at);
void __tsan_release(void* at);
void __tsan_mutex_post_lock(void* at, unsigned flags, int recursion);
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

namespace heddle::sim::tests {
namespace {

/// 64 words of shared memory, whose first is 0x11223344 and whose second is 0x55667788, are given to `access`; the steps that
/// this takes.
template <typename Access>
std::vector<std::string> steps_of(Access access) {
  machine on;
  const outcome ended = on.explain([access] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(64, "w");
    words[0] = 0x11223344;
    words[1] = 0x55667788;
    host.spawn_host("worker", [words, access] { access(words); }).join();
  });
  EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
  std::vector<std::string> steps;
  for (const step_record& step : ended.steps_taken) {
    if (step.actor != "host worker") continue;
    steps.push_back(step.operation);
    if (!step.location.empty()) steps.back() += " " + step.location + " = " + step.value;
  }
  return steps;
}

using steps = std::vector<std::string>;

template <typename T>
T& as(uint32_t* words, size_t offset_bytes = 0) {
  return *reinterpret_cast<T*>(reinterpret_cast<char*>(words) + offset_bytes);
}

template <typename T>
struct __attribute__((packed, may_alias)) unaligned {
  T value;
};

TEST(instrumentation, what_libraries_tell_beside_it_is_no_step) {
  EXPECT_EQ(steps_of([](uint32_t* w) {
              AnnotateHappensBefore(__FILE__, __LINE__, w);
              AnnotateBenignRaceSized(__FILE__, __LINE__, w, 4, "none");
              __tsan_release(w);
              __tsan_mutex_post_lock(w, 0, 0);
              SIM_CHECK(w[1] == 0x55667788);
              __tsan_acquire(w);
              AnnotateHappensAfter(__FILE__, __LINE__, w);
            }),
            steps{"plain load w+0x4 (4 bytes) = 0x55667788"});
}

TEST(instrumentation, plain_reads_of_every_size_are_steps) {
  EXPECT_EQ(steps_of([](uint32_t* w) { SIM_CHECK(as<uint8_t>(w) == 0x44); }),
            steps{"plain load w+0x0 (1 bytes) = 0x44"});
  EXPECT_EQ(steps_of([](uint32_t* w) { SIM_CHECK(as<uint16_t>(w) == 0x3344); }),
            steps{"plain load w+0x0 (2 bytes) = 0x3344"});
  EXPECT_EQ(steps_of([](uint32_t* w) { SIM_CHECK(w[1] == 0x55667788); }),
            steps{"plain load w+0x4 (4 bytes) = 0x55667788"});
  EXPECT_EQ(steps_of([](uint32_t* w) { SIM_CHECK(as<uint64_t>(w) == 0x5566778811223344); }),
            steps{"plain load w+0x0 (8 bytes) = 0x5566778811223344"});
  EXPECT_EQ(steps_of([](uint32_t* w) { SIM_CHECK(as<float>(w, 8) == 0); }), steps{"plain load w+0x8 (4 bytes) = 0x0"});
  const steps wide = steps_of([](uint32_t* w) {
    __extension__ using uint128 = unsigned __int128;
    SIM_CHECK(as<uint128>(w) >> 32 == 0x55667788);
  });
  ASSERT_EQ(wide.size(), 1u);
  EXPECT_TRUE(says(wide[0], "plain load w+0x0 (16 bytes)"));
}

TEST(instrumentation, plain_writes_of_every_size_are_steps) {
  EXPECT_EQ(steps_of([](uint32_t* w) { as<uint8_t>(w) = 1; }), steps{"plain store w+0x0 (1 bytes) = 0x1"});
  EXPECT_EQ(steps_of([](uint32_t* w) { as<uint16_t>(w) = 0x102; }), steps{"plain store w+0x0 (2 bytes) = 0x102"});
  EXPECT_EQ(steps_of([](uint32_t* w) { w[3] = 0x10203; }), steps{"plain store w+0xc (4 bytes) = 0x10203"});
  EXPECT_EQ(steps_of([](uint32_t* w) { as<uint64_t>(w) = 0x102030405; }),
            steps{"plain store w+0x0 (8 bytes) = 0x102030405"});
  EXPECT_EQ(steps_of([](uint32_t* w) { as<double>(w) = 1.0; }),
            steps{"plain store w+0x0 (8 bytes) = 0x3ff0000000000000"});
}

#ifdef __x86_64__
/// Calls `function` with this in the register of the frame pointer, as a caller does whose compiler keeps something else there.
[[gnu::noinline]] void call_with_frame_pointer(uintptr_t value, void (*function)(uint32_t*), uint32_t* argument) {
  constexpr int red_zone_bytes = 128;
  asm volatile(
      "mov %%rsp, %%rbx\n\t"
      "sub %[red_zone], %%rsp\n\t"
      "and $-16, %%rsp\n\t"
      "mov %%rbp, %%r12\n\t"
      "mov %%rax, %%rbp\n\t"
      "call *%%rdx\n\t"
      "mov %%r12, %%rbp\n\t"
      "mov %%rbx, %%rsp"
      : "+a"(value), "+d"(function), "+D"(argument)
      : [red_zone] "i"(red_zone_bytes)
      : "rbx", "rcx", "rsi", "r8", "r9", "r10", "r11", "r12", "memory", "cc");
}

TEST(instrumentation, tells_a_step_of_code_that_keeps_no_frame_pointer) {
  for (const intptr_t value : {-16, -8, -1, 0, 1, 4096}) {
    EXPECT_EQ(steps_of([value](uint32_t* w) {
                call_with_frame_pointer(static_cast<uintptr_t>(value), [](uint32_t* words) { words[3] = 1; }, w);
              }),
              steps{"plain store w+0xc (4 bytes) = 0x1"})
        << value;
  }
}
#endif

TEST(instrumentation, unaligned_accesses_are_steps) {
  const steps read = steps_of([](uint32_t* w) { SIM_CHECK(as<unaligned<uint32_t>>(w, 2).value == 0x77881122); });
  EXPECT_EQ(read, steps{"plain load w+0x2 (4 bytes) = 0x77881122"});
  EXPECT_EQ(steps_of([](uint32_t* w) { as<unaligned<uint16_t>>(w, 3).value = 0x102; }),
            steps{"plain store w+0x3 (2 bytes) = 0x102"});
  EXPECT_EQ(steps_of([](uint32_t* w) { as<unaligned<uint64_t>>(w, 1).value = 7; }),
            steps{"plain store w+0x1 (8 bytes) = 0x7"});
}

TEST(instrumentation, volatile_accesses_are_steps_each_time) {
  EXPECT_EQ(steps_of([](uint32_t* w) {
              auto& word = as<volatile uint32_t>(w);
              SIM_CHECK(word != 0);
              SIM_CHECK(word != 0);
              word = 1;
              word = 1;
            }),
            (steps{"plain load w+0x0 (4 bytes) = 0x11223344", "plain load w+0x0 (4 bytes) = 0x11223344",
                   "plain store w+0x0 (4 bytes) = 0x1", "plain store w+0x0 (4 bytes) = 0x1"}));
}

TEST(instrumentation, a_compound_assignment_is_a_read_and_a_write) {
  const steps both = {"plain load w+0x0 (4 bytes) = 0x11223344", "plain store w+0x0 (4 bytes) = 0x11223345"};
  EXPECT_EQ(steps_of([](uint32_t* w) { w[0] += 1; }), both);
  EXPECT_EQ(steps_of([](uint32_t* w) { ++w[0]; }), both);
  EXPECT_EQ(steps_of([](uint32_t* w) { w[0] = w[0] | 1; }), both);
}

TEST(instrumentation, a_lanes_own_variables_are_no_steps) {
  EXPECT_EQ(steps_of([](uint32_t*) {
              volatile uint32_t own[4] = {};
              for (volatile uint32_t& each : own) each = each + 1;
              std::atomic<uint32_t> alone = 0;
              ++alone;
            }),
            steps{});
}

TEST(instrumentation, atomic_operations_and_fences_are_steps_with_their_orders) {
  EXPECT_EQ(steps_of([](uint32_t* w) {
              auto& word = as<std::atomic<uint32_t>>(w);
              SIM_CHECK(word.load(std::memory_order_acquire) == 0x11223344);
              word.store(1, std::memory_order_release);
              std::atomic_thread_fence(std::memory_order_acq_rel);
              SIM_CHECK(word.fetch_add(2, std::memory_order_relaxed) == 1);
              SIM_CHECK(word.exchange(9) == 3);
              uint32_t expected = 9;
              SIM_CHECK(word.compare_exchange_strong(expected, 10, std::memory_order_acq_rel));
              SIM_CHECK(!word.compare_exchange_weak(expected, 11, std::memory_order_release) && expected == 10);
              std::atomic_signal_fence(std::memory_order_seq_cst);
              std::atomic_thread_fence(std::memory_order_seq_cst);
            }),
            (steps{"load acquire system w+0x0 (4 bytes) = 0x11223344", "store release system w+0x0 (4 bytes) = 0x1",
                   "fence acq_rel system", "read-modify-write relaxed system w+0x0 (4 bytes) = 0x1",
                   "read-modify-write seq_cst system w+0x0 (4 bytes) = 0x3",
                   "compare-exchange acq_rel system w+0x0 (4 bytes) = 0x9",
                   "compare-exchange release system w+0x0 (4 bytes) = 0xa", "fence seq_cst system"}));
}

// -- values ---------------------------------------------------------------------------------------------------------------------------

/// Every operation of the standard's atomics on `word`, which starts as 0x5a; what they gave and what they left.
template <typename Atomic>
std::array<uint64_t, 26> all_operations(Atomic&& word) {
  using value = decltype(word.load());
  std::array<uint64_t, 26> got = {};
  size_t n = 0;
  const auto note = [&](value given) {
    got[n++] = given;
    got[n++] = word.load();
  };
  note(word.fetch_add(value{0x30}));
  note(word.fetch_sub(value{0x7b}));
  note(word.fetch_and(value{0x3c}));
  note(word.fetch_or(value{0x41}));
  note(word.fetch_xor(value{0xff}));
  note(word.exchange(value{0x12}));
  value expected = 0x12;
  note(word.compare_exchange_strong(expected, value{0x13}) ? value{1} : value{0});
  note(word.compare_exchange_strong(expected, value{0x14}) ? value{1} : value{0});
  note(expected);
  expected = 0x13;
  while (!word.compare_exchange_weak(expected, value{0x15})) {
  }
  note(word += value{0xf0});
  note(++word);
  note(word--);
  word.store(value{0x77});
  note(value{0});
  return got;
}

/// The same in words of `T` without atomics.
template <typename T>
std::array<uint64_t, 26> by_hand() {
  const auto t = [](uint64_t value) { return uint64_t{static_cast<T>(value)}; };
  const uint64_t sum = t(0x15 + 0xf0);
  return {0x5a, t(0x8a), t(0x8a), 0x0f, 0x0f, 0x0c, 0x0c, 0x4d,       0x4d,       0xb2,       0xb2, 0x12, 1,
          0x13, 0,       0x13,    0x13, 0x13, sum,  sum,  t(sum + 1), t(sum + 1), t(sum + 1), sum,  0,    0x77};
}

template <typename T>
void expect_right_values() {
  std::array<uint64_t, 26> inside = {};
  std::array<uint64_t, 26> inside_by_ref = {};
  machine on;
  EXPECT_EQ(on.run([&] {
                device host;
                auto* const memory = host.allocate_shared<T>(2, "memory");
                memory[0] = memory[1] = 0x5a;
                inside = all_operations(reinterpret_cast<std::atomic<T>&>(memory[0]));
                inside_by_ref = all_operations(std::atomic_ref<T>(memory[1]));
                SIM_CHECK(memory[0] == 0x77 && memory[1] == 0x77);
              }).verdict,
            verdict::ok);
  EXPECT_EQ(inside, by_hand<T>());
  EXPECT_EQ(inside_by_ref, by_hand<T>());
  std::atomic<T> outside = T{0x5a};
  EXPECT_EQ(all_operations(outside), by_hand<T>());
}

TEST(instrumentation, atomic_operations_of_every_size_give_the_right_values) {
  expect_right_values<uint8_t>();
  expect_right_values<uint16_t>();
  expect_right_values<uint32_t>();
  expect_right_values<uint64_t>();
}

TEST(instrumentation, operations_on_narrow_words_leave_their_neighbours_alone) {
  machine on;
  EXPECT_EQ(on.run([] {
                device host;
                auto* const bytes = host.allocate_shared<uint8_t>(8, "bytes");
                std::memset(bytes, 0x11, 8);
                reinterpret_cast<std::atomic<uint8_t>&>(bytes[3]).fetch_sub(0x12);
                reinterpret_cast<std::atomic<uint16_t>&>(bytes[4]).fetch_add(0xffff);
                for (uint32_t n = 0; n < 8; ++n) SIM_CHECK(bytes[n] == (n == 3 ? 0xff : n == 4 ? 0x10 : 0x11));
              }).verdict,
            verdict::ok);
}

TEST(instrumentation, atomics_of_other_types_work) {
  machine on;
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [] {
                                        device host;
                                        struct mixed {
                                          std::atomic<bool> flag;
                                          std::atomic<float> sum;
                                          std::atomic<mixed*> self;
                                          std::atomic_flag taken;
                                        };
                                        auto* const memory = host.allocate_shared<mixed>(1, "memory");
                                        memory->self = memory;
                                        host.launch({.blocks = 1, .waves = 1, .lanes = 3}, [memory] {
                                          memory->flag = true;
                                          memory->sum.fetch_add(1.5f);
                                          SIM_CHECK(memory->self.load() == memory);
                                          while (memory->taken.test_and_set(std::memory_order_acquire)) {
                                          }
                                          memory->taken.clear(std::memory_order_release);
                                        });
                                        host.synchronize();
                                        SIM_CHECK(memory->flag && memory->sum == 4.5f);
                                      },
                                      100)));
}

// -- scheduling points ----------------------------------------------------------------------------------------------------------------

/// Two lanes each add one to something; whether one of the two may be lost.
template <typename Memory, typename Add, typename Right>
tally two_add(const char* points, Add add, Right right) {
  machine on({std::string("points=") + points});
  return on.run_many(
      [=] {
        device host;
        auto* const memory = host.allocate_shared<Memory>(1, "memory");
        host.launch({.blocks = 1, .waves = 1, .lanes = 2}, [memory, add] { add(*memory); });
        host.synchronize();
        SIM_CHECK(right(*memory));
      },
      100);
}

template <typename Memory, typename Add, typename Right>
void expect_lost_update_between_plain_accesses(Add add, Right right) {
  EXPECT_TRUE(sometimes(verdict::assertion, two_add<Memory>("all", add, right)));
  EXPECT_TRUE(always(verdict::ok, two_add<Memory>("atomics", add, right)));
}

template <typename T>
void expect_lost_update_of() {
  expect_lost_update_between_plain_accesses<T>([](T& x) { x = static_cast<T>(x + 1); }, [](T& x) { return x == 2; });
}

TEST(instrumentation, between_a_plain_read_and_a_plain_write_others_may_come) {
  expect_lost_update_of<uint8_t>();
  expect_lost_update_of<uint16_t>();
  expect_lost_update_of<uint32_t>();
  expect_lost_update_of<uint64_t>();
  expect_lost_update_of<float>();
  expect_lost_update_of<double>();
  __extension__ using uint128 = unsigned __int128;
  expect_lost_update_of<uint128>();
}

TEST(instrumentation, parts_of_objects_may_be_lost_too) {
#ifdef __clang__
  // A bit field is written with its neighbours. g++ announces the write alone, and no lane can run before it.
  struct fields {
    uint32_t low : 5;
    uint32_t high : 7;
  };
  expect_lost_update_between_plain_accesses<fields>(
      [](fields& x) {
        if (target::lane_id() == 0)
          x.low = 3;
        else
          x.high = 4;
      },
      [](fields& x) { return x.low == 3 && x.high == 4; });
#endif
  struct large {
    uint64_t words[5];
  };
  expect_lost_update_between_plain_accesses<large>(
      [](large& x) {
        large copy = x;
        asm volatile("" : : "r"(&copy) : "memory");  // keeps the copy a copy
        copy.words[target::lane_id()] = 1;
        asm volatile("" : : "r"(&copy) : "memory");
        x = copy;
      },
      [](large& x) { return x.words[0] == 1 && x.words[1] == 1; });
  struct packed_counter {
    char before;
    unaligned<uint32_t> count;
  };
  expect_lost_update_between_plain_accesses<packed_counter>([](packed_counter& x) { x.count.value += 1; },
                                                            [](packed_counter& x) { return x.count.value == 2; });
}

TEST(instrumentation, between_two_atomic_operations_others_may_come_and_within_one_nobody) {
  const auto right = [](std::atomic<uint16_t>& x) { return x == 2; };
  for (const char* points : {"all", "atomics"}) {
    EXPECT_TRUE(sometimes(verdict::assertion,
                          two_add<std::atomic<uint16_t>>(
                              points, [](std::atomic<uint16_t>& x) { x = static_cast<uint16_t>(x + 1); }, right)));
    EXPECT_TRUE(
        always(verdict::ok, two_add<std::atomic<uint16_t>>(points, [](std::atomic<uint16_t>& x) { ++x; }, right)));
  }
}

TEST(instrumentation, a_fence_is_a_place_where_others_may_come) {
  const auto add_around_a_fence = [](uint32_t& x) {
    const uint32_t before = x;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    x = before + 1;
  };
  EXPECT_TRUE(sometimes(verdict::assertion,
                        two_add<uint32_t>("atomics", add_around_a_fence, [](uint32_t& x) { return x == 2; })));
}

TEST(instrumentation, does_nothing_outside_of_runs) {
  uint32_t word = 1;
  auto* volatile pointer = &word;
  *pointer = *pointer + 1;
  std::atomic_ref<uint32_t>(word).fetch_add(1);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  target::pause();
  EXPECT_EQ(word, 3u);
  EXPECT_FALSE(target::is_device());
}

// -- The C library's functions on memory and strings, as a program calls them: seen by the simulator, with the results that they
// have elsewhere. Sizes are no constants here: the calls stay calls.

size_t opaque(size_t value) {
  volatile size_t hidden = value;
  return hidden;
}

constexpr size_t text_bytes = 64;
using results = std::array<int64_t, 24>;

int64_t sign(int compared) { return compared < 0 ? -1 : compared > 0 ? 1 : 0; }

/// Uses every function on two texts, and sums up what came of it.
results use_all(char* a, char* b) {
  results got = {};
  size_t n = 0;
  const auto note = [&](int64_t value) { got[n++] = value; };
  const auto note_both = [&] {
    uint64_t sum = 0;
    for (size_t at = 0; at < text_bytes; ++at)
      sum = sum * 31 + uint64_t{static_cast<unsigned char>(a[at])} * 7 + static_cast<unsigned char>(b[at]);
    note(static_cast<int64_t>(sum));
  };
  std::memset(a, 'x', opaque(20));
  std::memset(b, 0, opaque(text_bytes));
  note_both();
  note(std::memcpy(b + 3, a + 2, opaque(9)) == b + 3);
  note_both();
  note(std::memmove(a + 1, a, opaque(25)) == a + 1);
  note_both();
  note(static_cast<int64_t>(std::strlen(b + opaque(3))));
  note(sign(std::memcmp(a, b + 3, opaque(9))));
  note(sign(std::memcmp(a, b, opaque(9))));
  note(sign(std::memcmp(b, a, opaque(0))));
  note(std::strcpy(a, b + opaque(3)) == a);
  note_both();
  note(sign(std::strcmp(a, b + opaque(3))));
  note(sign(std::strcmp(a, b + opaque(4))));
  note(sign(std::strncmp(a, b + opaque(4), opaque(5))));
  note(std::strncpy(a + 30, b + opaque(3), opaque(20)) == a + 30);
  note(std::strncpy(a + 52, b + opaque(3), opaque(4)) == a + 52);
  note_both();
  return got;
}

TEST(library_functions, give_the_same_results_inside_a_run_and_outside) {
  char outside[2][text_bytes] = {};
  const results expected = use_all(outside[0], outside[1]);
  results inside = {};
  machine on;
  EXPECT_EQ(on.run([&] {
                device host;
                inside =
                    use_all(host.allocate_shared<char>(text_bytes, "a"), host.allocate_shared<char>(text_bytes, "b"));
              }).verdict,
            verdict::ok);
  EXPECT_EQ(inside, expected);
  // A few that can be told by hand.
  EXPECT_EQ(expected[1], 1);
  EXPECT_EQ(expected[5], 9);
  EXPECT_EQ(expected[6], 0);
  EXPECT_EQ(expected[7], 1);
  EXPECT_EQ(expected[8], 0);
}

template <typename Call>
std::vector<std::string> steps_of_call(Call call) {
  machine on;
  const outcome ended = on.explain([call] {
    device host;
    auto* const a = host.allocate_shared<char>(text_bytes, "a");
    auto* const b = host.allocate_shared<char>(text_bytes, "b");
    for (size_t n = 0; n < 5; ++n) a[n] = b[n] = 'x';
    host.spawn_host("worker", [=] { call(a, b); }).join();
  });
  EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
  std::vector<std::string> made;
  for (const step_record& step : ended.steps_taken)
    if (step.actor == "host worker") made.push_back(step.operation + " " + step.location);
  return made;
}

TEST(library_functions, are_one_visible_read_or_write_of_each_range) {
  EXPECT_EQ(steps_of_call([](char* a, char* b) { std::memcpy(a, b, opaque(24)); }),
            (steps{"plain load b+0x0 (24 bytes)", "plain store a+0x0 (24 bytes)"}));
  EXPECT_EQ(steps_of_call([](char* a, char*) { std::memmove(a + 1, a, opaque(7)); }),
            (steps{"plain load a+0x0 (7 bytes)", "plain store a+0x1 (7 bytes)"}));
  EXPECT_EQ(steps_of_call([](char* a, char*) { std::memset(a, 1, opaque(33)); }),
            steps{"plain store a+0x0 (33 bytes)"});
  EXPECT_EQ(steps_of_call([](char* a, char* b) {
              volatile int used = std::memcmp(a, b, opaque(20));
              (void)used;
            }),
            (steps{"plain load a+0x0 (20 bytes)", "plain load b+0x0 (20 bytes)"}));
  EXPECT_EQ(steps_of_call([](char* a, char*) {
              volatile size_t used = std::strlen(a + opaque(0));
              (void)used;
            }),
            steps{"plain load a+0x0 (6 bytes)"});
  EXPECT_EQ(steps_of_call([](char* a, char* b) {
              volatile int used = std::strcmp(a + opaque(0), b);
              used = std::strncmp(a + opaque(0), b, opaque(3));
              (void)used;
            }),
            (steps{"plain load a+0x0 (6 bytes)", "plain load b+0x0 (6 bytes)", "plain load a+0x0 (3 bytes)",
                   "plain load b+0x0 (3 bytes)"}));
  EXPECT_EQ(steps_of_call([](char* a, char* b) { std::strcpy(a + 10, b + opaque(0)); }),
            (steps{"plain load b+0x0 (6 bytes)", "plain store a+0xa (6 bytes)"}));
  EXPECT_EQ(steps_of_call([](char* a, char* b) { std::strncpy(a, b + opaque(0), opaque(12)); }),
            (steps{"plain load b+0x0 (6 bytes)", "plain store a+0x0 (12 bytes)"}));
}

#ifdef HEDDLE_COMPARISONS_ARE_CALLS
TEST(library_functions, that_compare_constant_sizes_are_visible_too) {
  EXPECT_EQ(steps_of_call([](char* a, char* b) { SIM_CHECK(std::memcmp(a, b, 4) == 0); }),
            (steps{"plain load a+0x0 (4 bytes)", "plain load b+0x0 (4 bytes)"}));
  EXPECT_EQ(steps_of_call([](char* a, char* b) { SIM_CHECK(std::memcmp(a, b, 16) == 0); }),
            (steps{"plain load a+0x0 (16 bytes)", "plain load b+0x0 (16 bytes)"}));
  EXPECT_EQ(steps_of_call([](char* a, char*) { SIM_CHECK(std::strcmp(a, "ab") != 0); }).size(), 1u)
      << "what never changes, as a literal, is no step";
}
#endif

TEST(library_functions, on_a_lanes_own_memory_are_no_steps_and_of_no_bytes_neither) {
  EXPECT_EQ(steps_of_call([](char* a, char* b) {
              char own[40];
              std::memset(own, 1, opaque(sizeof own));
              std::memmove(own + 1, own, opaque(30));
              std::memcpy(a, b, opaque(0));
            }),
            steps{});
  EXPECT_EQ(steps_of_call([](char* a, char*) {
              char own[8] = {};
              std::memcpy(a, own, opaque(sizeof own));
            }),
            steps{"plain store a+0x0 (8 bytes)"});
}

TEST(library_functions, let_others_come_between_the_read_and_the_write) {
  const auto two_copy = [](const char* points) {
    machine on({std::string("points=") + points});
    return on.run_many(
        [] {
          device host;
          auto* const memory = host.allocate_shared<uint64_t>(4, "memory");
          host.launch({.blocks = 1, .waves = 1, .lanes = 2}, [memory] {
            // The second lane stores; the first copies words 0 and 1 over words 2 and 3.
            if (target::lane_id() == 0)
              std::memcpy(memory + 2, memory, opaque(16));
            else
              memory[0] = 1;
            if (target::lane_id() == 1) SIM_CHECK(memory[2] == 0);
          });
          host.synchronize();
        },
        200);
  };
  EXPECT_TRUE(sometimes(verdict::assertion, two_copy("all")));
  EXPECT_TRUE(always(verdict::ok, two_copy("atomics")));
}

}  // namespace
}  // namespace heddle::sim::tests
