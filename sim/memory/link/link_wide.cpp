// Accesses of 16 bytes under fidelity `link`.
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/link/link_memory.h>

#include <cstring>

namespace heddle::sim {

using scheduler::verdict;

namespace {

operation half_of(const operation& how, bool high) {
  operation part = how;
  part.address = static_cast<const std::byte*>(how.address) + (high ? granule_bytes : 0);
  part.size_bytes = granule_bytes;
  return part;
}

}  // namespace

// A device waits for the answer: what it finds is what memory holds then.
wide_value link_memory::load_wide(lane& self, const operation& how) {
  asking_ = &self;
  look_at_hasty(self, how, true);
  wide_value value;
  const ordering order = {.order = how.order, .reach = how.reach};
  if (!covers(how.address)) {
    if (how.order != memory_order::relaxed) link_.take_published(self.id);
    std::memcpy(&value, how.address, sizeof value);
    return value;
  }
  if (!self.is_on_host() && order.is_total() && order.is_system()) link_.fence(self.id);
  value.low = link_.load(self.id, access_of(half_of(how, false)), true);
  value.high = link_.load(self.id, access_of(half_of(how, true)), true);
  if (!self.is_on_host() && order.acquires()) link_.take_published(self.id);
  note_forgotten();
  return value;
}

void link_memory::store_wide(lane& self, const operation& how, wide_value value) {
  asking_ = &self;
  const ordering order = {.order = how.order, .reach = how.reach};
  if (!covers(how.address)) {
    before_hasty_store(self, how);
    link_.publish(self.id);
    std::memcpy(const_cast<void*>(how.address), &value, sizeof value);
    if (order.is_total()) drained(self);
    return;
  }
  look_at_hasty(self, how, false);
  if (!self.is_on_host() && order.releases()) {
    if (order.is_system()) link_.fence(self.id);
    link_.publish(self.id);
  }
  link_.store_wide(self.id, access_of(how), value.low, value.high,
                   order.releases() && (self.is_on_host() || order.is_system()));
  if (self.is_on_host() && order.is_total()) link_.fence(self.id);
}

wide_value link_memory::modify_wide(lane& self, const operation& how, const wide_modification& next) {
  asking_ = &self;
  look_at_hasty(self, how, false);
  drained(self);
  if (!covers(how.address)) {
    link_.fence(self.id);
    link_.publish(self.id);
    link_.take_published(self.id);
    wide_value old;
    std::memcpy(&old, how.address, sizeof old);
    if (next.writes != nullptr && !next.writes(next.context, old)) return old;
    const wide_value fresh = next.apply(next.context, old);
    std::memcpy(const_cast<void*>(how.address), &fresh, sizeof fresh);
    return old;
  }
  // Nothing comes in between: what has to happen first happens with the first half.
  const auto modify_half = [&](bool high, const modification& half) {
    const std::optional<uint64_t> old = ordered_modify(link_, self.id, access_of(half_of(how, high)), half,
                                                       next.is_atomic_op, {.order = how.order, .reach = how.reach});
    if (old) return *old;
    core_.end(self, verdict::memory,
              sim::describe(how) + " of " + describe_location(core_.map.heap, how.address) +
                  " across the link, which carries no such atomics of 16 bytes (link.rmw)");
  };
  const modification looks = {.apply = [](const void*, uint64_t value) { return value; },
                              .writes = [](const void*, uint64_t) { return false; }};
  wide_value old;
  old.low = modify_half(false, looks);
  old.high = modify_half(true, looks);
  if (next.writes != nullptr && !next.writes(next.context, old)) return old;
  const wide_value fresh = next.apply(next.context, old);
  for (const bool high : {false, true}) {
    const uint64_t value = high ? fresh.high : fresh.low;
    modify_half(
        high, {.apply = [](const void* to, uint64_t) { return *static_cast<const uint64_t*>(to); }, .context = &value});
  }
  return old;
}

}  // namespace heddle::sim
