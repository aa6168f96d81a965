// What host threads wait at until another one gives notice, and which of them: condition variables and futexes.
//
// A notice goes to threads that wait when it is given, and to no other: what comes too early is lost, as it is in the C library. Which one of
// several gets a single notice is a choice of the schedule.
#pragma once

#include <heddle/sim/base/state_reader.h>
#include <heddle/sim/machine/lane.h>

#include <cstddef>
#include <vector>

namespace heddle::sim {

class notices {
 public:
  void clear() { waiting_.clear(); }
  bool empty() const { return waiting_.empty(); }

  /// From now on the lane waits at the object; lane::noticed is 1 once notice has been given to it.
  void wait_at(const void* object, lane& self) {
    self.noticed = 0;
    waiting_.push_back({object, &self});
  }
  /// The lane no longer waits.
  void leave(const lane& self);
  /// How many wait at the object.
  size_t count(const void* object) const;
  /// The one that came to the object `index` others before it, which is given notice and no longer waits.
  lane& give(const void* object, size_t index);

  /// Which lanes wait where; false when the visitor needs no more.
  bool visit_state(state_reader& to) const;

 private:
  struct entry {
    const void* object = nullptr;
    lane* who = nullptr;
  };
  std::vector<entry> waiting_;  ///< in the order in which they came
};

}  // namespace heddle::sim
