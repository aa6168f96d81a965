// The races of a run: counted, or the one that ended it, in words.
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/race.h>

#include <cstdint>
#include <memory>
#include <string>

namespace heddle::sim {

class race_log {
 public:
  explicit race_log(run_core& core) : core_(core) {}

  void reset() { races_ = scope_races_ = 0; }
  /// Of what ended the run before.
  void forget_finding() { ended_.missing = nullptr; }

  /// The lane's pending operation races with an earlier access. Does not return when races end runs. `missing`: the edge that would order
  /// them, if one is known; `knows`: a lane of the same wave that comes after the first access.
  void found(lane& self, const access_record& earlier, bool scope_race, const race_finder::edge* missing,
             const lane* knows);

  uint64_t races() const { return races_; }
  uint64_t scope_races() const { return scope_races_; }
  /// What a report tells of the race that ended the run: both accesses, and the edge that is missing.
  std::string text() const;

 private:
  run_core& core_;
  struct {
    access_record earlier;
    uint64_t second_step = 0;
    const lane* second = nullptr;
    std::unique_ptr<race_finder::edge> missing;
    const lane* knows = nullptr;  ///< of the second's wave: one that comes after the first access
  } ended_;
  uint64_t races_ = 0;
  uint64_t scope_races_ = 0;
};

}  // namespace heddle::sim
