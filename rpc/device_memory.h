// How much memory a device has.
#pragma once

#include <stdint.h>

namespace heddle {

/// Of a device's own memory; as things stand now, for others may take some.
struct device_memory {
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
};

}  // namespace heddle
