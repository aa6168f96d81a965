#include <heddle/scheduler/whole_file.h>
#include <heddle/sim/call_times.h>
#include <heddle/tools/report/recording.h>
#include <heddle/tools/trial/explain.h>

#include <utility>

namespace heddle::tools {

namespace {

recording run_to_record(const scheduler::trace& recorded, const scenario& tested, const parameters& settings,
                        bool with_time) {
  sim::simulation machine;
  sim::call_times times;
  times.keeps_clocks = true;
  if (with_time) machine.time_calls(&times);
  recording made;
  const auto run = [&](scheduler::choice_source& choices, bool explain) {
    return explain ? explained_run(machine, tested, settings, choices, nullptr, &made.record)
                   : run_scenario(machine, tested, settings, choices, false);
  };
  made.again = scheduler::run_again(recorded, run, true);
  made.clocks = std::move(times.clocks);
  return made;
}

}  // namespace

recording record_again(const scheduler::trace& recorded, const scenario& tested, const parameters& settings) {
  // Where all have one memory, the record is of that memory, and a clock in between would hide it.
  const bool is_late = settings.has("fidelity") && settings.text("fidelity") != "interleaving";
  if (is_late) {
    recording made = run_to_record(recorded, tested, settings, true);
    if (made.again.disagreement.empty()) return made;
  }
  return run_to_record(recorded, tested, settings, false);
}

std::optional<std::string> write_page(const reported_run& run, const std::string& file) {
  return scheduler::write_whole(file, page_of(run));
}

}  // namespace heddle::tools
