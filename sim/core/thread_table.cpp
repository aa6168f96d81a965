#include <heddle/sim/base/invariant.h>
#include <heddle/sim/core/thread_table.h>

#include <cstring>
#include <memory>

namespace heddle::sim {
namespace {
constexpr size_t page_bytes = 4096;  // of the smallest page
}

wave& thread_table::new_wave(uint64_t step) {
  if (waves_used == waves.size()) waves.emplace_back();
  wave& fresh = waves[waves_used];
  // The containers keep their memory from run to run.
  fresh.lanes.clear();
  fresh.collectives.clear();
  std::construct_at(static_cast<wave_state*>(&fresh));  // in place: an assignment would make a temporary
  fresh.id = static_cast<uint32_t>(waves_used++);
  fresh.launched_in = step;
  return fresh;
}

lane& thread_table::new_lane(wave& of, uint32_t index) {
  if (lanes_used == lanes.size()) lanes.emplace_back();
  lane& fresh = lanes[lanes_used];
  std::construct_at(static_cast<lane_run*>(&fresh));
  fresh.of = &of;
  fresh.id = static_cast<uint32_t>(lanes_used++);
  fresh.index = index;
  fresh.registrations.clear();
  fresh.proof.forget();
  scheduler::append(of.lanes, &fresh);
  if (of.host && !of.copies) scheduler::append(live_hosts, &fresh);
  ++live_lanes;
  return fresh;
}

lane* thread_table::lane_on(const std::byte* address) {
  for (size_t n = 0; n < lanes_used; ++n) {
    lane& each = lanes[n];
    if (!each.begun || each.state == lane_state::ended) continue;
    const stack_arena::stack& on = each.runs.stack();
    if (address >= on.low - page_bytes && address < on.high()) return &each;
  }
  return nullptr;
}

const lane* thread_table::last_on(const std::byte* address) const {
  for (size_t n = lanes_used; n-- > 0;)
    if (lanes[n].begun && lanes[n].is_on_stack(address)) return &lanes[n];
  return nullptr;
}

const lane* thread_table::owner_of_guard(const memory_map& map, const void* address) const {
  for (size_t n = 0; n < lanes_used; ++n) {
    const lane& each = lanes[n];
    if (!each.begun || each.state == lane_state::ended) continue;
    const std::byte* const low = each.runs.stack().low;
    if (address < low && map.guards(low - 1) && static_cast<const std::byte*>(address) >= low - page_bytes)
      return &each;
  }
  return nullptr;
}

// The thread is inside the simulator: its live frames are above the one that entered it.
lane* thread_table::owner_of_frame(const void* address) {
  for (size_t n = 0; n < lanes_used; ++n) {
    lane& each = lanes[n];
    if (!each.is_host() || !each.begun || each.state == lane_state::ended || !each.is_on_stack(address)) continue;
    const bool is_alive = each.pending.private_state != nullptr && address >= each.pending.private_state;
    return is_alive ? &each : nullptr;
  }
  return nullptr;
}

void stack_pool::check_invariants() const {
  for (const size_t each : free_) must_hold(each < used_, "stacks: a free one has been used");
  must_hold(free_.size() <= used_, "stacks: no more are free than were used");
  must_hold(to_free_ == none || to_free_ < used_, "stacks: the one that is freed next has been used");
}

namespace {

void check_stack(const lane& each) {
  const stack_arena::stack& on = each.runs.stack();
  must_hold(on.low != nullptr && on.size_bytes != 0, "lane: one that has begun has a stack");
  must_hold(each.private_low >= on.low && each.private_low <= on.high(), "lane: its private bytes begin on its stack");
  must_hold(each.private_bytes <= static_cast<size_t>(on.high() - each.private_low),
            "lane: its private bytes end on its stack");
  must_hold(each.is_on_stack(each.body) || each.body == on.high(), "lane: what it runs lies on its stack");
  must_hold(each.how_to_run != nullptr, "lane: one that has begun knows what it runs");
  must_hold(each.stack_slot != stack_pool::none, "lane: one that has begun has a number of a stack");
  if (each.state == lane_state::waiting && each.private_state != nullptr)
    must_hold(each.private_state >= on.low && each.private_state <= on.high(),
              "lane: its private state is on its stack");
}

void check_wave(const wave& each) {
  must_hold(each.live_lanes <= 64, "wave: it has at most 64 lanes");
  must_hold((each.ended != 0) <= !each.live(), "wave: one that has ended has no live lane");
  must_hold(!(each.copies || each.drives) || each.host, "wave: copies and the driver run as host threads do");
  must_hold(!each.host || each.lanes.size() <= 1, "wave: a host thread is a wave of one lane");
  must_hold(!each.stepped || each.started(), "wave: one that has stepped has had a place");
  must_hold(!each.guaranteed || each.live(), "wave: only a live one is guaranteed turns");
  must_hold(each.host || each.runs != nullptr || !each.live(), "wave: one of the device runs a kernel");
  uint32_t enabled = 0;
  for (size_t n = 0; n < each.lanes.size(); ++n) {
    must_hold(each.lanes[n]->of == &each, "wave: its lanes are of it");
    must_hold(each.lanes[n]->index == n, "wave: its lanes stand in the order of their numbers");
    enabled += each.lanes[n]->state == lane_state::candidate ? 1 : 0;
    must_hold(each.lanes[n]->state != lane_state::evicted || !each.resident,
              "wave: its lanes are evicted while it has no place");
  }
  must_hold(each.candidates == enabled, "wave: its enabled lanes are counted");
}

}  // namespace

void thread_table::check_invariants() const {
  must_hold(lanes_used <= lanes.size(), "threads: lanes of this run are there");
  must_hold(waves_used <= waves.size(), "threads: waves of this run are there");
  must_hold(hosts_spawned < waves_used || waves_used == 0, "threads: the main thread is not spawned");
  size_t live = 0;
  for (size_t n = 0; n < lanes_used; ++n) {
    const lane& each = lanes[n];
    must_hold(each.id == n, "lane: its id is its place");
    must_hold(each.of != nullptr, "lane: it is of a wave");
    must_hold(each.index < 64, "lane: a wave has at most 64");
    const bool ended = each.state == lane_state::ended;
    // A lane that makes rings count never runs.
    must_hold(!each.begun || ended == ((each.of->ended_mask & lane_bit(each)) != 0),
              "lane: its wave knows whether it has ended");
    must_hold(each.operations + 1 >= each.operations_judged, "lane: no operation is judged that is not at hand");
    must_hold(each.state != lane_state::held || each.of->together != nullptr,
              "lane: it is held back only by a wave with one program counter");
    must_hold(!each.proven || each.state != lane_state::candidate || each.of->together != nullptr || each.begun,
              "lane: a proven wait is that of a lane that has begun");
    must_hold(each.storing.size_bytes == 0 || each.storing.address != nullptr, "lane: a plain store has an address");
    live += ended ? 0 : 1;
    if (each.begun && !ended) check_stack(each);
  }
  must_hold(live == live_lanes, "threads: live lanes are counted");
  for (const lane* each : live_hosts)
    must_hold(each->of->host && !each->of->copies, "threads: live hosts are of the host, and no copies");
  for (size_t n = 0; n < waves_used; ++n) {
    must_hold(waves[n].id == n, "wave: its id is its place");
    check_wave(waves[n]);
  }
  device_stacks.check_invariants();
  host_stacks.check_invariants();
}

}  // namespace heddle::sim
