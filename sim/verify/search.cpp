#include <heddle/scheduler/strategy.h>
#include <heddle/sim/judge/end_game.h>
#include <heddle/sim/machine/rmw.h>
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/run/execution.h>
#include <heddle/sim/space/lane_heap.h>
#include <heddle/sim/verify/fair_cycles.h>
#include <heddle/sim/verify/run_state.h>
#include <heddle/sim/verify/search.h>
#include <heddle/sim/verify/state_table.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <unordered_set>

namespace heddle::sim {
namespace {

using scheduler::answer;
using scheduler::choice;
using scheduler::choice_kind;

constexpr uint32_t no_state = ~uint32_t{0};
constexpr uint32_t most_answers = 64;
constexpr uint32_t no_lane = ~uint32_t{0};

constexpr uint64_t bits_below(uint32_t count) { return count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

/// What is seen again and again, though it is old, or fails again and again for no reason, is not fair.
bool may_go_on_for_ever(const answer& given) {
  return given.picked == 0 || (given.kind != choice_kind::visible && given.kind != choice_kind::spurious &&
                               given.kind != choice_kind::place);
}

/// A choice on the way from the beginning to where the search stands.
struct node {
  answer given;
  uint64_t left = 0;          ///< answers that have not been tried yet, a bit each
  uint32_t state = no_state;  ///< of a choice of who goes on, where states are matched
  uint64_t step = 0;          ///< of the run
  uint32_t turns = 0;         ///< where its counts of operations begin in path::operations
  uint32_t lane =
      no_lane;  ///< of the end of a wait: whose; of who goes on: who was chosen, where that is a load as below
  /// Of the end of a wait: in which private state. Of who goes on: before which load that finds nothing new.
  state_key stands = {};
};

/// Where a state was met first: after which one, and the answers from there on.
struct way {
  uint32_t from = no_state;
  uint32_t answers = 0;  ///< how many
  uint64_t begin = 0;    ///< in all_answers
};

/// Whether the lane is about to load, or to make a read-modify-write of what memory holds now and leave it as it is.
bool leaves_memory(const lane& who) {
  const auto found = [&] { return watched::value_at(who.pending.address, who.pending.size_bytes); };
  if (who.pending.size_bytes > sizeof(uint64_t)) return false;
  switch (who.pending.kind) {
    case operation_kind::load:
      return true;
    case operation_kind::read_modify_write: {
      // Of less than 8 bytes what does not fit is not stored.
      const uint64_t bits =
          who.pending.size_bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * who.pending.size_bytes) - 1;
      const auto kind = static_cast<rmw_kind>(who.operands[1]);
      return who.operands[1] <= static_cast<uint64_t>(rmw_kind::nand) &&
             (apply(kind, found(), who.operands[0]) & bits) == found();
    }
    case operation_kind::compare_exchange:
      return found() != who.operands[0];
    default:
      return false;
  }
}

class explorer final : public scheduler::strategy {
 public:
  explicit explorer(const search_options& options) : options_(options) {}

  void begin(uint64_t) override { asked_ = 0; }
  std::string_view name() const override { return "verify"; }
  uint32_t pick(const choice& asked) override;

  /// The run has ended, by itself or in a known state. Leads to the next one; false when there is none.
  bool next();
  /// A run came to its end, so that there is one more way.
  void ended() { ++transitions_; }
  void forget_states();

  const state_graph& graph() const { return graph_; }
  uint32_t states() const { return table_.size(); }
  uint64_t transitions() const { return transitions_; }
  /// The first reason why something was left out.
  const std::string& left_out() const { return left_out_; }
  void leave_out(std::string why) {
    if (left_out_.empty()) left_out_ = std::move(why);
  }
  bool is_matching() const { return matching_; }
  uint64_t bytes() const {
    return table_.bytes() + graph_.bytes() + ways_.capacity() * sizeof(way) + all_answers_.capacity() +
           path_.capacity() * sizeof(node) + operations_.capacity() * sizeof(uint32_t);
  }
  /// The answers that lead to a state.
  std::vector<uint8_t> answers_to(uint32_t state) const;

 private:
  uint32_t pick_fresh(const choice& asked);
  uint32_t pick_actor(const choice& asked);
  uint32_t pick_wake(const choice& asked);
  bool has_gone_far() const;
  /// In a state: no_answer where it was met before.
  uint32_t push_state(node fresh);
  uint32_t push(node fresh) {
    fresh.step = execution::instance->core().history.steps;
    path_.push_back(fresh);
    asked_ = path_.size();
    if (fresh.given.kind == choice_kind::actor) note_chosen(*execution::instance);
    return fresh.given.picked;
  }
  bool is_local(execution& here, const lane& who) const;
  /// Where a lane stands before a load, and what the load would find.
  static state_key load_key(const lane& who);
  /// Who has been chosen in the last choice of the path.
  void note_chosen(execution& here);
  void note_repeating_load(uint32_t lane, size_t since);
  bool arrive_in(execution& here, const state_key& key, node& fresh);
  void note_way(execution& here, uint32_t to, uint32_t from_node);
  uint32_t last_state_node() const;

  const search_options& options_;
  std::vector<node> path_;
  size_t asked_ = 0;  ///< choices of this run so far
  std::vector<uint32_t> operations_;
  bool matching_ = true;
  state_table table_;
  std::vector<way> ways_;
  std::vector<uint8_t> all_answers_;
  state_graph graph_;
  std::unordered_set<state_key> repeating_waits_;
  /// Loads of loops that wait for one word: what they find leads back to the same load. Whether such a loop goes round before others do
  /// something or behind it, it is where it was.
  std::unordered_set<state_key> repeating_loads_;
  uint64_t transitions_ = 0;
  std::string left_out_;
};

void explorer::forget_states() {
  path_.clear();
  operations_.clear();
  table_.clear();
  ways_.clear();
  all_answers_.clear();
  graph_ = {};
  transitions_ = 0;
}

uint32_t explorer::pick(const choice& asked) {
  if (asked_ == path_.size()) return pick_fresh(asked);
  const answer& given = path_[asked_].given;
  if (given.kind != asked.kind || given.count != asked.count) {
    leave_out(
        "the same choices have led to another run: the program keeps something from run to run, such as a variable "
        "with static "
        "storage");
    return scheduler::no_answer;
  }
  if (++asked_ == path_.size() && given.kind == choice_kind::actor) note_chosen(*execution::instance);
  return given.picked;
}

uint32_t explorer::pick_fresh(const choice& asked) {
  if (asked.count > most_answers) {
    leave_out("a choice among " + std::to_string(asked.count) + " answers; at most " + std::to_string(most_answers) +
              " are gone through");
    return scheduler::no_answer;
  }
  if (asked.kind == choice_kind::actor) return pick_actor(asked);
  if (asked.kind == choice_kind::wake && options_.block_waits) return pick_wake(asked);
  node fresh = {.given = {asked.kind, asked.count, 0}, .left = bits_below(asked.count) & ~uint64_t{1}};
  return has_gone_far() ? push_state(fresh) : push(fresh);
}

// Who goes on alone is never chosen, and may choose again and again what it sees.
bool explorer::has_gone_far() const {
  constexpr size_t far = 8;
  size_t n = path_.size();
  while (n > 0 && path_.size() - n < far && path_[n - 1].state == no_state) --n;
  return path_.size() - n == far;
}

// What only the lane itself, or nobody, can notice. It changes nothing for others whether such an operation comes before what they do
// next or behind it.
bool explorer::is_local(execution& here, const lane& who) const {
  switch (who.pending.kind) {
    case operation_kind::pause:
    // Whoever can go on from a collective has met all that it waits for.
    case operation_kind::broadcast:
    case operation_kind::ballot:
    case operation_kind::sync_lanes:
    case operation_kind::shuffle:
    case operation_kind::block_barrier:
      return true;
    case operation_kind::fence:
      return who.pending.order != memory_order::seq_cst && !here.core().link_delivers;
    case operation_kind::none:
      // Others may wait for its end.
      if (who.begun && who.pending.frame == nullptr) return who.of->guaranteed;
      // The first step of a wave counts for who is promised a turn.
      return who.is_host() || who.of->stepped || here.machine().progress == progress_model::fair;
    // As long as they only wait, they may as well have begun to.
    case operation_kind::synchronize:
    case operation_kind::join:
      return who.awaits != nullptr && *who.awaits != who.awaited;
    case operation_kind::load:
    case operation_kind::read_modify_write:
    case operation_kind::compare_exchange:
      return !repeating_loads_.empty() && leaves_memory(who) &&
             (here.core().late == nullptr || here.core().late->finds_nothing_new(who)) &&
             repeating_loads_.contains(load_key(who));
    default:
      return false;
  }
}

uint32_t explorer::pick_actor(const choice& asked) {
  execution& here = *execution::instance;
  if (options_.skip_local) {
    const std::vector<lane*>& candidates = here.core().enabled.lanes;
    for (uint32_t n = 0; n < asked.count; ++n)
      if (is_local(here, *candidates[n])) return push({.given = {asked.kind, asked.count, n}});
  }
  if (here.core().threads.lanes_used > state_graph::most_lanes) {
    leave_out("a run has more than " + std::to_string(state_graph::most_lanes) + " lanes and host threads");
    return scheduler::no_answer;
  }
  node fresh = {.given = {asked.kind, asked.count, 0}, .left = bits_below(asked.count) & ~uint64_t{1}};
  return push_state(fresh);
}

uint32_t explorer::push_state(node fresh) {
  if (!options_.match_states) return push(fresh);
  execution& here = *execution::instance;
  key_maker key;
  bool told = false;
  here.core().aside(*here.core().choices.asks, [&] {
    told = visit_state(here, key);
    if (options_.also_told) options_.also_told(key);
  });
  if (!told) {
    matching_ = false;
    return push(fresh);
  }
  // Within an operation, what has been answered in it counts.
  if (fresh.given.kind != choice_kind::actor) {
    key.add(here.core().choices.asks->id);
    key.add(static_cast<uint64_t>(fresh.given.kind) << 32 | fresh.given.count);
    for (size_t n = path_.size(); n > 0 && path_[n - 1].step == here.core().history.steps; --n)
      if (path_[n - 1].given.kind != choice_kind::actor) key.add(path_[n - 1].given.picked);
  }
  if (!arrive_in(here, key.key(), fresh)) return scheduler::no_answer;
  return push(fresh);
}

uint32_t explorer::last_state_node() const {
  for (size_t n = path_.size(); n > 0; --n)
    if (path_[n - 1].state != no_state) return static_cast<uint32_t>(n - 1);
  return no_state;
}

// False: the state has been met before, and all that may come of it is being gone through.
bool explorer::arrive_in(execution& here, const state_key& key, node& fresh) {
  if (table_.size() == state_table::most) {
    leave_out("more states than can be numbered");
    return false;
  }
  const auto [state, is_new] = table_.add(key);
  const uint32_t before = last_state_node();
  if (before != no_state) note_way(here, state, before);
  if (!is_new) return false;
  way first;
  if (before != no_state) {
    first.from = path_[before].state;
    first.begin = all_answers_.size();
    first.answers = static_cast<uint32_t>(path_.size() - before);
    for (size_t n = before; n < path_.size(); ++n) all_answers_.push_back(static_cast<uint8_t>(path_[n].given.picked));
  } else {
    first.begin = all_answers_.size();
    first.answers = static_cast<uint32_t>(path_.size());
    for (const node& each : path_) all_answers_.push_back(static_cast<uint8_t>(each.given.picked));
  }
  ways_.push_back(first);
  state_graph::state seen = {.start = (here.core().enabled.owes_a_start() && !here.core().only_calls_start_kernels())};
  for (const lane* who : here.core().enabled.lanes)
    if (who->of->guaranteed) seen.owed |= uint64_t{1} << who->id;
  if (here.core().late != nullptr && here.core().late->is_under_way()) seen.owed |= state_graph::link;
  graph_.states.push_back(seen);
  fresh.state = state;
  fresh.turns = static_cast<uint32_t>(operations_.size());
  for (uint32_t n = 0; n < here.core().threads.lanes_used; ++n)
    operations_.push_back(here.core().threads.lanes[n].operations);
  return true;
}

void explorer::note_way(execution& here, uint32_t to, uint32_t from_node) {
  ++transitions_;
  if (!options_.fair_cycles) return;
  for (size_t n = from_node; n < path_.size(); ++n)
    if (!may_go_on_for_ever(path_[n].given)) return;
  const node& from = path_[from_node];
  const size_t known = operations_.size() - from.turns;
  uint64_t lanes = 0;
  for (size_t n = from_node; n < path_.size(); ++n)
    if (path_[n].given.kind == choice_kind::arrive && path_[n].given.picked != 0) lanes |= state_graph::link;
  for (uint32_t n = 0; n < here.core().threads.lanes_used; ++n)
    if (n >= known || here.core().threads.lanes[n].operations != operations_[from.turns + n]) lanes |= uint64_t{1} << n;
  graph_.steps.push_back({.from = from.state, .to = to, .lanes = lanes});
}

// A wait may end although nothing has changed: then the loop runs once more. That is needed only as long as it is not known to come
// back to the very state in which it is, having read what it has read: equal state and equal memory have an equal future.
uint32_t explorer::pick_wake(const choice& asked) {
  execution& here = *execution::instance;
  const lane& who = *here.core().choices.asks;
  key_maker stands;
  key_maker reads;
  here.core().aside(*here.core().choices.asks, [&] { visit_wait(who, stands, reads); });
  node fresh = {.given = {asked.kind, asked.count, 0}, .lane = who.id, .stands = stands.key()};
  reads.add(stands.key().low);
  reads.add(stands.key().high);
  if (repeating_waits_.contains(reads.key())) return push(fresh);
  const bool first = who.left.wakes + 1 == here.machine().wakes;
  for (size_t n = path_.size(); !first && n > 0; --n) {
    const node& earlier = path_[n - 1];
    if (earlier.given.kind != choice_kind::wake || earlier.lane != who.id) continue;
    if (!(earlier.stands == fresh.stands)) break;
    repeating_waits_.insert(reads.key());
    if (options_.skip_local && who.reads.entries().size() == 1) note_repeating_load(who.id, n);
    return push(fresh);
  }
  if (who.left.wakes == 0) {
    leave_out("a loop that waits is in another state each time it comes round, such as one that counts its turns");
    return push(fresh);
  }
  fresh.given.picked = 1;
  return push(fresh);
}

state_key explorer::load_key(const lane& who) {
  key_maker made;
  made.add(who.id);
  made.add(reinterpret_cast<uintptr_t>(who.pending.place));
  made.add(reinterpret_cast<uintptr_t>(who.pending.address));
  made.add(watched::value_at(who.pending.address, who.pending.size_bytes));
  if (who.pending.kind != operation_kind::load) {
    made.add(who.operands[0]);
    made.add(who.operands[1]);
  }
  made.bytes(who.pending.private_state, static_cast<size_t>(who.runs.stack().high() - who.pending.private_state));
  return made.key();
}

void explorer::note_chosen(execution& here) {
  node& last = path_.back();
  const lane& who = *here.core().enabled.lanes[last.given.picked];
  last.lane = no_lane;
  if (!options_.skip_local || !leaves_memory(who) ||
      !(here.core().late == nullptr || here.core().late->finds_nothing_new(who)))
    return;
  last.lane = who.id;
  last.stands = load_key(who);
}

// A loop that waits for one word has gone round once: it reads in one place.
void explorer::note_repeating_load(uint32_t lane, size_t since) {
  const node* found = nullptr;
  for (size_t n = since; n < path_.size(); ++n) {
    if (path_[n].given.kind != choice_kind::actor || path_[n].lane != lane) continue;
    if (found != nullptr) return;
    found = &path_[n];
  }
  if (found != nullptr) repeating_loads_.insert(found->stands);
}

bool explorer::next() {
  while (!path_.empty()) {
    node& last = path_.back();
    if (last.left != 0) {
      last.given.picked = static_cast<uint32_t>(std::countr_zero(last.left));
      last.left &= last.left - 1;
      return true;
    }
    if (last.state != no_state) operations_.resize(last.turns);
    path_.pop_back();
  }
  return false;
}

std::vector<uint8_t> explorer::answers_to(uint32_t state) const {
  std::vector<uint32_t> chain;
  for (uint32_t at = state; at != no_state; at = ways_[at].from) chain.push_back(at);
  std::vector<uint8_t> answers;
  for (size_t n = chain.size(); n > 0; --n) {
    const way& part = ways_[chain[n - 1]];
    answers.insert(answers.end(), all_answers_.begin() + static_cast<std::ptrdiff_t>(part.begin),
                   all_answers_.begin() + static_cast<std::ptrdiff_t>(part.begin + part.answers));
  }
  return answers;
}

/// Leads to a state, and from there on gives turns to those who are promised some, until the run's end game shows that they repeat
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
    // Everybody who is promised a turn, one after the other.
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
/// part of a run that is gone through.
void warm_up(const std::function<void(search_notes*)>& explore, const explored_run& run) {
  constexpr uint64_t runs = 8;
  std::string error;
  const auto deciding = scheduler::make_strategy("random", error);
  scheduler::choice_source choices;
  explore(nullptr);
  for (uint64_t seed = 1; seed <= runs; ++seed) {
    choices.begin(*deciding, seed);
    run(choices);
  }
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

}  // namespace

search_result search_all(const std::function<void(search_notes*)>& explore, const explored_run& run,
                         const search_options& options) {
  const auto start = std::chrono::steady_clock::now();
  search_result result;
  lane_heap lanes_allocate;
  search_notes notes;
  notes.lanes_allocate = &lanes_allocate;
  explorer deciding(options);
  scheduler::choice_source choices;
  const auto take_stock = [&] {
    result.states = deciding.states();
    result.transitions = deciding.transitions();
    result.bytes = deciding.bytes();
    result.seconds = seconds_since(start);
  };
  warm_up(explore, run);
  explore(&notes);
  bool more = true;
  while (more) {
    choices.begin(deciding, 0);
    const outcome ended = run(choices);
    ++result.runs;
    result.depth_max = std::max(result.depth_max, ended.steps);
    if (options.after_run) options.after_run(ended);
    if (notes.grown) {
      // What was left out of the states that were compared until now counts.
      notes.grown = false;
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
  if (!more && !result.stopped && options.fair_cycles && deciding.is_matching()) {
    if (const auto state = find_fair_cycle(deciding.graph())) {
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
        deciding.leave_out(
            "in a fair cycle of states nothing is ever done, but a fair run from there on comes to an end");
      else if (options.ended)
        result.stopped = !options.ended(hung, choices.recorded());
    }
  }
  explore(nullptr);
  result.left_out = deciding.left_out();
  result.complete = !more && !result.stopped && result.left_out.empty();
  take_stock();
  return result;
}

}  // namespace heddle::sim
