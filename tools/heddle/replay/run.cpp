#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/printable.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/process/kept_output.h>
#include <heddle/tools/replay/step_table.h>
#include <heddle/tools/trial/explain.h>
#include <heddle/tools/trial/story.h>
#include <heddle/tools/trial/traces.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

/// A run that was recorded, whatever came of it.
struct recorded_result {
  scheduler::run_result result;
  scheduler::trace made;
  std::vector<sim::step_record> steps;
};

recorded_result record(const scenario& tested, const parameters& settings, const invocation& asked,
                       scheduler::strategy& deciding) {
  sim::simulation machine;
  {
    const kept_output beside(kept_output::from::now);
    deciding.estimated(scheduler::estimate_for(
        deciding, [&](scheduler::choice_source& choices) { run_scenario(machine, tested, settings, choices, false); }));
  }
  scheduler::choice_source choices;
  choices.begin(deciding, asked.seed);
  recorded_result all;
  all.result = explained_run(machine, tested, settings, choices, &all.steps);
  all.made = trace_header(tested, settings, asked.strategy);
  all.made.seed = asked.seed;
  all.made.digest = all.result.digest;
  all.made.steps = all.result.steps;
  all.made.answers = choices.recorded();
  scheduler::failure::of(all.result).note_in(all.made);
  return all;
}

void print_json(const recorded_result& all, const kept_trace& kept, bool expected, bool with_steps) {
  json shown = {{"scenario", all.made.scenario},
                {"seed", all.made.seed},
                {"strategy", all.made.strategy},
                {"verdict", to_string(all.result.outcome)},
                {"where", all.result.where},
                {"steps", all.result.steps},
                {"digest", digest_digits(all.result.digest)},
                {"message", all.result.message},
                {"report", all.result.report},
                {"story", story_in(all.result.report)},
                {"decided", decided_in(all.result.report)},
                {"contrast", contrast_in(all.result.report)},
                {"ok", expected},
                {"file", kept.file},
                {"token", token_of(all.made)}};
  if (with_steps) shown["trace"] = steps_as_json(all.steps);
  write_json(shown);
}

void print_text(const recorded_result& all, const kept_trace& kept, bool expected, const invocation& asked) {
  if (asked.show_steps) {
    print_steps(std::cout, all.steps);
    std::cout << '\n';
  }
  const scheduler::run_result& result = all.result;
  std::cout << all.made.scenario << ": " << painted(to_string(result.outcome), expected ? colour::good : colour::bad);
  if (!result.where.empty()) std::cout << " at " << result.where;
  std::cout << (expected ? ", as expected, " : ", which is not expected, ") << grouped(result.steps)
            << " steps, digest " << digest_digits(result.digest) << '\n'
            << indented(result.message, 2);
  const auto [summary, details] = paragraphs(result.report);
  std::cout << indented(summary, 2) << indented(details, 2);
  std::cout << how_to_play(all.made, asked.program, {.trace = kept.file});
}

/// One schedule, in which all have fair turns.
int run_as_itself(const scenario& tested, const parameters& settings) {
  std::string error;
  const std::unique_ptr<scheduler::strategy> fair = scheduler::make_strategy("round-robin:1", error);
  sim::simulation machine;
  scheduler::choice_source choices;
  choices.begin(*fair, 1);
  const scheduler::run_result made = run_scenario(machine, tested, settings, choices, false);
  std::cout.flush();
  std::fflush(stdout);
  if (made.outcome == scheduler::verdict::ok) return as_expected;
  std::cerr << scheduler::printable(tested.name) << ": " << to_string(made.outcome);
  if (!made.where.empty()) std::cerr << " at " << made.where;
  std::cerr << '\n' << indented(made.message, 2);
  return not_as_expected;
}

}  // namespace

int run(const invocation& asked) {
  const selection selected = select_one_scenario(asked.scenarios, "run");
  if (!selected.error.empty()) return fail(wrong_input, selected.error);
  const scenario& tested = *selected.chosen.front();
  const settings_or_error settings = simulator_settings(tested, asked.settings);
  if (!settings.value) return fail(wrong_input, settings.error);
  if (asked.tells.nothing) return run_as_itself(tested, *settings.value);
  std::string error;
  const std::unique_ptr<scheduler::strategy> deciding = scheduler::make_strategy(asked.strategy, error);
  if (deciding == nullptr) return fail(wrong_input, error);
  if (!asked.out_file.empty())
    if (const auto wrong = cannot_write(asked.out_file)) return fail(cannot_go_on, *wrong);

  catch_interrupt();
  const recorded_result all = record(tested, *settings.value, asked, *deciding);
  if (interrupt_flag()) return interrupted;
  kept_trace kept;
  if (asked.out_file.empty()) {
    kept = keep_trace(all.made, findings_folder());
    // Where that cannot be, the token is told.
    if (!kept.error.empty()) kept.file.clear();
  } else {
    if (const auto failed = scheduler::write_trace(all.made, asked.out_file)) return fail(cannot_go_on, *failed);
    kept.file = asked.out_file;
  }
  const bool expected = tested.expected_verdict(*settings.value).contains(all.result.outcome);
  if (asked.json) {
    print_json(all, kept, expected, asked.show_steps);
  } else {
    print_text(all, kept, expected, asked);
  }
  return expected ? as_expected : not_as_expected;
}

}  // namespace heddle::tools
