// What a compiler would rather not leave as a call: short copies of constant size, and the last call of a
// function. The options of heddle::under_test keep them visible.
#include "run.h"

#include <cstring>

namespace heddle::sim::tests {
namespace {

int line = 0;

template <typename Call>
std::vector<std::string> steps_of(Call call) {
  machine on;
  const outcome ended = on.explain([call] {
    device host;
    auto* const a = host.allocate_shared<char>(64, "a");
    auto* const b = host.allocate_shared<char>(64, "b");
    host.spawn_host("worker", [=] { call(a, b); }).join();
  });
  EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
  std::vector<std::string> steps;
  for (const step_record& step : ended.steps_taken)
    if (step.actor == "host worker") steps.push_back(step.operation + " " + step.location);
  return steps;
}

using steps = std::vector<std::string>;

TEST(inlined_calls, copies_of_constant_size_are_steps) {
  EXPECT_EQ(steps_of([](char* a, char* b) { std::memcpy(a, b, 3); }),
            (steps{"plain load b+0x0 (3 bytes)", "plain store a+0x0 (3 bytes)"}));
  EXPECT_EQ(steps_of([](char* a, char* b) { std::memcpy(a, b, 24); }),
            (steps{"plain load b+0x0 (24 bytes)", "plain store a+0x0 (24 bytes)"}));
  EXPECT_EQ(steps_of([](char* a, char* b) { std::memmove(a, b, 24); }),
            (steps{"plain load b+0x0 (24 bytes)", "plain store a+0x0 (24 bytes)"}));
  EXPECT_EQ(steps_of([](char* a, char*) { std::memcpy(a, "\1\2", 2); }).back(), "plain store a+0x0 (2 bytes)");
  EXPECT_EQ(steps_of([](char* a, char*) { std::memset(a, 0, 1); }), steps{"plain store a+0x0 (1 bytes)"});
  EXPECT_EQ(steps_of([](char* a, char*) { std::memset(a, 0, 32); }), steps{"plain store a+0x0 (32 bytes)"});
}

TEST(inlined_calls, the_last_call_of_a_function_is_told_by_its_line) {
  machine on;
  const outcome ended = on.explain([] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(1, "words");
    auto thread = host.spawn_host("writer", [words] {
      line = __LINE__ + 1;
      word<uint32_t>(*words).store(1, memory_order::release);
    });
  });
  ASSERT_EQ(ended.verdict, verdict::ok);
  bool seen = false;
  for (const step_record& step : ended.steps_taken)
    if (step.operation == "store release system") {
      seen = true;
      EXPECT_EQ(step.where, SIM_LINE(line));
    }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace heddle::sim::tests
