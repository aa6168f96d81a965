#include <heddle/sim/base/invariant.h>
#include <heddle/sim/sync/notices.h>

#include <algorithm>
#include <cstdint>

namespace heddle::sim {

void notices::leave(const lane& self) {
  std::erase_if(waiting_, [&](const entry& one) { return one.who == &self; });
}

size_t notices::count(const void* object) const {
  return static_cast<size_t>(
      std::count_if(waiting_.begin(), waiting_.end(), [&](const entry& one) { return one.object == object; }));
}

lane& notices::give(const void* object, size_t index) {
  auto at = waiting_.begin();
  for (; at != waiting_.end(); ++at)
    if (at->object == object && index-- == 0) break;
  must_hold(at != waiting_.end(), "notices: one that is given goes to a lane that waits");
  lane& who = *at->who;
  waiting_.erase(at);
  who.noticed = 1;
  return who;
}

// In the order in which they came, which is that in which notices are given where nothing is left to choose.
bool notices::visit_state(state_reader& to) const {
  return to.fact(waiting_.size()) && std::all_of(waiting_.begin(), waiting_.end(), [&](const entry& one) {
           return to.fact(reinterpret_cast<uintptr_t>(one.object)) && to.fact(one.who->id);
         });
}

}  // namespace heddle::sim
