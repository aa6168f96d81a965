// What calls took in virtual time: told by the runs of a simulation that is asked for it (simulation::time_calls).
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::sim {

struct call_times {
  std::vector<uint64_t> took_ps;  ///< each call of a lane that has come to its end, in picoseconds
  uint64_t begun = 0;             ///< calls, those that came to nothing among them
  uint64_t runs = 0;
};

}  // namespace heddle::sim
