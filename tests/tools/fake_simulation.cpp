#include <heddle/scheduler/digest.h>
#include <heddle/sim/settings.h>

#include "fake_machine.h"

namespace heddle::sim {

class world {};

namespace {
thread_local tests::fake_run* running = nullptr;  // a machine is used by one thread at a time
}  // namespace

std::vector<parameter> machine_parameters() {
  return {parameter::one_of("progress", "fair", {"unfair", "hsa", "obe", "fair"}, "who is guaranteed a turn"),
          parameter::number("budget", 1'000, 100, 1'000'000, "steps", "steps before the fair tail")};
}

std::optional<std::string> without_effect(const parameters&, std::string_view) { return std::nullopt; }
std::optional<std::string> without_effect(const parameters&) { return std::nullopt; }

simulation::simulation() = default;
simulation::~simulation() = default;

outcome simulation::run(const parameters&, const std::function<void()>& body, scheduler::choice_source& choices,
                        bool explain) {
  outcome ended;
  tests::fake_run current = {.choices = choices, .ended = ended};
  running = &current;
  body();
  running = nullptr;
  ended.steps = ended.steps_taken.size();
  scheduler::digest steps;
  for (const step_record& each : ended.steps_taken) steps.add(each.value);
  ended.digest = steps.value();
  if (explain && ended.verdict != scheduler::verdict::ok) {
    ended.report = "lane 0 waits for lane 1\nlane 1 waits for lane 0";
    ended.waits = "digraph waits {}\n";
  }
  if (!explain) ended.steps_taken.clear();
  return ended;
}

}  // namespace heddle::sim

namespace heddle::tests {

fake_run& current_run() { return *sim::running; }

uint32_t fake_pick(uint32_t count) {
  fake_run& run = current_run();
  const uint32_t picked = run.choices.pick(count, scheduler::choice_kind::actor);
  if (picked == scheduler::no_answer) {
    run.ended.stopped_by_source = true;
    return 0;
  }
  run.ended.steps_taken.push_back({.step = run.ended.steps_taken.size() + 1,
                                   .actor = "lane " + std::to_string(picked),
                                   .operation = "load",
                                   .location = "word",
                                   .value = std::to_string(picked),
                                   .where = "fake.cpp:1"});
  return picked;
}

void fake_violation(scheduler::verdict verdict, std::string where, std::string message) {
  sim::outcome& ended = current_run().ended;
  if (ended.stopped_by_source) return;
  ended.verdict = verdict;
  ended.where = std::move(where);
  ended.message = std::move(message);
}

}  // namespace heddle::tests
