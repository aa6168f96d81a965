#include <heddle/scheduler/strategy.h>
#include <heddle/tools/commands.h>
#include <heddle/tools/common.h>
#include <heddle/tools/fuzz_report.h>
#include <heddle/tools/interrupt.h>
#include <heddle/tools/progress.h>

#include <chrono>
#include <filesystem>

namespace heddle::tools {
namespace {

/// One scenario to run, with its settings.
struct task {
  const scenario* tested = nullptr;
  parameters settings;
};

/// SCENARIO-VERDICT-SEED.heddle.json, with nothing in it that a file system or a shell minds.
std::string file_name(const scheduler::trace& recorded) {
  std::string name = recorded.scenario + "-" + std::string(to_string(recorded.outcome)) + "-" +
                     std::to_string(recorded.seed) + ".heddle.json";
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  for (char& letter : name)
    if (plain.find(letter) == std::string_view::npos) letter = '-';
  return name;
}

/// All that fuzz does between reading its arguments and printing.
class fuzzer {
 public:
  explicit fuzzer(const invocation& asked) : asked_(asked) {}

  /// Checks the input; nothing has run yet. One line when it is wrong.
  std::string prepare() {
    const selection selected = select_scenarios(asked_.scenarios);
    if (!selected.error.empty()) return selected.error;
    for (const scenario* each : selected.chosen) {
      settings_or_error settings = simulator_settings(*each, asked_.settings);
      if (!settings.value) return settings.error;
      tasks_.push_back({.tested = each, .settings = std::move(*settings.value)});
    }
    std::string error;
    strategy_ = scheduler::make_strategy(asked_.strategy, error);
    summary_.chosen = tasks_.size();
    return error;
  }

  /// One line when the folder for findings cannot be made.
  std::string make_folder() {
    if (asked_.out_folder.empty()) return {};
    std::error_code failed;
    std::filesystem::create_directories(asked_.out_folder, failed);
    if (failed) return "cannot make the folder \"" + asked_.out_folder + "\": " + failed.message();
    return {};
  }

  void run() {
    start_ = std::chrono::steady_clock::now();
    for (size_t index = 0; index < tasks_.size() && !interrupt_flag() && write_error_.empty(); ++index) run_task(index);
    summary_.interrupted = interrupt_flag();
  }

  const fuzz_summary& summary() const { return summary_; }
  /// One line when a finding could not be written.
  const std::string& write_error() const { return write_error_; }

 private:
  void run_task(size_t index) {
    const task& current = tasks_[index];
    scheduler::campaign_options options;
    options.first_seed = asked_.seed;
    options.schedules = asked_.schedules;
    options.seconds_max = seconds_for(index);
    options.stop = &interrupt_flag();
    std::vector<std::string> files;
    options.found = [&](const scheduler::finding& found) { return write(found, files); };
    progress_line progress(current.tested->name, std::to_string(index + 1) + "/" + std::to_string(tasks_.size()),
                           options.schedules, options.seconds_max);
    options.progress = [&](const scheduler::campaign_result& so_far) { progress.show(so_far); };
    trial made = run_trial(machine_, *current.tested, current.settings, asked_.strategy, *strategy_, options);
    if (made.runs.schedules == 0) return;  // interrupted before it began
    files.resize(made.runs.findings.size());
    made.files = std::move(files);
    summary_.trials.push_back(std::move(made));
  }

  /// An equal share of the time that is left, so that what one scenario does not use goes to the others.
  double seconds_for(size_t index) const {
    if (asked_.seconds_max <= 0) return 0;
    const double used = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const double share = (asked_.seconds_max - used) / static_cast<double>(tasks_.size() - index);
    return share > 1e-9 ? share : 1e-9;  // 0 would be no limit; each scenario has one run at least
  }

  bool write(const scheduler::finding& found, std::vector<std::string>& files) {
    files.emplace_back();
    if (asked_.out_folder.empty()) return true;
    const std::filesystem::path file = std::filesystem::path(asked_.out_folder) / file_name(found.first);
    if (const auto failed = scheduler::write_trace(found.first, file)) {
      write_error_ = *failed;
      return false;
    }
    files.back() = file.string();
    return true;
  }

  const invocation& asked_;
  std::vector<task> tasks_;
  std::unique_ptr<scheduler::strategy> strategy_;
  sim::simulation machine_;
  std::chrono::steady_clock::time_point start_;
  fuzz_summary summary_;
  std::string write_error_;
};

}  // namespace

int fuzz(const invocation& asked) {
  fuzzer work(asked);
  if (const std::string wrong = work.prepare(); !wrong.empty()) return fail(wrong_input, wrong);
  if (const std::string failed = work.make_folder(); !failed.empty()) return fail(cannot_go_on, failed);
  catch_interrupt();
  work.run();
  const fuzz_summary& summary = work.summary();
  if (asked.json) {
    print_json(summary);
  } else {
    print_text(summary, asked.program);
  }
  if (!work.write_error().empty()) return fail(cannot_go_on, work.write_error());
  if (summary.interrupted) return interrupted;
  return summary.ok() ? as_expected : not_as_expected;
}

}  // namespace heddle::tools
