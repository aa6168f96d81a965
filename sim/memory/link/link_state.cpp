// What is told of a link: its state, to a search; which stores overtook which, in reports.
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/link/link_memory.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace heddle::sim {

bool link_memory::tell(state_reader& to, const still_to_come& others) {
  if (!link_.tell(to, others.lanes)) return false;
  hasty_.tell(to);
  to.fact(lull_turns_);
  to.fact(quiet_turns_);
  std::vector<std::pair<const void*, releasers>> released(releasers_.begin(), releasers_.end());
  std::sort(released.begin(), released.end(),
            [](const auto& one, const auto& other) { return one.first < other.first; });
  for (const auto& [object, by] : released) {
    to.fact(reinterpret_cast<uintptr_t>(object));
    to.fact(uint64_t{by.hosts.size()} << 32 | by.device);
    for (const auto& earlier : by.hosts) {
      uint32_t kept_back = 0;
      link_.each_kept_back(earlier.thread,
                           [&](const store_under_way& made) { kept_back += made.number <= earlier.stores ? 1 : 0; });
      to.fact(uint64_t{earlier.thread} << 32 | kept_back);
    }
  }
  // Within an access: memory does not hold the newest values.
  for (size_t n = 0; n < replaced_used_; ++n) {
    to.fact(reinterpret_cast<uintptr_t>(replaced_[n].address));
    for (const std::byte each : replaced_[n].newest) to.fact(static_cast<uint64_t>(each));
  }
  if (storing_.size_bytes != 0)
    for (const std::byte each : own_) to.fact(static_cast<uint64_t>(each));
  return to.fact(released.size() << 32 | replaced_used_);
}

std::string link_memory::overtakings() const {
  std::string text;
  for (const overtaking& one : link_.overtakings()) {
    text +=
        "  " + core_.describe_step(one.overtaken.step) + "\n    was overtaken by " +
        core_.describe_step(one.overtaker.step) + ": " +
        (lanes_[one.overtaken.thread]->is_on_host()
             ? settings_.host_relaxed_ordering
                   ? "relaxed ordering is on for what the host posts (link.hostro)\n"
                   : "device memory is mapped write-combining (link.wc), and nothing empties the buffers in between\n"
             : "relaxed ordering is on (link.ro), and releases do not drain the link (link.drain)\n");
  }
  return text;
}

}  // namespace heddle::sim
