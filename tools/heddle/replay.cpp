#include <heddle/sim/run_record.h>
#include <heddle/tools/commands.h>
#include <heddle/tools/common.h>
#include <heddle/tools/explain.h>
#include <heddle/tools/how_to_play.h>
#include <heddle/tools/interrupt.h>
#include <heddle/tools/recorded_run.h>
#include <heddle/tools/step_table.h>
#include <heddle/tools/table.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

std::string hexadecimal(uint64_t value) {
  std::string digits(16, '0');
  for (size_t place = 16; place > 0; --place, value >>= 4) digits[place - 1] = "0123456789abcdef"[value & 15];
  return digits;
}

/// What came of all repetitions.
struct replayed {
  scheduler::replay_result first;
  std::vector<sim::step_record> steps;
  sim::run_record record;
  uint64_t runs = 0;
  uint64_t equal = 0;        ///< runs that were the recorded one
  std::string disagreement;  ///< of the first that was not
};

replayed run_all(const recorded_run& found, uint64_t repeat) {
  sim::simulation machine;
  replayed all;
  while (all.runs < repeat && !interrupt_flag()) {
    const bool first = all.runs == 0;
    const auto run = [&](scheduler::choice_source& choices, bool explain) {
      return explain ? explained_run(machine, *found.tested, found.settings, choices, &all.steps, &all.record)
                     : run_scenario(machine, *found.tested, found.settings, choices, false);
    };
    scheduler::replay_result again = scheduler::run_again(found.recorded, run, first);
    ++all.runs;
    if (again.disagreement.empty()) {
      ++all.equal;
    } else if (all.disagreement.empty()) {
      all.disagreement = again.disagreement;
    }
    if (first) all.first = std::move(again);
  }
  return all;
}

json to_json(const sim::step_record& step) {
  return {{"step", step.step},   {"actor", step.actor}, {"operation", step.operation}, {"location", step.location},
          {"value", step.value}, {"where", step.where}, {"note", step.note},           {"event", step.is_event}};
}

/// Who waits for whom, as the drawing has it.
json waits_of(const sim::run_record& of) {
  json edges = json::array();
  for (const sim::wait_edge& each : of.edges)
    edges.push_back({{"from", each.from},
                     {"to", each.to},
                     {"over", each.over},
                     {"supposed", each.supposed},
                     {"cycle", each.on_cycle},
                     {"why", each.why}});
  json unknown = json::array();
  for (const sim::unknown_wait& each : of.unknown)
    unknown.push_back({{"from", each.from}, {"over", each.over}, {"why", each.why}});
  return {{"edges", edges}, {"circle", of.circle}, {"unknown", unknown}};
}

void print_json(const scheduler::trace& recorded, const replayed& all, bool with_steps) {
  const scheduler::run_result& result = all.first.result;
  json shown = {{"scenario", recorded.scenario},
                {"verdict", to_string(result.outcome)},
                {"where", result.where},
                {"steps", result.steps},
                {"digest", hexadecimal(result.digest)},
                {"message", result.message},
                {"report", result.report},
                {"waits", result.waits},
                {"waits_for", waits_of(all.record)},
                {"decided", decided_in(result.report)},
                {"ok", all.disagreement.empty()},
                {"runs", all.runs},
                {"equal", all.equal},
                {"disagreement", all.disagreement}};
  if (with_steps) {
    shown["trace"] = json::array();
    for (const sim::step_record& step : all.steps) shown["trace"].push_back(to_json(step));
  }
  std::cout << shown.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

void print_text(const scheduler::trace& recorded, const replayed& all, const invocation& asked) {
  const bool with_steps = asked.show_steps;
  const scheduler::run_result& result = all.first.result;
  if (with_steps) {
    print_steps(std::cout, all.steps);
    std::cout << '\n';
  }
  if (all.first.disagreement.empty()) {
    std::cout << recorded.scenario << ": "
              << painted(to_string(result.outcome),
                         result.outcome == scheduler::verdict::ok ? colour::good : colour::bad);
    if (!result.where.empty()) std::cout << " at " << result.where;
    std::cout << ", " << grouped(result.steps) << " steps, digest " << hexadecimal(result.digest) << '\n'
              << indented(result.message, 2);
    const auto [summary, details] = paragraphs(result.report);
    std::cout << indented(summary, 2);
    // A token is in the line that was typed.
    const bool is_token = asked.file_or_token.starts_with("heddle1.");
    if (result.outcome != scheduler::verdict::ok)
      std::cout << "  as a page: " << shell_word(asked.program) << " report "
                << (is_token ? "TOKEN" : shell_word(asked.file_or_token)) << '\n';
    std::cout << indented(details, 2);
  }
  if (all.runs > 1) std::cout << all.equal << " of " << all.runs << " equal digests\n";
}

}  // namespace

int replay(const invocation& asked) {
  const recorded_run found = find_recorded(asked.file_or_token, asked.program);
  if (!found.error.empty()) return fail(wrong_input, found.error);
  const scheduler::trace& recorded = found.recorded;

  catch_interrupt();
  const replayed all = run_all(found, asked.repeat);
  if (all.runs == 0) return interrupted;
  if (asked.json) {
    print_json(recorded, all, asked.show_steps);
  } else {
    print_text(recorded, all, asked);
  }
  if (!asked.dot_file.empty() && all.first.disagreement.empty()) {
    const std::string& waits = all.first.result.waits;
    if (waits.empty()) return fail(wrong_input, "--dot: nobody waits for anybody at the end of this run");
    std::ofstream file(asked.dot_file);
    file << waits << std::flush;
    if (!file) return fail(cannot_go_on, "cannot write " + asked.dot_file);
  }
  if (!all.disagreement.empty()) return fail(wrong_input, "not the recorded run: " + all.disagreement);
  if (interrupt_flag()) return interrupted;
  return recorded.outcome == scheduler::verdict::ok ? as_expected : not_as_expected;
}

}  // namespace heddle::tools
