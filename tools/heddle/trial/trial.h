// One scenario on the simulator under many schedules, and what that says of it.
#pragma once

#include <heddle/scheduler/campaign.h>
#include <heddle/sim/observe/run_record.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/registry.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle::tools {

// How long calls take in the virtual time of the simulated machine: a model, and no measurement.

/// Of the calls of lanes that have come to something. Times in nanoseconds; a share of the calls takes no longer than its time.
struct call_latency {
  uint64_t calls = 0;
  uint64_t schedules = 0;  ///< in which they were made
  double median_ns = 0;
  double p99_ns = 0;
  double longest_ns = 0;
};

/// Runs the first schedules of a campaign again, on a machine that keeps virtual time: those with seeds from `first_seed` on, at most
/// `schedules`, and no more than it takes to know. The same whatever the campaign's workers and time. Nothing where no call is made.
std::optional<call_latency> latency_of(const scenario& tested, const parameters& settings, const std::string& strategy,
                                       uint64_t first_seed, uint64_t schedules);

/// What a search through all runs came to, behind a campaign that has found nothing.
struct proof_attempt {
  bool complete = false;  ///< nothing was left out: where nothing is `found`, that is a proof
  std::string of;         ///< the models and settings that were gone through, "progress=fair, fidelity=scoped"
  std::string left_out;   ///< where it is not complete: one line that says why
  uint64_t states = 0;
  uint64_t runs = 0;
  double seconds = 0;
  std::optional<scheduler::finding> found = std::nullopt;  ///< a run that ends badly; its seed says nothing
  std::string file = {};                                   ///< where its trace was written; empty: nowhere

  /// "proved", "violated", "incomplete".
  const char* result() const { return found ? "violated" : complete ? "proved" : "incomplete"; }
};

/// Runs that have ended well and have printed that something failed, of programs with a main().
struct complaints {
  uint64_t count = 0;
  uint64_t seed = 0;  ///< of the first
  std::string line = {};
};

/// A run that was ended because the time of the campaign was over.
struct cut_schedule {
  uint64_t seed = 0;
  uint64_t steps = 0;  ///< so many had been made
};

struct trial {
  const scenario* tested = nullptr;
  scheduler::verdict_set expected = scheduler::verdict::ok;
  scheduler::campaign_result runs;
  uint64_t first_seed = 1;         ///< of them
  std::vector<std::string> files;  ///< per finding, where its trace was written; empty when it was not
  uint64_t stood_still = 0;        ///< runs that were ended for that
  bool ended_alike = false;        ///< no more were run, as all ended as `unsupported` in one way
  std::optional<cut_schedule> cut = std::nullopt;
  complaints printed = {};                             ///< by the runs of this process's copies
  std::optional<call_latency> latency = std::nullopt;  ///< where the scenario makes calls
  std::optional<proof_attempt> proof = std::nullopt;   ///< where one was asked for and the schedules found nothing

  /// The first that was found when nothing but what was expected was found; otherwise the first that was not expected; what the
  /// proof has found counts.
  /// `ok` when nothing was found.
  scheduler::verdict seen() const;

  /// Whether a run came to its end, the scenario gave its expected verdict, and each finding could be repeated.
  bool as_expected() const;
};

/// The settings of a scenario on the simulator, with "key=value" assignments applied; each must have an effect.
settings_or_error simulator_settings(const scenario& tested, const std::vector<std::string>& assignments);

/// The excuses of `races.known` that no race of any scenario was in need of: "excuses.txt:3 (place ring.cu:52)".
std::vector<std::string> unused_excuses(const parameters& settings, const std::vector<trial>& made);
/// The first of them that is of a place.
std::optional<std::string> excuse_of_place(const parameters& settings);

/// As campaigns have it.
scheduler::run_result result_of(const sim::outcome& ended);

/// Runs the scenario's body once on the machine.
scheduler::run_result run_scenario(sim::simulation& machine, const scenario& tested, const parameters& settings,
                                   scheduler::choice_source& choices, bool explain);

/// What every trace of these settings says; seed, verdict and answers are filled in by the campaign.
scheduler::trace trace_header(const scenario& tested, const parameters& settings, const std::string& strategy);

/// Runs the campaign. options.header is filled in here.
trial run_trial(sim::simulation& machine, const scenario& tested, const parameters& settings,
                const std::string& strategy_name, scheduler::strategy& deciding, scheduler::campaign_options options);

/// The strategy of traces that import makes; no name that `--strategy` takes.
inline constexpr const char* following_strategy = "follow";

/// The strategy of traces that verify finds.
inline constexpr const char* verifying_strategy = "verify";

/// "heddle fuzz ..." with the scenario, the strategy, the seed and those settings that differ from their defaults. Of a trace that was
/// imported, what to import again; of one that was shrunk, which no seed gives, a search with its settings.
std::string search_again_command(const std::string& program, const scheduler::trace& recorded);

}  // namespace heddle::tools
