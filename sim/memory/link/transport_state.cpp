// The whole state of the link: parts of it forgotten, all of it told.
#include <heddle/sim/memory/link/transport.h>

#include <algorithm>

namespace heddle::sim {
namespace {

/// What is kept of a granule, and what binds the threads that read it.
struct granule_floors {
  uintptr_t granule = 0;
  std::span<const value_history::version> past;
  std::vector<read_floors::floor> floors;
};

uint64_t versions_up_to(std::span<const value_history::version> past, uint64_t moment) {
  return static_cast<uint64_t>(std::count_if(past.begin(), past.end(),
                                             [&](const value_history::version& each) { return each.until <= moment; }));
}

// From so many turns on nothing is as old as that in any run that never repeats a state.
constexpr uint32_t unbounded = 1000000;

/// `turns`: so far; null where the age of a store does not count.
void tell_stores(state_reader& to, const std::vector<store_under_way>& stores, const uint64_t* turns) {
  to.fact(stores.size());
  for (const store_under_way& what : stores) {
    to.fact(reinterpret_cast<uintptr_t>(what.where.address));
    to.fact(what.value);
    to.fact(uint64_t{what.where.size_bytes} << 40 | uint64_t{what.half != 0} << 33 | uint64_t{what.to_device} << 32 |
            what.thread);
    to.fact(uint64_t{what.device} << 32 | what.blockers);
    if (turns != nullptr) to.fact(*turns - what.turn);
  }
}

}  // namespace

void transport::forget(const void* address, size_t size_bytes) {
  history_.forget(address, size_bytes);
  for (device_side& device : devices_) device.same_address.forget(address, size_bytes);
  const auto* const from = static_cast<const std::byte*>(address);
  const auto drop = [&](std::vector<store_under_way>& stores) {
    under_way_ -= std::erase_if(stores, [&](const store_under_way& what) {
      return what.where.address >= from && what.where.address < from + size_bytes;
    });
  };
  for (device_side& device : devices_) {
    drop(device.requests);
    drop(device.posted);
  }
  for (const uint32_t thread : host_threads_) {
    drop(threads_[thread].buffer);
    drop(threads_[thread].combining);
  }
}

// Pareto's distribution with shape 1, by inversion and cut off: one draw in n is n times as long or longer.
uint64_t transport::delay_of(uint32_t thread, uint32_t nominal_ns) {
  constexpr uint32_t draws = 1024;
  if (!is_latency_on()) return 0;
  if (settings_.latency == latency_model::fixed) return nominal_ns;
  return uint64_t{nominal_ns} * draws / (draws - around_->choose(thread, question::delay, draws));
}

// Numbers that only grow are told as how many of those with which they will be compared are not above them: two states that differ
// in the numbers alone can do the same. What no thread can read any more is left out.
bool transport::tell(state_reader& to, std::span<const uint32_t> live) const {
  if (is_latency_on()) return false;
  const uint64_t* const turns = settings_.oldest_turns < unbounded ? &turns_ : nullptr;
  for (const thread_state& state : threads_) {
    tell_stores(to, state.buffer, turns);
    tell_stores(to, state.combining, turns);
    for (const store_under_way& what : state.combining) to.fact(state.fences - what.fences);
    for (const store_under_way& what : state.buffer) to.fact(state.fences - what.fences);
  }
  for (uint32_t device = 0; device < devices_.size(); ++device) tell_device(to, device, live);
  return to.fact(under_way_);
}

void transport::tell_device(state_reader& to, uint32_t number, std::span<const uint32_t> live) const {
  const device_side& device = devices_[number];
  const auto is_of_device = [&](const thread_state& state) { return !state.host && state.device == number; };
  const auto floor_of = [&](const thread_state& state) { return std::max(state.floor, device.floor); };
  // A thread that begins later begins with the present.
  uint64_t lowest = moment_;
  for (const uint32_t thread : live)
    if (is_of_device(threads_[thread])) lowest = std::min(lowest, floor_of(threads_[thread]));

  std::vector<uint64_t> events;
  for (const store_under_way& made : device.requests) events.push_back(made.event);
  std::vector<granule_floors> known;
  history_.for_each_after(lowest, [&](uintptr_t granule, std::span<const value_history::version> past) {
    known.push_back({.granule = granule, .past = past, .floors = device.same_address.binding_after(granule, past)});
    for (const read_floors::floor& each : known.back().floors) events.push_back(each.event);
  });
  std::sort(events.begin(), events.end());
  const auto rank_of_event = [&](uint64_t event) {
    return static_cast<uint64_t>(std::upper_bound(events.begin(), events.end(), event) - events.begin());
  };
  const auto rank_of_number = [&](uint64_t posted) {
    return static_cast<uint64_t>(std::count_if(device.posted.begin(), device.posted.end(),
                                               [&](const store_under_way& made) { return made.number <= posted; }));
  };

  for (const granule_floors& each : known) {
    to.fact(each.granule);
    for (const value_history::version& past : each.past) to.fact(past.bytes);
    for (const read_floors::floor& bound : each.floors) {
      to.fact(uint64_t{bound.thread} << 32 | bound.bytes << 16 | versions_up_to(each.past, bound.moment));
      to.fact(rank_of_event(bound.event));
    }
    for (const thread_state& state : threads_)
      if (is_of_device(state)) to.fact(versions_up_to(each.past, floor_of(state)));
    to.fact(versions_up_to(each.past, std::max(device.published, device.floor)));
  }
  for (const thread_state& state : threads_) {
    if (!is_of_device(state)) continue;
    to.fact(rank_of_number(state.answers_behind));
    to.fact(rank_of_event(state.synchronised) << 32 | rank_of_event(std::max(state.synchronised, state.last_event)));
  }
  to.fact(rank_of_number(device.published_answers));
  to.fact(rank_of_event(device.published_events) << 32 | rank_of_event(device.binding));
  const uint64_t* const turns = settings_.oldest_turns < unbounded ? &turns_ : nullptr;
  tell_stores(to, device.posted, turns);
  tell_stores(to, device.requests, turns);
  uint64_t epochs = 0;
  for (size_t n = 0; n < device.requests.size(); ++n) {
    if (n > 0 && device.requests[n].epoch != device.requests[n - 1].epoch) ++epochs;
    to.fact(epochs << 32 | rank_of_event(device.requests[n].event));
  }
  to.fact(!device.requests.empty() && device.requests.back().epoch == device.epoch ? 1 : 0);
}

}  // namespace heddle::sim
