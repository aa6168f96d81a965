// The C library's functions on memory and strings, as a program calls them: seen by the simulator, with the results that they
// have elsewhere. Sizes are no constants here: the calls stay calls.
#include "run.h"

#include <array>
#include <cstring>

namespace heddle::sim::tests {
namespace {

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
std::vector<std::string> steps_of(Call call) {
  machine on;
  const outcome ended = on.explain([call] {
    device host;
    auto* const a = host.allocate_shared<char>(text_bytes, "a");
    auto* const b = host.allocate_shared<char>(text_bytes, "b");
    for (size_t n = 0; n < 5; ++n) a[n] = b[n] = 'x';
    host.spawn_host("worker", [=] { call(a, b); }).join();
  });
  EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
  std::vector<std::string> steps;
  for (const step_record& step : ended.steps_taken)
    if (step.actor == "host worker") steps.push_back(step.operation + " " + step.location);
  return steps;
}

using steps = std::vector<std::string>;

TEST(library_functions, are_one_visible_read_or_write_of_each_range) {
  EXPECT_EQ(steps_of([](char* a, char* b) { std::memcpy(a, b, opaque(24)); }),
            (steps{"plain load b+0x0 (24 bytes)", "plain store a+0x0 (24 bytes)"}));
  EXPECT_EQ(steps_of([](char* a, char*) { std::memmove(a + 1, a, opaque(7)); }),
            (steps{"plain load a+0x0 (7 bytes)", "plain store a+0x1 (7 bytes)"}));
  EXPECT_EQ(steps_of([](char* a, char*) { std::memset(a, 1, opaque(33)); }), steps{"plain store a+0x0 (33 bytes)"});
  EXPECT_EQ(steps_of([](char* a, char* b) {
              volatile int used = std::memcmp(a, b, opaque(20));
              (void)used;
            }),
            (steps{"plain load a+0x0 (20 bytes)", "plain load b+0x0 (20 bytes)"}));
  EXPECT_EQ(steps_of([](char* a, char*) {
              volatile size_t used = std::strlen(a + opaque(0));
              (void)used;
            }),
            steps{"plain load a+0x0 (6 bytes)"});
  EXPECT_EQ(steps_of([](char* a, char* b) {
              volatile int used = std::strcmp(a + opaque(0), b);
              used = std::strncmp(a + opaque(0), b, opaque(3));
              (void)used;
            }),
            (steps{"plain load a+0x0 (6 bytes)", "plain load b+0x0 (6 bytes)", "plain load a+0x0 (3 bytes)",
                   "plain load b+0x0 (3 bytes)"}));
  EXPECT_EQ(steps_of([](char* a, char* b) { std::strcpy(a + 10, b + opaque(0)); }),
            (steps{"plain load b+0x0 (6 bytes)", "plain store a+0xa (6 bytes)"}));
  EXPECT_EQ(steps_of([](char* a, char* b) { std::strncpy(a, b + opaque(0), opaque(12)); }),
            (steps{"plain load b+0x0 (6 bytes)", "plain store a+0x0 (12 bytes)"}));
}

#ifdef HEDDLE_COMPARISONS_ARE_CALLS
TEST(library_functions, that_compare_constant_sizes_are_visible_too) {
  EXPECT_EQ(steps_of([](char* a, char* b) { SIM_CHECK(std::memcmp(a, b, 4) == 0); }),
            (steps{"plain load a+0x0 (4 bytes)", "plain load b+0x0 (4 bytes)"}));
  EXPECT_EQ(steps_of([](char* a, char* b) { SIM_CHECK(std::memcmp(a, b, 16) == 0); }),
            (steps{"plain load a+0x0 (16 bytes)", "plain load b+0x0 (16 bytes)"}));
  EXPECT_EQ(steps_of([](char* a, char*) { SIM_CHECK(std::strcmp(a, "ab") != 0); }).size(), 1u)
      << "what never changes, as a literal, is no step";
}
#endif

TEST(library_functions, on_a_lanes_own_memory_are_no_steps_and_of_no_bytes_neither) {
  EXPECT_EQ(steps_of([](char* a, char* b) {
              char own[40];
              std::memset(own, 1, opaque(sizeof own));
              std::memmove(own + 1, own, opaque(30));
              std::memcpy(a, b, opaque(0));
            }),
            steps{});
  EXPECT_EQ(steps_of([](char* a, char*) {
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
