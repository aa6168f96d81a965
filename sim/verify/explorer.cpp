#include <heddle/sim/verify/explorer.h>
#include <heddle/sim/verify/run_state.h>

#include <algorithm>
#include <cstring>

namespace heddle::sim {
namespace {

using scheduler::answer;
using scheduler::choice;
using scheduler::choice_kind;

constexpr uint32_t most_answers = 64;

constexpr const char* other_run =
    "the same choices have led to another run: the program keeps something from run to run, such as a variable with "
    "static storage";

constexpr uint64_t bits_below(uint32_t count) { return count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

/// Whether minimal progress promises that a wave starts. One that starts in calls into the driver alone does so as long as a call waits; a loop
/// of calls that return is not told from others here.
bool promises_a_start(const run_core& core) {
  if (!core.enabled.owes_a_start()) return false;
  if (!core.only_calls_start_kernels()) return true;
  for (size_t n = 0; n < core.threads.lanes_used; ++n) {
    const lane& each = core.threads.lanes[n];
    if (each.is_host() && each.state == lane_state::waiting && each.pending.kind == operation_kind::synchronize)
      return true;
  }
  return false;
}

}  // namespace

// What is seen again and again, though it is old, or fails again and again for no reason, is not fair. Nor is a wait for notice that ends again and
// again without one. A loop that looks at memory is another matter: that it goes round is what it does, and it may do so for ever.
bool explorer::may_go_on_for_ever(const node& taken) {
  if (taken.given.picked == 0) return true;
  switch (taken.given.kind) {
    case choice_kind::visible:
    case choice_kind::spurious:
    case choice_kind::place:
      return false;
    case choice_kind::wake:
      return !taken.waits_for_notice;
    default:
      return true;
  }
}

void explorer::forget_path() {
  path_.clear();
  diamonds_.go_back();
  operations_.clear();
  taken_ = 0;
  follows_ = false;
  deep_ = steps_deep;
}

void explorer::begin_again() {
  forget_path();
  put_off_.clear();
  paths_.clear();
  from_beginning_ = true;
  looks_ = false;
  deepest_ = no_state;
  deepest_step_ = 0;
  samples_ = {};
  fresh_samples_.clear();
  sample_each_ = 1;
}

void explorer::begin_to_probe(random_probe& by) {
  forget_path();
  probes_ = &by;
}

void explorer::begin_to_follow(uint32_t state) {
  forget_path();
  followed_ = state;
  way_ = known_.answers_to(state);
  follows_ = true;
}

uint32_t explorer::follow(const choice& asked) {
  // What comes behind the last answer no run has done before.
  notes_.is_new = asked_ + 1 >= way_.size();
  if (asked_ < way_.size()) return push_known(asked);
  follows_ = false;
  if (looks_) {
    const told_state told = tell_state(*execution::instance, {asked.kind, asked.count, 0});
    if (told.whole) looked_at_ = told.key.key();
    return scheduler::no_answer;
  }
  deep_ = execution::instance->core().history.steps + steps_deep;
  node fresh = {.given = {asked.kind, asked.count, 0}, .left = bits_below(asked.count), .state = followed_};
  if (asked.kind == choice_kind::actor) fresh.order = order_of_lanes(execution::instance->core().enabled.lanes);
  fresh.take();
  stand_in(*execution::instance, fresh, false);
  return push(fresh);
}

uint32_t explorer::push_known(const choice& asked) {
  node known = {.given = {asked.kind, asked.count, way_[asked_]}};
  if (known.given.picked >= asked.count) {
    leave_out(other_run);
    return scheduler::no_answer;
  }
  if (counts_ != nullptr && asked.kind == choice_kind::actor) {
    run_core& core = execution::instance->core();
    core.aside(*core.choices.asks, [&] { counts_->note(*core.enabled.lanes[known.given.picked]); });
  }
  if (asked.kind == choice_kind::wake && options_.block_waits) {
    execution& here = *execution::instance;
    const lane& who = *here.core().choices.asks;
    key_maker stands;
    key_maker reads;
    here.core().aside(*here.core().choices.asks, [&] { visit_wait(who, stands, reads); });
    known.lane = who.id;
    known.stands = stands.key();
  }
  return push(known);
}

// The first choice of the path: what lies behind it is most. What was put off is as much, and already apart.
void explorer::give_work() {
  if (!known_.wants_work()) return;
  if (!paths_.empty() && !paths_.front().empty()) {
    if (known_.put_work(paths_.front().data(), paths_.front().size())) paths_.pop_front();
    return;
  }
  if (!put_off_.empty()) {
    if (known_.put_work(&put_off_.front(), sizeof(uint32_t))) put_off_.pop_front();
    return;
  }
  const auto first = std::find_if(path_.begin(), path_.end(), [](const node& each) { return each.left != 0; });
  if (first == path_.end()) return;
  std::vector<node> given(path_.begin(), first + 1);
  for (node& each : given) each.left = 0;
  given.back().left = first->left;
  given.back().take();
  if (!known_.put_work(given.data(), given.size() * sizeof(node))) return;
  first->left = 0;
  if (first->state != no_state) return;
  // Of the lane that goes on from the state before, not all is gone through here.
  size_t levels = 0;
  auto before = path_.begin();
  for (auto each = path_.begin(); each != first; ++each) {
    if (each->state == no_state) continue;
    ++levels;
    before = each;
  }
  if (levels != 0 && before->actor != no_lane) diamonds_.spoil(levels - 1, before->actor);
}

void explorer::take_work(const std::vector<std::byte>& given) {
  forget_path();
  from_beginning_ = false;
  if (given.size() == sizeof(uint32_t)) {
    uint32_t state = no_state;
    std::memcpy(&state, given.data(), sizeof state);
    begin_to_follow(state);
    return;
  }
  from_beginning_ = given.empty();
  if (given.empty()) return;
  path_.resize(given.size() / sizeof(node));
  std::memcpy(static_cast<void*>(path_.data()), given.data(), given.size());
  taken_ = path_.size();
  deep_ = path_.back().step + steps_deep;
}

void explorer::stand_in(const execution& here, node& in, bool is_taken) {
  in.turns = static_cast<uint32_t>(operations_.size());
  for (uint32_t n = 0; n < here.core().threads.lanes_used; ++n)
    operations_.push_back(here.core().threads.lanes[n].operations);
  diamonds::standing stands;
  run_core& core = execution::instance->core();
  core.aside(*core.choices.asks, [&] { stands = standing_of(here); });
  is_taken ? diamonds_.push_met(in.state, stands) : diamonds_.push(in.state, stands);
}

uint32_t explorer::pick_answer(const choice& asked) {
  if (asked_ == path_.size()) return pick_fresh(asked);
  const answer& given = path_[asked_].given;
  if (asked_ < taken_ && path_[asked_].state != no_state) stand_in(*execution::instance, path_[asked_], true);
  // What comes behind the last answer no run has done before.
  notes_.is_new = asked_ + 1 == path_.size();
  if (given.kind != asked.kind || given.count != asked.count) {
    leave_out(other_run);
    return scheduler::no_answer;
  }
  const bool begins_step = asked_ == step_begins_;
  if (++asked_ == path_.size() && given.kind == choice_kind::actor) note_chosen(*execution::instance);
  if (begins_step) begin_step(*execution::instance);
  return given.picked;
}

uint32_t explorer::pick_fresh(const choice& asked) {
  if (follows_) return follow(asked);
  if (asked.count > most_answers) {
    leave_out("a choice among " + std::to_string(asked.count) + " answers; at most " + std::to_string(most_answers) +
              " are gone through");
    return scheduler::no_answer;
  }
  if (asked.kind == choice_kind::actor) return pick_actor(asked);
  if (asked.kind == choice_kind::wake && options_.block_waits) return pick_wake(asked);
  node fresh = {.given = {asked.kind, asked.count, 0}, .left = bits_below(asked.count) & ~uint64_t{1}};
  if (asked.kind == choice_kind::wake)
    fresh.waits_for_notice = waits_for_notice(*execution::instance->core().choices.asks);
  // A lane that goes on alone is never chosen, and may choose again and again what it sees. Not at the first such choice: most runs
  // come to an actor's next, and a state costs more than that.
  return path_.empty() || path_.back().state != no_state ? push(fresh) : push_state(fresh);
}

// Each cycle of states then has one in which all lanes may be chosen, so that none is put off for ever (the cycle proviso of partial-order
// reduction: Peled, CAV 1994).
bool explorer::has_skipped_many() const {
  constexpr size_t many = 64;
  size_t skipped = 0;
  for (size_t n = path_.size(); n > 0 && skipped < many; --n) {
    if (path_[n - 1].given.kind != choice_kind::actor) continue;
    if (!path_[n - 1].skipped) break;
    ++skipped;
  }
  return skipped == many;
}

uint32_t explorer::pick_actor(const choice& asked) {
  execution& here = *execution::instance;
  if (here.core().threads.lanes_used > state_graph::most_lanes) {
    leave_out("a run has more than " + std::to_string(state_graph::most_lanes) + " lanes and host threads");
    return scheduler::no_answer;
  }
  if (skips_local(here) && !has_skipped_many()) {
    const std::vector<lane*>& candidates = here.core().enabled.lanes;
    for (uint32_t n = 0; n < asked.count; ++n)
      if (is_local(here, *candidates[n])) return push({.given = {asked.kind, asked.count, n}, .skipped = true});
  }
  node fresh = {.given = {asked.kind, asked.count, 0}, .left = bits_below(asked.count)};
  if (options_.match_states) fresh.order = order_of_lanes(here.core().enabled.lanes);
  fresh.take();
  return push_state(fresh);
}

void explorer::add_answers(const execution& here, const answer& asked, key_maker& to) const {
  to.add(here.core().choices.asks->id);
  to.add(static_cast<uint64_t>(asked.kind) << 32 | asked.count);
  for (size_t n = path_.size(); n > 0 && path_[n - 1].step == here.core().history.steps; --n)
    if (path_[n - 1].given.kind != choice_kind::actor) to.add(path_[n - 1].given.picked);
}

explorer::told_state explorer::tell_state(execution& here, const answer& asked) {
  told_state made;
  here.core().aside(*here.core().choices.asks, [&] {
    made.whole = visit_state(here, made.key);
    if (!made.whole) return;
    if (options_.also_told) options_.also_told(made.key);
    made.common = made.key;
    made.whole = visit_late(here, made.key);
    // Within an operation, what has been answered in it counts. There a lane chooses among values, and by other numbers where it knows more.
    if (asked.kind != choice_kind::actor)
      add_answers(here, asked, made.key);
    else if (made.whole && options_.cover_states && known_.find(made.key.key()) == no_state)
      made.apart = visit_apart(here, made.common, facts_);
  });
  return made;
}

uint32_t explorer::push_state(node fresh) {
  if (!options_.match_states) return push(fresh);
  execution& here = *execution::instance;
  const probe_goes_on held(probes_ != nullptr);
  const told_state told = tell_state(here, fresh.given);
  if (!told.whole) {
    matching_ = false;
    return push(fresh);
  }
  if (probes_ != nullptr) return push_probed(told, fresh);
  const state_key shared = told.common.key();
  if (!arrive_in(here, told.key.key(), told.apart ? &shared : nullptr, fresh)) return scheduler::no_answer;
  return push(fresh);
}

uint32_t explorer::push_probed(const told_state& told, node fresh) {
  const state_key key = told.key.key();
  const bool is_known =
      known_.find(key) != no_state || (told.apart && known_.covers().covering(told.common.key(), facts_) != no_state);
  if (!probes_->arrive(key, is_known)) return scheduler::no_answer;
  // Of no way: whichever, as long as it is one.
  fresh.state = 0;
  return push(fresh);
}

uint32_t explorer::last_state_node() const {
  for (size_t n = path_.size(); n > 0; --n)
    if (path_[n - 1].state != no_state) return static_cast<uint32_t>(n - 1);
  return no_state;
}

// False: the state, or one that stands for it, has been met before, and all that may come of it is being gone through, or it is put off.
bool explorer::arrive_in(execution& here, const state_key& key, const state_key* common, node& fresh) {
  const uint32_t before = last_state_node();
  const uint32_t covering = common == nullptr ? no_state : known_.covers().covering(*common, facts_);
  if (covering != no_state) {
    if (before != no_state) note_way(here, covering, before, fresh.given.kind);
    return false;
  }
  shared_states::state seen = {.key = key};
  seen.start = promises_a_start(here.core());
  for (const lane* each : here.core().enabled.lanes)
    if (each->of->guaranteed) seen.owed |= uint64_t{1} << each->id;
  if (here.core().late != nullptr && here.core().late->is_under_way()) seen.owed |= state_graph::link;
  if (before != no_state) seen.from = path_[before].state;
  answers_.clear();
  for (size_t n = before == no_state ? 0 : before; n < path_.size(); ++n)
    answers_.push_back(static_cast<uint8_t>(path_[n].given.picked));
  const auto [state, is_new] = known_.add(seen, answers_);
  if (state == shared_states::none) {
    leave_out("more states than can be numbered");
    return false;
  }
  if (before != no_state) note_way(here, state, before, fresh.given.kind);
  if (!is_new) return false;
  if (common != nullptr) known_.covers().add_asked(state);
  // A key has these with the place where they lie: another process would make other keys without end.
  if (!here.core().hidden.empty()) known_.note_unsaved();
  note_sample(state, key);
  if (here.core().history.steps >= deepest_step_) {
    deepest_ = state;
    deepest_step_ = here.core().history.steps;
  }
  if (here.core().history.steps > deep_) {
    put_off_.push_back(state);
    return false;
  }
  fresh.state = state;
  stand_in(here, fresh, false);
  return cross(here, fresh);
}

void explorer::tell_if_unsaved() {
  const char* const why = why_unsaved();
  if (why == nullptr || is_told_unsaved_ || options_.saves_to == nullptr || !options_.cannot_be_saved) return;
  is_told_unsaved_ = true;
  options_.cannot_be_saved(why);
}

void explorer::note_way(execution& here, uint32_t to, uint32_t from_node, choice_kind next) {
  const node& from = path_[from_node];
  const size_t known = operations_.size() - from.turns;
  bool lasts = options_.fair_cycles;
  uint64_t lanes = 0;
  for (size_t n = from_node; n < path_.size(); ++n) {
    lasts = lasts && may_go_on_for_ever(path_[n]);
    if (path_[n].given.kind == choice_kind::arrive && path_[n].given.picked != 0) lanes |= state_graph::link;
  }
  for (uint32_t n = 0; n < here.core().threads.lanes_used; ++n)
    if (n >= known || here.core().threads.lanes[n].operations != operations_[from.turns + n]) lanes |= uint64_t{1} << n;
  const state_graph::step made = {.from = from.state, .to = to, .lanes = lanes};
  known_.add_way(lasts ? &made : nullptr);
  note_step(here, {.to = to, .lane = from.actor, .lasts = lasts}, lanes, from_node, next);
}

bool explorer::next() {
  end_step();
  taken_ = 0;
  from_beginning_ = false;
  // The run has come to its end before it came there.
  if (follows_) leave_out(other_run);
  while (!path_.empty()) {
    node& last = path_.back();
    if (last.left != 0) {
      last.take();
      return true;
    }
    if (last.state != no_state) {
      operations_.resize(last.turns);
      diamonds_.pop();
    }
    path_.pop_back();
  }
  return take_next();
}

bool explorer::take_next() {
  if (!paths_.empty()) {
    take_work(paths_.front());
    paths_.pop_front();
    return true;
  }
  if (put_off_.empty()) return false;
  begin_to_follow(put_off_.front());
  put_off_.pop_front();
  return true;
}

}  // namespace heddle::sim
