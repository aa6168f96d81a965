#include <heddle/sim/base/invariant.h>
#include <heddle/sim/core/issues.h>
#include <heddle/sim/core/run_core.h>

#include <bit>

namespace heddle::sim {

using scheduler::choice_kind;

namespace {

// When lanes are parted, where that is drawn: behind fewer than 2^n issues of several lanes, of which a second draw says how many. Programs of a
// few issues are the likelier to be asked about.
constexpr std::array<uint8_t, 8> parting_octaves = {1, 2, 2, 3, 3, 4, 6, 9};

lane& lane_of(const wave& of, uint64_t lanes) { return *of.lanes[static_cast<size_t>(std::countr_zero(lanes))]; }

uint64_t nth_lane(uint64_t lanes, uint32_t n) {
  for (; n != 0; --n) lanes &= lanes - 1;
  return lanes & (~lanes + 1);
}

// How far the caller's frame lies from where the lane's first one began: the tops of stacks differ.
ptrdiff_t depth_of(const lane& who) {
  return who.pending.frame == nullptr ? 0 : who.runs.top() - reinterpret_cast<const std::byte*>(who.pending.frame);
}

}  // namespace

// Calls that come to one place at one depth of the stack count as one: which lanes go together is the machine's choice, and a program cannot
// tell.
bool issues::stand_together(const lane& one, const lane& other) {
  if (one.of->together != nullptr) return true;
  return one.pending.place == other.pending.place && one.pending.kind == other.pending.kind &&
         one.begun == other.begun && depth_of(one) == depth_of(other);
}

void issues::lead(lane& leader, uint64_t lanes) {
  leader.leads = lanes;
  leader.of->leaders |= lane_bit(leader);
  core_.enabled.list(leader);
}

void issues::stand(lane& self) {
  wave& of = *self.of;
  for (uint64_t rest = of.leaders; rest != 0; rest &= rest - 1) {
    lane& leader = lane_of(of, rest);
    if (!stand_together(self, leader)) continue;
    leader.leads |= lane_bit(self);
    return;
  }
  lead(self, lane_bit(self));
}

void issues::enable(lane& self) {
  self.state = lane_state::candidate;
  core_.enabled.fair.candidate_added(*self.of);
  stand(self);
}

void issues::disable(lane& self) {
  wave& of = *self.of;
  core_.enabled.fair.candidate_removed(of);
  if (self.leads == 0) {
    // A lane that is performing an operation is led by none.
    for (uint64_t rest = of.leaders; rest != 0; rest &= rest - 1) lane_of(of, rest).leads &= ~lane_bit(self);
    return;
  }
  const uint64_t others = self.leads & ~lane_bit(self);
  self.leads = 0;
  of.leaders &= ~lane_bit(self);
  core_.enabled.unlist(self);
  if (others != 0) lead(lane_of(of, others), others);
}

void issues::run_on(lane& self) {
  if (of_ != self.of) return enable(self);
  self.state = lane_state::candidate;
  core_.enabled.fair.candidate_added(*self.of);
  left_ |= lane_bit(self);
}

void issues::turn(bool on) {
  on_ = on;
  for (size_t n = 0; n < core_.threads.waves_used; ++n) {
    wave& of = core_.threads.waves[n];
    if (of.lanes.size() == 1 || of.candidates == 0) continue;
    of.leaders = 0;
    for (lane* each : of.lanes) {
      if (each->state != lane_state::candidate) continue;
      each->leads = 0;
      if (on) {
        core_.enabled.unlist(*each);
        stand(*each);
      } else if (each->candidate_slot == lane::unlisted) {
        core_.enabled.list(*each);
      }
    }
  }
  core_.enabled.fair.list_changed();
}

// -- an issue -----------------------------------------------------------------------------------------------------------------------

lane& issues::begin(lane& leader, lane& self) {
  wave& of = *leader.of;
  uint64_t lanes = leader.leads;
  leader.leads = 0;
  of.leaders &= ~lane_bit(leader);
  core_.enabled.unlist(leader);
  core_.enabled.fair.list_changed();
  in_any_order_ = false;
  made_ = {};
  if (!std::has_single_bit(lanes) && core_.phase.is_open()) {
    if (of.together == nullptr && partings_left_ != 0 && is_time_to_part(self)) {
      const uint64_t part_of_them = part(self, lanes);
      const uint64_t others = lanes & ~part_of_them;
      if (core_.observers.recorder) core_.observers.recorder->parts(of, part_of_them, others);
      lead(lane_of(of, others), others);
      lanes = part_of_them;
    }
    in_any_order_ = touch_the_same(of, lanes);
  }
  of_ = &of;
  left_ = lanes;
  core_.enabled.asks_until = 0;  // until all of them have gone
  return *next(self);
}

void issues::note_listed() { core_.enabled.fair.list_changed(); }

lane* issues::choose_next(lane& self) {
  const uint64_t bit =
      nth_lane(left_, core_.pick(self, static_cast<uint32_t>(std::popcount(left_)), choice_kind::lane));
  left_ &= ~bit;
  return &lane_of(*of_, bit);
}

// Whether two of the lanes are about to change, or to look at, the same bytes, and one of them to change them. Lanes that do are neighbours, or
// all of them do: others are not looked for.
bool issues::touch_the_same(const wave& of, uint64_t lanes) {
  const lane& first = lane_of(of, lanes);
  if (!may_write(first.pending.kind) || first.pending.address == nullptr) return false;
  const auto* const begin = static_cast<const std::byte*>(first.pending.address);
  const lane* before = &first;
  for (uint64_t rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1) {
    const lane& each = lane_of(of, rest);
    const auto* const at = static_cast<const std::byte*>(each.pending.address);
    if (at == begin || at == before->pending.address) return true;
    before = &each;
  }
  return false;
}

// -- parting ------------------------------------------------------------------------------------------------------------------------

bool issues::is_time_to_part(lane& self) {
  if (until_parting_ == not_drawn) {
    const uint32_t drawn = core_.pick(self, static_cast<uint32_t>(parting_octaves.size()) + 1, choice_kind::part);
    if (drawn == 0) {
      partings_left_ = 0;
      return false;
    }
    until_parting_ = core_.pick(self, uint32_t{1} << parting_octaves[drawn - 1], choice_kind::part);
  }
  if (until_parting_ != 0) {
    --until_parting_;
    return false;
  }
  --partings_left_;
  until_parting_ = not_drawn;
  return true;
}

// One of the lanes goes ahead of the others, or stays behind them.
uint64_t issues::part(lane& self, uint64_t lanes) {
  const auto count = static_cast<uint32_t>(std::popcount(lanes));
  const uint32_t drawn = core_.pick(self, 2 * count, choice_kind::part);
  const uint64_t one = nth_lane(lanes, drawn % count);
  return drawn < count ? one : lanes & ~one;
}

uint32_t issues::pick_alike(lane& self, uint32_t count, choice_kind kind, uint64_t key) {
  if (of_ == nullptr) return core_.pick(self, count, kind);
  for (const made& each : made_)
    if (each.kind == kind && each.count == count && each.key == key) return each.picked;
  const uint32_t picked = core_.pick(self, count, kind);
  made_[1] = made_[0];
  made_[0] = {.kind = kind, .count = count, .picked = picked, .key = key};
  return picked;
}

void issues::check_invariants() const {
  must_hold(of_ == nullptr || on_, "issues: one is under way where there are any");
  must_hold((left_ == 0) || of_ != nullptr, "issues: the lanes that are left are of the one that is under way");
  for (size_t n = 0; n < core_.threads.waves_used; ++n) {
    const wave& of = core_.threads.waves[n];
    uint64_t led = 0;
    uint64_t leaders = 0;
    uint64_t candidates = 0;
    for (const lane* each : of.lanes) {
      if (each->state == lane_state::candidate) candidates |= lane_bit(*each);
      if (each->leads == 0) continue;
      must_hold(each->candidate_slot != lane::unlisted, "issues: a lane that leads others is listed");
      must_hold((each->leads & lane_bit(*each)) != 0, "issues: a lane that leads others leads itself");
      must_hold((led & each->leads) == 0, "issues: a lane is led by one");
      led |= each->leads;
      leaders |= lane_bit(*each);
    }
    must_hold(of.leaders == leaders, "issues: a wave knows which of its lanes lead");
    if (on_ && of_ == nullptr && of.lanes.size() > 1) must_hold(led == candidates, "issues: each enabled lane is led");
  }
}

}  // namespace heddle::sim
