#include <heddle/scheduler/digest.h>
#include <heddle/scheduler/own_errors.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/sim/code/local_variables.h>
#include <heddle/sim/code/program_libraries.h>
#include <heddle/sim/code/source_line.h>
#include <heddle/sim/code/type_names.h>
#include <heddle/sim/faults/crash.h>
#include <heddle/sim/observe/debugger.h>
#include <heddle/sim/settings.h>
#include <heddle/sim/simulation.h>
#include <heddle/sim/verify/search.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "fake_machine.h"

namespace heddle::sim {

struct simulation::parts {};

std::string source_folder() { return {}; }

const std::string& names_of_unseen_code() {
  static const std::string none;
  return none;
}
typed_variable typed_variable_at(const void*) { return {}; }
std::string source_line::where() const { return file.empty() ? function : file + ":" + std::to_string(line); }

namespace {
thread_local tests::fake_run* running = nullptr;  // a machine is used by one thread at a time
}  // namespace

std::vector<source_line> inlined_at(const void*) { return {}; }
std::vector<local_integer> integers_at(const void*) { return {}; }
bool is_plumbing(const source_line&) { return false; }
std::optional<std::string> wrong_assumption(const std::string&) { return std::nullopt; }
// No run stops here.
std::string debugger_stops::add(const std::string&) { return {}; }
void stop_runs_at(const debugger_stops*) {}

std::vector<parameter> machine_parameters() {
  return {parameter::one_of("progress", "fair", {"unfair", "hsa", "obe", "fair"}, "what is guaranteed a turn"),
          parameter::number("budget", 1'000, 100, 1'000'000, "steps", "steps before the fair tail")};
}

std::optional<std::string> without_effect(const parameters&, std::string_view) { return std::nullopt; }
std::optional<std::string> without_effect(const parameters&) { return std::nullopt; }
std::optional<std::string> read_excuses(std::string_view, std::vector<excuse>&) { return std::nullopt; }
std::string excuse::text() const { return variable; }

bool is_any_code_instrumented = false;

simulation::simulation() = default;
simulation::~simulation() = default;

// Nothing here catches signals: a body that ends its process does, and its parent says so.
int watch_signal() { return SIGURG; }
void be_watched(watched_run*) { std::signal(SIGURG, SIG_IGN); }
void catch_crashes() {}
outcome outcome_of(const fault_note&) { return {}; }
std::string message_of(const fault_note&) { return {}; }

// There is no time here, and no call takes any. Whether times are asked for is told where a test wants to know.
void simulation::time_calls(call_times*) {
  if (std::getenv("FAKE_TELLS_OF_TIMES") != nullptr) dprintf(scheduler::own_errors, "times are asked for\n");
}
void simulation::tell_of_others(const other_schedules*) {}
void simulation::when_hang_is_certain(std::function<void()>) {}

// Some random runs, so that the command can be linked without a simulator; the search itself is tested in tests/sim.
search_result simulation::search(const explored_run& run, const search_options& options) {
  search_result result;
  scheduler::choice_source choices;
  std::string error;
  const auto deciding = scheduler::make_strategy("random", error);
  constexpr uint64_t runs = 64;
  for (uint64_t seed = 1; seed <= runs; ++seed) {
    choices.begin(*deciding, seed);
    const outcome ended = run(choices);
    ++result.runs;
    ++result.executions;
    result.depth_max = ended.steps;
    if (ended.verdict == scheduler::verdict::budget)
      result.left_out = "a run has not come to its end: " + ended.message;
    if (options.ended && !options.ended(ended, choices.recorded())) {
      result.stopped = true;
      return result;
    }
  }
  result.complete = result.left_out.empty();
  return result;
}

const outcome& simulation::run(const parameters&, const std::function<void()>& body, scheduler::choice_source& choices,
                               bool explain, run_record* record) {
  static thread_local outcome ended;
  ended = {};
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
  if (record != nullptr && explain) *record = tests::fake_record(ended.steps_taken);
  if (!explain) ended.steps_taken.clear();
  return ended;
}

}  // namespace heddle::sim

namespace heddle::tests {

// As the simulator has it, with texts that would break a page which took them for its own.
sim::run_record fake_record(const std::vector<sim::step_record>& steps) {
  sim::run_record made;
  made.texts = {"load </script><script>alert(1)</script>", "word <!-- & \"quotes\" ]]>", "word+0x0"};
  made.call_chains = {{{.file = "tests/tools/hostile_source.txt", .line = 2, .function = "<b>function</b>"}}};
  made.waves = {{.name = "wave 0", .placed = true}, {.name = "host </script>", .host = true, .placed = true}};
  made.actors = {{.name = "wave 0 lane 0", .wave = 0}, {.name = "host </script>", .wave = 1}};
  for (size_t n = 0; n < steps.size(); ++n)
    made.steps.push_back({.actor = static_cast<uint32_t>(n % 2),
                          .operation = 0,
                          .kind = n % 2 == 0 ? sim::operation_kind::store : sim::operation_kind::load,
                          .place = 1,
                          .calls = 0,
                          .size_bytes = 4,
                          .address = 64,
                          .value = n / 2,
                          .has_value = true,
                          .changes = n % 2 == 0,
                          .after = n / 2,
                          .reads = n % 2 == 0 ? sim::run_record::never : n,
                          .arrived = n % 2 == 0 ? n + 1 : sim::run_record::never});
  made.waits = {{.actor = 0, .from = 1, .text = 2, .calls = 0}};
  made.edges = {
      {.from = "wave 0", .to = "host </script>", .over = "word+0x0", .from_wave = 0, .to_wave = 1, .on_cycle = true},
      {.from = "host </script>", .to = "wave 0", .over = "word+0x0", .from_wave = 1, .to_wave = 0, .on_cycle = true}};
  made.circle = {0, 1};
  return made;
}

fake_run& current_run() { return *sim::running; }

uint32_t fake_pick(uint32_t count) {
  fake_run& run = current_run();
  const uint32_t picked = run.choices.pick(count, scheduler::choice_kind::actor);
  if (picked == scheduler::no_answer) {
    run.ended.stopped_by_source = true;
    return 0;
  }
  if (run.choices.looks_at_steps()) run.choices.performed({});
  run.ended.steps_taken.push_back({.step = run.ended.steps_taken.size() + 1,
                                   .actor = "lane " + std::to_string(picked),
                                   .operation = "load",
                                   .location = "word",
                                   .value = std::to_string(picked),
                                   .where = "fake.cpp:1"});
  return picked;
}

void fake_violation(scheduler::verdict verdict, std::string where, std::string message, std::string hang) {
  current_run().ended.hang = std::move(hang);
  sim::outcome& ended = current_run().ended;
  if (ended.stopped_by_source) return;
  ended.verdict = verdict;
  ended.where = std::move(where);
  ended.message = std::move(message);
}

}  // namespace heddle::tests
