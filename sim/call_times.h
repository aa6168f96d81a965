// What calls took in virtual time: told by the runs of a simulation that is asked for it (simulation::time_calls).
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::sim {

struct call_times {
  std::vector<uint64_t> took_ps;  ///< each call of a lane that has come to its end, in picoseconds
  uint64_t begun = 0;             ///< calls, those that came to nothing among them
  uint64_t runs = 0;
  /// A clock of a lane that stands otherwise than before.
  struct reading {
    uint64_t step = 0;  ///< in which it was put, which may be another lane's
    uint32_t lane = 0;  ///< the scheduler's actor
    uint64_t at_ps = 0;
  };
  bool keeps_clocks = false;
  std::vector<reading> clocks;  ///< with `keeps_clocks`, of the latest run, in order
};

}  // namespace heddle::sim
