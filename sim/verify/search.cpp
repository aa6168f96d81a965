#include <heddle/scheduler/strategy.h>
#include <heddle/sim/run/execution.h>
#include <heddle/sim/space/lane_heap.h>
#include <heddle/sim/verify/explorer.h>
#include <heddle/sim/verify/forecast.h>
#include <heddle/sim/verify/into_cycle.h>
#include <heddle/sim/verify/one_depth.h>
#include <heddle/sim/verify/saved_search.h>
#include <heddle/sim/verify/search.h>
#include <heddle/sim/verify/search_bounds.h>
#include <heddle/sim/verify/shaken_heap.h>
#include <heddle/sim/verify/warm_up.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace heddle::sim {
namespace {

/// Goes depth first through the runs, in this process and in copies of it.
class searching {
 public:
  searching(const std::function<void(search_notes*)>& explore, const explored_run& run, const search_options& options)
      : explore_(explore), run_(run), options_(options), known_(std::max(options.jobs, 1u)) {
    notes_.lanes_allocate = &lanes_allocate_;
  }

  search_result all() {
    warm_up(explore_, run_, options_, notes_);
    explore_(&notes_);
    if (options_.goes_on_from != nullptr && !go_on()) {
      explore_(nullptr);
      return result_;
    }
    while (round()) begin_again();
    take_stock();
    if (!more_ && !result_.stopped && options_.fair_cycles && deciding_.is_matching() &&
        !run_fair_cycle(deciding_, known_, run_, options_, result_))
      cut(search_was_stopped);
    if (is_cut() && why_cut_ != search_was_stopped && !result_.stopped && !again_) ahead_.at_last(result_);
    explore_(nullptr);
    const uint64_t runs = result_.runs;
    take_stock();
    result_.runs = std::max(runs, result_.runs);
    result_.cut = is_cut() && !result_.stopped && !result_.wants_points && result_.wants_frames == 0;
    if (result_.cut && options_.saves_to != nullptr) save();
    result_.left_out = deciding_.left_out().empty() ? why_cut_ : deciding_.left_out();
    result_.complete = !more_ && !result_.stopped && result_.left_out.empty();
    return result_;
  }

 private:
  /// What was left out of the states that were compared until now counts, or what was taken at once was a choice.
  void begin_again() {
    ++result_.restarts;
    result_.forecast = {};
    if (options_.begun_again) options_.begun_again();
    begins_ = true;
    notes_.grown = false;
    notes_.quiet.begin_again();
    deciding_.begin_again();
    known_.clear();
  }

  /// A bound was hit: the search is over, and may go on in another process.
  void cut(const std::string& why) {
    if (why_cut_.empty()) why_cut_ = why;
    bound_ = true;
  }
  bool is_cut() const { return !why_cut_.empty(); }

  /// Once through all runs; whether that has to be done again.
  bool round() {
    more_ = true;
    std::vector<pid_t> copies;
    for (uint32_t n = 1; n < known_.processes(); ++n) {
      const pid_t copy = fork();
      if (copy < 0) {
        deciding_.leave_out("this process cannot be copied");
        known_.end();
        break;
      }
      if (copy == 0) be_a_copy(n);
      copies.push_back(copy);
    }
    bool lost = false;
    go([&] {
      for (const pid_t each : copies) {
        siginfo_t how = {};
        if (waitid(P_PID, static_cast<id_t>(each), &how, WEXITED | WNOHANG | WNOWAIT) != 0 || how.si_pid == 0) continue;
        if (how.si_code == CLD_EXITED && how.si_status == 0) continue;
        lost = true;
        known_.end();
      }
    });
    for (const pid_t each : copies) {
      int how = 0;
      if (waitpid(each, &how, 0) != each || how != 0) lost = true;
    }
    if (lost) deciding_.leave_out("a copy of this process has come to a sudden end");
    lost_ = lost;
    if (!copies.empty()) gather();
    left_.add(deciding_.left_to_do());
    if (const std::vector<std::byte> work = known_.untaken_work(); !work.empty()) left_.add_work(work);
    const bool refuted = notes_.quiet.refuted();
    again_ = again_ || notes_.grown || refuted;
    if (!again_ || result_.stopped || lost || bound_) return false;
    again_ = false;
    left_ = {};
    return true;
  }

  // A copy ends when no work is left; what it has found the first process gathers.
  [[noreturn]] void be_a_copy(uint32_t number) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    number_ = number;
    deciding_.do_nothing();
    result_.executions = 0;
    result_.depth_max = 0;
    go([] {});
    leave_behind();
    _exit(0);
  }

  template <typename Meanwhile>
  void go(const Meanwhile& meanwhile) {
    bool any = (number_ == 0 && begins_) || take_work(meanwhile);
    while (any && !known_.is_over()) {
      more_ = true;
      if (!make_run()) return known_.end();
      if (number_ == 0) look_at_samples();
      if (number_ == 0) deciding_.tell_if_unsaved();
      more_ = deciding_.next();
      deciding_.give_work();
      take_stock();
      const std::string bound = bound_hit(options_, result_, seconds_since(start_));
      any = more_ || take_work(meanwhile);
      if (any && !bound.empty()) {
        cut(bound);
        more_ = true;
        return known_.end();
      }
      if (number_ == 0) ahead_.now_and_then(result_);
      constexpr uint64_t runs_between = 64;
      if (number_ == 0 && options_.progress && ++shown_ % runs_between == 0) options_.progress(result_);
    }
    more_ = any;
  }
  template <typename Meanwhile>
  bool take_work(const Meanwhile& meanwhile) {
    const std::vector<std::byte> given = known_.take_work([&] {
      meanwhile();
      if (options_.stop == nullptr || !options_.stop->load(std::memory_order_relaxed)) return;
      cut(search_was_stopped);
      known_.end();
    });
    if (given.empty()) return false;
    deciding_.take_work(given);
    return true;
  }

  /// False: all processes are to stop.
  bool make_run() {
    choices_.begin(deciding_, 0);
    const outcome ended = run_(choices_);
    known_.count_run();
    result_.depth_max = std::max(result_.depth_max, ended.steps);
    if (options_.after_run) options_.after_run(ended);
    const bool refuted = notes_.quiet.refuted();
    if (notes_.grown || refuted) {
      again_ = true;
      take_stock();
      if (const std::string bound = bound_hit(options_, result_, seconds_since(start_)); !bound.empty()) cut(bound);
      return false;
    }
    // Ended from outside: what lies behind is not known, though no answer may be left to give.
    if (ended.stopped_by_source && !deciding_.has_declined()) {
      cut(search_was_stopped);
      return false;
    }
    if (!ended.stopped_by_source) {
      ++result_.executions;
      deciding_.ended();
      if (ended.verdict == scheduler::verdict::budget)
        deciding_.leave_out("a run has not come to its end: " + ended.message);
      if (options_.ended && !options_.ended(ended, choices_.recorded())) {
        result_.stopped = true;
        return false;
      }
    }
    if (const std::string lacks = notes_.lacks(); !lacks.empty()) {
      result_.wants_frames = notes_.frame_bytes;
      result_.wants_points = notes_.freed_under_access;
      bound_ = true;
      deciding_.leave_out(lacks);
      return false;
    }
    if (const char* const why = notes_.why_no_proof()) deciding_.leave_out(why);
    if (notes_.forgot && options_.needs_all_stores) deciding_.leave_out(search_forgot_stores);
    return true;
  }

  // -- what a copy leaves behind: numbers with what it has noted, then what it has left to do, then the reasons why
  // something is left out and why it was cut, then the answers of the run that has stopped it

  void leave_behind() {
    const explorer::frontier left = deciding_.left_to_do();
    std::vector<uint64_t> told = {
        result_.executions, result_.depth_max,   result_.stopped ? 1u : 0u,         result_.wants_points ? 1u : 0u,
        again_ ? 1u : 0u,   bound_ ? 1u : 0u,    deciding_.is_matching() ? 1u : 0u, more_ ? 1u : 0u,
        left.paths.size(),  result_.wants_frames};
    tell(notes_, told);
    leave_behind(told);
    leave_behind(left.put_off);
    for (const std::vector<std::byte>& each : left.paths) leave_behind(each);
    leave_behind(deciding_.left_out());
    leave_behind(why_cut_);
    std::vector<uint8_t> answers;
    if (result_.stopped)
      for (const scheduler::answer& each : choices_.recorded()) answers.push_back(static_cast<uint8_t>(each.picked));
    leave_behind(answers);
  }
  template <typename Elements>
  void leave_behind(const Elements& part) {
    known_.leave_behind(part.data(), part.size() * sizeof *part.data());
  }

  void gather() {
    size_t at = 0;
    const auto next_part = [&](auto part) {
      size_t size_bytes = 0;
      std::memcpy(&size_bytes, known_.left_behind() + at, sizeof size_bytes);
      part.resize(size_bytes / sizeof *part.data());
      if (size_bytes != 0) std::memcpy(part.data(), known_.left_behind() + at + sizeof size_bytes, size_bytes);
      at += sizeof size_bytes + size_bytes;
      return part;
    };
    while (at < known_.left_behind_bytes()) {
      const auto told = next_part(std::vector<uint64_t>());
      left_.add({.paths = {}, .put_off = next_part(std::vector<uint32_t>())});
      for (uint64_t n = 0; n < told[8]; ++n) left_.paths.push_back(next_part(std::vector<std::byte>()));
      const auto why = next_part(std::string());
      const auto why_cut = next_part(std::string());
      const auto answers = next_part(std::vector<uint8_t>());
      result_.executions += told[0];
      result_.depth_max = std::max(result_.depth_max, told[1]);
      result_.wants_points = result_.wants_points || told[3] != 0;
      again_ = again_ || told[4] != 0;
      bound_ = bound_ || told[5] != 0;
      if (told[6] == 0) deciding_.match_no_more();
      more_ = more_ || told[7] != 0;
      result_.wants_frames = std::max<size_t>(result_.wants_frames, told[9]);
      learn(told, 10, notes_);
      if (const char* const missed = notes_.why_no_proof()) deciding_.leave_out(missed);
      if (!why.empty()) deciding_.leave_out(why);
      if (!why_cut.empty()) cut(why_cut);
      if (told[2] != 0 && !result_.stopped) make_stopping_run(answers);
    }
  }
  /// The run that has made a copy stop, in this process.
  void make_stopping_run(const std::vector<uint8_t>& answers) {
    into_cycle leads(answers, 0);
    choices_.begin(leads, 0);
    const outcome ended = run_(choices_);
    if (ended.stopped_by_source)
      cut(search_was_stopped);
    else if (options_.ended && !options_.ended(ended, choices_.recorded()))
      result_.stopped = true;
    else
      deciding_.leave_out("a run that ends badly in a copy of this process does not in this one");
  }

  // -- another process

  void save() {
    if (lost_) result_.not_saved = "a copy of this process has come to a sudden end";
    if (!options_.match_states) result_.not_saved = "it does not compare states";
    // Without a sample nothing would show that another process makes the same keys.
    if (!again_ && known_.count() != 0 && deciding_.samples().states.empty()) known_.note_unsaved();
    if (const char* const why = deciding_.why_unsaved()) result_.not_saved = why;
    if (!result_.not_saved.empty()) return;
    if (again_) {
      begin_again();
      left_ = {.paths = {{}}, .put_off = {}};
    }
    saved_search saved = {.executions = result_.executions,
                          .depth_max = result_.depth_max,
                          .restarts = result_.restarts,
                          .seconds = result_.seconds,
                          .left_out = deciding_.left_out(),
                          .left = left_,
                          .samples = deciding_.samples(),
                          .notes = {}};
    tell(notes_, saved.notes);
    saved.save(*options_.saves_to);
    known_.save(*options_.saves_to);
  }

  /// Takes what another process has left. False where that cannot be, or the search was stopped meanwhile.
  bool go_on() {
    saved_search saved;
    if (!saved.load(*options_.goes_on_from) || !known_.load(*options_.goes_on_from) || !saved.is_of(known_)) {
      result_.not_gone_on = "it is damaged, or there is not as much memory as it needs";
      return false;
    }
    learn(saved.notes, 0, notes_);
    if (!makes_keys_of(saved.samples)) return false;
    deciding_.go_on(saved.left);
    begins_ = !saved.left.is_empty();
    deciding_.take_samples(std::move(saved.samples));
    if (!saved.left_out.empty()) deciding_.leave_out(saved.left_out);
    result_.executions = saved.executions;
    result_.depth_max = saved.depth_max;
    result_.restarts = saved.restarts;
    seconds_before_ = saved.seconds;
    result_.before = {.states = known_.count(), .runs = known_.runs(), .seconds = saved.seconds};
    return true;
  }

  /// Whether the run that leads to the state has the key here that it had where the state was met.
  bool makes_key_of(const state_samples::sample& met, const state_samples& among) {
    auto variables = std::exchange(notes_.variables, {among.variables.begin(), among.variables.end()});
    looking_.begin_to_look_at(met.state);
    choices_.begin(looking_, 0);
    run_(choices_);
    notes_.variables.merge(variables);
    return looking_.looked_at() == met.key;
  }
  bool makes_keys_of(const state_samples& samples) {
    for (const state_samples::sample& each : samples.states) {
      if (makes_key_of(each, samples)) continue;
      if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed))
        result_.left_out = search_was_stopped;
      else
        result_.not_gone_on = "a state of it is another one in this process: its addresses are not what they were";
      return false;
    }
    return true;
  }

  /// Of the states that were met last, those stay samples whose keys do not depend on where malloc() finds memory: no process can tell that of another.
  void look_at_samples() {
    while (const auto fresh = deciding_.fresh_sample()) {
      const shaken_heap other_places;
      if (makes_key_of(*fresh, deciding_.samples())) deciding_.keep_sample(*fresh);
    }
  }

  void take_stock() {
    result_.runs = known_.runs();
    result_.states = known_.count();
    result_.transitions = known_.ways();
    result_.bytes = deciding_.bytes();
    result_.seconds = seconds_before_ + seconds_since(start_);
  }

  const std::function<void(search_notes*)>& explore_;
  const explored_run& run_;
  const search_options& options_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  search_result result_;
  lane_heap lanes_allocate_;
  search_notes notes_;
  shared_states known_;
  explorer deciding_{options_, notes_, known_};
  explorer looking_{options_, notes_, known_};  ///< leads to states once more
  forecaster ahead_{deciding_, known_, run_, options_};
  scheduler::choice_source choices_;
  uint32_t number_ = 0;  ///< of this process
  uint64_t shown_ = 0;
  bool begins_ = true;         ///< the first process has something to do
  bool more_ = true;           ///< runs are left
  bool again_ = false;         ///< the search has to begin again
  bool bound_ = false;         ///< it is over before its end
  bool lost_ = false;          ///< with what a copy has found
  std::string why_cut_;        ///< the bound that was hit
  explorer::frontier left_;    ///< where it was cut: what is still to be gone through
  double seconds_before_ = 0;  ///< of other processes
};

}  // namespace

search_result search_all(const std::function<void(search_notes*)>& explore, const explored_run& run,
                         const search_options& options) {
  const explored_run from_there = at_one_depth(run, sizeof(searching));
  return searching(explore, from_there, options).all();
}

}  // namespace heddle::sim
