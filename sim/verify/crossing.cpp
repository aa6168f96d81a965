// Steps of an explorer that commute, and the ways that follow from them (diamonds.h).
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/space/lane_heap.h>
#include <heddle/sim/verify/explorer.h>

#include <algorithm>
#include <bit>

namespace heddle::sim {

// As far as each step changes what others may notice by the memory that it touches, and by nothing that counts the steps of all.
bool explorer::may_cross(const execution& here) const {
  const run_core& core = here.core();
  const settings& machine = core.machine;
  const bool is_plain_memory = !here.memory().devices().places_memory() && !here.memory().cache().on();
  return options_.cross_steps && options_.match_states && matching_ && probes_ == nullptr && is_plain_memory &&
         machine.fidelity != fidelity::link && machine.races_end() && machine.convergence != convergence::lockstep &&
         machine.doorbells.behaviour == doorbell_behaviour::delivered && !here.launched().turns().are_on() &&
         !core.issues.on() && core.phase.is_open() && !core.observers.starvation.on();
}

void explorer::begin_step(execution& here) {
  has_arrived_ = false;
  if (!may_cross(here)) return notes_.touched.stop();
  notes_.touched.begin();
  here.core().observers.on = true;
  const answer& given = path_[asked_ - 1].given;
  if (given.kind != choice_kind::actor) return;
  const lane& who = *here.core().enabled.lanes[given.picked];
  // A lane that begins takes a stack. The first step of a wave counts for which waves are promised a turn.
  goes_on_ = who.begun && (who.is_host() || who.of->stepped || here.machine().progress == progress_model::fair);
}

diamonds::standing explorer::standing_of(const execution& here) {
  const run_core& core = here.core();
  diamonds::standing made;
  for (const lane* each : core.enabled.lanes) made.enabled |= uint64_t{1} << each->id;
  made.allocated = core.map.heap.allocations().size() + core.map.heap.frees() + core.notes->lanes_allocate->changes();
  made.outside = here.hosts().changed_outside;
  made.time = core.clock.cycle();
  return made;
}

uint64_t explorer::label_of(uint32_t from_node) const {
  key_maker made;
  made.add(path_[from_node].actor);
  for (size_t n = from_node + 1; n < path_.size(); ++n) {
    const node& each = path_[n];
    switch (each.given.kind) {
      case choice_kind::actor:
        if (!each.skipped || each.actor != path_[from_node].actor) return 0;
        break;
      case choice_kind::visible:
      case choice_kind::spurious:
      case choice_kind::wake:
        made.add(static_cast<uint64_t>(each.given.kind) << 32 | each.given.count);
        made.add(each.given.picked);
        break;
      default:
        return 0;
    }
  }
  return made.key().low;
}

namespace {

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

void explorer::note_step(execution& here, const diamonds::way& made, uint32_t from_node, choice_kind next) {
  has_arrived_ = true;
  if (!notes_.touched.is_on()) return;
  const run_core& core = here.core();
  const node& from = path_[from_node];
  diamonds::way taken = made;
  taken.lane = from.actor;
  // Within an operation the lane goes on alone.
  if (from.given.kind != choice_kind::actor || next != choice_kind::actor)
    return diamonds_.arrive(taken, notes_.touched);
  const lane& who = core.threads.lanes[from.actor];
  diamonds::standing left_behind = standing_of(here);
  const bool has_ended = who.state == lane_state::ended;
  if (has_ended || waits_for_memory(who)) left_behind.enabled |= uint64_t{1} << who.id;
  taken.commutes = goes_on_ && core.phase.is_open() && lanes_since(here, from_node) == uint64_t{1} << from.actor &&
                   left_behind == diamonds_.in();
  if (taken.commutes) {
    taken.label = label_of(from_node);
    taken.host = who.is_host();
    // Whether it goes on or begins to wait depends on what it has read in its loop until now.
    for (const watched& one : who.reads.entries()) notes_.touched.add_read(one.address, one.size_bytes);
    if (has_ended) notes_.touched.add_end();
    taken.commutes = taken.label != 0 && notes_.touched.is_whole();
  }
  diamonds_.arrive(taken, notes_.touched);
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
  fresh.given.picked = static_cast<uint32_t>(std::countr_zero(left));
  fresh.left = left & (left - 1);
  return true;
}

void explorer::end_step() {
  const uint32_t last = last_state_node();
  if (has_arrived_ || last == no_state || diamonds_.depth() == 0) return;
  if (path_[last].given.kind == choice_kind::actor && path_[last].actor != no_lane)
    diamonds_.spoil(diamonds_.depth() - 1, path_[last].actor);
}

void explorer::give_away(size_t at) {
  path_[at].left = 0;
  if (path_[at].state != no_state) return;
  size_t level = 0;
  uint32_t actor = no_lane;
  for (size_t n = 0; n < at; ++n) {
    if (path_[n].state == no_state) continue;
    ++level;
    actor = path_[n].actor;
  }
  if (level != 0 && actor != no_lane) diamonds_.spoil(level - 1, actor);
}

}  // namespace heddle::sim
