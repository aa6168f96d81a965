#include <heddle/tools/registry.h>

#include <chrono>
#include <thread>

#include "fake_machine.h"

namespace heddle::tests {

// In fake_heddle_rebuilt alone, see rebuilt.cpp.
extern const bool is_rebuilt __attribute__((weak));

namespace {

using scheduler::verdict;

const parameter calls = parameter::number("calls", 3, 1, 100, "calls", "how often");

void echo(const parameters& set) {
  for (uint32_t call = 0; call < set.count("calls"); ++call) fake_pick(3);
}

void crossed(const parameters&) {
  if (fake_pick(4) == fake_pick(4))
    fake_violation(verdict::deadlock, "zoo/crossed.cpp:12", "two lanes wait for each other");
}

void racy(const parameters&) {
  for (int step = 0; step < 20; ++step) fake_pick(1);
  if (fake_pick(2) == 0) fake_violation(verdict::race, "fake/racy.cpp:7", "a plain store meets a load");
}

void counted(const parameters& set) {
  // Three answers of 1 in a row, behind something else.
  uint32_t in_a_row = 0;
  bool other = false;
  for (uint32_t call = 0; call < set.count("calls"); ++call) {
    const bool one = fake_pick(2) == 1;
    other = other || !one;
    in_a_row = one && other ? in_a_row + 1 : 0;
    if (in_a_row != 3) continue;
    fake_violation(verdict::assertion, "fake/counted.cpp:5", "three in a row");
    return;
  }
}

/// In the other build there is one choice more, in the end.
void edited(const parameters&) {
  const uint32_t first = fake_pick(4);
  const bool agree = first == fake_pick(4);
  if (&is_rebuilt != nullptr) fake_pick(7);
  if (agree)
    fake_violation(verdict::assertion, &is_rebuilt != nullptr ? "fake/edited.cpp:8" : "fake/edited.cpp:7",
                   "they agree");
}

/// Three messages of one place, two of which differ in a number.
void protocols(const parameters&) {
  const uint32_t which = fake_pick(3);
  fake_violation(verdict::protocol, "fake/report.cpp:1",
                 which == 2 ? "an answer without a request" : "lane " + std::to_string(which) + " opened twice");
}

/// One bug that shows as a race or as a deadlock.
void either(const parameters&) {
  if (fake_pick(2) == 0)
    fake_violation(verdict::race, "fake/either.cpp:1", "a plain store meets a load");
  else
    fake_violation(verdict::deadlock, "fake/either.cpp:2", "nothing can ever move again");
}
scheduler::verdict_set race_or_deadlock(const parameters&) { return {verdict::race, verdict::deadlock}; }
scheduler::verdict_set any_violation(const parameters&) { return scheduler::verdict_set::any_violation(); }

void silent(const parameters&) {}

void forgetful(const parameters&) {
  static int runs = 0;  // the mistake that is to be found
  fake_pick(2);
  if (++runs == 2) fake_violation(verdict::assertion, "fake/forgetful.cpp:3", "runs != 2");
}

void endless(const parameters&) {
  fake_pick(2);
  fake_violation(verdict::budget, "", "the step budget ran out");
}

void slow(const parameters&) {
  fake_pick(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

template <int choices, verdict ends>
void long_run(const parameters&) {
  uint32_t sum = 0;
  for (int step = 0; step < choices; ++step) sum += fake_pick(250);
  if (sum > 0) fake_violation(ends, "fake/long.cpp:1", "they move for ever");
}

/// Two hangs that come to light at the same place.
void hangs(const parameters&) {
  const uint32_t which = fake_pick(8);
  if (which < 6)
    fake_violation(verdict::deadlock, "fake/hangs.cpp:9", "wave " + std::to_string(which) + " waits",
                   which < 4 ? "host main, wave" : "host main, host server");
}

verdict expect_deadlock(const parameters&) { return verdict::deadlock; }

/// Finds the same as `counted`, unless it is fixed.
void counted_unless_fixed(const parameters& set) {
  if (set.text("fixed") == "no") counted(set);
}

const parameter fixed = parameter::one_of("fixed", "no", {"no", "yes"}, "without the bug");
const parameter is_fixed = parameter::one_of("fixed", "yes", {"no", "yes"}, "without the bug");
const parameter four_calls = parameter::number("calls", 4, 1, 100, "calls", "how often");
const parameter three_calls = parameter::number("calls", 3, 1, 100, "calls", "how often");

verdict expect_assertion(const parameters& set) {
  return set.text("fixed") == "no" && set.count("calls") >= 4 ? verdict::assertion : verdict::ok;
}
verdict always_assertion(const parameters&) { return verdict::assertion; }

// Entries of the zoo: one as it should be, one whose twin has the bug, and one that its defaults do not show.
const bool registered_entries =
    register_scenario({.name = "entry.counted",
                       .summary = "Four calls show it.",
                       .parameters = {four_calls, fixed},
                       .expected = expect_assertion,
                       .body = counted_unless_fixed}) &&
    register_scenario({.name = "entry.counted.fixed",
                       .summary = "Without.",
                       .parameters = {four_calls, is_fixed},
                       .expected = expect_assertion,
                       .body = counted_unless_fixed}) &&
    register_scenario({.name = "entry.leaky",
                       .summary = "Its twin has the bug.",
                       .parameters = {four_calls},
                       .expected = always_assertion,
                       .body = counted}) &&
    register_scenario(
        {.name = "entry.leaky.fixed", .summary = "Has the bug.", .parameters = {four_calls}, .body = counted}) &&
    register_scenario({.name = "entry.missed",
                       .summary = "Three calls do not show it.",
                       .parameters = {three_calls},
                       .expected = always_assertion,
                       .body = counted}) &&
    register_scenario({.name = "entry.missed.fixed", .summary = "Without.", .body = silent}) &&
    register_scenario(
        {.name = "entry.either", .summary = "Shows in two ways.", .expected = race_or_deadlock, .body = either}) &&
    register_scenario({.name = "entry.either.fixed", .summary = "Without.", .body = silent});

const bool registered =
    register_scenario({.name = "port.echo", .summary = "Calls come back.", .parameters = {calls}, .body = echo}) &&
    register_scenario({.name = "zoo.crossed-calls",
                       .summary = "Two lanes call each other.",
                       .expected = expect_deadlock,
                       .body = crossed}) &&
    register_scenario({.name = "zoo.unplanted",
                       .summary = "Lacks its bug.",
                       .parameters = {calls},
                       .expected = expect_deadlock,
                       .body = echo}) &&
    register_scenario({.name = "fake.racy", .summary = "Has a race.", .body = racy}) &&
    register_scenario({.name = "fake.edited", .summary = "Was edited.", .body = edited}) &&
    register_scenario({.name = "fake.protocols", .summary = "Breaks in two ways.", .body = protocols}) &&
    register_scenario(
        {.name = "fake.either", .summary = "Breaks in any way.", .expected = any_violation, .body = either}) &&
    register_scenario({.name = "fake.counted",
                       .summary = "Has a bug that four calls show.",
                       .parameters = {parameter::number("calls", 20, 1, 100, "calls", "how often")},
                       .body = counted}) &&
    register_scenario(
        {.name = "fake.hangs", .summary = "Hangs in two ways.", .expected = expect_deadlock, .body = hangs}) &&
    register_scenario({.name = "fake.silent", .summary = "Makes no choice.", .body = silent}) &&
    register_scenario({.name = "fake.forgetful", .summary = "Keeps state in a static.", .body = forgetful}) &&
    register_scenario({.name = "fake.endless", .summary = "Runs out of budget.", .body = endless}) &&
    register_scenario({.name = "fake.slow", .summary = "Takes its time.", .body = slow}) &&
    // The token of so many is just longer than a word of a command line may be. That verdict is not explained, which would take long.
    register_scenario(
        {.name = "fake.long", .summary = "Makes many choices.", .body = long_run<100'000, verdict::unsupported>}) &&
    register_scenario(
        {.name = "fake.fairly-long", .summary = "Makes fewer.", .body = long_run<4'000, verdict::livelock>}) &&
    register_scenario({.name = "fake.a-name-that-goes-on-and-on-and-is-wider-than-any-terminal-that-one-has",
                       .summary = "Has a long name.",
                       .parameters = {parameter::number("budget", 500, 100, 1'000, "steps", "less than the machine's")},
                       .body = silent});

}  // namespace
}  // namespace heddle::tests
