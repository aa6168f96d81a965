#include <heddle/scheduler/printable.h>
#include <heddle/scheduler/shrink.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/replay/shrink_settings.h>
#include <heddle/tools/trial/explain.h>
#include <heddle/tools/trial/how_to_play.h>
#include <heddle/tools/trial/recorded_run.h>

#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

json to_json(const scheduler::run_size& size) {
  return {{"steps", size.steps},
          {"switches", size.switches},
          {"preemptions", size.preemptions},
          {"odd_answers", size.odd_answers}};
}

void print_json(const scheduler::shrunk& made, const std::string& file, const std::vector<std::string>& decided) {
  json changed = json::array();
  for (const scheduler::changed_setting& each : made.changed)
    changed.push_back({{"key", each.key}, {"before", each.before}, {"after", each.after}});
  const json shown = {{"scenario", made.smallest.scenario},
                      {"verdict", to_string(made.smallest.outcome)},
                      {"where", made.smallest.where},
                      {"file", file},
                      {"token", scheduler::to_token(made.smallest)},
                      {"before", to_json(made.before)},
                      {"after", to_json(made.after)},
                      {"changed", changed},
                      {"decided", decided},
                      {"runs", made.runs},
                      {"seconds", made.seconds},
                      {"finished", made.finished}};
  std::cout << shown.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

void print_text(const scheduler::shrunk& made, const std::string& file, const std::string& program,
                const scheduler::run_result& explained) {
  const scheduler::trace& small = made.smallest;
  std::cout << scheduler::printable(small.scenario) << ": " << painted(to_string(small.outcome), colour::bad);
  if (!small.where.empty()) std::cout << " at " << small.where;
  std::cout << '\n';
  table sizes({{.title = "", .side = table::align::left},
               {.title = "before", .side = table::align::right},
               {.title = "after", .side = table::align::right}});
  const auto add = [&](const char* what, uint64_t before, uint64_t after) {
    sizes.add({{.text = what}, {.text = grouped(before)}, {.text = grouped(after)}});
  };
  add("  steps", made.before.steps, made.after.steps);
  add("  context switches", made.before.switches, made.after.switches);
  add("  of them forced upon who could go on", made.before.preemptions, made.after.preemptions);
  add("  stale reads, late arrivals and the like", made.before.odd_answers, made.after.odd_answers);
  for (const scheduler::changed_setting& each : made.changed)
    sizes.add({{.text = "  " + each.key}, {.text = each.before}, {.text = each.after}});
  sizes.print(std::cout, 0);
  std::ostringstream seconds;
  seconds << std::fixed << std::setprecision(2) << made.seconds;
  std::cout << "  " << grouped(made.runs) << " runs in " << seconds.str() << " s; "
            << (made.finished ? "no smaller one than this was found" : "the search was cut short, longer may give less")
            << '\n'
            << indented(paragraphs(explained.report).first, 2) << how_to_play(small, program, file);
}

/// Of the smallest run what its first screen says.
scheduler::run_result explained_smallest(sim::simulation& machine, const scenario& tested, const parameters& original,
                                         const scheduler::trace& smallest) {
  parameters settings = original;
  for (const auto& [key, value] : smallest.parameters) settings.set(key + "=" + value);
  const auto run = [&](scheduler::choice_source& choices, bool explain) {
    return run_or_explain(machine, tested, settings, choices, explain);
  };
  return scheduler::run_again(smallest, run, true).result;
}

}  // namespace

int shrink(const invocation& asked) {
  const recorded_run found = find_recorded(asked.file_or_token, asked.program);
  if (!found.error.empty()) return fail(wrong_input, found.error);
  const scheduler::trace& recorded = found.recorded;

  catch_interrupt();
  sim::simulation machine;
  scheduler::shrink_options options = shrink_options_for(machine, *found.tested, found.settings, recorded.outcome);
  options.runs_max = asked.runs;
  options.seconds_max = asked.seconds_max;
  options.stop = &interrupt_flag();
  const auto run = [&](scheduler::choice_source& choices, bool explain) {
    return run_scenario(machine, *found.tested, found.settings, choices, explain);
  };
  const scheduler::shrunk made = scheduler::shrink(recorded, run, options);
  if (!made.error.empty()) return fail(wrong_input, made.error);

  const std::string file =
      asked.out_file.empty() ? file_beside(asked.file_or_token, recorded, "-shrunk.heddle.json") : asked.out_file;
  if (const auto failed = scheduler::write_trace(made.smallest, file)) return fail(cannot_go_on, *failed);
  const scheduler::run_result explained = explained_smallest(machine, *found.tested, found.settings, made.smallest);
  if (asked.json) {
    print_json(made, file, decided_in(explained.report));
  } else {
    print_text(made, file, asked.program, explained);
    if (!found.note.empty()) std::cout << "  " << found.note << '\n';
  }
  return interrupt_flag() ? interrupted : as_expected;
}

}  // namespace heddle::tools
