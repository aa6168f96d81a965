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
