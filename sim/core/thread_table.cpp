#include <heddle/sim/core/thread_table.h>

#include <cstring>
#include <memory>

namespace heddle::sim {
namespace {
constexpr size_t page_bytes = 4096;  // the least that any page has
}

wave& thread_table::new_wave(uint64_t step) {
  if (waves_used == waves.size()) waves.emplace_back();
  wave& fresh = waves[waves_used];
  // The containers keep their memory from run to run.
  fresh.lanes.clear();
  fresh.collectives.clear();
  std::construct_at(static_cast<wave_state*>(&fresh));  // in place: an assignment would make another one first
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

// The thread stands in the simulator, and all that is alive on its stack is above where it came in.
lane* thread_table::owner_of_frame(const void* address) {
  for (size_t n = 0; n < lanes_used; ++n) {
    lane& each = lanes[n];
    if (!each.is_host() || !each.begun || each.state == lane_state::ended || !each.is_on_stack(address)) continue;
    const bool is_alive = each.pending.private_state != nullptr && address >= each.pending.private_state;
    return is_alive ? &each : nullptr;
  }
  return nullptr;
}

void thread_table::share_captured(const memory_map& map, const void* object, size_t size_bytes) {
  const auto* const bytes = static_cast<const std::byte*>(object);
  for (size_t at = 0; at + sizeof(void*) <= size_bytes; at += sizeof(void*)) {
    const void* word = nullptr;
    std::memcpy(&word, bytes + at, sizeof word);
    if (!map.is_on_host_stack(word)) continue;
    if (lane* const owner = owner_of_frame(word)) owner->share_frames(word);
  }
}

}  // namespace heddle::sim
