// All runs of one scenario with one set of settings, and what came of them.
#pragma once

#include <heddle/scheduler/parameters.h>
#include <heddle/scheduler/replay.h>
#include <heddle/scheduler/trace.h>
#include <heddle/sim/verify/search.h>
#include <heddle/tools/registry.h>
#include <heddle/tools/trial/trial.h>
#include <heddle/tools/verify/search_store.h>
#include <nlohmann/json_fwd.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace heddle::tools {

// What bounds a random run must be as good as unbounded where all runs are gone through (sim/verify/search.h).

/// The settings of a search: spurious wakes, old values, stores that are kept and stores in flight without a bound; unless one of
/// the "key=value" assignments has set it. Where races end a run, plain accesses are no points: a lane that could notice has a race.
parameters without_bounds(const parameters& settings, const std::vector<std::string>& assignments);

struct verify_options {
  std::vector<std::string> assignments;  ///< "key=value", as given; they are not widened
  double seconds_max = 0;                ///< 0: no limit
  uint64_t states_max = 0;               ///< likewise
  uint64_t memory_mib = 0;               ///< that the search itself keeps; likewise
  uint32_t jobs = 1;                     ///< processes
  bool reduced = true;
  bool matches_states = true;  ///< if `reduced`
  bool forecasts = false;      ///< whether to say how much is left, where it takes long or is cut
  const std::atomic<bool>* stop = nullptr;
  /// Called now and then.
  std::function<void(const sim::search_result&)> progress;
  /// Where a search that is cut is written, and what it goes on from. Null: nowhere.
  search_request* saved = nullptr;
  /// Called as soon as it is known that it cannot be written there, with one line that says why.
  std::function<void(const std::string&)> cannot_be_saved;
};

/// A run that ended with a violation.
struct counterexample {
  scheduler::trace recorded;
  std::string message;
  std::string report;
  std::string not_reproducible;  ///< in what it differs when it is played again; empty
};

struct verification {
  const scenario* tested = nullptr;
  parameters settings;  ///< without the bounds of random runs
  scheduler::verdict_set expected = scheduler::verdict::ok;
  sim::search_result search;
  std::optional<counterexample> found;
  std::string file;         ///< where its trace was written; empty: nowhere
  uint64_t peak_bytes = 0;  ///< of the process, until now
  std::string saved_file;   ///< where the search that was cut was written; empty: nowhere
  std::string not_written;  ///< one line that says why not
  bool next_stage = false;  ///< nothing is known: the next search, which `saved` tells, is to be made in a new process

  /// "proved", "violated", "incomplete".
  const char* result() const { return found ? "violated" : search.complete ? "proved" : "incomplete"; }
  /// Whether it was stopped before it had an answer.
  bool is_stopped() const { return !found && !search.complete && search.left_out == sim::search_was_stopped; }
  /// A proof where none was to be found is as wrong as a violation where there should be none.
  bool ok() const {
    if (found) return expected.contains(found->recorded.outcome) && found->not_reproducible.empty();
    return search.complete && expected.contains(scheduler::verdict::ok);
  }
};

/// Goes through all runs, once more with plain accesses as points where that turns out to be needed. A run that ends
/// badly ends it, and is played again. `settings` are those of the scenario and its machine; they must be good.
verification verify_all_runs(const scenario& tested, const parameters& settings, const verify_options& options);

/// What a search is of: "progress=fair, fidelity=scoped, ...", the machine's models and what was given. All else is by default, and what
/// bounds random runs is without bounds.
std::string what_is_proved(const verification& made, const std::vector<std::string>& given);

/// As verify_all_runs(), in a copy of this process: a run that ends the copy is what it has found.
proof_attempt prove_in_copy(const scenario& tested, const parameters& settings, const verify_options& options);

/// One line when the settings have something that no search can tell.
std::optional<std::string> cannot_verify(const parameters& settings);

nlohmann::ordered_json to_json(const verification& made);

/// Every small configuration that the scenarios name (scenario::proofs), under every progress model: printed, and
/// whether it ended as its scenario expects; nothing when one of the settings is wrong, with a line in `error`.
struct claims_result {
  uint64_t configurations = 0;
  uint64_t searches = 0;
  uint64_t followed = 0;  ///< answers that follow from the proof under a model that promises less
  uint64_t not_as_claimed = 0;
  uint64_t interrupted = 0;  ///< searches that were stopped before they had an answer: nothing is known of them
  uint64_t not_run = 0;      ///< answers that were never looked for, for the same reason
  uint64_t configurations_not_run = 0;  ///< all of whose answers were not
};
std::optional<claims_result> verify_claims(const std::vector<const scenario*>& chosen, const verify_options& options,
                                           bool as_json, std::string& error);

}  // namespace heddle::tools
