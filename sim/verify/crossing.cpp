// Steps of an explorer that commute, and the ways that follow from them (diamonds.h).
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/verify/explorer.h>
#include <heddle/sim/verify/run_state.h>

#include <bit>

namespace heddle::sim {
namespace {

/// Whether steps change what others may notice by the memory that they touch, and by nothing that counts the steps of all. Posted stores that stay in
/// order arrive by any read.
bool steps_commute(const execution& here) {
  const run_core& core = here.core();
  const settings& machine = core.machine;
  const bool is_plain_memory = !here.memory().devices().places_memory() && !here.memory().cache().on();
  return is_plain_memory && machine.fidelity != fidelity::link && machine.races_end() &&
         machine.convergence != convergence::lockstep && machine.doorbells.behaviour == doorbell_behaviour::delivered &&
         !here.launched().turns().are_on() && !core.issues.on() && core.phase.is_open() &&
         !core.observers.starvation.on();
}

/// Whether the lane waits until memory changes that it has looked at.
bool waits_for_memory(const lane& who) {
  if (who.state != lane_state::waiting || who.awaits != nullptr) return false;
  switch (who.pending.kind) {
    case operation_kind::pause:
    case operation_kind::load:
    case operation_kind::plain_load:
    case operation_kind::volatile_load:
    case operation_kind::read_modify_write:
    case operation_kind::compare_exchange:
      return true;
    default:
      return false;
  }
}

}  // namespace

void explorer::begin_step(execution& here) {
  has_arrived_ = false;
  notes_.touched.stop();
  const bool may_cross = options_.cross_steps && options_.match_states && matching_ && probes_ == nullptr;
  const answer& given = path_[asked_ - 1].given;
  if (!may_cross || given.kind != choice_kind::actor || !steps_commute(here)) return;
  const lane& who = *here.core().enabled.lanes[given.picked];
  // A lane that begins takes a stack. The first step of a wave counts for which waves are promised a turn.
  if (!who.begun || !(who.is_host() || who.of->stepped || here.machine().progress == progress_model::fair)) return;
  notes_.touched.begin();
  here.core().observers.on = true;
}

void explorer::note_step(execution& here, diamonds::way made, uint64_t lanes, uint32_t from_node, choice_kind next) {
  has_arrived_ = true;
  const node& from = path_[from_node];
  made.commutes = notes_.touched.is_on() && next == choice_kind::actor && here.core().phase.is_open() &&
                  lanes == uint64_t{1} << from.actor;
  if (!made.commutes) return diamonds_.arrive(made, notes_.touched);
  const lane& who = here.core().threads.lanes[from.actor];
  const bool has_ended = who.state == lane_state::ended;
  diamonds::standing left_behind;
  here.core().aside(*here.core().choices.asks, [&] { left_behind = standing_of(here); });
  // Only threads of the host call what changes it: a lane of a kernel that does so makes another operation than an access.
  if (!who.is_host()) left_behind.machine = diamonds_.in().machine;
  if (has_ended || waits_for_memory(who)) left_behind.enabled |= uint64_t{1} << who.id;
  made.host = who.is_host();
  // Whether it goes on or begins to wait depends on what it has read in its loop until now.
  for (const watched& one : who.reads.entries()) notes_.touched.add_read(one.address, one.size_bytes);
  if (has_ended) notes_.touched.add_end();
  made.commutes = left_behind == diamonds_.in() && notes_.touched.is_whole();
  key_maker label;
  label.add(from.actor);
  for (size_t n = from_node + 1; n < path_.size(); ++n) {
    const answer& given = path_[n].given;
    const bool is_of_lane = given.kind == choice_kind::visible || given.kind == choice_kind::spurious ||
                            given.kind == choice_kind::wake ||
                            (given.kind == choice_kind::actor && path_[n].skipped && path_[n].actor == from.actor);
    made.commutes = made.commutes && is_of_lane;
    if (given.kind == choice_kind::actor) continue;
    label.add(static_cast<uint64_t>(given.kind) << 32 | given.count);
    label.add(given.picked);
  }
  made.label = label.key().low;
  diamonds_.arrive(made, notes_.touched);
}

bool explorer::cross(const execution& here, node& fresh) {
  if (!options_.cross_steps || fresh.given.kind != choice_kind::actor) return true;
  const uint64_t known = diamonds_.follow([&](const diamonds::way& each) {
    const state_graph::step made = {.from = fresh.state, .to = each.to, .lanes = uint64_t{1} << each.lane};
    known_.add_way(each.lasts ? &made : nullptr);
  });
  if (known == 0) return true;
  const std::vector<lane*>& candidates = here.core().enabled.lanes;
  uint64_t left = 0;
  for (uint32_t n = 0; n < fresh.given.count; ++n)
    if ((known >> candidates[n]->id & 1) == 0) left |= uint64_t{1} << n;
  if (left == 0) {
    operations_.resize(fresh.turns);
    diamonds_.pop();
    return false;
  }
  fresh.left = left;
  fresh.take();
  return true;
}

// The lane that went on has come to no other state: not all that it may do next is known.
void explorer::end_step() {
  const uint32_t last = last_state_node();
  if (has_arrived_ || last == no_state || diamonds_.depth() == 0) return;
  if (path_[last].actor != no_lane) diamonds_.spoil(diamonds_.depth() - 1, path_[last].actor);
}

}  // namespace heddle::sim
