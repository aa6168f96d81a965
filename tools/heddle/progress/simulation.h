// Small programs on the simulated machine under a progress model: whether a schedule of it hangs. What the judge finds
// on the graph of all states is to be found here by playing.
#pragma once

#include <heddle/scheduler/strategy.h>
#include <heddle/scheduler/verdict.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/progress/judge/model.h>
#include <heddle/tools/progress/judge/program.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace heddle::tools {

/// The models of the judge that the machine plays: the open ones, slots, and turns. Not `unfair`: on the machine all waves may then be
/// left out, also at the end of a program without a loop, while each execution that the judge looks at goes on as long as it can.
const std::vector<judge::model>& playable_models();

struct played {
  uint64_t schedules = 0;
  uint64_t hangs = 0;
  uint64_t inconclusive = 0;  ///< runs without an end and without a proof of a hang
  uint64_t first_hang = 0;    ///< its seed
  scheduler::verdict first_verdict = scheduler::verdict::ok;
  bool stopped = false;
};

struct play_options {
  uint64_t first_seed = 1;
  uint64_t schedules = 1000;
  bool to_the_first_hang = false;
  const std::atomic<bool>* stop = nullptr;
};

/// Each thread of a program is a wave of one lane, or a host thread, that carries out its steps one by one by relaxed
/// atomics of system scope.
class progress_player {
 public:
  explicit progress_player(std::unique_ptr<scheduler::strategy> deciding);
  ~progress_player();
  progress_player(const progress_player&) = delete;
  progress_player& operator=(const progress_player&) = delete;

  played play(const judge::program& code, judge::model under, const play_options& options);

 private:
  class threads;
  std::unique_ptr<scheduler::strategy> deciding_;
  scheduler::choice_source choices_;
  sim::simulation machine_;
  std::unique_ptr<threads> threads_;
};

/// What came of all programs under one model.
class model_tally {
 public:
  /// `may_hang` is the judge's verdict.
  void add(bool may_hang, const played& one, uint64_t first_seed);

  uint64_t may_hang = 0;  ///< programs
  uint64_t found = 0;     ///< of these
  uint64_t must_end = 0;
  uint64_t false_alarms = 0;  ///< hangs of programs that must end
  uint64_t schedules = 0;
  uint64_t inconclusive = 0;

  uint64_t median() const;  ///< schedules to the first hang, where one was found
  uint64_t worst() const;
  /// No false alarm, and at most one in a hundred hangs missed.
  bool ok() const { return false_alarms == 0 && found * 100 >= may_hang * 99; }

 private:
  std::vector<uint64_t> needed_;
};

}  // namespace heddle::tools
