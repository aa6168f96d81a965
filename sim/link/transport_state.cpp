// The whole state of the link: parts of it forgotten, all of it in a number.
#include <heddle/sim/link/transport.h>

namespace heddle::sim {

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

void transport::add_to(scheduler::digest& sum) const {
  const auto add_stores = [&](const std::vector<store_under_way>& stores) {
    sum.add(stores.size());
    for (const store_under_way& what : stores) {
      sum.add(reinterpret_cast<uintptr_t>(what.where.address), what.value, what.where.size_bytes);
      sum.add(what.thread, what.epoch, what.fences);
      sum.add(what.number, what.due_ns);
    }
  };
  for (const thread_state& who : threads_) {
    sum.add(who.floor, who.answers_behind, who.ready_ns);
    sum.add(who.answered_ns, who.last_event, who.synchronised);
    add_stores(who.buffer);
    add_stores(who.combining);
  }
  for (const device_side& device : devices_) {
    sum.add(device.epoch, device.fences, device.floor);
    sum.add(device.published, device.published_answers, device.published_events);
    sum.add(device.events, device.binding);
    device.same_address.add_to(sum);
    add_stores(device.requests);
    add_stores(device.posted);
  }
  history_.add_to(sum);
  sum.add(moment_, now_ns_);
}

}  // namespace heddle::sim
