#include <heddle/scheduler/follow.h>
#include <heddle/scheduler/printable.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/hardware/dump.h>
#include <heddle/tools/hardware/recorded_order.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/trial/traces.h>
#include <heddle/tools/trial/trial.h>

#include <algorithm>
#include <iostream>

namespace heddle::tools {
namespace {

using scheduler::verdict;

bool is_hang(verdict outcome) {
  return outcome == verdict::deadlock || outcome == verdict::progress || outcome == verdict::livelock;
}

/// The dump's settings as assignments. On host threads each lane is a wave of its own: so it is made here, where the
/// scenario's ranges allow it.
std::vector<std::string> assignments_of(const dump& left, const scenario& tested) {
  std::vector<std::pair<std::string, std::string>> settings = left.parameters;
  const auto value_of = [&](std::string_view key) -> std::string* {
    const auto found =
        std::find_if(settings.begin(), settings.end(), [&](const auto& each) { return each.first == key; });
    return found == settings.end() ? nullptr : &found->second;
  };
  std::string* const waves = value_of("waves");
  std::string* const lanes = value_of("lanes");
  if (left.machine == "host" && waves != nullptr && lanes != nullptr) {
    constexpr uint64_t most = 1'000'000;
    const auto count = parse_number(*waves, 1, most), width = parse_number(*lanes, 1, most);
    if (count && width) {
      parameters tried = settings_of(tested, {});
      const std::string in_all = std::to_string(*count * *width);
      if (!tried.set("waves=" + in_all) && !tried.set("lanes=1")) {
        *waves = in_all;
        *lanes = "1";
      }
    }
  }
  std::vector<std::string> assignments;
  for (const auto& [key, value] : settings) assignments.push_back(key + "=" + value);
  // What was recorded is the order of lanes.
  assignments.emplace_back("step=lane");
  return assignments;
}

/// In the current folder.
std::string default_file(const scheduler::trace& recorded) {
  return recorded.scenario + "-" + std::string(to_string(recorded.outcome)) + "-import.heddle.json";
}

/// All that import does between reading the dump and printing.
class importer {
 public:
  explicit importer(const invocation& asked) : asked_(asked) {}

  /// One line when the input is wrong.
  std::string prepare() {
    dump_or_error read = read_dump(asked_.file_or_token);
    if (!read.value) return read.error;
    left_ = std::move(*read.value);
    const auto& all = scenarios();
    const auto same =
        std::find_if(all.begin(), all.end(), [&](const scenario& each) { return each.name == left_.scenario; });
    if (same == all.end()) {
      std::vector<std::string> known;
      for (const scenario& each : all) known.push_back(each.name);
      return "the dump is of a scenario that this program does not have: " + unknown("scenario", left_.scenario, known);
    }
    tested_ = &*same;
    if (left_.events.empty())
      return "the dump has no events to follow: record them with --record on the machine that hangs";
    std::vector<std::string> assignments = assignments_of(left_, *tested_);
    assignments.insert(assignments.end(), asked_.settings.begin(), asked_.settings.end());
    settings_or_error settings = simulator_settings(*tested_, assignments);
    if (!settings.value) return "the dump's settings are not valid here: " + settings.error;
    settings_ = std::move(*settings.value);
    order_ = order_of(left_);
    return {};
  }

  void run() {
    scheduler::follow_strategy following(order_, asked_.seed);
    scheduler::campaign_options options;
    options.first_seed = asked_.seed;
    options.schedules = asked_.schedules;
    options.seconds_max = asked_.seconds_max;
    options.stop = &interrupt_flag();
    options.found = [](const scheduler::finding& each) { return !is_hang(each.first.outcome); };
    made_ = run_trial(machine_, *tested_, settings_, following_strategy, following, options);
  }

  int tell() {
    uint64_t lost = 0;
    for (const dump_actor& each : left_.actors) lost += each.lost;
    std::cout << scheduler::printable(left_.scenario) << ", hung on the machine " << one_line(left_.machine) << ": "
              << one_line(left_.reason) << "\n  " << grouped(order_.steps.size()) << " recorded steps to follow"
              << (lost == 0 ? "" : "; " + grouped(lost) + " events before them were overwritten") << '\n';
    const auto hang = std::find_if(made_.runs.findings.begin(), made_.runs.findings.end(),
                                   [](const scheduler::finding& each) { return is_hang(each.first.outcome); });
    if (hang != made_.runs.findings.end()) return tell_of(*hang);
    if (interrupt_flag()) return interrupted;
    std::cout << "  the model does not show a hang in " << grouped(made_.runs.schedules) << " schedules";
    for (const scheduler::finding& each : made_.runs.findings)
      std::cout << "; " << grouped(each.count) << " ended with " << to_string(each.first.outcome);
    std::cout << '\n';
    return not_as_expected;
  }

 private:
  int tell_of(const scheduler::finding& hang) {
    if (!hang.not_reproducible.empty())
      return fail(wrong_input, "the hang was found and cannot be repeated: " + hang.not_reproducible);
    const std::string file = asked_.out_file.empty() ? default_file(hang.first) : asked_.out_file;
    if (const auto failed = scheduler::write_trace(hang.first, file)) return fail(cannot_go_on, *failed);
    std::cout << "  the model hangs too, in schedule " << grouped(made_.runs.schedules) << ": "
              << painted(to_string(hang.first.outcome), colour::bad) << " at " << hang.first.where << ", "
              << grouped(hang.first.steps) << " steps\n"
              << indented(hang.message, 2) << how_to_play(hang.first, asked_.program, {.trace = file});
    return as_expected;
  }

  const invocation& asked_;
  dump left_;
  const scenario* tested_ = nullptr;
  parameters settings_;
  scheduler::recorded_order order_;
  sim::simulation machine_;
  trial made_;
};

}  // namespace

int import_dump(const invocation& asked) {
  importer imported(asked);
  if (const std::string wrong = imported.prepare(); !wrong.empty()) return fail(wrong_input, wrong);
  catch_interrupt();
  imported.run();
  return imported.tell();
}

}  // namespace heddle::tools
