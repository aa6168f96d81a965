#include <heddle/tools/commands.h>
#include <heddle/tools/common.h>
#include <heddle/tools/interrupt.h>
#include <heddle/tools/recorded_run.h>
#include <heddle/tools/report/page.h>
#include <heddle/tools/report/perfetto.h>
#include <heddle/tools/table.h>
#include <heddle/tools/trial.h>

#include <fstream>
#include <iostream>

namespace heddle::tools {

int report(const invocation& asked) {
  const scheduler::trace_or_error read = scheduler::read_trace(asked.file_or_token);
  if (!read.value) return fail(wrong_input, read.error);
  const scheduler::trace& recorded = *read.value;
  const recorded_run found = find_recorded(recorded, asked.program);
  if (!found.error.empty()) return fail(wrong_input, found.error);

  catch_interrupt();
  sim::simulation machine;
  sim::run_record record;
  const auto run = [&](scheduler::choice_source& choices, bool explain) {
    return run_scenario(machine, *found.tested, found.settings, choices, explain, nullptr, &record);
  };
  const scheduler::replay_result again = scheduler::run_again(recorded, run, true);
  if (interrupt_flag()) return interrupted;
  if (!again.disagreement.empty()) return fail(wrong_input, "not the recorded run: " + again.disagreement);

  const std::string file =
      asked.out_file.empty() ? file_beside(asked.file_or_token, recorded, ".html") : asked.out_file;
  std::ofstream page(file, std::ios::binary);
  page << page_of({.recorded = recorded,
                   .settings = found.settings,
                   .result = again.result,
                   .record = record,
                   .program = asked.program})
       << std::flush;
  if (!page) return fail(cannot_go_on, "cannot write " + file);
  std::cout << recorded.scenario << ": "
            << painted(to_string(again.result.outcome),
                       again.result.outcome == scheduler::verdict::ok ? colour::good : colour::bad);
  if (!again.result.where.empty()) std::cout << " at " << again.result.where;
  std::cout << ", " << grouped(again.result.steps) << " steps\n  " << file << ": open it in a browser\n";
  if (asked.perfetto_file.empty()) return as_expected;
  std::ofstream trace(asked.perfetto_file, std::ios::binary);
  write_perfetto(trace, record);
  trace.flush();
  if (!trace) return fail(cannot_go_on, "cannot write " + asked.perfetto_file);
  std::cout << "  " << asked.perfetto_file << ": open it in ui.perfetto.dev\n";
  return as_expected;
}

}  // namespace heddle::tools
