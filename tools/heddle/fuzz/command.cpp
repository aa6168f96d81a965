#include <heddle/scheduler/printable.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/version.h>
#include <heddle/tools/fuzz/campaign/jobs.h>
#include <heddle/tools/fuzz/campaign/journal.h>
#include <heddle/tools/fuzz/fuzz_report.h>
#include <heddle/tools/fuzz/progress_line.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/trial/explain.h>
#include <heddle/tools/trial/traces.h>
#include <heddle/tools/verify/verification.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

namespace heddle::tools {
namespace {

/// What is small: a search that ends within these.
constexpr double proof_seconds_max = 10;
constexpr uint64_t proof_memory_mib = 1024;

/// One scenario to run, with its settings.
struct task {
  const scenario* tested = nullptr;
  parameters settings;
};

/// All that fuzz does between reading its arguments and printing.
class fuzzer {
 public:
  explicit fuzzer(const invocation& asked) : asked_(asked), folder_(asked.out_folder) {
    if (folder_.empty() && !asked.json) folder_ = findings_folder();
    plan_ = {.version = version(),
             .build_id = build_id(),
             .settings = asked.settings,
             .strategy = asked.strategy,
             .seed = asked.seed,
             .schedules = asked.schedules,
             .seconds_max = asked.seconds_max,
             .part = asked.part};
    if (asked.tells.behaviours) plan_.settings.emplace_back("behaviours=count");
  }

  /// Checks the input; nothing has run yet. One line when it is wrong.
  std::string prepare() {
    std::vector<std::string> names = asked_.scenarios;
    if (!asked_.resume_folder.empty()) {
      if (const std::string wrong = read_journal(); !wrong.empty()) return wrong;
      names = plan_.scenarios;
    }
    const selection selected = select_scenarios(names);
    if (!selected.error.empty()) return selected.error;
    plan_.scenarios.clear();
    for (const scenario* each : selected.chosen) {
      if (each->name.find(asked_.tells.word) == std::string::npos) continue;
      settings_or_error settings = simulator_settings(*each, plan_.settings);
      if (!settings.value) return settings.error;
      tasks_.push_back({.tested = each, .settings = std::move(*settings.value)});
      plan_.scenarios.push_back(each->name);
    }
    if (tasks_.empty()) return "no scenario has \"" + one_line(asked_.tells.word) + "\" in its name" + see_list();
    std::string error;
    scheduler::make_strategy(plan_.strategy, error);
    summary_.chosen = tasks_.size();
    summary_.kept_in = folder_.string();
    return error;
  }

  /// One line when the folder for findings, or the journal in it, cannot be made.
  std::string make_folder() {
    if (asked_.out_folder.empty()) return {};
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    if (failed) return "cannot make the folder \"" + asked_.out_folder + "\": " + failed.message();
    return kept_in_.begin(journal::file_in(folder_, plan_.part), plan_).value_or("");
  }

  void run(const crew_maker& hire) {
    for (const auto& [name, known] : before_.scenarios) seconds_before_ += known.sum.seconds;
    const std::unique_ptr<campaign_crew> crew = hire(asked_, plan_.strategy);
    start_ = std::chrono::steady_clock::now();
    std::vector<std::pair<const scenario*, scheduler::verdict_set>> chosen;
    for (const task& each : tasks_) chosen.emplace_back(each.tested, each.tested->expected_verdict(each.settings));
    fuzz_table rows(chosen, plan_.schedules, asked_.tells.quiet);
    bool has_findings = false;
    for (size_t index = 0; index < tasks_.size() && !interrupt_flag() && write_error_.empty(); ++index) {
      const size_t before = summary_.trials.size();
      run_task(index, *crew);
      if (summary_.trials.size() == before) continue;
      if (!asked_.json) rows.add(summary_.trials.back());
      summary_.stopped_at_first = asked_.tells.stop_at_first && !summary_.trials.back().as_expected() &&
                                  !summary_.trials.back().runs.findings.empty();
      if (summary_.stopped_at_first) break;
      // Where there is one finding there are others; each scenario has copies of its own.
      has_findings = has_findings || !summary_.trials.back().runs.findings.empty();
      if (index + 1 < tasks_.size() && has_findings) prepare_to_explain(tasks_[index + 1].tested);
    }
    summary_.interrupted = interrupt_flag();
    // All scenarios have the same excuses.
    if (!summary_.interrupted && !tasks_.empty())
      summary_.unused_excuses = unused_excuses(tasks_.front().settings, summary_.trials);
  }

  const fuzz_summary& summary() const { return summary_; }
  /// One line when a finding could not be written.
  const std::string& write_error() const { return write_error_; }

 private:
  std::string read_journal() {
    folder_ = asked_.resume_folder;
    if (auto failed = kept_in_.resume(journal::file_in(folder_, asked_.part), before_)) return *failed;
    const campaign_plan mine = plan_;
    plan_ = before_.plan;
    if (plan_.version != mine.version || plan_.build_id != mine.build_id)
      return "the campaign in \"" + asked_.resume_folder +
             "\" was begun by another build, whose seeds mean other schedules. Begin it anew with --out";
    return {};
  }

  void run_task(size_t index, campaign_crew& crew) {
    const task& current = tasks_[index];
    const std::string& name = current.tested->name;
    const seed_range seeds = plan_.part.of(plan_.seed, plan_.schedules);
    if (plan_.schedules != 0 && seeds.count == 0) return;  // more shards than seeds
    scenario_campaign::options options;
    options.strategy = plan_.strategy;
    options.seeds = seeds;
    options.workers = crew.size();
    options.seconds_max = seconds_for(index);
    if (plan_.seconds_max > 0) options.seconds_end = seconds_to_end();
    options.stop = &interrupt_flag();
    options.folder = folder_;
    options.resumed = !asked_.resume_folder.empty();
    if (const auto known = before_.scenarios.find(name); known != before_.scenarios.end())
      options.before = known->second;
    options.folder_may_fail = !keeps_journal();
    options.stops_at_first = asked_.tells.stop_at_first;
    if (keeps_journal()) options.kept_in = &kept_in_;
    if (options.seconds_max < 0) options.seeds = {seeds.first, options.before.sum.schedules};  // its time is over
    progress_line::whole whole = {.number = index + 1,
                                  .scenarios = tasks_.size(),
                                  .seconds_used = seconds_used(),
                                  .seconds_asked = plan_.seconds_max};
    for (const trial& each : summary_.trials) whole.findings += each.runs.findings.size();
    progress_line progress(scheduler::printable(name), whole, seeds.count, options.seconds_max);
    options.progress = [&](const scheduler::campaign_result& so_far) { progress.show(so_far); };
    scenario_campaign campaign(*current.tested, current.settings, std::move(options));
    crew.work_on(campaign);
    write_error_ = campaign.error();
    if (summary_.not_kept.empty()) summary_.not_kept = campaign.not_kept();
    trial made = campaign.take();
    if (made.runs.schedules == 0 && !made.cut) return;  // interrupted before it began
    made.first_seed = seeds.first;
    // Where schedules stand still, or take so long, each would have to be waited for.
    const bool is_short = !interrupt_flag() && made.stood_still == 0 && !made.cut;
    if (is_short && tells_latencies(asked_, summary_.chosen))
      made.latency = latency_of(*current.tested, current.settings, plan_.strategy, plan_.seed, made.runs.schedules);
    if (asked_.prove_if_small && is_short && made.runs.findings.empty()) made.proof = proof_of(current);
    summary_.trials.push_back(std::move(made));
  }

  /// All runs, where they are so few. What is found is written as every finding is.
  proof_attempt proof_of(const task& current) {
    verify_options options;
    options.assignments = plan_.settings;
    options.seconds_max = proof_seconds_max;
    options.memory_mib = proof_memory_mib;
    options.stop = &interrupt_flag();
    proof_attempt made = prove_in_copy(*current.tested, current.settings, options);
    if (!made.found || folder_.empty() || made.found->first.answers.empty()) return made;
    kept_trace kept = keep_trace(made.found->first, folder_);
    made.file = std::move(kept.file);
    if (!keeps_journal() && summary_.not_kept.empty())
      summary_.not_kept = std::move(kept.error);
    else if (keeps_journal() && write_error_.empty())
      write_error_ = std::move(kept.error);
    return made;
  }

  /// Whether there is a folder that was asked for: of a campaign in it nothing may be lost.
  bool keeps_journal() const { return !asked_.out_folder.empty() || !asked_.resume_folder.empty(); }

  double seconds_used() const {
    return seconds_before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  /// An equal share of the time that is left, so that what one scenario does not use goes to the others; negative: there is none.
  double seconds_for(size_t index) const {
    if (plan_.seconds_max <= 0) return 0;
    const double left = plan_.seconds_max - seconds_used();
    const bool has_run = before_.scenarios.contains(tasks_[index].tested->name);
    // What was written down is the time of the schedules alone: so little may be missing where the time was used up.
    constexpr double used_up = 0.01;
    if (left <= plan_.seconds_max * used_up && has_run) return -1;
    const double share = left / static_cast<double>(tasks_.size() - index);
    return share > 1e-9 ? share : 1e-9;  // 0 would be no limit; each scenario has one run at least
  }

  /// When a schedule that is under way is ended: a little later than no more are begun, and the first of each scenario has that long at least.
  double seconds_to_end() const {
    constexpr double part = 0.1, least = 1;
    return std::max(plan_.seconds_max - seconds_used(), 0.0) + std::max(plan_.seconds_max * part, least);
  }

  const invocation& asked_;
  campaign_plan plan_;
  campaign_record before_;
  std::filesystem::path folder_;
  journal kept_in_;
  double seconds_before_ = 0;
  std::vector<task> tasks_;
  std::chrono::steady_clock::time_point start_;
  fuzz_summary summary_;
  std::string write_error_;
};

}  // namespace

int fuzz(const invocation& asked) {
  return fuzz_with(asked, [](const invocation& call, const std::string& strategy) {
    const uint32_t jobs = call.jobs != 0 ? call.jobs : std::max(1u, std::thread::hardware_concurrency());
    return make_crew(jobs, strategy);
  });
}

int fuzz_with(const invocation& asked, const crew_maker& hire) {
  fuzzer work(asked);
  if (const std::string wrong = work.prepare(); !wrong.empty()) return fail(wrong_input, wrong);
  if (!asked.junit_file.empty()) {
    // It may lie in the folder for findings. What is wrong with that is told below.
    std::error_code told_below;
    if (!asked.out_folder.empty()) std::filesystem::create_directories(asked.out_folder, told_below);
    if (const auto failed = cannot_write(asked.junit_file)) return fail(cannot_go_on, *failed);
  }
  if (const std::string failed = work.make_folder(); !failed.empty()) return fail(cannot_go_on, failed);
  catch_interrupt();
  work.run(hire);
  const fuzz_summary& summary = work.summary();
  if (asked.json) {
    print_json(summary);
  } else {
    print_text(summary, asked);
  }
  if (!asked.junit_file.empty()) {
    if (const auto failed = write_junit(summary, asked.program, asked.junit_file)) return fail(cannot_go_on, *failed);
  }
  if (!work.write_error().empty()) return fail(cannot_go_on, work.write_error());
  if (summary.interrupted) return interrupted;
  return summary.ok() ? as_expected : not_as_expected;
}

}  // namespace heddle::tools
