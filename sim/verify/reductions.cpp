// What the search leaves out, because it changes nothing for other lanes or comes back to where it was.
#include <heddle/sim/machine/rmw.h>
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/verify/explorer.h>
#include <heddle/sim/verify/run_state.h>

namespace heddle::sim {
namespace {

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

}  // namespace

// What no other lane can notice. It changes nothing for others whether such an operation comes before what they do next or behind it.
bool explorer::is_local(execution& here, const lane& who) const {
  if (here.memory().may_move_pages(who)) return false;
  switch (who.pending.kind) {
    case operation_kind::pause:
    // A lane that can go on from a collective has met all that it waits for.
    case operation_kind::broadcast:
    case operation_kind::ballot:
    case operation_kind::sync_lanes:
    case operation_kind::shuffle:
    case operation_kind::block_barrier:
    case operation_kind::cluster_wait:
      return true;
    case operation_kind::fence:
      return who.pending.order != memory_order::seq_cst && !here.core().link_delivers;
    case operation_kind::none:
      // Where a lane asks whether others have ended, and goes on either way, it notices both that they have begun and that they have ended.
      if (notes_.asks_for_ends) return false;
      // Others may wait for its end, and notice no more of it.
      if (who.begun && who.pending.frame == nullptr) return who.of->guaranteed;
      // The first step of a wave counts for which waves are promised a turn.
      return who.is_host() || who.of->stepped || here.machine().progress == progress_model::fair;
    // As long as they only wait, they may as well have begun to.
    case operation_kind::synchronize:
    case operation_kind::join:
      return who.awaits != nullptr && *who.awaits != who.awaited;
    case operation_kind::load:
    case operation_kind::read_modify_write:
    case operation_kind::compare_exchange:
      if (!repeating_loads_.empty() && leaves_memory(who) &&
          (here.core().late == nullptr || here.core().late->finds_nothing_new(who)) &&
          repeating_loads_.contains(load_key(who)))
        return true;
      return is_quiet(here, who);
    case operation_kind::store:
      return is_quiet(here, who);
    // It is where one can choose only because the lane may be in a loop that waits (execution::must_yield).
    case operation_kind::plain_load:
    case operation_kind::plain_store:
      return who.of->together == nullptr && !here.core().is_plain_point(who.pending.address);
    default:
      return false;
  }
}

// Nothing but the word decides what the access does, and it changes nothing else.
bool explorer::is_quiet(execution& here, const lane& who) {
  const bool is_plain_memory = !here.memory().devices().places_memory() && !here.memory().cache().on();
  return is_plain_memory && who.of->together == nullptr && here.core().late != nullptr &&
         here.core().late->is_quiet(who);
}

bool explorer::waits_for_notice(const lane& who) {
  const bool is_for_notice =
      who.pending.kind == operation_kind::wait_notice || who.pending.kind == operation_kind::wait;
  // Where it has a time, the end of that is a reason, as often as it comes.
  return is_for_notice && who.private_state == nullptr;
}

// A wait for memory to change may end although nothing has: then the loop runs once more. That is needed only as long as it is not known to come
// back to the very state in which it is, having read what it has read: equal state and equal memory have an equal future.
uint32_t explorer::pick_wake(const choice& asked) {
  execution& here = *execution::instance;
  const lane& who = *here.core().choices.asks;
  key_maker stands;
  key_maker reads;
  here.core().aside(*here.core().choices.asks, [&] { visit_wait(who, stands, reads); });
  node fresh = {.given = {asked.kind, asked.count, 0}, .lane = who.id, .stands = stands.key()};
  // What the lane looked at before it came to wait for notice may be otherwise by now, and only a notice tells it so: whether the wait ends for no
  // reason or goes on leads to two futures.
  if (who.pending.kind == operation_kind::wait_notice || who.pending.kind == operation_kind::wait) {
    fresh.left = 2;
    fresh.waits_for_notice = waits_for_notice(who);
    return push(fresh);
  }
  reads.add(stands.key().low);
  reads.add(stands.key().high);
  if (repeating_waits_.contains(reads.key())) return push(fresh);
  const bool first = who.left.wakes + 1 == here.machine().wakes;
  for (size_t n = path_.size(); !first && n > 0; --n) {
    const node& earlier = path_[n - 1];
    if (earlier.given.kind != choice_kind::wake || earlier.lane != who.id) continue;
    if (!(earlier.stands == fresh.stands)) break;
    repeating_waits_.insert(reads.key());
    if (skips_local(here) && who.reads.entries().size() == 1) note_repeating_load(who.id, n);
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
  last.actor = who.id;
  last.lane = no_lane;
  if (!skips_local(here) || !leaves_memory(who) ||
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

}  // namespace heddle::sim
