// A failing run made small: fewer waves, calls and so on first, then fewer steps, context switches and odd answers, by running parts of its
// schedule again (delta debugging; Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", TSE 2002).
#pragma once

#include <heddle/scheduler/campaign.h>
#include <heddle/scheduler/trace.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::scheduler {

/// How much there is to read in a run.
struct run_size {
  uint64_t steps = 0;
  uint64_t switches = 0;     ///< steps of another actor than the step before
  uint64_t preemptions = 0;  ///< choices of another actor where the last one could have gone on
  uint64_t odd_answers =
      0;  ///< choices about something else than actors, answered otherwise than by the machine's default: stale
          ///< reads, late arrivals and so on
  friend bool operator==(const run_size&, const run_size&) = default;
};

/// Key and value of each setting, as traces have them.
using setting_values = std::vector<std::pair<std::string, std::string>>;

/// A number among the settings that may become less.
struct reducible {
  std::string key;
  int64_t minimum = 0;
  std::vector<int64_t> allowed = {};  ///< in ascending order; empty: every whole number from the minimum on
};

struct changed_setting {
  std::string key;
  std::string before;
  std::string after;
  friend bool operator==(const changed_setting&, const changed_setting&) = default;
};

struct shrink_options {
  /// At most so many runs; one of more than `steps_of_a_run` steps counts as several. The result depends on nothing
  /// else, unless it is stopped.
  uint64_t runs_max = 20'000;
  double seconds_max = 0;                   ///< no run begins after this time; 0: no limit
  const std::atomic<bool>* stop = nullptr;  ///< looked at before each run
  /// In order of preference; those that come first are reduced first.
  std::vector<reducible> reducibles = {};
  /// The program with these settings; null where they are not valid, or mean another bug. Only for settings other than the trace's.
  std::function<run_one(const setting_values&)> with_settings = nullptr;
  /// Called now and then with the smallest run so far.
  std::function<void(const run_size&, uint64_t runs)> progress = nullptr;

  static constexpr uint64_t steps_of_a_run = 5'000;
};

struct shrunk {
  trace smallest;  ///< strategy `shrunk_strategy`; repeats strictly
  run_size before;
  run_size after;
  std::vector<changed_setting> changed = {};
  uint64_t runs = 0;
  double seconds = 0;
  bool finished =
      false;  ///< nothing smaller was found by any means; else the runs or the time were used up, or it was stopped
  /// One line when there is nothing to shrink: the trace could not be repeated, or is not of a failure. Then `smallest` is the trace.
  std::string error = {};
};

/// The strategy of traces that shrink makes; no name that `--strategy` takes.
inline constexpr const char* shrunk_strategy = "shrunk";

/// The smallest run that was found which fails as the trace does: with the same verdict at the same place, with the same
/// message but for its numbers, and, of hangs, with the same actors waiting; under other settings, with no actor waiting of a
/// kind of which none waited before. It never has more steps or more switches than the trace. `run` has the trace's settings.
///
/// Deterministic, unless it is stopped by the flag or the time.
shrunk shrink(const trace& recorded, const run_one& run, const shrink_options& options);

}  // namespace heddle::scheduler
