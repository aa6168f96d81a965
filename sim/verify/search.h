// All runs of a small program: every schedule, every value that a load may see, every other choice that the machine leaves open.
//
// The search goes depth first through the choices. It does not take a run back: it makes it again from the beginning, which costs
// a simulated step less than a copy of the machine would. A run that comes to a state which was met before goes no further. What is
// told of a state, and why that is enough, is in docs/verify.md; a state is 128 bits of it (state_key.h).
//
// Reductions, each of which can be turned off: states are met once, and those that know more not at all; a lane whose next operation no other lane can notice takes
// it at once; a wait that repeats itself exactly waits for a change and is not run again; of two steps that touch nothing in common the second order is
// not run.
#pragma once

#include <heddle/scheduler/choice.h>
#include <heddle/sim/base/outcome.h>
#include <heddle/sim/base/state_reader.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heddle::sim {

class bytes_in;
class bytes_out;
struct search_notes;

/// Makes one run of a machine.
using explored_run = std::function<outcome(scheduler::choice_source&)>;

struct search_options {
  bool match_states = true;  ///< a state that was met before is not gone through again
  /// Nor one in which lanes know more than in one that was met, and all else is equal; needs `match_states`.
  bool cover_states = true;
  /// Where two lanes take steps that touch nothing in common, the run is not made whose end is known from the other order; needs `match_states`.
  bool cross_steps = true;
  bool skip_local = true;   ///< operations that no other lane can notice are no choice
  bool block_waits = true;  ///< a wait that repeats itself exactly is not run again before something changes
  bool fair_cycles = true;  ///< looks for hangs in which lanes move; needs `match_states`
  /// Whether a store must be kept as long as a lane may read it. False: no lane reads one that as many newer ones hide as settings::history has, and
  /// what is found of all runs is found for that bound.
  bool needs_all_stores = true;

  double seconds_max = 0;   ///< 0: no limit
  uint64_t states_max = 0;  ///< likewise
  uint64_t bytes_max = 0;   ///< that the search itself keeps; likewise
  uint64_t runs_max = 0;    ///< likewise
  /// Processes that search together. Whatever `ended` and `after_run` change stays in the process that makes the run, but a run that stops the
  /// search is made once more in this one.
  uint32_t jobs = 1;
  const std::atomic<bool>* stop = nullptr;

  /// Where a search that is cut by a bound puts what a later process needs to go on. All addresses must be the same there (docs/verify.md). Null: nowhere.
  bytes_out* saves_to = nullptr;
  /// What an earlier process has put there, of the same program and the same options but for bounds, `jobs` and `stop`. Null: the search begins.
  bytes_in* goes_on_from = nullptr;

  /// Whether to look ahead now and then, and where it is cut: search_result::forecast. That takes some seconds of a hundred.
  bool forecasts = false;
  /// Called in a copy of this process whose runs are no part of the search.
  std::function<void()> set_apart;

  /// Called with every run that came to its end, and the answers that repeat it; false stops the search.
  std::function<bool(const outcome&, const std::vector<scheduler::answer>&)> ended;
  /// Called when all begins anew (search_result::restarts): what `ended` was called with until then came of a search that may have left runs out.
  std::function<void()> begun_again;
  /// Called with every run, also one that ended in a state which was met before: what has come to light until then.
  std::function<void(const outcome&)> after_run;
  /// What the program keeps outside of the machine, and uses: part of each state.
  std::function<void(state_reader&)> also_told;
  /// Called now and then.
  std::function<void(const struct search_result&)> progress;
  /// Called once, with one line that says why, as soon as it is known that nothing can be put to `saves_to`. The search goes on.
  std::function<void(const std::string&)> cannot_be_saved;
};

/// What search_result::left_out says where search_options::stop was set.
inline constexpr const char* search_was_stopped = "stopped";
/// The same where search_options::needs_all_stores was set, and a store was forgotten.
inline constexpr const char* search_forgot_stores =
    "a location has more stores that a lane may still read than are kept";

/// Runs at random through a search that is under way: which of the states that they come to are known already.
struct search_forecast {
  uint64_t runs = 0;         ///< 0: none was made
  uint64_t met = 0;          ///< states, of each run those that differ
  uint64_t known = 0;        ///< of these
  uint64_t states_then = 0;  ///< that the search knew

  double share() const { return static_cast<double>(known) / static_cast<double>(met); }
  /// That there are in all: by a third or more of what is met known, within a factor of two; by less it may be too low, by a tenth or less it is.
  uint64_t states() const {
    const uint64_t recaptured = known == 0 ? 1 : known;
    return static_cast<uint64_t>(static_cast<double>(states_then) * static_cast<double>(met) /
                                 static_cast<double>(recaptured));
  }
  bool is_close() const { return 3 * known >= met; }
  bool is_far_too_low() const { return 10 * known < met; }
};

struct search_result {
  bool complete = false;      ///< nothing was left out
  bool stopped = false;       ///< by `ended`
  bool wants_points = false;  ///< it has to be made again with points=all
  size_t wants_frames = 0;    ///< likewise with host_frames of so many bytes
  std::string left_out;       ///< where it is not complete: one line that says why
  uint64_t states = 0;        ///< that differ, in which an actor had to be chosen
  uint64_t executions = 0;    ///< runs that came to their end
  uint64_t runs = 0;          ///< all, also those that ended in a state which was known
  uint64_t transitions = 0;   ///< ways from one state to the next, or to an end
  uint64_t depth_max = 0;     ///< visible operations of the longest run
  uint64_t restarts = 0;      ///< because the program did something that the state did not tell until then
  uint64_t bytes = 0;         ///< that the search kept in the end
  double seconds = 0;
  search_forecast forecast;  ///< the last one
  std::string
      goes_round;  ///< of one that is cut: a loop that makes each of its iterations another state (rounds_made.h)

  bool cut = false;  ///< by a bound, in midst of it: another process may go on
  std::string
      not_saved;  ///< one line that says why it is not where search_options::saves_to is; empty: it is, or it was not cut
  std::string
      not_gone_on;  ///< one line that says why it does not go on from where search_options::goes_on_from is; nothing is searched then
  /// Of all these figures, what earlier processes had done.
  struct earlier {
    uint64_t states = 0;
    uint64_t runs = 0;
    double seconds = 0;
  };
  earlier before;
};

/// Goes through all runs of a machine, which `run` makes; `explore` has its next runs be part of the search, or of none (null). At most 63 lanes, and 64 answers to one choice; more is told in `left_out`.
search_result search_all(const std::function<void(search_notes*)>& explore, const explored_run& run,
                         const search_options& options);

}  // namespace heddle::sim
