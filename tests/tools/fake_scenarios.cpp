#include <heddle/tools/registry.h>

#include <chrono>
#include <thread>

#include "fake_machine.h"

namespace heddle::tests {
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

void long_run(const parameters&) {
  uint32_t sum = 0;
  for (int step = 0; step < 300'000; ++step) sum += fake_pick(250);
  if (sum > 0) fake_violation(verdict::livelock, "fake/long.cpp:1", "they move for ever");
}

verdict expect_deadlock(const parameters&) { return verdict::deadlock; }

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
    register_scenario({.name = "fake.counted",
                       .summary = "Has a bug that four calls show.",
                       .parameters = {parameter::number("calls", 20, 1, 100, "calls", "how often")},
                       .body = counted}) &&
    register_scenario({.name = "fake.silent", .summary = "Makes no choice.", .body = silent}) &&
    register_scenario({.name = "fake.forgetful", .summary = "Keeps state in a static.", .body = forgetful}) &&
    register_scenario({.name = "fake.endless", .summary = "Runs out of budget.", .body = endless}) &&
    register_scenario({.name = "fake.slow", .summary = "Takes its time.", .body = slow}) &&
    register_scenario({.name = "fake.long", .summary = "Makes many choices.", .body = long_run}) &&
    register_scenario({.name = "fake.a-name-that-goes-on-and-on-and-is-wider-than-any-terminal-that-one-has",
                       .summary = "Has a long name.",
                       .parameters = {parameter::number("budget", 500, 100, 1'000, "steps", "less than the machine's")},
                       .body = silent});

}  // namespace
}  // namespace heddle::tests
