#include <heddle/scheduler/strategy.h>
#include <heddle/sim/judge/judge.h>
#include <heddle/sim/run/execution.h>
#include <heddle/sim/space/lane_heap.h>
#include <heddle/sim/verify/explorer.h>
#include <heddle/sim/verify/fair_cycles.h>
#include <heddle/sim/verify/search.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <span>

namespace heddle::sim {
namespace {

using scheduler::choice;
using scheduler::choice_kind;

/// Leads to a state, and from there on gives turns to the lanes that are promised some, until the run's end game shows that they repeat
/// themselves for ever.
class into_cycle final : public scheduler::strategy {
 public:
  /// `steps` until the end game begins; 0: the run only goes as far as the state.
  into_cycle(std::vector<uint8_t> answers, uint64_t steps) : answers_(std::move(answers)), steps_(steps) {}

  void begin(uint64_t) override { next_ = drawn_ = 0; }
  bool draws_end_game() const override { return steps_ != 0; }
  std::string_view name() const override { return "verify"; }
  uint32_t pick(const choice& asked) override {
    if (asked.kind == choice_kind::end) return pick_end(asked.count);
    if (next_ < answers_.size()) return answers_[next_++];
    if (steps_ == 0) return scheduler::no_answer;
    // What is under way arrives.
    if (asked.kind == choice_kind::arrive) return asked.count == 2 ? 1 : 0;
    if (asked.kind != choice_kind::actor) return 0;
    // All that are promised a turn, one after the other.
    uint32_t best = 0;
    for (uint32_t n = 1; n < asked.count; ++n) {
      const scheduler::candidate one = asked.candidates[n];
      const scheduler::candidate other = asked.candidates[best];
      if (one.guaranteed != other.guaranteed ? one.guaranteed : one.operations < other.operations) best = n;
    }
    return best;
  }

 private:
  // As execution::draw_end_game asks: the number of the power of two, what is added to it, then the rhythm; which is one turn for each.
  uint32_t pick_end(uint32_t count) {
    switch (drawn_++) {
      case 0: {
        uint32_t place = 0;
        while (place + 1 < end_game_octaves.size() && (uint64_t{2} << end_game_octaves[place]) <= steps_ + 1) ++place;
        octave_ = end_game_octaves[place];
        return place;
      }
      case 1: {
        const uint64_t low = uint64_t{1} << octave_;
        return steps_ + 1 <= low ? 0 : static_cast<uint32_t>(std::min<uint64_t>(steps_ + 1 - low, count - 1));
      }
      default:
        return 0;
    }
  }

  std::vector<uint8_t> answers_;
  uint64_t steps_;
  size_t next_ = 0;
  uint32_t drawn_ = 0;
  uint32_t octave_ = 0;
};

/// What a program and its libraries keep from their first run on, such as variables that are initialised when they are met, is not to be
/// part of a run that is gone through. Then a few runs begin the notes: with each thing that is noted later, the search begins again.
/// Ends early with a run that stands still, each of which takes as long as a run may, and when the search is to stop.
void warm_up(const std::function<void(search_notes*)>& explore, const explored_run& run, const search_options& options,
             search_notes& notes) {
  constexpr uint64_t runs = 8;
  constexpr uint64_t noted_runs = 100;
  constexpr uint64_t noted_steps = 30'000;
  std::string error;
  const auto deciding = scheduler::make_strategy("random", error);
  scheduler::choice_source choices;
  uint64_t steps = 0;
  for (uint64_t seed = 1; seed <= runs + noted_runs && steps < noted_steps; ++seed) {
    explore(seed <= runs ? nullptr : &notes);
    choices.begin(*deciding, seed);
    const outcome ended = run(choices);
    steps += ended.steps;
    if (ended.verdict == scheduler::verdict::stuck) break;
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) break;
  }
  // Of these only the search itself tells.
  notes.freed_under_access = notes.forgot = notes.grown = false;
  notes.quiet.refuted();
  notes.quiet.begin_again();
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The bound that was hit; empty when none was.
std::string bound_hit(const search_options& options, const search_result& so_far) {
  if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) return search_was_stopped;
  if (options.states_max != 0 && so_far.states >= options.states_max)
    return std::to_string(options.states_max) + " states";
  if (options.runs_max != 0 && so_far.runs >= options.runs_max) return std::to_string(options.runs_max) + " runs";
  if (options.bytes_max != 0 && so_far.bytes >= options.bytes_max)
    return std::to_string(options.bytes_max >> 20) + " MiB of states";
  if (options.seconds_max > 0 && so_far.seconds >= options.seconds_max) return "the time is over";
  return {};
}

/// Makes the run that goes round a fair cycle of states for ever, where the search has found one.
void run_fair_cycle(explorer& deciding, const shared_states& known, const explored_run& run,
                    const search_options& options, search_result& result) {
  scheduler::choice_source choices;
  const auto state = find_fair_cycle(known.graph());
  if (!state) return;
  const std::vector<uint8_t> answers = known.answers_to(*state);
  into_cycle comes(answers, 0);
  choices.begin(comes, 0);
  const uint64_t steps = run(choices).steps;
  into_cycle leads(answers, steps + 1);
  choices.begin(leads, 0);
  const outcome hung = run(choices);
  ++result.runs;
  ++result.executions;
  if (hung.stopped_by_source)
    deciding.leave_out(search_was_stopped);
  else if (hung.verdict == scheduler::verdict::ok || hung.verdict == scheduler::verdict::budget)
    deciding.leave_out("in a fair cycle of states nothing is ever done, but a fair run from there on comes to an end");
  else if (options.ended)
    result.stopped = !options.ended(hung, choices.recorded());
}

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
    while (round()) {
      // What was left out of the states that were compared until now counts, or what was taken at once was a choice.
      ++result_.restarts;
      if (options_.begun_again) options_.begun_again();
      notes_.grown = false;
      notes_.quiet.begin_again();
      deciding_.begin_again();
      known_.clear();
    }
    take_stock();
    if (!more_ && !result_.stopped && options_.fair_cycles && deciding_.is_matching())
      run_fair_cycle(deciding_, known_, run_, options_, result_);
    explore_(nullptr);
    result_.left_out = deciding_.left_out();
    result_.complete = !more_ && !result_.stopped && result_.left_out.empty();
    const uint64_t runs = result_.runs;
    take_stock();
    result_.runs = std::max(runs, result_.runs);
    return result_;
  }

 private:
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
    if (!copies.empty()) gather();
    const bool refuted = notes_.quiet.refuted();
    const bool again = (notes_.grown || refuted || again_) && !result_.stopped && !lost && !bound_;
    again_ = false;
    return again;
  }

  // A copy ends when no work is left; what it has found the first process gathers.
  [[noreturn]] void be_a_copy(uint32_t number) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    number_ = number;
    result_.executions = 0;
    result_.depth_max = 0;
    go([] {});
    leave_behind();
    _exit(0);
  }

  template <typename Meanwhile>
  void go(const Meanwhile& meanwhile) {
    bool any = number_ == 0 || take_work(meanwhile);
    while (any && !known_.is_over()) {
      more_ = true;
      if (!make_run()) return known_.end();
      more_ = deciding_.next();
      deciding_.give_work();
      take_stock();
      const std::string bound = bound_hit(options_, result_);
      any = more_ || take_work(meanwhile);
      if (any && !bound.empty()) {
        deciding_.leave_out(bound);
        bound_ = true;
        more_ = true;
        return known_.end();
      }
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
      deciding_.leave_out(search_was_stopped);
      bound_ = true;
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
      if (const std::string bound = bound_hit(options_, result_); !bound.empty()) {
        deciding_.leave_out(bound);
        bound_ = true;
      }
      return false;
    }
    // Ended from outside: what lies behind is not known, though no answer may be left to give.
    if (ended.stopped_by_source && !deciding_.has_declined()) {
      deciding_.leave_out(search_was_stopped);
      bound_ = true;
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
    if (notes_.freed_under_access) {
      result_.wants_points = true;
      bound_ = true;
      deciding_.leave_out(
          "memory is given back that another lane may still access; that needs plain accesses as points (points=all)");
      return false;
    }
    if (notes_.copies_beside)
      deciding_.leave_out(
          "copies beside a lane (cp.async.bulk, cp.async of C++): what they wait for is no part of a state");
    if (notes_.forgot && options_.needs_all_stores)
      deciding_.leave_out("a location has more stores that a lane may still read than are kept");
    return true;
  }

  // -- what a copy leaves behind: numbers, then the reason why something is left out, then the answers of the run that has stopped it

  void leave_behind() {
    std::vector<uint64_t> told = {
        result_.executions,    result_.depth_max, result_.stopped ? 1u : 0u,         result_.wants_points ? 1u : 0u,
        again_ ? 1u : 0u,      bound_ ? 1u : 0u,  deciding_.is_matching() ? 1u : 0u, more_ ? 1u : 0u,
        notes_.compared.size()};
    for (const void* each : notes_.compared) told.push_back(reinterpret_cast<uintptr_t>(each));
    notes_.quiet.tell(told);
    known_.leave_behind(told.data(), told.size() * sizeof(uint64_t));
    known_.leave_behind(deciding_.left_out().data(), deciding_.left_out().size());
    std::vector<uint8_t> answers;
    if (result_.stopped)
      for (const scheduler::answer& each : choices_.recorded()) answers.push_back(static_cast<uint8_t>(each.picked));
    known_.leave_behind(answers.data(), answers.size());
  }

  void gather() {
    size_t at = 0;
    const auto next_part = [&] {
      size_t size_bytes = 0;
      std::memcpy(&size_bytes, known_.left_behind() + at, sizeof size_bytes);
      const std::byte* const part = known_.left_behind() + at + sizeof size_bytes;
      at += sizeof size_bytes + size_bytes;
      return std::span(part, size_bytes);
    };
    while (at < known_.left_behind_bytes()) {
      const std::span<const std::byte> numbers = next_part();
      std::vector<uint64_t> told(numbers.size() / sizeof(uint64_t));
      std::memcpy(told.data(), numbers.data(), numbers.size());
      const std::span<const std::byte> why = next_part();
      const std::span<const std::byte> answers = next_part();
      result_.executions += told[0];
      result_.depth_max = std::max(result_.depth_max, told[1]);
      result_.wants_points = result_.wants_points || told[3] != 0;
      again_ = again_ || told[4] != 0;
      bound_ = bound_ || told[5] != 0;
      if (told[6] == 0) deciding_.match_no_more();
      more_ = more_ || told[7] != 0;
      size_t read = 9;
      for (uint64_t n = 0; n < told[8]; ++n) notes_.compared.insert(reinterpret_cast<const void*>(told[read++]));
      notes_.quiet.learn(told, read);
      if (!why.empty()) deciding_.leave_out(std::string(reinterpret_cast<const char*>(why.data()), why.size()));
      if (told[2] != 0 && !result_.stopped) make_stopping_run(answers);
    }
  }
  /// The run that has made a copy stop, in this process.
  void make_stopping_run(std::span<const std::byte> answers) {
    std::vector<uint8_t> given(answers.size());
    std::memcpy(given.data(), answers.data(), answers.size());
    into_cycle leads(std::move(given), 0);
    choices_.begin(leads, 0);
    const outcome ended = run_(choices_);
    if (ended.stopped_by_source)
      deciding_.leave_out(search_was_stopped);
    else if (options_.ended && !options_.ended(ended, choices_.recorded()))
      result_.stopped = true;
    else
      deciding_.leave_out("a run that ends badly in a copy of this process does not in this one");
  }

  void take_stock() {
    result_.runs = known_.runs();
    result_.states = known_.count();
    result_.transitions = known_.ways();
    result_.bytes = deciding_.bytes();
    result_.seconds = seconds_since(start_);
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
  scheduler::choice_source choices_;
  uint32_t number_ = 0;  ///< of this process
  uint64_t shown_ = 0;
  bool more_ = true;    ///< runs are left
  bool again_ = false;  ///< the search has to begin again
  bool bound_ = false;  ///< it is over before its end
};

}  // namespace

search_result search_all(const std::function<void(search_notes*)>& explore, const explored_run& run,
                         const search_options& options) {
  return searching(explore, run, options).all();
}

}  // namespace heddle::sim
