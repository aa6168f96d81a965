// How doorbells and interrupts fail (sync/doorbell.h), as settings.
#pragma once

#include <heddle/scheduler/parameters.h>

#include <cstdint>
#include <vector>

namespace heddle::sim {

enum class doorbell_behaviour : uint8_t {
  delivered,   ///< every ring counts at once
  delayed,     ///< each may be under way for some steps
  dropped,     ///< each may be lost, whatever became of those before
  duplicated,  ///< each may count twice
  coalesced,   ///< each may be under way for some steps, and all of one bell that are arrive as one
};

struct doorbell_settings {
  doorbell_behaviour behaviour = doorbell_behaviour::delivered;
  uint32_t steps_most = 0;  ///< that a ring may be under way

  /// Reads the keys of doorbell_parameters().
  static doorbell_settings from(const parameters& values);
};

/// The keys `doorbells` and `doorbells.steps`.
std::vector<parameter> doorbell_parameters();

}  // namespace heddle::sim
