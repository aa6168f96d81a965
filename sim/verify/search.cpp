#include <heddle/scheduler/strategy.h>
#include <heddle/sim/judge/judge.h>
#include <heddle/sim/run/execution.h>
#include <heddle/sim/space/lane_heap.h>
#include <heddle/sim/verify/explorer.h>
#include <heddle/sim/verify/fair_cycles.h>
#include <heddle/sim/verify/search.h>

#include <algorithm>
#include <chrono>

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
void warm_up(const std::function<void(search_notes*)>& explore, const explored_run& run, search_notes& notes) {
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
    steps += run(choices).steps;
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
void run_fair_cycle(explorer& deciding, scheduler::choice_source& choices, const explored_run& run,
                    const search_options& options, search_result& result) {
  const auto state = find_fair_cycle(deciding.graph());
  if (!state) return;
  const std::vector<uint8_t> answers = deciding.answers_to(*state);
  into_cycle comes(answers, 0);
  choices.begin(comes, 0);
  const uint64_t steps = run(choices).steps;
  into_cycle leads(answers, steps + 1);
  choices.begin(leads, 0);
  const outcome hung = run(choices);
  ++result.runs;
  ++result.executions;
  if (hung.verdict == scheduler::verdict::ok || hung.verdict == scheduler::verdict::budget)
    deciding.leave_out("in a fair cycle of states nothing is ever done, but a fair run from there on comes to an end");
  else if (options.ended)
    result.stopped = !options.ended(hung, choices.recorded());
}

}  // namespace

search_result search_all(const std::function<void(search_notes*)>& explore, const explored_run& run,
                         const search_options& options) {
  const auto start = std::chrono::steady_clock::now();
  search_result result;
  lane_heap lanes_allocate;
  search_notes notes;
  notes.lanes_allocate = &lanes_allocate;
  explorer deciding(options, notes);
  scheduler::choice_source choices;
  const auto take_stock = [&] {
    result.states = deciding.states();
    result.transitions = deciding.transitions();
    result.bytes = deciding.bytes();
    result.seconds = seconds_since(start);
  };
  warm_up(explore, run, notes);
  explore(&notes);
  bool more = true;
  while (more) {
    choices.begin(deciding, 0);
    const outcome ended = run(choices);
    ++result.runs;
    result.depth_max = std::max(result.depth_max, ended.steps);
    if (options.after_run) options.after_run(ended);
    const bool refuted = notes.quiet.refuted();
    if (notes.grown || refuted) {
      // What was left out of the states that were compared until now counts, or what was taken at once was a choice.
      notes.grown = false;
      notes.quiet.begin_again();
      ++result.restarts;
      deciding.forget_states();
      take_stock();
      if (const std::string bound = bound_hit(options, result); !bound.empty()) {
        deciding.leave_out(bound);
        break;
      }
      continue;
    }
    if (!ended.stopped_by_source) {
      ++result.executions;
      deciding.ended();
      if (ended.verdict == scheduler::verdict::budget)
        deciding.leave_out("a run has not come to its end: " + ended.message);
      if (options.ended && !options.ended(ended, choices.recorded())) {
        result.stopped = true;
        break;
      }
    }
    if (notes.freed_under_access) {
      result.wants_points = true;
      deciding.leave_out(
          "memory is given back that somebody may still access; that needs plain accesses as points (points=all)");
      break;
    }
    if (notes.forgot) deciding.leave_out("a location has more stores that somebody may still read than are kept");
    more = deciding.next();
    take_stock();
    if (const std::string bound = bound_hit(options, result); more && !bound.empty()) {
      deciding.leave_out(bound);
      break;
    }
    constexpr uint64_t runs_between = 64;
    if (options.progress && result.runs % runs_between == 0) options.progress(result);
  }
  take_stock();
  if (!more && !result.stopped && options.fair_cycles && deciding.is_matching())
    run_fair_cycle(deciding, choices, run, options, result);
  explore(nullptr);
  result.left_out = deciding.left_out();
  result.complete = !more && !result.stopped && result.left_out.empty();
  take_stock();
  return result;
}

}  // namespace heddle::sim
