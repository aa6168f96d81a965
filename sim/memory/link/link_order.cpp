// Order without memory under fidelity `link`: collectives, launches, locks and ends.
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/link/link_memory.h>

#include <algorithm>

namespace heddle::sim {

void link_memory::meet(lane* const* lanes, size_t count) {
  for (size_t n = 1; n < count; ++n) link_.hand_on(lanes[n]->id, lanes[0]->id);
  for (size_t n = 1; n < count; ++n) link_.hand_on(lanes[0]->id, lanes[n]->id);
}

void link_memory::order(const lane& first, lane& then) {
  asking_ = &then;
  if (!first.is_on_host() && !then.is_on_host()) return link_.hand_on(first.id, then.id);
  link_.finish(first.id, then.id);
  drained(first);
  link_.see_present(then.id);
}

// What is under way is waited for by lanes that acquire, and not before: a thread that ends is in no hurry, and lanes that end do not
// hurry the others of their kernel.
void link_memory::release_object(lane& self, const void* object) {
  drained(self);
  releasers& known = releasers_[object];
  if (!self.is_on_host()) {
    known.device = self.id;
    return;
  }
  // Each of them: a semaphore is given by one thread after the other, and taken then.
  const auto same = std::find_if(known.hosts.begin(), known.hosts.end(),
                                 [&](const auto& earlier) { return earlier.thread == self.id; });
  if (same != known.hosts.end()) known.hosts.erase(same);
  known.hosts.push_back({.thread = self.id, .stores = link_.stores_made()});
}

void link_memory::acquire_object(lane& self, const void* object) {
  asking_ = &self;
  drained(self);
  if (self.is_on_host()) link_.fence(self.id);
  if (const auto found = releasers_.find(object); found != releasers_.end()) {
    const uint32_t device = found->second.device;
    if (!self.is_on_host() && device != none) link_.see_all(self.id);
    for (const auto& [thread, stores] : found->second.hosts)
      if (self.is_on_host())
        link_.fence(thread, transport::orders::all, stores);
      else
        link_.finish(thread, self.id, stores);
    if (self.is_on_host() && device != none) link_.finish(device, self.id);
  }
  link_.see_present(self.id);
}

void link_memory::released(lane&, const void* address, size_t size_bytes) {
  if (address != nullptr) link_.forget(address, size_bytes);
}

}  // namespace heddle::sim
