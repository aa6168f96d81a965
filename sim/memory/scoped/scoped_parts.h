// An access to scoped memory (scoped_memory.h) taken apart: what each of the granules has of it.
#pragma once

#include <heddle/sim/memory/scoped/scoped_memory.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace heddle::sim {

[[gnu::always_inline]] inline scoped_memory::part scoped_memory::part_of(lane_facts& mine, const void* address,
                                                                         size_t size_bytes) {
  return scoped::part_in(mine, locations_.at(address), address, size_bytes);
}

/// A sequentially consistent access. A device's fence stands in front of it (PTX ISA, "Memory Consistency Model": what CUDA C++ compiles such accesses
/// to); a host's behind it, and behind no load.
class scoped_memory::total_order {
 public:
  total_order(scoped_memory& memory, lane& self, const operation& how, bool stores)
      : memory_(memory), self_(self), how_(how), is_on_(how.order == memory_order::seq_cst), stores_(stores) {
    if (is_on_) [[unlikely]]
      begin(memory_, self_, how_);
  }
  ~total_order() {
    if (is_on_ && stores_) [[unlikely]]
      end(memory_, self_, how_);
  }
  total_order(const total_order&) = delete;
  total_order& operator=(const total_order&) = delete;

  static void begin(scoped_memory& memory, lane& self, const operation& how) {
    lane_facts& mine = scoped::facts(self);
    if (!mine.host) return memory.fence(self, how);
    memory.known_.order_host_access(mine, reach_of(mine, how), false);
  }
  /// Of one that may have stored.
  static void end(scoped_memory& memory, lane& self, const operation& how) {
    lane_facts& mine = scoped::facts(self);
    if (!mine.host) return;
    memory.note_host_fence(self, mine);
    memory.known_.order_host_access(mine, reach_of(mine, how), true);
  }

 private:
  scoped_memory& memory_;
  lane& self_;
  const operation& how_;
  bool is_on_;
  bool stores_;
};

template <typename Part, typename Each>
[[gnu::always_inline]] inline void for_each_granule(const void* address, size_t size_bytes, Part&& part_of,
                                                    Each&& each) {
  const auto* at = static_cast<const std::byte*>(address);
  while (size_bytes != 0) {
    const size_t room = scoped::granule_bytes - reinterpret_cast<uintptr_t>(at) % scoped::granule_bytes;
    const size_t bytes = std::min(room, size_bytes);
    each(part_of(at, bytes));
    at += bytes;
    size_bytes -= bytes;
  }
}

template <typename Each>
void scoped_memory::for_each_part(lane_facts& mine, const void* address, size_t size_bytes, Each&& each) {
  for_each_granule(
      address, size_bytes, [&](const std::byte* at, size_t bytes) { return part_of(mine, at, bytes); }, each);
}

template <typename Each>
void scoped_memory::for_each_plain_part(const void* address, size_t size_bytes, Each&& each) {
  for_each_granule(
      address, size_bytes,
      [&](const std::byte* at, size_t bytes) { return scoped::part_in(locations_.at(at), at, bytes); }, each);
}

}  // namespace heddle::sim
