#include <heddle/scheduler/own_work.h>
#include <heddle/sim/faults/crash.h>
#include <heddle/sim/report/run_report.h>
#include <heddle/sim/run/assumptions.h>
#include <heddle/sim/run/execution.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/simulation.h>
#include <heddle/sim/verify/search.h>

#include <atomic>
#include <utility>

namespace heddle::sim {

using scheduler::verdict;

struct simulation::parts {
  execution run;
  run_report report{run};
  outcome told;                   ///< of the last run
  std::function<void()> certain;  ///< what is called when a hang is certain
  bool tells_more = false;        ///< it holds more than numbers
  bool had_finding = false;       ///< the report of the last run is to be forgotten
};

simulation::simulation() : parts_(std::make_unique<parts>()) {
  catch_crashes();
  scheduler::looks_on.store(&runtime::looks_on_at_lanes(), std::memory_order_relaxed);
  end_runs_at_terminate();
  runtime::use_new_and_delete();
  parts_->run.verdicts().write_report = [all = parts_.get()] {
    all->report.write();
    if (all->certain) all->certain();
  };
}

simulation::~simulation() = default;

search_result simulation::search(const explored_run& run, const search_options& options) {
  return search_all([this](search_notes* notes) { explore(notes); }, run, options);
}

void simulation::tell_of_others(const other_schedules* known) { parts_->report.tell_of_others(known); }

void simulation::when_hang_is_certain(std::function<void()> told) { parts_->certain = std::move(told); }

void simulation::time_calls(call_times* into) { parts_->run.time_calls(into); }

void simulation::explore(search_notes* notes) { parts_->run.explore(notes); }

const outcome& simulation::run(const parameters& values, const std::function<void()>& body,
                               scheduler::choice_source& choices, bool explain, run_record* record) {
  execution& run = parts_->run;
  outcome& told = parts_->told;
  if (parts_->had_finding) [[unlikely]]
    parts_->report.forget();
  parts_->had_finding = false;
  const bool began = run.run(values, body, choices, explain, explain && record != nullptr);
  if (parts_->tells_more) [[unlikely]]
    told = {};
  parts_->tells_more = false;
  if (!began) {
    told = {};
    told.stopped_by_source = true;
    return told;
  }
  const run_core& core = run.core();
  told.verdict = core.ending.verdict;
  told.races = run.races().races();
  told.scope_races = run.races().scope_races();
  if (run.races().any_excused()) [[unlikely]]
    told.excused = run.races().excused();
  else if (!told.excused.empty()) [[unlikely]]
    told.excused.clear();
  told.steps = core.history.steps;
  told.library_steps = core.history.library_steps;
  told.switches = core.history.switches;
  told.digest = core.history.digest.value();
  told.behaviour = core.observers.behaviour.on() ? core.observers.behaviour.value() : 0;
  told.stopped_by_source = core.choices.stopped;
  if (!core.ending.is_plain() || core.observers.recorder != nullptr) [[unlikely]] {
    parts_->tells_more = parts_->had_finding = true;
    parts_->report.tell(told, record);
  }
  execution::instance = nullptr;
  return told;
}

std::optional<std::string> wrong_assumption(const std::string& text) {
  static std::string last_good;
  if (text == last_good) return std::nullopt;
  const assumptions_or_error read = parse_assumptions(text);
  if (!read.error.empty()) return read.error;
  for (const assumption& each : read.all)
    if (!has_code(each.file, each.line))
      return "assume: there is no code of " + each.file + ":" + std::to_string(each.line) +
             " in this program; take a line that reports or replay --trace name";
  last_good = text;
  return std::nullopt;
}

}  // namespace heddle::sim
