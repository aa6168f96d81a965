// Loops of which each iteration is another state: why a search may find new states for ever.
#pragma once

#include <heddle/sim/machine/lane.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace heddle::sim {

/// Of one run through states that all differ: where lanes were chosen, and how often.
class rounds_made {
 public:
  /// The lane is chosen, and stands before its operation.
  void note(const lane& who) {
    place& at = places_[{who.id, who.pending.place}];
    if (++at.count != 1) return;
    at.lane = name_of(who);
    at.where = source_of(calls_of(who)).where();
  }
  /// "host main goes round at FILE:LINE, 2,000 times on the longest way"; empty where no lane has come to one place so often.
  std::string told() const;

 private:
  struct place {
    uint64_t count = 0;
    std::string lane;
    std::string where;
  };
  std::map<std::pair<uint32_t, const void*>, place> places_;
};

}  // namespace heddle::sim
