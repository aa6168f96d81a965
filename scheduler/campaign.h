// A campaign: one program under a range of seeds, its findings grouped and the first of each group explained.
#pragma once

#include <heddle/scheduler/behaviours.h>
#include <heddle/scheduler/choice.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/scheduler/trace.h>
#include <heddle/scheduler/verdict.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::scheduler {

/// What came of one run, as far as a campaign must know.
struct run_result {
  verdict outcome = verdict::ok;
  std::string where = {};    ///< groups findings
  std::string message = {};  ///< one line
  std::string report = {};   ///< several lines; only of an explained run
  std::string waits = {};    ///< the wait graph, in the DOT language; only of an explained run
  uint64_t steps = 0;
  uint64_t switches = 0;                  ///< context switches: steps of another actor than the step before
  std::vector<std::string> waiting = {};  ///< of a hang: the actors that wait, "host main", "wave 1 lanes 0-3"
  std::string hang = {};                  ///< of a hang: the roles of those actors, each once: "host server, wave"
  uint64_t digest = 0;
  bool abandoned = false;      ///< it was stopped before its end, and says nothing
  uint64_t library_steps = 0;  ///< of the steps, plain accesses to the C++ heap: containers, strings and what they hold
  std::map<std::string, uint64_t> excused = {};  ///< races that were left alone, by what excuses them
  /// What the actors of the run did and found, whatever came of it: runs that differ only in an order that none of them notices have the same number.
  /// 0: it was not looked at.
  uint64_t behaviour = 0;
};

/// Runs the program once on a fresh machine. `explain` asks for the report; nothing else may depend on it.
using run_one = std::function<run_result(choice_source& choices, bool explain)>;

/// The message without its numbers and addresses, and without what sets lists of them apart: the same for wave 1 and wave 2.
std::string gist_of(std::string_view message);

/// In what way a run failed. Findings are the same where this is.
struct failure {
  verdict outcome = verdict::ok;
  std::string where = {};
  std::string hang = {};  ///< run_result::hang
  std::string gist = {};  ///< of the message, where it is no hang; the message of a hang is about all of the run

  static failure of(const run_result& result);
  static failure of(const trace& recorded) { return {recorded.outcome, recorded.where, recorded.hang, recorded.gist}; }
  /// Writes it into the trace.
  void note_in(trace& recorded) const;
  friend bool operator==(const failure&, const failure&) = default;
};

/// All runs of a campaign that failed in the same way: with the same verdict at the same place and, but for numbers,
/// with the same message; of hangs, with the same roles waiting.
struct finding {
  trace first;               ///< of the lowest seed that shows it
  std::string message = {};  ///< one line
  std::string report = {};   ///< of the explained repetition of the first; empty when that could not be repeated
  uint64_t count = 0;        ///< runs that showed it
  /// Empty when the first run could be repeated; otherwise one line that says in what the repetition differed.
  std::string not_reproducible = {};
};

struct campaign_result {
  uint64_t schedules = 0;                        ///< runs made
  uint64_t steps = 0;                            ///< in all of them
  uint64_t library_steps = 0;                    ///< likewise, run_result::library_steps
  uint64_t choices = 0;                          ///< in all of them; 0 means that nothing was ever left open
  std::map<std::string, uint64_t> excused = {};  ///< likewise, run_result::excused
  behaviours seen = {};                          ///< of runs that tell theirs
  /// Of each seed with the digest of its run. A sum, so that parts of a campaign may be added up in any order.
  uint64_t digest = 0;
  double seconds = 0;
  std::vector<finding> findings = {};  ///< in order of their lowest seeds
  bool stopped = false;                ///< by the stop flag, or because `found` said so

  double schedules_per_second() const { return seconds > 0 ? static_cast<double>(schedules) / seconds : 0; }

  /// The finding of such runs; null when there is none.
  finding* find(const failure& how);

  /// Takes in a part of the same campaign with other seeds; of each group the lowest seed stays. Whatever the parts and
  /// their order, the sum is the same, but for `seconds`, the longest, and `stopped`, which is not touched.
  void add(campaign_result part);
};

struct campaign_options {
  uint64_t first_seed = 1;                  ///< run i has seed first_seed + i
  uint64_t schedules = 0;                   ///< at most so many; 0: as many as the time allows
  double seconds_max = 0;                   ///< no run begins after this time, but the first always does; 0: no limit
  const std::atomic<bool>* stop = nullptr;  ///< looked at before each run
  /// What the strategy is to be given; null: run_campaign makes the run for it, where the strategy wants one.
  std::shared_ptr<const estimate> known_estimate = nullptr;
  trace header = {};  ///< what a finding's trace says of the binary, the scenario and the strategy
  /// Whether a run of this seed that ended so has to be explained and handed to `found`; null: the first of each group.
  /// Of the other groups only the failure, lowest seed and count are kept.
  std::function<bool(const failure& how, uint64_t seed)> is_news = nullptr;
  /// Called for a new group when its first run has been explained and before the next run begins. False stops.
  std::function<bool(const finding&)> found = nullptr;
  /// Called after each run, with what there is so far; must be cheap.
  std::function<void(const campaign_result&)> progress = nullptr;
};

/// Runs the campaign on the calling thread. A campaign with neither a count nor a time ends with the stop flag only.
campaign_result run_campaign(const campaign_options& options, strategy& deciding, const run_one& run);

/// Runs a recorded trace again. `disagreement` is empty when it was, choice by choice and to the digest, the recorded
/// run; otherwise one line that says where it was not.
struct replay_result {
  run_result result;
  std::string disagreement;
};
replay_result run_again(const trace& recorded, const run_one& run, bool explain);

/// As run_again(), for a trace that another build recorded: every choice must agree, and the failure must be the same.
/// Steps and digest may differ, since they depend on the build.
replay_result run_again_elsewhere(const trace& recorded, const run_one& run, bool explain);

/// Whether both are the same place: "ring.cpp:52". Of a program that was stripped a place is an offset, "ring+0x10940":
/// the program's name does not count, and against a line it says nothing, so that they may be the same.
bool is_same_place(std::string_view one, std::string_view other);

/// Whether a run failed as the trace did. Traces of older versions say nothing of the message.
bool is_same_failure(const trace& recorded, const run_result& result);

}  // namespace heddle::scheduler
