#include <heddle/sim/base/invariant.h>
#include <heddle/sim/sync/collectives.h>

#include <algorithm>
#include <array>

namespace heddle::sim {

using scheduler::choice_kind;
using scheduler::verdict;

namespace {
// What a shuffle gives for a lane that does not take part is undefined: something that no program expects.
constexpr uint64_t value_of_absent_lane = 0xdeadbeefdeadbeef;
}  // namespace

uint64_t collectives::mask_of_active(lane& self) {
  const wave& of = *self.of;
  const auto depth = [](const lane& who) {
    return who.runs.top() - reinterpret_cast<const std::byte*>(who.pending.frame);
  };
  const auto stands_here = [&](const lane& other) {
    return &other != &self && other.state == lane_state::candidate && !other.resolved &&
           other.pending.kind == operation_kind::active_mask && other.pending.place == self.pending.place &&
           depth(other) == depth(self);
  };
  uint64_t mask = lane_bit(self);
  if (core_.issues.on()) {
    // Those that take this step together, of which this one is the first.
    for (uint64_t rest = core_.issues.left_of(of); rest != 0; rest &= rest - 1) {
      lane& other = *of.lanes[static_cast<size_t>(__builtin_ctzll(rest))];
      if (stands_here(other)) mask |= lane_bit(other);
    }
    return tell_mask(self, mask);
  }
  if (!std::any_of(of.lanes.begin(), of.lanes.end(), [&](const lane* other) { return stands_here(*other); }))
    return mask;
  const bool some = core_.phase.is_open() && core_.pick(self, 2, choice_kind::active_mask) == 1;
  for (lane* other : of.lanes) {
    if (!stands_here(*other)) continue;
    if (some && core_.pick(self, 2, choice_kind::active_mask) == 1) continue;
    mask |= lane_bit(*other);
  }
  return tell_mask(self, mask);
}

uint64_t collectives::tell_mask(const lane& self, uint64_t mask) {
  for (uint64_t rest = mask & ~lane_bit(self); rest != 0; rest &= rest - 1) {
    lane& other = *self.of->lanes[static_cast<size_t>(__builtin_ctzll(rest))];
    other.result = mask;
    other.resolved = true;
  }
  return mask;
}

void collectives::check(lane& self) const {
  const wave& of = *self.of;
  const operation& how = self.pending;
  const auto refuse = [&](const std::string& why) { core_.end(self, verdict::mask, why); };
  const char* const kind = to_string(how.kind);
  if ((how.mask & lane_bit(self)) == 0)
    refuse(name_of(self) + " takes part in a " + kind + " whose mask does not name it");
  if (!how.without_ended && of.lanes.size() < 64 && how.mask >> of.lanes.size() != 0)
    refuse(std::string("the mask of a ") + kind + " names lanes that the wave does not have");
  if (!how.without_ended && (how.mask & of.ended_mask) != 0)
    refuse(std::string("the mask of a ") + kind + " names lane " +
           std::to_string(__builtin_ctzll(how.mask & of.ended_mask)) + ", which has ended");
  for (const open_collective& open : of.collectives) {
    // Each waits for the other at another collective: neither can ever go on.
    if ((open.kind != how.kind || open.mask != how.mask) && (open.mask & lane_bit(self)) != 0 &&
        (open.arrived & how.mask) != 0)
      refuse(name_of(self) + " comes to a " + kind + " while lane " +
             std::to_string(__builtin_ctzll(open.arrived & how.mask)) + " waits for it at a " + to_string(open.kind) +
             (open.kind == how.kind ? " with another mask" : ""));
  }
}

collectives::arrival collectives::arrive(lane& self, uint64_t value) {
  wave& of = *self.of;
  const operation& how = self.pending;
  // Where the wave has one open, and it is this one, the lane that came first has been checked for the rest.
  const bool comes_second = of.collectives.size() == 1 && of.collectives[0].kind == how.kind &&
                            of.collectives[0].mask == how.mask &&
                            of.collectives[0].without_ended == how.without_ended && (how.mask & lane_bit(self)) != 0 &&
                            (how.mask & of.ended_mask) == 0;
  if (!comes_second) check(self);
  self.result = value;
  size_t open = 0;
  while (open < of.collectives.size() &&
         (of.collectives[open].kind != how.kind || of.collectives[open].mask != how.mask))
    ++open;
  if (open == of.collectives.size()) of.collectives.push_back({how.kind, how.mask, 0, ++opened_, how.without_ended});
  of.collectives[open].arrived |= lane_bit(self);
  if (of.collectives[open].arrived == awaited_lanes(of, of.collectives[open])) {
    complete(of, open, how.kind);
    return arrival::complete;
  }
  // Lanes of the mask that are blocked in a loop are needed here: their wait ends.
  for (uint64_t rest = of.have_waited & how.mask; rest != 0; rest &= rest - 1) {
    lane& other = *of.lanes[static_cast<size_t>(__builtin_ctzll(rest))];
    if (other.state == lane_state::waiting) core_.enable(other);
  }
  of.have_waited &= ~how.mask;
  core_.disable(self);
  self.state = lane_state::at_collective;
  if (core_.observers.records) core_.observers.recorder->waits(self, core_.history.steps);
  return arrival::blocks;
}

void collectives::complete_arm(wave& of, operation_kind kind, uint64_t named, uint64_t arm) {
  of.collectives.push_back({kind, named, arm, ++opened_});
  complete(of, of.collectives.size() - 1, kind);
}

// A sibling that has gone on to a collective with the lane may know more than the lane did when its wait was proven: the lane runs another
// iteration. Once for each collective: a lane that loops and does not arrive at it is blocked.
bool collectives::is_awaited_now(lane& self) const {
  const uint64_t before = self.went_round_for;
  for (const open_collective& open : self.of->collectives)
    if ((open.mask & lane_bit(self)) != 0 && (open.arrived & lane_bit(self)) == 0)
      self.went_round_for = std::max(self.went_round_for, open.number);
  return self.went_round_for != before;
}

void collectives::leave(const lane& ended) {
  wave& of = *ended.of;
  for (size_t n = 0; n < of.collectives.size(); ++n) {
    const open_collective open = of.collectives[n];
    if ((open.mask & lane_bit(ended)) == 0) continue;
    if (open.without_ended) {
      if (open.arrived == awaited_lanes(of, open)) complete(of, n--, open.kind);
      continue;
    }
    for (lane* waiting : of.lanes)
      if ((open.arrived & lane_bit(*waiting)) != 0)
        core_.end(*waiting, verdict::mask,
                  name_of(ended) + " has ended, but a " + to_string(open.kind) + " of its wave names it");
  }
}

// A barrier orders what its lanes do; the other collectives only carry their value (PTX ISA, "bar.warp.sync", "shfl.sync").
void collectives::order(wave& of, uint64_t mask, operation_kind kind) {
  if (core_.late == nullptr || (kind != operation_kind::sync_lanes && core_.times == nullptr)) return;
  std::array<lane*, 64> meeting{};
  size_t count = 0;
  for (lane* who : of.lanes)
    if ((mask & lane_bit(*who)) != 0) meeting[count++] = who;
  if (kind == operation_kind::sync_lanes)
    core_.late->meet(meeting.data(), count);
  else
    core_.times->carry(meeting.data(), count);
}

void collectives::complete(wave& of, size_t open, operation_kind kind) {
  // Lanes that have ended, where they are not waited for, have not arrived.
  const uint64_t mask = of.collectives[open].arrived;
  const uint64_t absent = of.collectives[open].mask & ~mask;
  of.collectives[open] = of.collectives.back();
  of.collectives.pop_back();
  uint64_t common = 0;
  if (kind == operation_kind::broadcast) common = of.lanes[static_cast<size_t>(__builtin_ctzll(mask))]->result;
  if (kind == operation_kind::ballot)
    for (const lane* who : of.lanes)
      if ((mask & lane_bit(*who)) != 0 && who->result != 0) common |= lane_bit(*who);
  std::array<uint64_t, 64> given{};
  if (kind == operation_kind::shuffle)
    for (const lane* who : of.lanes) given[who->index] = who->result;
  order(of, mask, kind);
  for (lane* who : of.lanes) {
    if ((mask & lane_bit(*who)) == 0) continue;
    who->result = common;
    if (kind == operation_kind::shuffle && (absent >> who->source & 1) != 0)
      core_.end(*who, verdict::mask,
                name_of(*who) + " asks for the value of lane " + std::to_string(who->source) +
                    " in a shuffle whose mask names that lane, " +
                    (who->source < of.lanes.size() ? "which has ended" : "which the wave does not have"));
    if (kind == operation_kind::shuffle)
      who->result = (mask >> who->source & 1) != 0 ? given[who->source] : value_of_absent_lane;
    if (who->state == lane_state::at_collective) core_.run_on(*who);
  }
}

// -- the barrier of a block ---------------------------------------------------------------------------------------------------------

uint32_t collectives::live_lanes_of_block(const wave& of) const {
  uint32_t live = 0;
  for (uint32_t n = 0; n < of.runs->waves_per_block; ++n) live += wave_of_block(of, n).live_lanes;
  return live;
}

// Code that the compiler has duplicated is one place: lines are compared, and not addresses.
bool collectives::is_one_place(const void* one, const void* other) {
  if (one == other) return true;
  if (one > other) std::swap(one, other);
  const auto [known, fresh] = one_place_.try_emplace({one, other}, true);
  if (fresh) {
    const std::vector<source_line> lines = inlined_at(one);
    const std::vector<source_line> others = inlined_at(other);
    known->second = std::equal(lines.begin(), lines.end(), others.begin(), others.end(),
                               [](const source_line& a, const source_line& b) { return a.where() == b.where(); });
  }
  return known->second;
}

std::string collectives::line_in_program(const void* place) {
  for (const source_line& line : inlined_at(place))
    if (!is_plumbing(line)) return line.where();
  return {};
}

void collectives::check_place(lane& self, const void* place, const lane& other, const void* others_place) {
  std::string where;
  core_.aside(self, [&] {
    if (!is_one_place(place, others_place)) where = line_in_program(others_place);
  });
  if (where.empty()) return;
  core_.end(self, verdict::mask,
            name_of(self) + " comes to a barrier of its block at another line than " + name_of(other) +
                " of its wave, which waits at " + where +
                ": all lanes of a wave come to one and the same (setting barriers)");
}

void collectives::check_aligned(lane& self) {
  for (const lane* other : self.of->lanes)
    if (other->state == lane_state::at_collective && other->pending.kind == operation_kind::block_barrier &&
        other->pending.aligned)
      check_place(self, self.pending.place, *other, other->pending.place);
}

void collectives::check_aligned_part(lane& self, uint32_t id, bool begins, const void* place) {
  if (!core_.machine.diverging.barriers_aligned) return;
  const wave& of = *self.of;
  std::vector<block_state::arrival>& firsts = of.runs->state_of(of.block).first_of_wave[id];
  if (firsts.empty()) firsts.resize(of.runs->waves_per_block);
  if (begins) std::fill(firsts.begin(), firsts.end(), block_state::arrival{});
  block_state::arrival& first = firsts[of.in_kernel % of.runs->waves_per_block];
  if (first.place == nullptr)
    first = {.lane = self.id, .place = place};
  else
    check_place(self, place, core_.threads.lanes[first.lane], first.place);
}

uint32_t collectives::awaited_at_barrier(const wave& of, const block_state& block) const {
  uint32_t awaited = live_lanes_of_block(of);
  for (uint32_t n = 0; block.arrivals != 0 && n < of.runs->waves_per_block; ++n)
    awaited += static_cast<uint32_t>(__builtin_popcountll(block.came[n] & wave_of_block(of, n).ended_mask));
  return awaited;
}

void collectives::arrive_in_passing(lane& self) {
  wave& of = *self.of;
  block_state& block = of.runs->state_of(of.block);
  for (uint32_t n = 0; block.at_barrier != 0 && n < of.runs->waves_per_block; ++n)
    for (const lane* other : wave_of_block(of, n).lanes)
      if (other->state == lane_state::at_collective && other->pending.kind == operation_kind::block_barrier &&
          other->pending.mask != 0)
        core_.end(self, verdict::mask,
                  name_of(self) + " arrives at a block barrier at which " + name_of(*other) +
                      " waits for a result of all lanes");
  if (block.came.empty()) block.came.resize(of.runs->waves_per_block);
  ++block.arrivals;
  block.came[of.in_kernel % of.runs->waves_per_block] |= lane_bit(self);
  if (core_.late != nullptr) core_.late->release_object(self, object_of_block_barrier(of.kernel, of.block));
  if (block.at_barrier + block.arrivals == awaited_at_barrier(of, block)) complete_barrier(of, block);
}

collectives::arrival collectives::arrive_at_barrier(lane& self, uint64_t value) {
  wave& of = *self.of;
  block_state& block = of.runs->state_of(of.block);
  if (block.at_barrier != 0 && self.pending.aligned && core_.machine.diverging.barriers_aligned) check_aligned(self);
  if (block.arrivals != 0 && self.pending.mask != 0)
    core_.end(self, verdict::mask,
              name_of(self) + " waits for a result of all lanes at a block barrier at which others only arrive");
  for (uint32_t n = 0; block.at_barrier != 0 && n < of.runs->waves_per_block; ++n)
    for (const lane* other : wave_of_block(of, n).lanes)
      if (other->state == lane_state::at_collective && other->pending.kind == operation_kind::block_barrier &&
          other->pending.mask != self.pending.mask)
        core_.end(self, verdict::mask,
                  name_of(self) + " comes to a block barrier of another kind than the one at which " + name_of(*other) +
                      " waits for it");
  self.result = value;
  core_.disable(self);
  self.state = lane_state::at_collective;
  ++block.at_barrier;
  if (block.at_barrier + block.arrivals == awaited_at_barrier(of, block)) complete_barrier(of, block);
  if (self.state != lane_state::at_collective) {
    core_.issues.runs_already(self);
    return arrival::complete;
  }
  if (core_.observers.records) core_.observers.recorder->waits(self, core_.history.steps);
  return arrival::blocks;
}

void collectives::complete_barrier(const wave& of, block_state& block) {
  meeting_.clear();
  uint64_t count = 0;
  for (uint32_t n = 0; n < of.runs->waves_per_block; ++n)
    for (lane* who : wave_of_block(of, n).lanes) {
      if (who->state != lane_state::at_collective || who->pending.kind != operation_kind::block_barrier) continue;
      meeting_.push_back(who);
      if (who->result != 0) ++count;
    }
  block.at_barrier = 0;
  if (core_.late != nullptr && !meeting_.empty()) core_.late->meet(meeting_.data(), meeting_.size());
  if (block.arrivals != 0) {
    block.arrivals = 0;
    std::fill(block.came.begin(), block.came.end(), 0);
    for (lane* who : meeting_)
      if (core_.late != nullptr) core_.late->acquire_object(*who, object_of_block_barrier(of.kernel, of.block));
  }
  for (lane* who : meeting_) {
    who->result = count << 32 | meeting_.size();
    core_.run_on(*who);
  }
}

void collectives::leave_used_barrier(wave& of) {
  block_state& block = of.runs->states[of.block];
  if (block.at_barrier != 0 && block.at_barrier + block.arrivals == awaited_at_barrier(of, block))
    complete_barrier(of, block);
}

void collectives::check_invariants() const {
  for (size_t n = 0; n < core_.threads.waves_used; ++n) {
    const wave& of = core_.threads.waves[n];
    uint64_t waiting = 0;
    for (const open_collective& open : of.collectives) {
      must_hold(is_collective(open.kind), "collectives: what is open is one");
      must_hold(open.arrived != 0, "collectives: a lane has opened it");
      must_hold((open.arrived & ~open.mask) == 0, "collectives: no lane comes that the mask does not name");
      must_hold(open.arrived != awaited_lanes(of, open), "collectives: one to which all have come is closed");
      must_hold(open.number != 0 && open.number <= opened_, "collectives: they are numbered as they are opened");
      must_hold((waiting & open.arrived) == 0, "collectives: a lane stands at one");
      waiting |= open.arrived;
    }
    uint32_t at_barrier = 0;
    for (const lane* each : of.lanes) {
      const bool stands = each->state == lane_state::at_collective;
      const bool named = (waiting & lane_bit(*each)) != 0;
      if (of.together == nullptr) must_hold(!named || stands, "collectives: a lane that has come waits");
      must_hold(!stands || is_collective(each->pending.kind) || is_barrier(each->pending.kind),
                "collectives: a lane that waits for others has come to something");
      if (of.together == nullptr && stands && is_collective(each->pending.kind))
        must_hold(named, "collectives: a lane that waits has come to an open one");
      at_barrier += stands && each->pending.kind == operation_kind::block_barrier ? 1 : 0;
    }
    if (of.host || !of.live() || of.runs->states.empty()) continue;
    must_hold(at_barrier <= of.runs->states[of.block].at_barrier, "barrier: the lanes that wait at it are counted");
    const block_state& block = of.runs->states[of.block];
    must_hold(block.at_barrier + block.arrivals < awaited_at_barrier(of, block) || live_lanes_of_block(of) == 0,
              "barrier: one to which all have come is open");
  }
}

}  // namespace heddle::sim
