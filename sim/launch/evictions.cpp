// Which waves have a turn on the device, whose is over, and what gets their places.
#include <heddle/sim/launch/launches.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace heddle::sim {

using scheduler::choice_kind;

namespace {

// When something is evicted early, where that is drawn: behind fewer than 2^n looks at those that wait, of which a second draw says how many.
constexpr std::array<uint8_t, 8> early_octaves = {0, 1, 2, 3, 4, 5, 7, 9};

bool could_go_on(const wave& of) {
  return (of.together != nullptr && of.together->wants_back) ||
         std::any_of(of.lanes.begin(), of.lanes.end(),
                     [](const lane* who) { return who->state == lane_state::evicted; });
}

}  // namespace

template <typename Each>
void evictions::for_each_placed(uint32_t gpu, Each&& each) {
  for (const launched_kernel& runs : launched_.kernels())
    for (size_t n = 0; n < size_t{runs.blocks} * runs.waves_per_block; ++n)
      if (wave& of = core_.threads.waves[runs.first_wave + n]; of.live() && of.resident && of.gpu == gpu) each(of);
}

// -- what waits for places -------------------------------------------------------------------------------------------------------------

// Those that could take a step before those that could not, then by priority, then by how long they have waited.
void evictions::find_claims(uint32_t gpu) {
  claims_.clear();
  const bool as_queues = core_.machine.evict == eviction::queue;
  for (launched_kernel& runs : launched_.kernels()) {
    if (!launched_.may_begin(runs)) continue;
    for (uint32_t n = 0; n < runs.blocks * runs.waves_per_block; ++n) {
      wave& of = core_.threads.waves[runs.first_wave + n];
      if (of.live() && of.gpu == gpu && of.is_evicted())
        claims_.push_back({.runs = &runs,
                           .back = &of,
                           .since = as_queues ? runs.place.since : of.place.since,
                           .ready = could_go_on(of)});
    }
    runs.for_each_share([&](launched_kernel::share& of) {
      if (of.gpu == gpu && of.next != of.end)
        claims_.push_back({.runs = &runs, .blocks = &of, .since = runs.place.since, .ready = true});
    });
  }
  std::stable_sort(claims_.begin(), claims_.end(), [](const claim& one, const claim& other) {
    return std::tuple(!one.ready, -one.runs->priority, one.since) <
           std::tuple(!other.ready, -other.runs->priority, other.since);
  });
}

uint32_t evictions::places_of(const claim& one) { return one.back != nullptr ? 1 : one.runs->waves_of_cluster(); }

void evictions::place(lane& self, const claim& one) {
  if (one.back == nullptr) return launched_.start_blocks_of(self, *one.runs, *one.blocks);
  wave& of = *one.back;
  of.resident = true;
  launched_.more_have_places(of.gpu, 1);
  begin_turn(of);
  core_.enabled.fair.placed(of);
  if (core_.observers.recorder)
    core_.observers.recorder->moves(of, core_.history.steps, false, core_.machine.evict == eviction::queue);
  for (lane* each : of.lanes)
    if (each->state == lane_state::evicted) core_.enable(*each);
  if (of.together != nullptr) lockstep_.comes_back(of);
}

// -- whose turn is over ----------------------------------------------------------------------------------------------------------------

// The wave has got a place. Where its kernel is evicted as a whole, and has others, they have their turn already, which this does not prolong.
void evictions::begin_turn(wave& of) {
  const bool joins = core_.machine.evict == eviction::queue && of.runs->placed_waves++ != 0 &&
                     turn_of(of).began != core_.history.steps;
  for (lane* each : of.lanes) each->turn_from = joins ? each->operations - core_.machine.quantum : each->operations;
  if (!joins) turn_of(of) = {.since = ++places_given_, .began = core_.history.steps};
}

void evictions::begin_turns(uint32_t gpu) {
  looked_at_ = core_.history.steps;
  for_each_placed(gpu, [&](wave& of) {
    turn_of(of).idle = 0;
    for (lane* each : of.lanes) each->turn_from = each->operations;
  });
}

bool evictions::is_promised_turns(const wave& of) const {
  return of.guaranteed || core_.phase.denied || core_.phase.checks == quiescence_check::of_all;
}

evictions::standing evictions::standing_of(const wave& of) const {
  if (of.candidates == 0 || !is_promised_turns(of)) return standing::idle;
  const bool any_left = std::any_of(of.lanes.begin(), of.lanes.end(), [&](const lane* who) {
    return who->state == lane_state::candidate && who->operations - who->turn_from < core_.machine.quantum;
  });
  return any_left ? standing::goes_on : standing::had_its_turn;
}

// What may be evicted at once, in the order in which it got its places.
void evictions::find_tenants(uint32_t gpu) {
  tenants_.clear();
  for_each_placed(gpu, [&](wave& of) {
    const bool joins = core_.machine.evict == eviction::queue && !tenants_.empty() && tenants_.back().runs == of.runs;
    if (!joins) tenants_.push_back({.runs = of.runs, .first = &of, .since = turn_of(of).since});
    tenant& mine = tenants_.back();
    ++mine.places;
    mine.stands = std::max(mine.stands, standing_of(of));
  });
  std::sort(tenants_.begin(), tenants_.end(),
            [](const tenant& one, const tenant& other) { return one.since < other.since; });
}

void evictions::count_idle_steps() {
  const uint64_t passed = core_.history.steps - looked_at_;
  for (const tenant& each : tenants_) {
    uint32_t& idle = turn_of(*each.first).idle;
    if (each.stands == standing::idle)
      idle = static_cast<uint32_t>(std::min<uint64_t>(idle + passed, core_.machine.quantum));
  }
}

// Whether it may ever be evicted for that one.
bool evictions::gives_way(const tenant& placed, const claim& to) const {
  if (core_.machine.evict == eviction::queue && placed.runs == to.runs) return false;
  const int32_t less = to.runs->priority - placed.runs->priority;
  return less > 0 || (less == 0 && core_.machine.quantum != 0);
}

// `idle`: no lane on the device that is promised a step can take one, and time passes.
bool evictions::may_be_evicted(const tenant& placed, const claim& to, bool idle) const {
  if (placed.runs->priority < to.runs->priority) return true;
  return placed.stands == standing::had_its_turn ||
         (placed.stands == standing::idle && (idle || turn_of(*placed.first).idle >= core_.machine.quantum));
}

evictions::room evictions::room_for(uint32_t gpu, const claim& wanted, bool idle) const {
  const uint32_t places = places_of(wanted);
  if (fits(gpu, places)) return room::free;
  // What is of no use now is not evicted for what gets its places by that.
  if (!wanted.ready) return room::never;
  uint64_t ever = core_.machine.resident - memory_.devices()[gpu].resident;
  uint64_t now = ever;
  for (const tenant& each : tenants_) {
    if (!gives_way(each, wanted)) continue;
    ever += each.places;
    if (may_be_evicted(each, wanted, idle)) now += each.places;
  }
  return now >= places ? room::by_eviction : ever >= places ? room::later : room::never;
}

void evictions::make_room(lane& self, uint32_t gpu, const claim& wanted, bool idle) {
  for (const tenant& each : tenants_) {
    if (fits(gpu, places_of(wanted))) break;
    if (gives_way(each, wanted) && may_be_evicted(each, wanted, idle)) evict(each);
  }
  place(self, wanted);
}

void evictions::evict(const tenant& gone) {
  const uint64_t now = ++places_given_;
  if (core_.machine.evict == eviction::wave) return evict(*gone.first, now);
  for_each_placed(gone.first->gpu, [&](wave& of) {
    if (of.runs == gone.runs) evict(of, now);
  });
}

void evictions::evict(wave& of, uint64_t now) {
  for (lane* each : of.lanes) {
    if (each->state != lane_state::candidate) continue;
    core_.disable(*each);
    each->state = lane_state::evicted;
    if (core_.observers.records) core_.observers.recorder->waits(*each, core_.history.steps);
  }
  of.resident = false;
  turn_of(of) = {.since = now};
  if (core_.machine.evict == eviction::queue) --of.runs->placed_waves;
  launched_.more_have_places(of.gpu, ~0u);
  core_.enabled.fair.placed(of);
  if (core_.observers.recorder)
    core_.observers.recorder->moves(of, core_.history.steps, true, core_.machine.evict == eviction::queue);
}

// -- turns -------------------------------------------------------------------------------------------------------------------------------

void evictions::take_turns(lane& self) {
  const uint32_t gpus = memory_.devices().gpus();
  bool any = false;
  for (uint32_t gpu = 0; gpu < gpus; ++gpu) {
    bool& wanted = memory_.devices()[gpu].wanted;
    bool waits = give_places(self, gpu, false);
    if (waits) {
      if (!wanted) begin_turns(gpu);
      find_tenants(gpu);
      if (wanted) count_idle_steps();
      wanted = true;
      evict_early(self);
      waits = give_places(self, gpu, true);
    }
    wanted = waits;
    any = any || waits;
  }
  looked_at_ = core_.history.steps;
  core_.phase.want_places(any);
}

bool evictions::give_places(lane& self, uint32_t gpu, bool may_go) {
  bool again = true;
  bool waits = false;
  while (again) {
    again = waits = false;
    find_claims(gpu);
    find_tenants(gpu);
    for (const claim& each : claims_) {
      const room made = room_for(gpu, each, false);
      if (made == room::free || (made == room::by_eviction && may_go)) {
        make_room(self, gpu, each, false);
        again = true;
        break;
      }
      waits = waits || each.ready;
      if (!each.ready || made != room::never) break;
    }
  }
  return waits;
}

// Of a device on which no lane can take a step that is promised one: as long as nothing happens, time passes, and turns end. What comes then is
// what is promised steps, or anything where nothing can step at all.
bool evictions::take_turns_when_idle(lane& self) {
  if (!core_.phase.places_wanted) return false;
  const bool owes_a_start = core_.enabled.fair.owes_a_start() && !core_.enabled.owes_a_start();
  const auto would_be_promised = [&](const wave& of) {
    return is_promised_turns(of) || core_.machine.progress == progress_model::slots || (owes_a_start && !of.stepped);
  };
  const auto is_promised = [&](const claim& one) {
    if (one.back != nullptr) return would_be_promised(*one.back);
    bool any = false;
    for (uint32_t n = 0; n < one.runs->blocks * one.runs->waves_per_block; ++n) {
      const wave& of = core_.threads.waves[one.runs->first_wave + n];
      any = any || (!of.started() && of.gpu == one.blocks->gpu && would_be_promised(of));
    }
    return any;
  };
  for (uint32_t gpu = 0; gpu < memory_.devices().gpus(); ++gpu)
    for (const bool promised : {true, false}) {
      if (!promised && !core_.enabled.lanes.empty()) continue;
      find_claims(gpu);
      find_tenants(gpu);
      for (const claim& each : claims_) {
        if (!each.ready || is_promised(each) != promised) continue;
        const room made = room_for(gpu, each, true);
        if (made != room::free && made != room::by_eviction) continue;
        make_room(self, gpu, each, true);
        return true;
      }
    }
  return false;
}

// By a choice, something is evicted that has not had its turn. With lulls it is drawn when that happens; else each turn asks.
void evictions::evict_early(lane& self) {
  if (early_left_ == 0 || !core_.phase.is_open() || tenants_.empty()) return;
  const auto count = static_cast<uint32_t>(tenants_.size());
  if (!core_.machine.evictions_early.lulls) {
    if (const uint32_t which = core_.pick(self, count + 1, choice_kind::evict); which != 0)
      evict_early(tenants_[which - 1]);
    return;
  }
  if (until_early_ == not_drawn) {
    const uint32_t drawn = core_.pick(self, static_cast<uint32_t>(early_octaves.size()) + 1, choice_kind::evict);
    if (drawn == 0) {
      early_left_ = 0;
      return;
    }
    until_early_ = core_.pick(self, uint32_t{1} << early_octaves[drawn - 1], choice_kind::evict);
  }
  if (until_early_ != 0) {
    --until_early_;
    return;
  }
  until_early_ = not_drawn;
  evict_early(tenants_[core_.pick(self, count, choice_kind::evict)]);
}

void evictions::evict_early(const tenant& gone) {
  --early_left_;
  evict(gone);
}

// -- state -------------------------------------------------------------------------------------------------------------------------------

// The order in which places were given, taken and asked for, and how far turns are; not the numbers, which only grow.
bool evictions::visit_state(state_reader& to) const {
  std::vector<std::pair<uint64_t, uint64_t>> order;
  for (const launched_kernel& runs : launched_.kernels()) {
    if (core_.machine.evict == eviction::queue || runs.started_blocks < runs.blocks)
      order.emplace_back(runs.place.since, uint64_t{1} << 63 | runs.ordinal);
    if (!to.fact(runs.placed_waves)) return false;
    for (uint32_t n = 0; n < runs.blocks * runs.waves_per_block; ++n) {
      const wave& of = core_.threads.waves[runs.first_wave + n];
      if (!of.live() || !of.started()) continue;
      if (core_.machine.evict == eviction::wave) order.emplace_back(of.place.since, of.id);
      if (!of.resident || !memory_.devices()[of.gpu].wanted) continue;
      to.fact(turn_of(of).idle);
      for (const lane* each : of.lanes)
        if (!to.fact(std::min(each->operations - each->turn_from, core_.machine.quantum))) return false;
    }
  }
  std::sort(order.begin(), order.end());
  for (const auto& [since, who] : order)
    if (!to.fact(who)) return false;
  return to.fact(early_left_) && to.fact(core_.machine.evictions_early.lulls ? until_early_ : 0) &&
         to.fact(core_.phase.places_wanted ? 1 : 0);
}

}  // namespace heddle::sim
