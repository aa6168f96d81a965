#include <heddle/sim/memory/scoped/scoped_bytes.h>
#include <heddle/sim/memory/scoped/scoped_locations.h>

#include <algorithm>

namespace heddle::sim::scoped {

[[gnu::always_inline]] inline void locations::drop_message(message* unused, bool may_race) {
  unused->releases = {};
  unused->forget_observers();
  if (may_race) unused->unordered.clear();
  unused->host_saw = false;
  scheduler::append(free_messages_, unused);
}

void locations::reset() {
  for (size_t n = 0; n < granules_used_; ++n) {
    granule& used = granules_[n];
    for (uint8_t at = 0; at < used.count; ++at) {
      drop_message(used.order[at], used.has_unordered);
    }
    used.count = 0;
    used.base_readable = 0xff;
    used.accesses.clear();
  }
  granules_used_ = 0;
  for (const size_t slot : heap_touched_) of_heap_[slot] = nullptr;
  heap_touched_.clear();
  if (!elsewhere_.empty()) elsewhere_.clear();
}

// The first access to it, or one outside of the heap.
granule& locations::add(const void* address) {
  const auto place = reinterpret_cast<uintptr_t>(address) & ~uintptr_t{granule_bytes - 1};
  auto* const low = reinterpret_cast<std::byte*>(place);
  if (core_.map.heap.contains(low)) {
    const size_t slot = core_.map.heap.offset_of(low) / granule_bytes;
    if (slot >= of_heap_.size()) of_heap_.resize(std::max(slot + 1, of_heap_.size() * 2), nullptr);
    of_heap_[slot] = new_granule(low);
    scheduler::append(heap_touched_, slot);
    return *of_heap_[slot];
  }
  granule*& known = elsewhere_[place];
  if (known == nullptr) known = new_granule(low);
  return *known;
}

granule* locations::new_granule(std::byte* address) {
  if (granules_used_ == granules_.size()) granules_.emplace_back();
  granule& fresh = granules_[granules_used_];
  fresh.number = static_cast<uint32_t>(granules_used_++);
  fresh.address = address;
  fresh.serial = fresh.newest = ++serials_;
  fresh.base = read_granule(address);
  fresh.has_unordered = false;
  return &fresh;
}

uint64_t value_at(const granule& in, int cut) {
  uint64_t value = in.base;
  for (int n = 0; n <= cut; ++n) {
    const message& one = *in.order[static_cast<size_t>(n)];
    const uint64_t bytes = bytes_of_mask[one.mask];
    value = (value & ~bytes) | (one.value & bytes);
  }
  return value;
}

bool readable_at(const granule& in, int cut, uint8_t mask) {
  for (int n = cut; n >= 0 && mask != 0; --n) {
    const message& one = *in.order[static_cast<size_t>(n)];
    if ((one.mask & mask & ~one.readable) != 0) return false;
    mask = static_cast<uint8_t>(mask & ~one.mask);
  }
  return (mask & ~in.base_readable) == 0;
}

void locations::forget_oldest(granule& in) {
  // Mostly the oldest, by the next.
  const bool is_first = in.count > 1 && (in.order[0]->mask & ~in.order[1]->mask) == 0;
  const int found = is_first ? 0 : oldest_covered(in);
  if (found < 0) return;
  const auto n = static_cast<uint8_t>(found);
  message* const oldest = in.order[n];
  const auto mask = oldest->mask;
  for (uint8_t older = 0; older < n; ++older) {
    message& one = *in.order[older];
    one.readable = static_cast<uint8_t>(one.readable & ~mask);
  }
  in.base_readable = static_cast<uint8_t>(in.base_readable & ~mask);
  for (uint8_t other = 0; in.has_unordered && other < in.count; ++other)
    std::erase_if(in.order[other]->unordered, [&](const message::racing& one) { return one.with == oldest; });
  drop_message(oldest, in.has_unordered);
  std::copy(in.order.begin() + n + 1, in.order.begin() + in.count, in.order.begin() + n);
  --in.count;
}

void locations::make_messages() {
  constexpr size_t together = 16;
  for (size_t n = 0; n < together; ++n) free_messages_.push_back(&messages_.emplace_back());
}

}  // namespace heddle::sim::scoped
