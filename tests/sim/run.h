// How tests run a program on a simulated machine, under one schedule or under many, and what they may say of the outcome.
#pragma once

#include <gtest/gtest.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/sim/device.h>
#include <heddle/sim/simulation.h>
#include <heddle/sim/target.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace heddle::scheduler {
// GoogleTest looks for this name.
inline void PrintTo(verdict value, std::ostream* to) {  // NOLINT(readability-identifier-naming)
  *to << to_string(value);
}
}  // namespace heddle::scheduler

namespace heddle::sim::tests {

using scheduler::verdict;

/// An atomic word of the machine.
template <typename T>
using word = target::atomic_ref<T, scope::system>;

/// What a program does as the host's main thread.
using program = std::function<void()>;

/// The outcomes of many schedules of one program.
struct tally {
  std::string about;  ///< strategy and settings, for messages
  uint64_t schedules = 0;
  uint64_t steps_most = 0;
  std::map<verdict, uint64_t> counts;
  std::map<verdict, uint64_t> first_seeds;
  std::map<verdict, outcome> examples;  ///< of the first seed

  uint64_t count(verdict wanted) const {
    const auto known = counts.find(wanted);
    return known == counts.end() ? 0 : known->second;
  }

  std::string text() const {
    std::string said = about + ":";
    for (const auto& [seen, times] : counts) {
      const outcome& first = examples.at(seen);
      said += "\n  " + std::to_string(times) + " times " + std::string(to_string(seen)) + ", first with seed " +
              std::to_string(first_seeds.at(seen));
      if (seen != verdict::ok) said += " at " + first.where + ": " + first.message;
    }
    return said;
  }
};

class machine {
 public:
  /// Settings are "key=value".
  explicit machine(const std::vector<std::string>& settings = {}, std::string strategy = "random")
      : strategy_name_(std::move(strategy)), settings_(machine_parameters()) {
    // Programs that test schedules, waits and verdicts share words as it comes; tests of memory say which memory they mean.
    if (settings_.set("fidelity=interleaving")) std::abort();
    // The same tests on another machine: what they say must hold there too.
    if (const char* const other = std::getenv("HEDDLE_TEST_SETTING"))
      if (const auto wrong = settings_.set(other)) stop(*wrong);
    about_ = "strategy " + strategy_name_;
    for (const std::string& assignment : settings) {
      about_ += ' ' + assignment;
      if (const auto wrong = settings_.set(assignment)) stop(*wrong);
    }
    std::string wrong;
    deciding_ = scheduler::make_strategy(strategy_name_, wrong);
    if (deciding_ == nullptr) stop(wrong);
  }

  outcome run(const program& body, uint64_t seed = 1, bool explain = false) {
    choices_.begin(*deciding_, seed);
    return simulation_.run(settings_, body, choices_, explain);
  }

  /// One schedule, explained.
  outcome explain(const program& body, uint64_t seed = 1) { return run(body, seed, true); }

  /// The same, and what is known of each step.
  outcome record(const program& body, uint64_t seed, run_record& into) {
    choices_.begin(*deciding_, seed);
    return simulation_.run(settings_, body, choices_, true, &into);
  }

  /// Seeds 1 to `schedules`.
  tally run_many(const program& body, uint64_t schedules) {
    tally seen;
    seen.about = about_;
    seen.schedules = schedules;
    for (uint64_t seed = 1; seed <= schedules; ++seed) {
      const outcome ended = run(body, seed);
      seen.steps_most = ended.steps > seen.steps_most ? ended.steps : seen.steps_most;
      if (++seen.counts[ended.verdict] != 1) continue;
      seen.first_seeds[ended.verdict] = seed;
      seen.examples[ended.verdict] = ended;
    }
    return seen;
  }

  const std::string& about() const { return about_; }

 private:
  static void stop(const std::string& wrong) {
    std::fprintf(stderr, "a test asks for a machine that does not exist: %s\n", wrong.c_str());
    std::abort();
  }

  std::string strategy_name_;
  std::string about_;
  parameters settings_;
  std::unique_ptr<scheduler::strategy> deciding_;
  scheduler::choice_source choices_;
  simulation simulation_;
};

/// Whether every schedule ended with this verdict.
inline testing::AssertionResult always(verdict wanted, const tally& seen) {
  if (seen.count(wanted) == seen.schedules) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "not always " << to_string(wanted) << "; " << seen.text();
}

/// Whether some schedule ended with this verdict and all others were ok.
inline testing::AssertionResult sometimes(verdict wanted, const tally& seen) {
  if (seen.count(wanted) != 0 && seen.count(wanted) + seen.count(verdict::ok) == seen.schedules)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "not sometimes " << to_string(wanted) << "; " << seen.text();
}

/// Whether the outcome has this verdict at this place ("file:line").
inline testing::AssertionResult is(verdict wanted, const std::string& where, const outcome& ended) {
  if (ended.verdict == wanted && (where.empty() || ended.where == where)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected " << to_string(wanted) << " at " << where << ", got "
                                     << to_string(ended.verdict) << " at " << ended.where << ": " << ended.message
                                     << "\n"
                                     << ended.report;
}

inline testing::AssertionResult says(const std::string& text, const std::string& wanted) {
  if (text.find(wanted) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << wanted << "\" is not in:\n" << text;
}

/// Every strategy that needs no parameter.
inline std::vector<std::string> all_strategies() {
  std::vector<std::string> names;
  for (const scheduler::strategy_help& each : scheduler::strategies()) names.emplace_back(each.name);
  return names;
}

/// Ends the run with verdict `assertion` when the condition does not hold.
#define SIM_CHECK(condition)                                                                                 \
  do {                                                                                                       \
    if (!(condition)) ::heddle::sim::target::trap(::heddle::fault::assertion, "does not hold: " #condition); \
  } while (false)

/// A line of the file that this is written in, as reports spell it.
#define SIM_LINE(line) (std::string(__FILE__) + ":" + std::to_string(line))

}  // namespace heddle::sim::tests
