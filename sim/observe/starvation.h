// Bypass counting (bounded waiting): how often other lanes finish the same wait while a lane is blocked in it.
#pragma once

#include <heddle/sim/machine/lane.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim {

class heap;

/// A wait is identified by the reads of its loop: their places in the code and their locations. A lane that has read the same location at
/// the same place and then changes memory has finished that wait. A lane that changes memory itself no longer waits. Costs
/// nothing where it is off.
class starvation_watch {
 public:
  /// A new run. `most`: how often a lane may be passed over in one wait; 0: off.
  void reset(uint32_t most);
  bool on() const { return most_ != 0; }

  /// The lane has performed its pending operation.
  void performed(const lane& who);
  /// An iteration of the lane's loop is over and has found nothing changed.
  void waits(const lane& who, uint64_t step);
  /// The lane has made progress. The lane that it has passed over once too often; null: there is none.
  const lane* got_on(const lane& who);

  /// Of the lane that got_on() gave: one line, and where it waits.
  std::string message(const lane& who, const heap& memory) const;
  const call_chain& place_of(const lane& who) const { return of_lane_[who.id].calls; }

 private:
  struct look {
    const void* place = nullptr;
    const void* address = nullptr;
    friend bool operator==(const look&, const look&) = default;
  };
  struct passes {
    const lane* by = nullptr;
    uint32_t times = 0;
  };
  struct lane_wait {
    const lane* who = nullptr;
    std::vector<look> looks;  ///< since its last change of memory
    bool waiting = false;
    std::vector<look> waits_for;
    uint64_t since_step = 0;
    call_chain calls = {};
    uint32_t passed_over = 0;
    std::vector<passes> by;
  };

  lane_wait& wait_of(const lane& who);

  static constexpr size_t looks_most = 256;
  uint32_t most_ = 0;
  std::vector<lane_wait> of_lane_;  ///< by id
};

/// Requests that a program has told of, from when they are made until they are served: counts how often later ones are served first.
class request_watch {
 public:
  /// A new run. `most`: how often a request may be passed over; 0: off.
  void reset(uint32_t most);
  bool on() const { return most_ != 0; }

  /// A request waits from now on, unless it has been served already.
  void made(const lane& who, uint64_t id, uint64_t step);
  /// A request is served. One line about another that has been passed over once too often; empty when there is none.
  std::string served(uint64_t id);

 private:
  struct request {
    const lane* who = nullptr;
    uint64_t id = 0;
    uint64_t step = 0;
    uint32_t passed_over = 0;
  };
  uint32_t most_ = 0;
  std::vector<request> waiting_;  ///< in the order in which they were made
  std::vector<uint64_t> early_;   ///< served before they were told of
};

}  // namespace heddle::sim
