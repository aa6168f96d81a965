// From the address that code under test uses to where the memory lies, which differ where the program maps memory by itself.
#pragma once

#include <heddle/sim/run/execution.h>
#include <heddle/sim/space/mapped_ranges.h>

#include <cstddef>
#include <cstdint>

namespace heddle::sim::runtime {

/// Of an access in a range of such addresses. The address itself where it may not be used so: the check of the access says why.
[[gnu::cold]] const void* reached_by_mapping(execution& here, lane& self, const void* address, size_t size_bytes,
                                             mapping_right wanted);

/// Where the lane's access of these bytes goes: by this address in reports, and in all that is kept of memory. The code under test and the
/// simulator may use either address, for the pages are the same ones.
[[gnu::always_inline]] inline const void* reached(execution& here, lane& self, const void* address, size_t size_bytes,
                                                  mapping_right wanted) {
  if (!mapped_ranges::contains(address)) [[likely]]
    return address;
  return reached_by_mapping(here, self, address, size_bytes, wanted);
}
[[gnu::always_inline]] inline void* reached(execution& here, lane& self, void* address, size_t size_bytes,
                                            mapping_right wanted) {
  return const_cast<void*>(reached(here, self, static_cast<const void*>(address), size_bytes, wanted));
}

/// Where the memory lies that is mapped there; other addresses stay. Of a run.
inline const void* home_of(const void* address) {
  if (!mapped_ranges::contains(address)) [[likely]]
    return address;
  const std::byte* const home = execution::instance->core().map.ranges.home_of(address);
  return home == nullptr ? address : home;
}

/// Whether what a runtime gives for a device alone is out of the host's reach.
inline bool hides_device_memory(const execution& here) {
  const host_reach reach = here.machine().reach;
  return reach == host_reach::copies || (reach == host_reach::usual && here.core().map.heap.program() != nullptr);
}

/// How many bytes from there on, of so many, lie one behind the other.
inline size_t bytes_together(const void* address, size_t size_bytes) {
  if (!mapped_ranges::contains(address)) [[likely]]
    return size_bytes;
  return execution::instance->core().map.ranges.bytes_together(address, size_bytes);
}

}  // namespace heddle::sim::runtime
