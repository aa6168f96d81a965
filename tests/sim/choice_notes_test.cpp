// What the machine chose in a step is told there: in the steps of an explained run, and where a report says what could end a wait.
#include <heddle/sim/device.h>
#include <heddle/sim/observe/run_record.h>
#include <heddle/sim/target.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "run.h"

namespace heddle::sim::tests::choice_notes_test {
namespace {

using flag = word<uint32_t>;

/// The first seed whose run has a step that is told so; its outcome.
outcome with_note(const std::vector<std::string>& settings, const program& what, const std::string& note) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    outcome ended = machine(settings).explain(what, seed);
    const bool has = std::any_of(ended.steps_taken.begin(), ended.steps_taken.end(), [&](const step_record& one) {
      return says(one.note, note) || (one.is_event && says(one.operation, note));
    });
    if (has) return ended;
  }
  ADD_FAILURE() << "no run of 2000 has " << note;
  return {};
}

const step_record& step_with(const outcome& ended, const std::string& note) {
  static const step_record none;
  const auto found = std::find_if(ended.steps_taken.begin(), ended.steps_taken.end(), [&](const step_record& one) {
    return says(one.note, note) || (one.is_event && says(one.operation, note));
  });
  return found == ended.steps_taken.end() ? none : *found;
}

// The consumer clears the word of a producer that has come meanwhile: both stores are there, and the later one counts as older.
void late_reset() {
  device on;
  auto* const words = on.allocate_shared<uint32_t>(1, "words");
  auto clears = on.spawn_host("clears", [=] { flag(*words).store(2, memory_order::relaxed); });
  on.launch({}, [=] { flag(*words).store(1, memory_order::relaxed); });
  on.synchronize();
  clears.join();
  while (flag(*words).load(memory_order::relaxed) != 1) target::pause();
}

TEST(choice_notes, a_store_behind_a_newer_one_says_so_also_in_the_report) {
  const outcome ended = with_note({"fidelity=scoped"}, late_reset, "counts as older than step ");
  ASSERT_FALSE(ended.steps_taken.empty());
  const step_record& store = step_with(ended, "counts as older than step ");
  EXPECT_TRUE(says(store.operation, "store relaxed")) << store.operation;
  EXPECT_TRUE(says(store.note, ": " + store.actor + " had not acquired it")) << store.note;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const outcome hung = machine({"fidelity=scoped"}).explain(late_reset, seed);
    if (hung.verdict != verdict::deadlock || step_with(hung, "counts as older").actor != "wave 0 lane 0") continue;
    EXPECT_TRUE(says(hung.report, "; a store of 0x1 by wave 0 lane 0 at ")) << hung.report;
    EXPECT_TRUE(says(hung.report, "counts as older than step ")) << hung.report;
    return;
  }
  ADD_FAILURE() << "no run hangs by it";
}

// Memory of the C++ heap may be gone when it is looked at; what an atomic has just written is not.
TEST(choice_notes, a_record_knows_what_atomics_leave_on_the_heap_and_says_nothing_of_plain_stores) {
  machine on;
  run_record made;
  on.record(
      [] {
        auto* const count = new std::atomic<uint32_t>(2);
        auto* const plain = new uint32_t(0);
        std::thread other([] {});
        count->fetch_add(5, std::memory_order_relaxed);
        count->store(9, std::memory_order_relaxed);
        *plain = 4;
        other.join();
        delete plain;
        delete count;
      },
      1, made);
  const auto step_of = [&](operation_kind kind) {
    return std::find_if(made.steps.begin(), made.steps.end(),
                        [&](const auto& one) { return one.kind == kind && one.changes; });
  };
  const auto added = step_of(operation_kind::read_modify_write);
  ASSERT_NE(added, made.steps.end());
  EXPECT_EQ(added->value, 2u);
  EXPECT_EQ(added->after, 7u);
  const auto stored = step_of(operation_kind::store);
  ASSERT_NE(stored, made.steps.end());
  EXPECT_EQ(stored->after, 9u);
  const auto plain = step_of(operation_kind::plain_store);
  ASSERT_NE(plain, made.steps.end());
  EXPECT_FALSE(plain->has_value);
}

TEST(choice_notes, a_load_of_an_older_value_says_which_store_it_missed) {
  const outcome ended = with_note(
      {"fidelity=scoped"},
      [] {
        device on;
        auto* const words = on.allocate_shared<uint32_t>(1, "words");
        on.launch({}, [=] { flag(*words).store(1, memory_order::relaxed); });
        for (int n = 0; n < 4; ++n) flag(*words).load(memory_order::relaxed);
        on.synchronize();
      },
      "an older value: missed step ");
  const step_record& load = step_with(ended, "an older value: missed step ");
  EXPECT_EQ(load.value, "0x0");
  const uint64_t missed =
      std::strtoull(load.note.c_str() + std::string("an older value: missed step ").size(), nullptr, 10);
  const auto store = std::find_if(ended.steps_taken.begin(), ended.steps_taken.end(),
                                  [&](const step_record& one) { return one.step == missed; });
  ASSERT_NE(store, ended.steps_taken.end());
  EXPECT_EQ(store->actor, "wave 0 lane 0");
  EXPECT_EQ(store->value, "0x1");
}

TEST(choice_notes, a_weak_failure_for_no_reason_differs_from_one_with_a_reason) {
  const outcome ended = with_note(
      {"spurious=1"},
      [] {
        device on;
        auto* const words = on.allocate_shared<uint32_t>(1, "words");
        on.launch({.waves = 2}, [=] {
          uint32_t expected = 0;
          flag(*words).compare_exchange_weak(expected, 1, memory_order::relaxed);
        });
        on.synchronize();
      },
      "fails for no reason");
  EXPECT_TRUE(says(step_with(ended, "fails for no reason").operation, "compare-exchange"));
}

TEST(choice_notes, going_on_for_no_reason_is_told) {
  const outcome ended = with_note(
      {},
      [] {
        device on;
        auto* const words = on.allocate_shared<uint32_t>(1, "words");
        on.launch({}, [=] {
          while (flag(*words).load(memory_order::acquire) == 0) target::pause();
        });
        flag(*words).store(1, memory_order::release);
        on.synchronize();
      },
      "goes on for no reason");
  EXPECT_EQ(step_with(ended, "goes on for no reason").actor, "wave 0 lane 0");
}

/// Data and a flag behind it, without an order between them; the host waits for both.
void two_stores() {
  device on;
  auto* const words = on.allocate_shared<uint32_t>(64, "words");
  on.launch({}, [=] {
    flag(words[0]).store(7, memory_order::relaxed);
    flag(words[32]).store(8, memory_order::relaxed);
  });
  while (flag(words[32]).load(memory_order::relaxed) == 0) target::pause();
  while (flag(words[0]).load(memory_order::relaxed) != 9) target::pause();
}

TEST(choice_notes, a_store_that_arrives_late_has_a_line_of_its_own_and_the_value_is_its) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const outcome ended = machine({"fidelity=link"}).explain(two_stores, seed);
    const auto arrival = std::find_if(ended.steps_taken.begin(), ended.steps_taken.end(), [](const step_record& one) {
      return one.is_event && says(one.location, "words+0x0");
    });
    if (ended.verdict != verdict::deadlock || arrival == ended.steps_taken.end()) continue;
    EXPECT_EQ(arrival->actor, "(link)");
    EXPECT_EQ(arrival->value, "0x7");
    const auto store = std::find_if(ended.steps_taken.begin(), ended.steps_taken.end(), [](const step_record& one) {
      return !one.is_event && one.value == "0x7" && says(one.operation, "store");
    });
    ASSERT_NE(store, ended.steps_taken.end());
    EXPECT_EQ(arrival->operation, "the store of step " + std::to_string(store->step) + " arrives");
    EXPECT_GT(arrival->step, store->step);
    EXPECT_EQ(arrival->where, store->where);
    // By the line and in the step that stored it, wherever the lane was when it arrived.
    EXPECT_TRUE(says(ended.report, "last changed by wave 0 lane 0 at " + store->where + " (step " +
                                       std::to_string(store->step) + ")"))
        << ended.report;
    return;
  }
  ADD_FAILURE() << "nothing arrives late";
}

}  // namespace
}  // namespace heddle::sim::tests::choice_notes_test
