#include <heddle/scheduler/whole_file.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/report/recording.h>
#include <heddle/tools/trial/traces.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace heddle::tools {
namespace {

/// What `heddle mend` has written beside the trace, for the run that it has now.
std::string answers_beside(const std::string& file_or_token, const scheduler::trace& recorded) {
  std::ifstream in(file_beside(file_or_token, recorded, mended_ending), std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto told = nlohmann::json::parse(text, nullptr, false);
  if (!told.is_object() || told.value("finding", nlohmann::json()) != scheduler::to_token(recorded)) return {};
  return text;
}

}  // namespace

int report(const invocation& asked) {
  const recorded_run found = find_recorded(asked.file_or_token, asked.program);
  if (!found.error.empty()) return fail(wrong_input, found.error);

  catch_interrupt();
  const recording made = record_again(found.recorded, *found.tested, found.settings);
  if (interrupt_flag()) return interrupted;
  if (!made.again.disagreement.empty()) return fail(wrong_input, "not the recorded run: " + made.again.disagreement);

  const scheduler::run_result& result = made.again.result;
  const std::string file =
      asked.out_file.empty() ? file_beside(asked.file_or_token, found.recorded, ".html") : asked.out_file;
  const reported_run shown = {.recorded = found.recorded,
                              .settings = found.settings,
                              .result = result,
                              .record = made.record,
                              .program = asked.program,
                              .clocks = made.clocks,
                              .mended = answers_beside(asked.file_or_token, found.recorded)};
  if (const auto failed = write_page(shown, file)) return fail(cannot_go_on, *failed);
  std::cout << found.recorded.scenario << ": "
            << painted(to_string(result.outcome),
                       result.outcome == scheduler::verdict::ok ? colour::good : colour::bad);
  if (!result.where.empty()) std::cout << " at " << result.where;
  std::cout << ", " << grouped(result.steps) << " steps\n  " << file << ": open it in a browser\n";
  if (!found.note.empty()) std::cout << "  " << found.note << '\n';
  if (asked.perfetto_file.empty()) return as_expected;
  std::ostringstream trace;
  write_perfetto(trace, made.record);
  if (const auto failed = scheduler::write_whole(asked.perfetto_file, trace.view())) return fail(cannot_go_on, *failed);
  std::cout << "  " << asked.perfetto_file << ": open it in ui.perfetto.dev\n";
  return as_expected;
}

}  // namespace heddle::tools
