#include <heddle/tools/litmus/suite.h>

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace heddle::litmus {
namespace {

/// While it lives, threads that are started do not take Ctrl-C: a handler might not fit on the stack of a simulated lane.
class no_interrupts_here {
 public:
  no_interrupts_here() {
    sigset_t interrupts;
    sigemptyset(&interrupts);
    for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGXCPU}) sigaddset(&interrupts, each);
    pthread_sigmask(SIG_BLOCK, &interrupts, &before_);
  }
  ~no_interrupts_here() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  no_interrupts_here(const no_interrupts_here&) = delete;
  no_interrupts_here& operator=(const no_interrupts_here&) = delete;

 private:
  sigset_t before_ = {};
};

/// Hands out tests, and their results in order.
class exchange_of_results {
 public:
  explicit exchange_of_results(size_t count) : results_(count) {}

  /// The next test to run; nothing when there is none left or a worker failed.
  std::optional<size_t> next() {
    const std::lock_guard lock(mutex_);
    if (failed_ || handed_out_ == results_.size()) return {};
    return handed_out_++;
  }
  void put(size_t index, test_result result) {
    {
      const std::lock_guard lock(mutex_);
      results_[index] = std::move(result);
    }
    changed_.notify_one();
  }
  void fail(std::exception_ptr error) {
    {
      const std::lock_guard lock(mutex_);
      failed_ = std::move(error);
    }
    changed_.notify_one();
  }
  /// Waits for that test's result.
  test_result get(size_t index) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failed_ || results_[index]; });
    if (failed_) std::rethrow_exception(failed_);
    return std::move(*results_[index]);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<test_result>> results_;
  size_t handed_out_ = 0;
  std::exception_ptr failed_;
};

void work(const std::vector<test>& tests, const suite_options& options, exchange_of_results& results) {
  try {
    std::string error;
    runner machine(scheduler::make_strategy(options.strategy, error));
    while (const auto index = results.next())
      results.put(*index, machine.run(tests[*index], options.settings, options.runs));
  } catch (...) {
    results.fail(std::current_exception());
  }
}

}  // namespace

std::string_view to_string(judgement value) {
  switch (value) {
    case judgement::ok:
      return "ok";
    case judgement::unsound:
      return "UNSOUND";
    case judgement::missed:
      return "MISSED";
    case judgement::unseen:
      return "unseen";
    case judgement::broken:
      return "BROKEN";
    case judgement::not_finished:
      return "stopped";
  }
  return "";
}

judgement judge(expectation expected, const test_result& result) {
  if (!result.broken.empty()) return judgement::broken;
  const bool seen = result.seen != 0;
  if (expected == expectation::forbidden && seen) return judgement::unsound;
  if ((result.stopped || !result.left_out.empty()) && !seen) return judgement::not_finished;
  if (seen || expected == expectation::forbidden) return judgement::ok;
  if (expected == expectation::seen) return judgement::missed;
  if (expected == expectation::caught)
    return result.races + result.scope_races != 0 ? judgement::ok : judgement::missed;
  return judgement::unseen;
}

void run_suite(const std::vector<test>& tests, const suite_options& options,
               const std::function<void(size_t index, const test_result& result)>& done) {
  exchange_of_results results(tests.size());
  std::vector<std::jthread> workers;
  {
    const no_interrupts_here while_they_start;
    const size_t count = std::min<size_t>(std::max(options.jobs, 1u), tests.size());
    for (size_t n = 0; n < count; ++n) workers.emplace_back([&] { work(tests, options, results); });
  }
  for (size_t index = 0; index < tests.size(); ++index) done(index, results.get(index));
}

void suite_summary::add(const test& tested, const test_result& result) {
  schedules += result.schedules;
  const judgement judged = judge(tested.expected, result);
  if (judged == judgement::broken) ++broken;
  if (judged == judgement::not_finished) ++not_finished;
  auto known = std::find_if(tables.begin(), tables.end(), [&](const auto& each) { return each.first == tested.table; });
  if (known == tables.end()) known = tables.insert(tables.end(), {tested.table, {}});
  for (table_summary* into : {&known->second, &all}) {
    ++into->tests;
    tally& kind = tested.expected == expectation::forbidden ? into->forbidden
                  : tested.expected == expectation::seen    ? into->required
                  : tested.expected == expectation::aim     ? into->aims
                  : tested.expected == expectation::caught  ? into->bugs
                                                            : into->not_modelled;
    ++kind.tests;
    const bool caught = tested.expected == expectation::caught && judged == judgement::ok;
    if (result.seen != 0 || caught) ++kind.seen;
  }
  if (tested.expected != expectation::caught || judged != judgement::ok) return;
  if (result.seen != 0)
    ++caught_by_outcome;
  else if (result.races != 0)
    ++caught_as_race;
  else
    ++caught_as_scope_race;
}

}  // namespace heddle::litmus
