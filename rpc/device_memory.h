// How much memory a device has, and where it is.
#pragma once

#include <stdint.h>

namespace heddle {

/// Of a device's own memory, at this moment: other programs may take some.
struct device_memory {
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
};

/// Where a byte of a device's memory is, on a machine whose page tables can be looked at: in the address space of its
/// process, and in which GPU's memory.
struct device_page {
  uint32_t device = 0;  ///< the GPU
  uint64_t virtual_address = 0;
  uint64_t physical_address = 0;
};

}  // namespace heddle
