// From each store to the actors that read it.
#pragma once

#include <heddle/sim/observe/run_record.h>

#include <cstdint>
#include <vector>

namespace heddle::tools {

/// A store and another actor that has read the same bytes behind it. Steps count from 0, as in run_record::steps.
struct store_flow {
  static constexpr uint32_t none = ~uint32_t{0};
  uint32_t store = 0;
  uint32_t seen = none;    ///< the first load that returned it
  uint32_t missed = none;  ///< the last load before that, or of all, that returned something older
};

/// In order of the stores.
std::vector<store_flow> flows_of(const sim::run_record& of);

}  // namespace heddle::tools
