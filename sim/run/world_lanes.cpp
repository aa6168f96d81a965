// What the lanes of a wave do together.
#include <heddle/sim/run/world.h>

#include <algorithm>

namespace heddle::sim {

using scheduler::choice_kind;
using scheduler::verdict;

namespace {
// What a shuffle gives for a lane that does not take part is undefined: something that no program expects.
constexpr uint64_t value_of_absent_lane = 0xdeadbeefdeadbeef;
}  // namespace

uint64_t world::active_mask(lane& self, const operation& how) {
  wave& of = *self.of;
  if (of.lanes.size() == 1) return 1;
  if (of.together != nullptr) return active_mask_together(self, how);
  step(self, how);
  if (self.resolved) {
    self.resolved = false;
    performed(self, self.result);
    return self.result;
  }
  const auto depth = [](const lane& who) {
    return who.runs.top() - reinterpret_cast<const std::byte*>(who.pending.frame);
  };
  const auto stands_here = [&](const lane& other) {
    return &other != &self && other.state == lane_state::candidate && !other.resolved &&
           other.pending.kind == operation_kind::active_mask && other.pending.place == how.place &&
           depth(other) == depth(self);
  };
  uint64_t mask = lane_bit(self);
  bool company = false;
  for (const lane* other : of.lanes) company = company || stands_here(*other);
  if (company) {
    const bool some = proving_ == proof::none && !tail_.begun && pick(self, 2, choice_kind::active_mask) == 1;
    for (lane* other : of.lanes) {
      if (!stands_here(*other)) continue;
      if (some && pick(self, 2, choice_kind::active_mask) == 1) continue;
      mask |= lane_bit(*other);
    }
    for (lane* other : of.lanes)
      if (other != &self && (mask & lane_bit(*other)) != 0) {
        other->result = mask;
        other->resolved = true;
      }
  }
  performed(self, mask);
  return mask;
}

void world::check_arrival(lane& self, const operation& how) {
  const wave& of = *self.of;
  if ((how.mask & lane_bit(self)) == 0)
    end(self, verdict::mask,
        name_of(self) + " takes part in a " + to_string(how.kind) + " whose mask does not name it");
  if (!how.without_ended && of.lanes.size() < 64 && how.mask >> of.lanes.size() != 0)
    end(self, verdict::mask,
        std::string("the mask of a ") + to_string(how.kind) + " names lanes that the wave does not have");
  if (!how.without_ended && (how.mask & of.ended_mask) != 0)
    end(self, verdict::mask,
        std::string("the mask of a ") + to_string(how.kind) + " names lane " +
            std::to_string(__builtin_ctzll(how.mask & of.ended_mask)) + ", which has ended");
  for (const open_collective& open : of.collectives) {
    // Each waits for the other at another collective: neither can ever go on.
    if ((open.kind != how.kind || open.mask != how.mask) && (open.mask & lane_bit(self)) != 0 &&
        (open.arrived & how.mask) != 0)
      end(self, verdict::mask,
          name_of(self) + " comes to a " + to_string(how.kind) + " while lane " +
              std::to_string(__builtin_ctzll(open.arrived & how.mask)) + " waits for it at a " + to_string(open.kind) +
              (open.kind == how.kind ? " with another mask" : ""));
  }
}

uint64_t world::collective(lane& self, const operation& how, uint64_t value) {
  wave& of = *self.of;
  if (of.together != nullptr) return collective_together(self, how, value);
  if (how.mask == lane_bit(self) && how.kind != operation_kind::shuffle)
    return how.kind == operation_kind::ballot ? (value != 0 ? how.mask : 0) : value;
  finish_plain_store(self);
  self.pending = how;
  if (!of.stepped) first_step(of);
  check_arrival(self, how);
  self.result = value;
  size_t open = 0;
  while (open < of.collectives.size() &&
         (of.collectives[open].kind != how.kind || of.collectives[open].mask != how.mask))
    ++open;
  if (open == of.collectives.size())
    of.collectives.push_back({how.kind, how.mask, 0, ++collectives_opened_, how.without_ended});
  of.collectives[open].arrived |= lane_bit(self);
  if (of.collectives[open].arrived == awaited(of, of.collectives[open])) {
    complete(of, open, how.kind);
  } else {
    // Lanes that wait in a loop of their own are needed here: their wait is over.
    for (lane* other : of.lanes)
      if ((how.mask & lane_bit(*other)) != 0 && other->state == lane_state::waiting) add_candidate(*other);
    remove_candidate(self);
    self.state = lane_state::at_collective;
    if (records_) recorder_->waits(self, steps_);
    block(self);
  }
  performed(self, self.result);
  return self.result;
}

// Of a lane that is about to wait in the fair tail, or while waits are put to the proof: what it saw when it was proven may not be what a sibling knows that
// has gone on to a collective with it meanwhile. Once for each collective: whoever loops without coming to it waits in vain.
bool world::is_awaited(lane& self) {
  if (proving_ == proof::none && !tail_.begun) return false;
  const uint64_t before = self.went_round_for;
  for (const open_collective& open : self.of->collectives)
    if ((open.mask & lane_bit(self)) != 0 && (open.arrived & lane_bit(self)) == 0)
      self.went_round_for = std::max(self.went_round_for, open.number);
  return self.went_round_for != before;
}

uint64_t world::awaited(const wave& of, const open_collective& open) {
  if (!open.without_ended) return open.mask;
  const uint64_t there = of.lanes.size() < 64 ? (uint64_t{1} << of.lanes.size()) - 1 : ~uint64_t{0};
  return open.mask & there & ~of.ended_mask;
}

void world::leave_collectives(const lane& ended) {
  wave& of = *ended.of;
  for (size_t n = 0; n < of.collectives.size(); ++n) {
    const open_collective open = of.collectives[n];
    if ((open.mask & lane_bit(ended)) == 0) continue;
    if (open.without_ended) {
      if (open.arrived == awaited(of, open)) complete(of, n--, open.kind);
      continue;
    }
    for (lane* waiting : of.lanes)
      if ((open.arrived & lane_bit(*waiting)) != 0)
        end(*waiting, verdict::mask,
            name_of(ended) + " has ended, but a " + to_string(open.kind) + " of its wave names it");
  }
}

void world::complete(wave& of, size_t open, operation_kind kind) {
  // Those that have ended, where they are not waited for, have not arrived.
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
  // A barrier orders what its lanes do; the other collectives only carry their value (PTX ISA, "bar.warp.sync", "shfl.sync").
  if (late_ != nullptr && (kind == operation_kind::sync_lanes || timed() != nullptr)) {
    std::array<lane*, 64> meeting{};
    size_t count = 0;
    for (lane* who : of.lanes)
      if ((mask & lane_bit(*who)) != 0) meeting[count++] = who;
    if (kind == operation_kind::sync_lanes)
      late_->meet(meeting.data(), count);
    else
      timed()->carry(meeting.data(), count);
  }
  for (lane* who : of.lanes) {
    if ((mask & lane_bit(*who)) == 0) continue;
    who->result = common;
    if (kind == operation_kind::shuffle && (absent >> who->source & 1) != 0)
      end(*who, verdict::mask,
          name_of(*who) + " asks for the value of lane " + std::to_string(who->source) +
              " in a shuffle whose mask names that lane, " +
              (who->source < of.lanes.size() ? "which has ended" : "which the wave does not have"));
    if (kind == operation_kind::shuffle)
      who->result = (mask >> who->source & 1) != 0 ? given[who->source] : value_of_absent_lane;
    if (who->state == lane_state::at_collective) add_candidate(*who);
  }
}

}  // namespace heddle::sim
