// The search's answers to the choices of runs: each state once, depth first up to a bound. What lies deeper is put off until the rest is done: a run
// begins anew, and the way to a state that was met late is long.
#pragma once

#include <heddle/scheduler/strategy.h>
#include <heddle/sim/base/known_facts.h>
#include <heddle/sim/base/state_key.h>
#include <heddle/sim/machine/lane.h>
#include <heddle/sim/run/execution.h>
#include <heddle/sim/verify/diamonds.h>
#include <heddle/sim/verify/fair_cycles.h>
#include <heddle/sim/verify/random_probe.h>
#include <heddle/sim/verify/rounds_made.h>
#include <heddle/sim/verify/search.h>
#include <heddle/sim/verify/shared_states.h>

#include <bit>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace heddle::sim {

/// States whose keys one process has made: that another process makes the same keys shows that addresses mean the same there.
struct state_samples {
  struct sample {
    uint32_t state = shared_states::none;
    state_key key = {};
  };
  std::vector<sample> states;
  /// As search_notes::variables was when these keys were made.
  std::vector<std::pair<const void*, size_t>> variables;
};

/// Goes through the tree of choices: says what a run answers where it has been before, and takes the first answer where it has not.
class explorer final : public scheduler::strategy {
  using answer = scheduler::answer;
  using choice = scheduler::choice;
  using choice_kind = scheduler::choice_kind;
  using sample = state_samples::sample;

 public:
  explorer(const search_options& options, search_notes& notes, shared_states& known)
      : options_(options), notes_(notes), known_(known) {}

  void begin(uint64_t) override {
    asked_ = 0;
    declined_ = false;
    notes_.is_new = path_.empty() && !follows_;
    notes_.touched.stop();
    step_begins_ = last_state_node();
    has_arrived_ = false;
  }
  std::string_view name() const override { return "verify"; }
  uint32_t pick(const choice& asked) override {
    const uint32_t given = pick_answer(asked);
    declined_ = given == scheduler::no_answer;
    return given;
  }
  /// Whether the last choice of the run had no answer: it goes on where others have been, or something was left out.
  bool has_declined() const { return declined_; }

  /// The run has ended, by itself or in a known state. Leads to the next one; false when there is none.
  bool next();
  /// A run came to its end, so that there is one more way.
  void ended() { known_.add_way(nullptr); }
  /// Forgets the way to where the search stands, and what it has put off.
  void begin_again();

  /// Hands answers that have not been tried to a copy of the process that has none left, if there is one.
  void give_work();
  /// Goes on where another copy has left off, which give_work() has put there.
  void take_work(const std::vector<std::byte>& given);

  // -- a search that is cut, and goes on in another process

  /// What is still to be gone through.
  struct frontier {
    /// Ways from the beginning with the answers that have not been tried, as give_work() hands them on; an empty one is the beginning.
    std::vector<std::vector<std::byte>> paths;
    std::vector<uint32_t> put_off;
    void add(const frontier& other);
    /// As give_work() has put it there.
    void add_work(const std::vector<std::byte>& given);
    bool is_empty() const { return paths.empty() && put_off.empty(); }
    /// Whether it is one of so many states.
    bool is_of(uint32_t states) const;
  };
  /// Where the process stands, be it within a run, and what it has put off.
  frontier left_to_do() const;
  /// Begins with that, which is something.
  void go_on(const frontier& left);
  /// Begins with nothing: take_work() is to come.
  void do_nothing();

  /// Some of the states that this process has met.
  const state_samples& samples() const { return samples_; }
  /// Adds to them from now on.
  void take_samples(state_samples samples);
  /// One that has been met since; it is none as long as it is not kept.
  std::optional<state_samples::sample> fresh_sample();
  void keep_sample(const state_samples::sample& fresh);
  /// The next run leads to the state, and ends there.
  void begin_to_look_at(uint32_t state);
  /// The key of the state that the run has come to; nothing where it has come to none.
  const std::optional<state_key>& looked_at() const { return looked_at_; }

  /// A loop on the way to the state that was met in the latest step of its run, of which each iteration is another state, as rounds_made::told() has it.
  /// Makes that run.
  std::string deepest_rounds(const explored_run& run) const;

  // -- a run at random through what is known

  /// The next run answers at random, and notes which of the states that it comes to are known. What it does is no part of the search.
  void begin_to_probe(random_probe& by);

  /// The first reason why something was left out.
  const std::string& left_out() const { return left_out_; }
  void leave_out(std::string why) {
    if (left_out_.empty()) left_out_ = std::move(why);
  }
  bool is_matching() const { return matching_; }
  /// One line, where another process could not go on with what is known until now; null: it could.
  const char* why_unsaved() const {
    if (!matching_) return "something of its states cannot be told";
    return known_.any_unsaved() ? "its states have memory from malloc() in them, which lies elsewhere in each process"
                                : nullptr;
  }
  /// What shows in the first runs is told then, and not when the search has gone on for an hour.
  void tell_if_unsaved();
  void match_no_more() { matching_ = false; }
  uint64_t bytes() const {
    return known_.bytes() + put_off_.size() * sizeof(uint32_t) + path_.capacity() * sizeof(node) +
           operations_.capacity() * sizeof(uint32_t);
  }

 private:
  static constexpr uint32_t no_state = shared_states::none;
  static constexpr uint32_t no_lane = ~uint32_t{0};
  static constexpr size_t most_samples = 128;
  /// How far runs go on behind a state that was put off, or the beginning.
  static constexpr uint64_t steps_deep = 500;

  /// A choice on the way from the beginning to where the search stands.
  struct node {
    answer given;
    uint64_t left = 0;          ///< answers that have not been tried yet, a bit each
    uint64_t order = 0;         ///< in which they are tried, as order_of_lanes() has it
    uint32_t state = no_state;  ///< of a choice of the actor, where states are matched
    uint64_t step = 0;          ///< of the run
    uint32_t turns = 0;         ///< where its counts of operations begin in operations_
    uint32_t actor = no_lane;   ///< of a choice of the next actor: the lane that was chosen
    /// Of the end of a wait: the lane that waits. Of the next actor: the lane that was chosen, where that is a load as below.
    uint32_t lane = no_lane;
    /// Of the end of a wait: its private state. Of the next actor: where it stands before a load that finds nothing new.
    state_key stands = {};
    bool skipped = false;           ///< a choice of the next actor that was none: its operation is local
    bool waits_for_notice = false;  ///< of the end of a wait: only a notice gives it a reason to end

    /// Takes the next one of the answers that are left.
    void take() {
      given.picked = static_cast<uint32_t>(std::countr_zero(left));
      for (uint64_t rest = order; rest != 0; rest >>= 4) {
        if ((left >> (rest & 15) & 1) == 0) continue;
        given.picked = rest & 15;
        break;
      }
      left &= ~(uint64_t{1} << given.picked);
    }
  };

  uint32_t pick_answer(const choice& asked);
  /// The first answer to a choice that the search meets for the first time.
  uint32_t pick_fresh(const choice& asked);
  uint32_t pick_actor(const choice& asked);
  uint32_t pick_wake(const choice& asked);
  /// At a choice of the end of a wait: whether only a notice gives it a reason to end.
  static bool waits_for_notice(const lane& who);
  /// Whether the way may be taken again and again without end.
  static bool may_go_on_for_ever(const node& taken);
  /// The next answer on the way to a state that was put off; there, the first answer to its choice.
  uint32_t follow(const choice& asked);
  /// As push(fresh), of an answer that the way to the state has.
  uint32_t push_known(const choice& asked);
  void begin_to_follow(uint32_t state);
  /// Leads to what comes next of what was put off or taken from another process; false when there is none.
  bool take_next();
  void forget_path();
  /// In a state: no_answer where it was met before, or is put off.
  uint32_t push_state(node fresh);
  /// The parts of a state's key.
  struct told_state {
    key_maker key;
    key_maker common;    ///< what it has in common with others of which one may know more
    bool whole = false;  ///< nothing is left out of the key
    bool apart = false;  ///< facts_ are what is known in it
  };
  told_state tell_state(execution& here, const answer& asked);
  void note_sample(uint32_t state, const state_key& key);
  /// The same of a run at random: no_answer where it goes no further.
  uint32_t push_probed(const told_state& told, node fresh);
  uint32_t push(node fresh) {
    fresh.step = execution::instance->core().history.steps;
    if (probes_ != nullptr) fresh.given.picked = probes_->answer_of(fresh.given.picked, fresh.left);
    path_.push_back(fresh);
    asked_ = path_.size();
    if (fresh.given.kind == choice_kind::actor) note_chosen(*execution::instance);
    if (fresh.state != no_state && probes_ == nullptr) begin_step(*execution::instance);
    return fresh.given.picked;
  }
  /// Where turns on the device are counted in steps, each step counts for when others have theirs.
  bool skips_local(const execution& here) const { return options_.skip_local && !here.launched().turns().are_on(); }
  bool is_local(execution& here, const lane& who) const;
  static bool is_quiet(execution& here, const lane& who);
  /// Whether so many operations have been taken without a choice that the next one is to be one: else others might never be chosen.
  bool has_skipped_many() const;
  /// Where a lane stands before a load, and what the load would find.
  static state_key load_key(const lane& who);
  /// Notes the actor that the last choice of the path picks.
  void note_chosen(execution& here);
  void note_repeating_load(uint32_t lane, size_t since);
  /// Adds what is asked within an operation, and what has been answered in it.
  void add_answers(const execution& here, const answer& asked, key_maker& to) const;
  /// `common`: what a state that is new has in common with others of which one may know more, as facts_ says; null where it is not taken apart.
  bool arrive_in(execution& here, const state_key& key, const state_key* common, node& fresh);
  /// The run has come from the state of the node to another one, where this is chosen.
  void note_way(execution& here, uint32_t to, uint32_t from_node, choice_kind next);
  uint32_t last_state_node() const;

  // -- crossing.cpp: steps that commute

  /// The run goes on from the last state of the path.
  void begin_step(execution& here);
  /// The run has made the step that `made` is, in which these lanes have made operations.
  void note_step(execution& here, diamonds::way made, uint64_t lanes, uint32_t from_node, choice_kind next);
  /// In a state that is new: leaves out the lanes whose next steps are known from others. False where there is no other.
  bool cross(const execution& here, node& fresh);
  /// The run has ended.
  void end_step();
  /// The path has come to the node's state: keeps where the run stands, for the ways that begin there. Another process has been there before where the
  /// path was taken from it.
  void stand_in(const execution& here, node& in, bool is_taken);

  const search_options& options_;
  search_notes& notes_;
  shared_states& known_;
  std::vector<node> path_;
  size_t asked_ = 0;  ///< choices of this run so far
  std::vector<uint32_t> operations_;
  diamonds diamonds_{known_.ways_of_diamonds()};
  size_t step_begins_ = no_state;  ///< the node from whose state the run goes on last
  bool has_arrived_ = false;       ///< in another state, from there
  size_t taken_ =
      0;  ///< nodes at the beginning of the path which another copy has met, and whose counts of operations are still to be taken
  std::deque<uint32_t> put_off_;  ///< states, in the order in which they were met
  bool follows_ = false;          ///< the run that comes next leads to followed_
  uint32_t followed_ = no_state;
  std::vector<uint8_t> way_;    ///< the answers to it
  uint64_t deep_ = steps_deep;  ///< states that are met in a later step than this are put off
  bool matching_ = true;
  bool is_told_unsaved_ = false;
  bool declined_ = false;
  std::vector<uint8_t> answers_;
  known_facts facts_;
  std::unordered_set<state_key> repeating_waits_;
  /// Loads of loops that wait for one word: what they find leads back to the same load. Whether such a loop goes round before others do
  /// something or behind it, it is where it was.
  std::unordered_set<state_key> repeating_loads_;
  std::string left_out_;
  std::deque<std::vector<std::byte>> paths_;  ///< of other processes
  bool from_beginning_ = true;                ///< the run that begins there has not been made
  state_samples samples_;
  std::vector<sample> fresh_samples_;
  bool takes_samples_ = options_.saves_to != nullptr;
  uint32_t sample_each_ = 1;  ///< of so many states one is a sample
  random_probe* probes_ = nullptr;
  bool looks_ = false;  ///< the run that comes next only looks at followed_
  std::optional<state_key> looked_at_;
  rounds_made* counts_ = nullptr;  ///< of the run that looks
  uint32_t deepest_ = no_state;    ///< of the states, the one that was met in the latest step of its run
  uint64_t deepest_step_ = 0;
};

}  // namespace heddle::sim
