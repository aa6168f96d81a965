#include <heddle/sim/memory/scoped/scoped_proxies.h>

namespace heddle::sim::scoped {

// Behind it a new epoch begins: what the lane does next has not come with it.
void proxies::fence(lane_facts& mine, uint32_t spaces) {
  fences_.push_back({.lane = mine.slot, .epoch = mine.epoch, .spaces = spaces, .view = known_.snapshot_of(mine)});
  new_epoch(mine);
}

// The lane comes after a fence when it comes after what its lane did in the epoch that the fence has ended.
clock_entries proxies::what_has_come(const lane& self, const lane_facts& mine, uint32_t spaces) const {
  clock_entries come;
  const auto with_object = [&](const void* object) {
    if (const causal_clock* const known = known_.of_object(object)) join(come, known->ordered);
  };
  with_object(object_of_launch(self.of->kernel));
  for (const uint32_t earlier : self.of->runs->after) with_object(object_of_end(earlier));
  for (const made_fence& one : fences_)
    if ((one.spaces & spaces) != 0 && mine.ordered_to(one.lane) >= one.epoch) {
      join(come, one.view->ordered);
      raise(come, one.lane, one.epoch);
    }
  return come;
}

void proxies::look(lane& self, lane_facts& mine, const void* address, size_t size_bytes, uint32_t spaces) {
  const clock_entries come = what_has_come(self, mine, spaces);
  self.pending.address = address;
  self.pending.size_bytes = static_cast<uint32_t>(size_bytes);
  const auto judge = [&](const access_record& one) {
    // What nothing orders is for the copy itself to find, and copies are made by one proxy.
    const wave& by = *core_.threads.lanes[known_.of(one.lane, one.epoch).id].of;
    if (!comes_after(mine, one) || (by.bulk && !by.async)) return;
    if (entry_of(come, one.lane) < one.epoch) log_.found(self, known_.named(one), {.weight = race_weight::proxy});
  };
  const auto* at = static_cast<const std::byte*>(address);
  const size_t granules = size_bytes / granule_bytes;
  locations_.any_row([&](const row_access& one) {
    if (!one.loads && one.overlaps(address, granules)) judge(one.access);
    return false;
  });
  for (size_t n = 0; n < granules; ++n) {
    const granule* const known = locations_.find(at + n * granule_bytes);
    if (known == nullptr) continue;
    for (const access_record& one : known->accesses.plain_writes) judge(one);
    known->accesses.atomic_writes.each(judge);
  }
}

void proxies::before_bulk(lane& self, lane_facts& mine, const bulk_copy& what) {
  const operation asked = self.pending;
  const uint32_t to = what.loads ? proxy_shared : proxy_global;
  const uint32_t from = what.loads ? proxy_global : proxy_shared;
  look(self, mine, what.from, what.size_bytes, from);
  look(self, mine, what.to, what.size_bytes, to);
  self.pending = asked;
}

}  // namespace heddle::sim::scoped
