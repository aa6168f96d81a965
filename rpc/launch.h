// How many lanes a kernel has, and how they stand together.
#pragma once

#include <stdint.h>

namespace heddle {

/// The shape of a launch. `lanes` may be less than the machine's wave: the rest of each wave then does not take part.
struct launch_shape {
  uint32_t blocks = 1;
  uint32_t waves = 1;  ///< per block
  uint32_t lanes = 1;  ///< per wave
};

}  // namespace heddle
