// Runs a litmus test under many schedules, or under all, and counts the runs that show its outcome.
#pragma once

#include <heddle/scheduler/strategy.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/litmus/test.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace heddle::litmus {

/// A test whose outcome must be seen gets so many times the schedules before the outcome counts as missed.
inline constexpr uint64_t extra_schedules = 10;

struct run_options {
  uint64_t schedules = 20'000;
  uint64_t first_seed = 1;                  ///< run i has seed first_seed + i
  bool all = false;                         ///< also when the outcome is allowed and has been seen
  bool exact = false;                       ///< all runs there are; of the options above, only `all` has a meaning then
  double seconds_max = 0;                   ///< for one test, if `exact`; 0: no limit
  const std::atomic<bool>* stop = nullptr;  ///< looked at before each run
  /// Is told what each run left.
  std::function<void(const final_state&)> after_run = nullptr;
};

/// What was seen of one test.
struct test_result {
  uint64_t schedules = 0;    ///< runs made
  uint64_t seen = 0;         ///< of these, that showed the outcome
  uint64_t first_seed = 0;   ///< of the first run that did; 0 when none did
  uint64_t races = 0;        ///< runs with a race
  uint64_t scope_races = 0;  ///< runs with a race that a wider scope would have ordered
  std::string broken;        ///< why a run did not come to its end, one line; empty
  bool stopped = false;      ///< by the stop flag
  bool exact = false;        ///< all runs were asked for
  std::string left_out;      ///< where not all were made, and the outcome was not seen: why, one line
  uint64_t states = 0;       ///< that were met, if `exact`
  double seconds = 0;        ///< that it took, if `exact`
};

/// A machine, and what a test needs beside it. Belongs to the OS thread that made it.
class runner {
 public:
  explicit runner(std::unique_ptr<scheduler::strategy> deciding);
  ~runner();
  runner(const runner&) = delete;
  runner& operator=(const runner&) = delete;

  /// Throws std::invalid_argument when the test's settings, and then `settings`, are none that the machine has.
  test_result run(const test& tested, const std::vector<std::string>& settings, const run_options& options);

 private:
  class threads;

  test_result run_all(const test& tested, const parameters& machine, const run_options& options);

  std::unique_ptr<scheduler::strategy> deciding_;
  sim::simulation machine_;
  scheduler::choice_source choices_;
  std::unique_ptr<threads> threads_;
};

/// The machine's settings for a test, with "key=value" assignments that win over the test's own. Throws
/// std::invalid_argument with one line when one of them is wrong, or has no effect on this test.
parameters machine_settings(const test& tested, const std::vector<std::string>& settings);

}  // namespace heddle::litmus
